# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The profile with which nodes find each other soon, and send few heartbeats."""

import sys
from pathlib import Path

import pytest
from lxml import etree

from marine_sim_ros.ros.launching.dds_profile import dds_profile

NAMES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
SCHEMA = '{http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles}'


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_node_announces_itself_four_times_a_second_and_twenty_times_in_the_first():
    given = dds_profile()
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


def test_writers_ask_for_acknowledgements_by_the_clock_and_not_with_each_message():
    (path,) = set(dds_profile().values())
    (writer,) = etree.parse(path).getroot().iter(f'{SCHEMA}data_writer')
    assert writer.get('is_default_profile') == 'true'
    assert writer.findtext(f'.//{SCHEMA}disable_heartbeat_piggyback') == 'true'
    assert writer.findtext(f'.//{SCHEMA}heartbeatPeriod/{SCHEMA}nanosec') == '20000000'


def test_it_is_a_profile_by_the_schema_of_fast_dds():
    schema = Path(sys.prefix, 'share', 'fastRTPS_profiles.xsd')
    if not schema.exists():
        pytest.skip('no Fast DDS from a wheel here')
    (path,) = set(dds_profile().values())
    etree.XMLSchema(etree.parse(schema)).assertValid(etree.parse(path))


@pytest.mark.parametrize('name', NAMES)
def test_profiles_of_the_user_stay(name, monkeypatch):
    monkeypatch.setenv(name, '/own.xml')
    assert dds_profile() == {}


def test_so_does_the_file_that_fast_dds_finds_by_itself(tmp_path):
    (tmp_path / 'DEFAULT_FASTRTPS_PROFILES.xml').write_text('<dds/>')
    assert dds_profile() == {}
