# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every page of docs/ is in the site's navigation, and on the page that opens its section."""

import re

import pytest
import yaml
from conftest import ROOT

DOCS = ROOT / 'docs'
NAVIGATION = yaml.safe_load((ROOT / 'mkdocs.yml').read_text(encoding='utf-8'))['nav']


def pages_of(entry):
    """Return the paths below an entry of the navigation, in its order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [path for part in parts for path in pages_of(part)]


@pytest.mark.parametrize(
    'page', sorted(DOCS.rglob('*.md')), ids=lambda p: p.relative_to(DOCS).as_posix()
)
def test_links_of_a_page_lead_to_files_of_the_site(page):
    """MkDocs does not warn of a link that leaves docs/, and the site lacks what it leads to."""
    for link in re.findall(r'\]\(([^)#\s]+)', page.read_text(encoding='utf-8')):
        if '://' not in link and not link.startswith('mailto:'):
            target = (page.parent / link).resolve()
            assert target.is_file(), link
            assert target.is_relative_to(DOCS), link


def test_the_navigation_has_every_page_once():
    pages = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob('*.md'))
    assert sorted(pages_of(NAVIGATION)) == pages


@pytest.mark.parametrize('opening', sorted(DOCS.rglob('index.md')), ids=lambda p: p.parent.name)
def test_the_opening_page_of_a_section_names_its_pages(opening):
    links = re.findall(r'\]\(([^)#]+)', opening.read_text(encoding='utf-8'))
    named = {(opening.parent / link).resolve() for link in links}
    own = opening.parent.glob('*.md')
    if opening.parent == DOCS:
        own = DOCS.glob('*/index.md')
    assert set(own) - named <= {opening}
