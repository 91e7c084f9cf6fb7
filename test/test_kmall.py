# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""KMALL files of a multibeam: places, travel times and backscatter of a level bottom."""

import math
import struct

import numpy as np
import pytest
from conftest import marine_sim

from marine_sim_ros.analysis.kmall import write_kmall
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sensors.acoustics import backscatter

DEPTH, ALONG = 14.0, 3.0
ORIGIN = {'latitude': -33.4, 'longitude': 151.2, 'heading': 25.0}
SOUNDING = struct.Struct('<H8BH6fHH18f4H')
NAMES = {'valid': 2, 'uncertainty': 12, 'strength': 21, 'angle': 26, 'time': 28, 'latitude': 30,
         'longitude': 31, 'z': 32, 'y': 33, 'x': 34}  # fmt: skip


@pytest.fixture(scope='module')
def file(tmp_path_factory):
    """A KMALL of 0.6 s over level sand, of a vehicle that is heeled over by 0.2 rad."""
    folder = tmp_path_factory.mktemp('kmall')
    world, scenario = folder / 'level.yaml', folder / 'rest.yaml'
    origin = ', '.join(f'{name}: {value}' for name, value in ORIGIN.items())
    world.write_text(
        f'seabed: {{depth: {DEPTH}, material: sand}}\norigin: {{{origin}}}\n', encoding='utf-8'
    )
    scenario.write_text(
        f'duration: 0.6\ninitial: {{position: [{ALONG}, -2, -4], rpy: [0.2, -0.1, 0.7]}}\n'
        'segments: [{at: 0.0, axes: {surge: 0.2}}]\n',
        encoding='utf-8',
    )
    run, path = folder / 'run', folder / 'level.kmall'
    status, told = marine_sim(
        'simulate', 'bluerov2', '--set', 'multibeam:=true', '--scenario', scenario,
        '--environment', world, '--dt', 0.02, '--record', run,
    )  # fmt: skip
    assert status == 0, told
    vehicle = load_vehicle('bluerov2', multibeam='true')
    sonar = next(sensor for sensor in vehicle.sensors if sensor.kind == 'multibeam')
    assert write_kmall(path, str(run), '/bluerov2', sonar, load_environment(str(world)))
    return path


def datagrams(file):
    """Return kind, stamp (ns) and content of all datagrams."""
    data, found, start = file.read_bytes(), [], 0
    while start < len(data):
        size, kind, _, _, model, seconds, rest = struct.unpack_from('<I4s2BH2I', data, start)
        assert struct.unpack_from('<I', data, start + size - 4) == (size,)
        assert model == 2040
        found.append((kind, seconds * 10**9 + rest, data[start + 20 : start + size - 4]))
        start += size
    return found


def soundings(content):
    """Return the columns of an MRZ by name, and the information on the ping."""
    ping = 4 + 12
    size, _, rate = struct.unpack_from('<2Hf', content, ping)
    count, sector = struct.unpack_from('<2H', content, ping + 92)
    receiver = ping + size + count * sector
    length, beams, valid, each = struct.unpack_from('<4H', content, receiver)
    first = receiver + length
    assert len(content) == first + beams * each
    assert each == SOUNDING.size == 120
    rows = np.array([SOUNDING.unpack_from(content, first + i * each) for i in range(beams)])
    latitude, longitude, height = struct.unpack_from('<2df', content, ping + 124)
    heading, _, _, water = struct.unpack_from('<4f', content, ping + 96)
    columns = {name: rows[:, i] for name, i in NAMES.items()}
    return columns, {'rate': rate, 'valid': valid, 'latitude': latitude, 'longitude': longitude,
                     'height': height, 'water': water, 'heading': heading}  # fmt: skip


@pytest.mark.long
def test_a_file_has_attitude_position_and_soundings_of_each_ping(file):
    kinds = [kind for kind, _, _ in datagrams(file)]
    assert kinds[:3] == [b'#IIP', b'#IOP', b'#SVP']
    assert kinds[3:] == [b'#SKM', b'#SPO', b'#MRZ'] * 6
    stamps = [stamp for kind, stamp, _ in datagrams(file) if kind == b'#MRZ']
    assert np.allclose(np.diff(stamps), 1e8)
    assert stamps[0] // 10**9 == 946_684_800  # 2000-01-01


@pytest.mark.long
def test_soundings_lie_on_the_level_bottom_in_both_coordinates(file):
    origin = Origin(**ORIGIN)
    for content in (c for kind, _, c in datagrams(file) if kind == b'#MRZ'):
        columns, ping = soundings(content)
        good = columns['valid'] == 0
        assert ping['valid'] == good.sum() > 400
        assert ping['rate'] == pytest.approx(10.0, rel=1e-6)
        x, y, z = (columns[name][good] for name in 'xyz')
        deviation = columns['uncertainty'][good]
        assert np.all(np.abs(z - ping['water'] - DEPTH) < 5 * deviation + 0.02)
        # The same places by latitude and longitude, within what a float has of a degree.
        reference = np.array(origin.level(ping['latitude'], ping['longitude']))
        latitude = ping['latitude'] + columns['latitude'][good]
        longitude = ping['longitude'] + columns['longitude'][good]
        east, north = np.array(origin.level(latitude, longitude)) - reference[:, None]
        heading = math.radians(ping['heading'])
        assert np.allclose(north, x * math.cos(heading) - y * math.sin(heading), atol=0.01)
        assert np.allclose(east, x * math.sin(heading) + y * math.cos(heading), atol=0.01)
        # The x axis of map is 90 degrees clockwise of its y axis.
        assert ping['heading'] == pytest.approx(90.0 + 25.0 - math.degrees(0.7), abs=3.0)


@pytest.mark.long
def test_travel_times_are_those_of_the_ranges(file):
    content = next(c for kind, _, c in datagrams(file) if kind == b'#MRZ')
    columns, _ = soundings(content)
    good = columns['valid'] == 0
    sonar = 0.3  # m from the reference point, at most
    distance = np.sqrt(sum(columns[name][good] ** 2 for name in 'xyz'))
    assert np.all(np.abs(750.0 * columns['time'][good] - distance) < sonar)
    # Beams are from port, where angles are positive, to starboard.
    assert columns['angle'][0] > 60
    assert columns['y'][0] < 0 < columns['y'][-1]


@pytest.mark.long
def test_reflectivity_is_the_backscatter_of_the_bottom(file):
    """Within 1.5 dB of the model's curve, as the mean intensity of 6 pings and 40 beams."""
    intensity, angle = [], []
    for content in (c for kind, _, c in datagrams(file) if kind == b'#MRZ'):
        columns, _ = soundings(content)
        intensity.append(10 ** (0.1 * columns['strength']))
        angle.append(np.degrees(np.arctan2(np.hypot(columns['x'], columns['y']), columns['z'])))
    for degrees in (35.0, 50.0, 60.0):
        near = np.abs(np.array(angle) - degrees) < 4
        found = 10 * math.log10(np.array(intensity)[near].mean())
        right = 10 * math.log10(float(backscatter('sand', math.radians(90.0 - degrees), 400.0)))
        assert found == pytest.approx(right, abs=1.5)


@pytest.mark.long
def test_themachinethatgoesping_reads_it(file):
    kmall = pytest.importorskip('themachinethatgoesping.echosounders.kmall')
    pings = kmall.KMALLFileHandler([str(file)]).get_pings()
    assert len(pings) == 6
    content = next(c for kind, _, c in datagrams(file) if kind == b'#MRZ')
    columns, _ = soundings(content)
    place = pings[0].bottom.get_xyz()
    for name in 'xyz':
        assert np.allclose(getattr(place, name), columns[name], atol=1e-4)
