# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The site's search finds the page that helps before decision records and Python modules."""

import importlib
import json
import shutil
import subprocess

import pytest
from conftest import ROOT

DOCS = ROOT / 'docs'
SITE = ROOT / 'build' / 'site'
TITLE, TEXT, KEYWORD = 1e3, 1.0, 1e6
"""Weights of the fields, of the search plugin of mkdocs-material."""


@pytest.fixture
def rules(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / 'scripts')
    return importlib.import_module('search_rules')


def test_every_page_with_keywords_is_there_and_has_each_once(rules):
    for page in rules.KEYWORDS:
        words = rules.keywords_of(page)
        assert (DOCS / page).is_file(), page
        assert len(words) == len(set(words)), page


def test_a_title_of_the_api_weighs_less_than_a_sentence_of_a_guide(rules):
    for behind in ('reference/api/sensors.md', 'explanation/decisions/rays.md'):
        for ahead in ('how-to/camera.md', 'reference/sensors.md', 'tutorials/sweep.md'):
            assert TITLE * rules.weight_of(behind) < TEXT * rules.weight_of(ahead)
    assert rules.weight_of('explanation/tether.md') > rules.weight_of('explanation/decisions/a.md')
    assert rules.weight_of('index.md') == 1.0


def test_a_keyword_outweighs_every_title(rules):
    lowest = min(KEYWORD * rules.weight_of(page) for page in rules.KEYWORDS)
    assert lowest > TITLE * max(rules.WEIGHTS.values())


def test_what_is_searched_for_is_a_keyword_of_the_page(rules):
    for query, pages in rules.EXPECTED.items():
        for page in pages:
            assert set(query.split()) <= {*rules.keywords_of(page)}, (query, page)


def test_the_built_site_has_it_first(rules):
    index = SITE / 'search' / 'search_index.json'
    if (
        not index.is_file()
        or index.stat().st_mtime < (DOCS / 'scripts/search_rules.py').stat().st_mtime
    ):
        pytest.skip('`make docs` has built no site since the rules changed')
    if not shutil.which('node'):
        pytest.skip('no node')
    done = subprocess.run(
        ['node', str(DOCS / 'scripts' / 'search_site.js'), str(SITE), *rules.EXPECTED],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    first = {q: pages[0].replace('.html', '.md') if pages else '' for q, pages in found.items()}
    wrong = {q: found[q] for q, pages in rules.EXPECTED.items() if first[q] not in pages}
    assert not wrong
