# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The profile with which nodes find each other soon, and send few heartbeats."""

import os
import sys
from pathlib import Path

import pytest
from lxml import etree

from marine_sim_ros.ros.launching import installation
from marine_sim_ros.ros.launching.installation import (
    dds_profile,
    fast_dds_library,
    fast_dds_version,
)

VARIABLE = {2: 'FASTRTPS_DEFAULT_PROFILES_FILE', 3: 'FASTDDS_DEFAULT_PROFILES_FILE'}
LIBRARY = {2: 'libfastrtps.so', 3: 'libfastdds.so'}
PERIOD = {2: 'heartbeatPeriod', 3: 'heartbeat_period'}
SCHEMA = {2: 'fastRTPS_profiles.xsd', 3: 'fastdds/fastdds_profiles.xsd'}


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    """No profile of the user, and no middleware."""
    others = ('RMW_IMPLEMENTATION', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH')
    for name in (*VARIABLE.values(), *others):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(installation.sys, 'prefix', str(tmp_path / 'python'))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=[2, 3])
def version(request, monkeypatch, tmp_path):
    """A Fast DDS of each version, of a sourced workspace."""
    folder = tmp_path / 'lib'
    folder.mkdir()
    (folder / LIBRARY[request.param]).touch()
    monkeypatch.setenv('LD_LIBRARY_PATH', f'/nowhere{os.pathsep}{folder}')
    return request.param


def profile(version):
    given = dds_profile()
    assert list(given) == [VARIABLE[version]]
    return etree.parse(given[VARIABLE[version]])


def found(root, tag):
    return list(root.iter(f'{{*}}{tag}'))


def test_a_node_announces_itself_four_times_a_second_and_twenty_times_in_the_first(version):
    root = profile(version)
    (period,) = found(root, 'leaseAnnouncement')
    seconds = float(period.findtext('{*}sec'))
    assert seconds + 1e-9 * float(period.findtext('{*}nanosec')) == 0.25
    (first,) = found(root, 'initialAnnouncements')
    assert int(first.findtext('{*}count')) * 0.05 == 1.0
    assert first.findtext('{*}period/{*}nanosec') == '50000000'
    (participant,) = found(root, 'participant')
    assert participant.get('is_default_profile') == 'true'


def test_writers_ask_for_acknowledgements_by_the_clock_and_not_with_each_message(version):
    (writer,) = found(profile(version), 'data_writer')
    assert writer.get('is_default_profile') == 'true'
    assert writer.findtext('.//{*}disable_heartbeat_piggyback') == 'true'
    assert writer.findtext(f'.//{{*}}{PERIOD[version]}/{{*}}nanosec') == '20000000'


def test_the_profiles_of_both_versions_say_the_same():
    folder = Path(__file__).parents[1] / 'config' / 'dds'
    rows = {}
    for version, period in PERIOD.items():
        root = etree.parse(folder / f'fast_dds_{version}.xml').getroot()
        rows[version] = [
            (
                etree.QName(e).localname.replace(period, 'period'),
                dict(e.attrib),
                (e.text or '').strip(),
            )
            for e in root.iter(etree.Element)
        ]
    assert rows[2] == rows[3]


def test_it_is_a_profile_by_the_schema_of_fast_dds(version):
    schema = Path(sys.exec_prefix, 'share', SCHEMA[version])
    if not schema.exists():
        pytest.skip(f'no Fast DDS {version} from a wheel here')
    etree.XMLSchema(etree.parse(schema)).assertValid(profile(version))


@pytest.mark.parametrize('name', VARIABLE.values())
def test_profiles_of_the_user_stay(version, name, monkeypatch):
    monkeypatch.setenv(name, '/own.xml')
    assert dds_profile() == {}


@pytest.mark.parametrize('name', ['DEFAULT_FASTRTPS_PROFILES.xml', 'DEFAULT_FASTDDS_PROFILES.xml'])
def test_so_does_the_file_that_fast_dds_finds_by_itself(version, name, tmp_path):
    (tmp_path / name).write_text('<dds/>')
    assert dds_profile() == {}


@pytest.mark.parametrize('name', ['rmw_cyclonedds_cpp', 'rmw_zenoh_cpp'])
def test_other_middleware_gets_no_profile(version, name, monkeypatch):
    monkeypatch.setenv('RMW_IMPLEMENTATION', name)
    assert dds_profile() == {}
    monkeypatch.setenv('RMW_IMPLEMENTATION', '')  # the default
    assert dds_profile()


def test_a_version_that_is_not_found_gets_no_profile_that_it_might_refuse():
    assert fast_dds_version() is None
    assert dds_profile() == {}


@pytest.mark.parametrize('folder', ['lib', 'lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu'])
def test_the_library_is_found_below_the_prefixes_of_ros(folder, monkeypatch, tmp_path):
    (tmp_path / 'ros' / folder).mkdir(parents=True)
    library = tmp_path / 'ros' / folder / 'libfastdds.so'
    library.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere{os.pathsep}{tmp_path / "ros"}')
    assert fast_dds_library() == library
    monkeypatch.delenv('AMENT_PREFIX_PATH')
    monkeypatch.setattr(installation.sys, 'prefix', str(tmp_path / 'ros'))
    assert fast_dds_version() == 3
