# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Survey sonars against closed forms: ranges, beam widths, levels, speckle, shadows."""

import json
import math

import numpy as np
import pytest
from conftest import ROOT
from test_ray_sensors import DOWN, FLOOR, ideal, noisy, sensor_of

from marine_sim_ros.analysis.bathymetry import grid_points
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.acoustics import (
    absorption,
    backscatter,
    beam_pattern,
    equivalent_width,
    sounding_deviation,
    transmission_loss,
)
from marine_sim_ros.sensors.multibeam import beam_angles
from marine_sim_ros.sensors.side_scan import bin_ranges, scan_line
from marine_sim_ros.sensors.sonar_3d import beam_grid
from marine_sim_ros.sensors.sonar_messages import points_of

FAN = sensor_of('multibeam', 'seabat_7125', turn=DOWN)
FEW = sensor_of('multibeam', turn=DOWN, beams=64.0, swath=120.0, beam_across=1.0)


def topic_fields(sensor, name, readings):
    topic = next(t for t in SENSORS[sensor.kind].topics if t.name == name)
    return topic.fields(sensor, readings)


class Message:
    """Fields as attributes, nested ones too."""

    def __init__(self, fields):
        for name, value in fields.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                value = [Message(one) for one in value]
            setattr(self, name, Message(value) if isinstance(value, dict) else value)


# --- The sonar equation ---------------------------------------------------------------------


def test_transmission_loss_is_spreading_and_absorption():
    """100 m at 0.1 dB/m: 40 dB and 10 dB."""
    assert transmission_loss(np.array([1.0, 100.0]), 0.1) == pytest.approx([0.1, 50.0])


PROFILES = {
    'mixed': '{depth: 0, temperature: 12, salinity: 35}, '
    '{depth: 500, temperature: 12, salinity: 35}',
    'summer': '{depth: 0, temperature: 20, salinity: 35}, '
    '{depth: 30, temperature: 19, salinity: 35}, {depth: 60, temperature: 12, salinity: 35}, '
    '{depth: 500, temperature: 8, salinity: 35}',
    'fresh over salt': '{depth: 0, temperature: 4, salinity: 25}, '
    '{depth: 20, temperature: 5, salinity: 30}, {depth: 50, temperature: 8, salinity: 34.5}, '
    '{depth: 500, temperature: 6, salinity: 35}',
}
ENDS = ((100, 20), (200, 150), (400, 300), (800, 120), (800, 400), (1500, 450), (1500, 60),
        (2500, 200))  # fmt: skip
"""Ranges and depths, m, of receivers of a source at 100 m."""
BELLHOP = {
    'mixed': (
        (0.085501, 42.15), (0.1375413, 46.28), (0.2981229, 53.01), (0.533992, 58.02),
        (0.5692488, 58.63), (1.0259377, 63.75), (1.0016002, 63.54), (1.6687562, 68.38),
    ),
    'summer': (
        (0.0851203, 42.09), (0.1377285, 46.28), (0.2990077, 53.01), (0.5345502, 58.11),
        (0.571561, 58.64), (1.0306733, 63.76), (1.0020185, 62.98), (1.6719213, 67.99),
    ),
    'fresh over salt': (
        (0.0865705, 42.24), (0.1390424, 46.28), (0.3016142, 53.01), (0.539737, 58.06),
        (0.5762216, 58.63), (1.0387895, 63.75), (1.0120681, 63.53), (1.6874626, 67.97),
    ),
}  # fmt: skip
"""Time, s, and loss, dB, of the strongest arrival without bounces: BELLHOP of aubellhop 0.2.1,
25 kHz, 4,001 beams from -80 to 80 degrees, speeds of sound of the profiles every 2 m."""


@pytest.mark.parametrize('name', PROFILES)
def test_travel_times_and_losses_are_those_of_bellhop(name):
    """Straight rays beside rays that bend: 0.1 % and 1 dB where one arrives directly."""
    water = parse_environment(f'water: {{profile: [{PROFILES[name]}]}}', 'water.yaml')
    source = np.array([0.0, 0.0, -100.0])
    for (away, depth), (time, loss) in zip(ENDS, BELLHOP[name], strict=True):
        receiver = np.array([away, 0.0, -float(depth)])
        distance = np.linalg.norm(receiver - source)
        found = distance / water.mean_sound_speed(source, receiver)
        assert found == pytest.approx(time, rel=1e-4)
        assert transmission_loss(distance, 0.0) == pytest.approx(loss, abs=0.6)


def test_a_beam_has_half_its_power_at_half_its_width():
    angle = np.linspace(-3, 3, 60001)
    response = beam_pattern(angle, 1.1)
    within = angle[response >= 0.5]
    assert within[-1] - within[0] == pytest.approx(1.1, abs=1e-3)
    assert np.trapezoid(response, angle) == pytest.approx(equivalent_width(1.1), rel=1e-9)


def test_deviations_are_those_of_the_error_budget():
    """Hare (1995): ψ/12 by amplitude; 0.2 ψ/√n by phase; the pulse and the samples always."""
    loud = 1e12
    short = sounding_deviation(np.array(0.04), np.array(loud), 0.02, 0.0)
    assert short**2 == pytest.approx(0.01**2 + (0.04 / 12) ** 2)
    long = sounding_deviation(np.array(2.0), np.array(loud), 0.02, 0.02)
    assert long**2 == pytest.approx(2 * 0.01**2 + (0.2 * 2.0 / math.sqrt(100)) ** 2)
    quiet = sounding_deviation(np.array(2.0), np.array([100.0, 1.0, 0.1]), 0.02, 0.02)
    assert np.all(np.diff([long, *quiet]) > 0)
    # γ = 1/2 at a ratio of 1: (1 − γ²)/(2 n γ²) = 3/(2 n).
    assert quiet[1] ** 2 - long**2 == pytest.approx((2 / math.pi) ** 2 * 1.5 / 100, rel=1e-6)


# --- Multibeam echo sounder -----------------------------------------------------------------


@pytest.mark.parametrize('slope', [0.0, 10.0, -25.0])
def test_a_multibeam_ranges_a_plane(slope):
    """z = −10 + y tan s: r = h cos s / cos(β + s) to the beam at β, h above the bottom."""
    tilt = math.radians(slope)
    plane = Plane('bottom', [0, 0, -10], [0, -math.sin(tilt), math.cos(tilt)], 'sand')
    found = ideal(FAN, Environment(scene=Scene((plane,))), (0, 0, -2))['range']
    angle = beam_angles(FAN.spec)  # to starboard, which is −y
    expected = 8 * math.cos(tilt) / np.cos(angle + tilt)
    near = (expected > 0.5) & (expected < 60) & (np.cos(angle + tilt) > 0)
    assert near.sum() > 400
    assert found[near] == pytest.approx(expected[near], abs=1e-6)


def test_a_multibeam_ranges_a_wall_and_a_sphere():
    wall = Plane('wall', [0, -6, 0], [0, 1, 0], 'concrete')
    environment = Environment(scene=Scene((*FLOOR.scene.planes, wall)))
    found, angle = ideal(FAN, environment, (0, 0, -2))['range'], beam_angles(FAN.spec)
    with np.errstate(divide='ignore'):
        expected = np.where(angle > 0, np.minimum(8 / np.cos(angle), 6 / np.sin(angle)), 0)
    corner = math.atan2(6, 8)
    clear = (angle > 0.01) & (np.abs(angle - corner) > math.radians(1.2))
    assert found[clear] == pytest.approx(expected[clear], abs=0.01)
    ball = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [0.0, 0.0, -9.0], material='rock')
    found = ideal(FAN, Environment(scene=Scene((), None, (ball,))), (0, 0, -2))['range']
    edge = math.asin(1 / 7)
    within = np.abs(angle) < edge - math.radians(1.2)
    half = np.sqrt(np.maximum(1 - (7 * np.sin(angle)) ** 2, 0))
    distance = 7 * np.cos(angle) - half
    assert found[within] == pytest.approx(distance[within], abs=0.01)
    assert np.all(np.isinf(found[np.abs(angle) > edge + math.radians(1.2)]))


def test_the_width_of_a_beam_is_that_of_its_response():
    """A small sphere through a fan of beams that are 0.01° apart and 1° wide."""
    sensor = sensor_of(
        'multibeam', turn=DOWN, beams=401.0, swath=4.0, beam_across=1.0, threshold=-20.0,
        noise_level=-50.0,
    )  # fmt: skip
    size = 2 * 10 * math.tan(math.radians(0.025))
    ball = Obstacle('ball', 'sphere', [size] * 3, [0.0, 0.0, -12.0], material='steel')
    level = ideal(sensor, Environment(scene=Scene((), None, (ball,))), (0, 0, -2))['level']
    angle = np.degrees(beam_angles(sensor.spec))
    known = np.isfinite(level)
    assert known.sum() > 150
    within = angle[known & (level >= np.nanmax(level) - 10 * math.log10(2))]
    assert within[-1] - within[0] == pytest.approx(1.0, rel=0.02)


def test_levels_of_a_multibeam_are_those_of_the_sonar_equation():
    """Urick's EL = SL − 2 TL + S_b + 10 log A, with the area of the beam, or of the pulse."""
    spec = FEW.spec
    angle = beam_angles(spec)
    readings = ideal(FEW, FLOOR, (0, 0, -2))
    distance = 8 / np.cos(angle)
    loss = transmission_loss(distance, absorption(spec.frequency))
    bottom = 10 * np.log10(backscatter('sand', np.pi / 2 - np.abs(angle), spec.frequency))
    width = math.radians(1.0)
    pulse = 0.5e-6 * 1500 * spec.pulse_length
    with np.errstate(divide='ignore'):
        area = np.minimum(
            width**2 * distance**2 / np.cos(angle),
            width * distance * pulse / np.abs(np.sin(angle)),
        )
    expected = spec.source_level - 2 * loss + bottom + 10 * np.log10(area)
    assert readings['level'] == pytest.approx(expected, abs=1.0)


def test_a_detection_needs_a_signal():
    spec = FEW.spec
    clear = ideal(FEW, FLOOR, (0, 0, -2))
    assert np.isfinite(clear['range']).all()
    weakest = np.sort(clear['level'])[len(clear['level']) // 2]
    noise = weakest - spec.threshold + 1e-6  # more than two beams of one angle differ
    loud = sensor_of('multibeam', turn=DOWN, beams=64.0, noise_level=noise)
    found = ideal(loud, FLOOR, (0, 0, -2))
    assert np.array_equal(np.isfinite(found['range']), clear['level'] > weakest + 1e-6)
    assert np.all(np.isnan(found['level'][np.isinf(found['range'])]))
    near = sensor_of('multibeam', turn=DOWN, beams=64.0, max_range=9.0)
    angle = beam_angles(near.spec)
    found = ideal(near, FLOOR, (0, 0, -2))['range']
    assert np.array_equal(np.isfinite(found), 8 / np.cos(angle) <= 9.0)
    nothing = ideal(FEW, Environment(), (0, 0, -2))
    assert np.all(np.isinf(nothing['range']))


def test_noise_and_speckle_of_a_multibeam():
    from scipy.stats import kstest

    one = ideal(FEW, FLOOR, (0, 0, -2))
    stamps = np.arange(400) * 100_000_000
    many = {name: np.stack([value] * len(stamps)) for name, value in one.items()}
    found = noisy(FEW, many, stamps, seed=4)
    error = (found['range'] - one['range']) / one['deviation']
    assert error.std() == pytest.approx(1.0, rel=0.02)
    assert abs(error.mean()) < 0.02
    ratio = 10 ** (0.1 * (found['level'] - one['level'])).ravel()
    assert kstest(ratio, 'expon').pvalue > 0.01
    again = noisy(FEW, {name: value[7] for name, value in many.items()}, int(stamps[7]), seed=4)
    assert np.array_equal(again['range'], found['range'][7])


def test_messages_of_a_multibeam():
    readings = noisy(FEW, ideal(FEW, FLOOR, (0, 0, -2)), 0)
    lost = {**readings, 'range': readings['range'].copy()}
    lost['range'][3] = np.inf
    cloud = Message(topic_fields(FEW, 'points', lost))
    points = points_of(cloud)[0]
    assert points.dtype.names == ('x', 'y', 'z', 'intensity', 'deviation', 'beam')
    assert not cloud.is_dense
    assert np.isnan(points['z'][3])
    assert np.delete(points['z'], 3) == pytest.approx(8.0, abs=0.3)
    assert np.array_equal(points['beam'], np.arange(64))
    assert points['y'][0] < 0 < points['y'][-1]  # to port, to starboard
    pings = Message(topic_fields(FEW, 'detections', lost))
    assert [flag.flag for flag in pings.flags] == [int(i == 3) for i in range(64)]
    times = np.delete(pings.two_way_travel_times, 3)
    assert times == pytest.approx(np.delete(2 * readings['range'] / 1500, 3), rel=1e-6)
    assert pings.rx_angles[-1] == pytest.approx(math.radians(60))


def test_a_multibeam_in_many_states_at_once():
    from marine_sim_ros.core.state import State
    from marine_sim_ros.sensors import SensorInputs

    states = State(
        np.array([[0, 0, -2.0], [0, 0, -4.0]]),
        np.stack([quaternion_from_rpy(0.1, 0, 0), quaternion_from_rpy(0, 0.2, 1)]),
        np.zeros((2, 6)),
    )
    inputs = SensorInputs(np.zeros(2), np.zeros((2, 6)), np.zeros((2, 3)))
    both = SENSORS['multibeam'].measure(FEW, states, FLOOR, inputs)
    alone = ideal(FEW, FLOOR, (0, 0, -4.0), (0, 0.2, 1))
    assert np.array_equal(both['range'][1], alone['range'])


# --- Side-scan sonar ------------------------------------------------------------------------

SIDES = sensor_of('side_scan', turn=DOWN)
SEABED = Plane('floor', [0, 0, -100], [0, 0, 1], 'sand')
"""Below a surface so far away that its echo does not come in time."""
OVER = (0.0, 0.0, -92.0)


def lines_over(*things, material='sand', sensor=SIDES):
    plane = Plane('floor', SEABED.point, SEABED.normal, material)
    environment = Environment(scene=Scene((plane,), None, things))
    return ideal(sensor, environment, OVER)['intensity']


def test_levels_of_a_side_scan_are_those_of_the_sonar_equation():
    spec, distance = SIDES.spec, bin_ranges(SIDES.spec)
    found = lines_over()
    assert np.allclose(found[0], found[1])
    assert np.all(found[:, distance < 7.9] == 0.0)  # the gap: nothing is nearer than the bottom
    far = distance > 9
    away = distance[far]
    angle = np.arccos(8 / away)
    width = equivalent_width(math.radians(spec.beam_along)) / math.sqrt(2)
    area = width * away * 0.5e-6 * 1500 * spec.pulse_length / np.sin(angle)
    pattern = beam_pattern(angle - math.radians(60), math.radians(spec.beam_height)) ** 2
    level = (
        spec.source_level
        - 2 * transmission_loss(away, absorption(spec.frequency))
        + 10 * np.log10(backscatter('sand', np.pi / 2 - angle, spec.frequency) * area * pattern)
    )
    assert 10 * np.log10(found[0][far]) == pytest.approx(level, abs=1.0)


def test_a_side_scan_tells_materials_apart():
    far = bin_ranges(SIDES.spec) > 9
    ratio = lines_over(material='rock')[:, far] / lines_over()[:, far]
    grazing = np.arcsin(8 / bin_ranges(SIDES.spec)[far])
    rock, sand = (backscatter(name, grazing, SIDES.spec.frequency) for name in ('rock', 'sand'))
    assert 10 * np.log10(ratio) == pytest.approx(
        np.tile(10 * np.log10(rock / sand), (2, 1)), abs=0.1
    )


@pytest.mark.parametrize(('side', 'height'), [(0, 1.0), (1, 2.0)])
def test_the_shadow_of_a_box_is_as_long_as_geometry_says(side, height):
    """From the box's far upper edge at y, H above the bottom, h high: y h/(H − h) beyond it."""
    away = 20.0 if side == 0 else -20.0
    box = Obstacle('box', 'box', [2.0, 1.0, height], [0, away, -100 + height / 2], material='rock')
    distance, flat = bin_ranges(SIDES.spec), lines_over()[side]
    found = lines_over(box)[side]
    dark = distance[(found < 0.1 * flat) & (distance > 15)]
    begin = math.sqrt((dark.max() + 0.025) ** 2 - 64)
    edge = 20.5
    assert begin - edge == pytest.approx(edge * height / (8 - height), rel=0.05)
    assert dark.min() == pytest.approx(math.hypot(edge, 8 - height), abs=0.15)
    assert np.all(found[(distance > 18.0) & (distance < 20.9)] > 0)
    other = lines_over(box)[1 - side]
    assert np.allclose(other, lines_over()[1 - side])


def test_speckle_of_a_side_scan_is_rayleigh():
    from scipy.stats import kstest

    mean = ideal(SIDES, FLOOR, (0, 0, -2))
    noise = 10 ** (0.1 * SIDES.spec.noise_level)
    found = np.stack([noisy(SIDES, mean, i * 100_000_000, 3)['intensity'] for i in range(20)])
    ratio = found / (mean['intensity'] + noise)
    assert kstest(np.sqrt(ratio).ravel(), 'rayleigh', args=(0, math.sqrt(0.5))).pvalue > 0.01
    apart = np.corrcoef(ratio[0].ravel(), ratio[1].ravel())[0, 1]
    assert abs(apart) < 0.1
    again = noisy(SIDES, mean, 500_000_000, 3)['intensity']
    assert np.array_equal(again, found[5])
    assert not np.array_equal(noisy(SIDES, mean, 500_000_000, 4)['intensity'], again)


def test_the_picture_of_a_side_scan_is_the_backscattering_strength():
    """Without gain, 0 dB is 255: σ/cos θ of the bottom and the pattern of the beam."""
    sensor = sensor_of('side_scan', turn=DOWN, gain=0.0, dynamic_range=60.0)
    line = scan_line(sensor.spec, lines_over(sensor=sensor))
    distance = bin_ranges(sensor.spec)
    port, starboard = line[: len(distance)][::-1], line[len(distance) :]
    assert np.array_equal(port, starboard)
    far = distance > 12
    angle = np.arccos(8 / distance[far])
    pattern = beam_pattern(angle - math.radians(60), math.radians(60)) ** 2
    strength = backscatter('sand', np.pi / 2 - angle, sensor.spec.frequency) * pattern
    strength = strength / np.sin(angle)
    expected = 255 * (1 + 10 * np.log10(strength) / 60)
    assert starboard[far].astype(float) == pytest.approx(np.clip(expected, 0, 255), abs=255 / 60)


def test_messages_of_a_side_scan():
    readings = noisy(SIDES, ideal(SIDES, FLOOR, (0, 0, -2)), 0)
    scan = topic_fields(SIDES, 'scan', readings)
    assert (scan['height'], scan['width'], scan['encoding']) == (1, 2000, 'mono8')
    raw = Message(topic_fields(SIDES, 'image', readings))
    amplitude = np.frombuffer(raw.image.data.tobytes(), np.float32).reshape(2, 1000)
    assert amplitude**2 == pytest.approx(readings['intensity'], rel=1e-5)
    assert raw.image.beam_count == 2
    assert 0.5 * 1500 / raw.sample_rate == pytest.approx(0.05)
    assert raw.rx_angles == pytest.approx([-math.pi / 3, math.pi / 3])


@pytest.mark.long
def test_analyze_writes_the_waterfall_of_a_recording(tmp_path, capsys):
    from marine_sim_ros.analysis.bathymetry import read_scan_lines
    from marine_sim_ros.tools.main import main

    options = ['--scenario', 'dive', '--environment', 'shallow_sand', '--duration', '1.5']
    options += ['--set', 'side_scan:=true', '--record', str(tmp_path / 'run'), '--overwrite']
    for command in (
        ['simulate', 'bluerov2', *options],
        ['analyze', str(tmp_path / 'run'), '-o', str(tmp_path / 'out'), '--table', 'none'],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
    assert ended.value.code == 0
    picture = tmp_path / 'out' / 'waterfall_run_side_scan.png'
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert str(picture) in capsys.readouterr().out
    time, lines = read_scan_lines(str(tmp_path / 'run'), '/bluerov2/side_scan/scan')
    assert lines.shape == (len(time), 2000)
    assert 10 <= len(time) <= 16
    assert np.diff(time) == pytest.approx(0.1)


# --- 3D sonar -------------------------------------------------------------------------------

GRID = sensor_of('sonar_3d', 'sonar_3d_15')


def test_a_3d_sonar_ranges_a_wall_and_a_sphere():
    wall = Plane('wall', [9, 0, 0], [-1, 0, 0], 'concrete')
    ball = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [5.0, 0.5, -20.0], material='rock')
    environment = Environment(scene=Scene((wall,), None, (ball,)))
    found = ideal(GRID, environment, (0, 0, -20))['range']
    beams = beam_grid(GRID.spec)
    along = beams @ np.array([5.0, 0.5, 0.0])
    inside = along**2 - (5.0**2 + 0.5**2 - 1)
    hit = inside > 0
    expected = np.where(hit, along - np.sqrt(np.maximum(inside, 0)), 9 / beams[..., 0])
    known = np.isfinite(found)
    assert known.all()
    assert hit.sum() > 500
    assert found == pytest.approx(expected, abs=1e-6)
    points = points_of(
        Message(
            topic_fields(
                GRID,
                'points',
                noisy(
                    GRID,
                    {name: value for name, value in ideal(GRID, environment, (0, 0, -20)).items()},
                    0,
                ),
            )
        )
    )
    assert points.shape == (64, 256)
    assert points['z'][0].mean() > 0 > points['z'][-1].mean()
    assert points['y'][32, 0] > 0 > points['y'][32, -1]
    assert np.median(points['x'][~hit]) == pytest.approx(9.0, abs=0.01)


def test_ranges_in_a_corner_of_three_walls():
    """Each beam meets the first of three square planes: 1 cm, and 10 µs of travel."""
    walls = (
        Plane('ahead', [9, 0, 0], [-1, 0, 0], 'steel'),
        Plane('port', [0, 5, 0], [0, -1, 0], 'steel'),
        Plane('floor', [0, 0, -22], [0, 0, 1], 'steel'),
    )
    found = ideal(GRID, Environment(scene=Scene(walls)), (0, 0, -20))['range']
    x, y, z = np.moveaxis(beam_grid(GRID.spec), -1, 0)
    with np.errstate(divide='ignore'):
        ways = (9 / x, np.where(y > 0, 5 / y, np.inf), np.where(z < 0, -2 / z, np.inf))
    expected = np.minimum.reduce(ways)
    met = np.isfinite(found)
    assert met.mean() > 0.9
    assert found[met] == pytest.approx(expected[met], abs=0.01)
    assert 2 * np.abs(found[met] - expected[met]).max() / 1500 < 10e-6
    assert len(set(np.argmin(ways, axis=0)[met].tolist())) == 3


def test_levels_of_a_3d_sonar_and_its_reach():
    """On the axis: SL − 2 TL + 10 log(μ r² ψ_w ψ_h), equivalent widths."""
    wall = Environment(scene=Scene((Plane('wall', [9, 0, 0], [-1, 0, 0], 'concrete'),)))
    sensor = sensor_of('sonar_3d', 'sonar_3d_15', columns=3.0, rows=3.0)
    found = ideal(sensor, wall, (0, 0, -20))
    area = (9 * equivalent_width(math.radians(0.6))) ** 2
    level = 190 - 2 * transmission_loss(np.array(9.0), absorption(1200.0))
    level += 10 * math.log10(float(backscatter('concrete', np.pi / 2, 1200.0)) * area)
    assert found['level'][1, 1] == pytest.approx(float(level), abs=1e-6)
    far = Environment(scene=Scene((Plane('wall', [15.1, 0, 0], [-1, 0, 0], 'concrete'),)))
    assert np.all(np.isinf(ideal(sensor, far, (0, 0, -20))['range']))


# --- Surveys --------------------------------------------------------------------------------


def test_a_grid_has_the_means_of_its_cells():
    points = np.array([[0.1, 0.1, -2.0], [0.4, 0.3, -4.0], [1.2, -0.2, -7.0]])
    grid = grid_points(points, 0.5)
    assert grid.heights.shape == (2, 3)
    assert grid.points() == pytest.approx(np.array([[1.25, -0.25, -7.0], [0.25, 0.25, -3.0]]))
    assert grid_points(np.array([[0.0, 0, 0], [9e4, 9e4, -1]])).spacing > 0.5


@pytest.mark.long
def test_a_survey_by_a_torpedo_gives_the_rock_back(tmp_path, capsys):
    """A leg of the lawn mower, recorded; the terrain is 6 m high and 10 to 16 m below the AUV."""
    from marine_sim_ros.environment.reader import load_environment
    from marine_sim_ros.tools.main import main

    sonar = (
        '<sensor type="multibeam" preset="seabat_7125"><beams>128</beams>'
        '<origin xyz="0.2 0 -0.1" rpy="3.14159265358979 0 0"/></sensor></robot>'
    )
    urdf, world = tmp_path / 'surveyor.urdf', tmp_path / 'rock.yaml'
    text = (ROOT / 'urdf' / 'torpedo_auv.urdf').read_text(encoding='utf-8')
    urdf.write_text(text.replace('</robot>', sonar), encoding='utf-8')
    world.write_text(
        'terrain: {generator: rock, depth: 26.0, relief: 6.0, size: [128.0, 128.0], '
        'spacing: 0.5, seed: 2, material: rock}\n',
        encoding='utf-8',
    )
    run, out = tmp_path / 'run', tmp_path / 'out'
    options = ['--scenario', 'lawn_mower', '--duration', '12', '--environment', str(world)]
    for command in (
        ['simulate', str(urdf), *options, '--record', str(run)],
        ['analyze', str(run), '-o', str(out), '--table', 'none', '--environment', str(world)],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
    assert ended.value.code == 0, capsys.readouterr().err
    metrics = json.loads((out / 'metrics.json').read_text(encoding='utf-8'))
    (found,) = metrics['bathymetry']['run'].values()
    assert found['soundings'] > 10000
    assert found['rms'] < 0.15
    assert abs(found['bias']) < 0.05
    assert found['grid_rms'] < 0.3
    assert found['order'] in ('exclusive', 'special')
    assert (out / 'bathymetry_run_multibeam.png').read_bytes().startswith(b'\x89PNG')
    # The grid is a terrain that an environment can be made of.
    again = tmp_path / 'again.yaml'
    table = out / 'bathymetry_run_multibeam.xyz'
    again.write_text(f'terrain: {{file: {table}, positive: up}}\n', encoding='utf-8')
    surveyed, true = (load_environment(str(path)).scene for path in (again, world))
    assert surveyed.ground(6.0, 0.0) == pytest.approx(true.ground(6.0, 0.0), abs=0.5)
