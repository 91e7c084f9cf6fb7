# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The profile with which nodes find each other soon."""

import pytest
from lxml import etree

from marine_sim_ros.ros.launching.discovery import quick_discovery

NAMES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
SCHEMA = '{http://www.eprosima.com}'


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_node_announces_itself_four_times_a_second_and_twenty_times_in_the_first():
    given = quick_discovery()
    assert tuple(given) == NAMES
    (path,) = set(given.values())
    root = etree.parse(path).getroot()
    period = root.find(f'.//{SCHEMA}leaseAnnouncement')
    seconds = float(period.findtext(f'{SCHEMA}sec'))
    assert seconds + 1e-9 * float(period.findtext(f'{SCHEMA}nanosec')) == 0.25
    first = root.find(f'.//{SCHEMA}initialAnnouncements')
    assert int(first.findtext(f'{SCHEMA}count')) * 0.05 == 1.0
    assert first.findtext(f'{SCHEMA}period/{SCHEMA}nanosec') == '50000000'
    (profile,) = root.iter(f'{SCHEMA}participant')
    assert profile.get('is_default_profile') == 'true'


@pytest.mark.parametrize('name', NAMES)
def test_profiles_of_the_user_stay(name, monkeypatch):
    monkeypatch.setenv(name, '/own.xml')
    assert quick_discovery() == {}


def test_so_does_the_file_that_fast_dds_finds_by_itself(tmp_path):
    (tmp_path / 'DEFAULT_FASTRTPS_PROFILES.xml').write_text('<dds/>')
    assert quick_discovery() == {}
