# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rules of the source tree that no linter states; `make lint` checks the order of the layers."""

import re
import xml.etree.ElementTree as ET

import pytest
from conftest import ROOT

import marine_sim_ros
from marine_sim_ros.core.registry import CONTROLLERS, FORCES, SENSORS

PACKAGE = ROOT / 'marine_sim_ros'


def test_every_file_names_its_licence():
    found = PACKAGE.rglob('*.py')
    assert [p for p in found if 'SPDX-License-Identifier: Apache-2.0' not in p.read_text()] == []


def test_the_contract_of_the_layers_names_every_room():
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    layers = re.search(r'^layers = \[(.*?)\]', text, re.M | re.S).group(1)
    named = set(re.findall(r'[a-z]+', re.sub(r'#.*', '', layers)))
    assert named == {p.name for p in PACKAGE.iterdir() if (p / '__init__.py').is_file()}


def test_the_version_is_the_same_everywhere():
    version = marine_sim_ros.__version__  # setup.cfg reads it there
    assert ET.parse(ROOT / 'package.xml').findtext('version') == version


@pytest.mark.parametrize('registry', [FORCES, SENSORS, CONTROLLERS], ids=lambda r: r.group)
def test_entries_of_the_registry_have_the_names_under_which_they_are_listed(registry):
    assert [entry.name for entry in registry.values()] == list(registry)
