# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""3,800 mutated descriptions: each is a valid vehicle or one clear error."""

import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, examples, has
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from processor import limited

from marine_sim_ros import Environment, MarineSimError, load_vehicle
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.series import SensorReader

ROV = (ROOT / 'urdf' / 'simple_rov.urdf').read_text()
VESSEL = (ROOT / 'urdf' / 'surface_vessel.urdf').read_text().replace(
    '<velocity_reference>', '<voxel_size>0.15</voxel_size><velocity_reference>', 1
)  # fmt: skip
ROUND = ROV.replace('<box size="0.4 0.3 0.05"/>', '<sphere radius="0.1"/>').replace(
    '<velocity_reference>', '<voxel_size>0.06</voxel_size><velocity_reference>', 1
)
BUOY = """<robot name="buoy">
  <link name="base_link"><inertial><mass value="12"/>
    <inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial></link>
  <buoyancy><volume>0.0121</volume><height>0.2</height></buoyancy>
  <sensor type="imu" name="own" link="base_link" rate="200" latency="0.1" preset="navigator_imu">
    <origin xyz="0.1 0 0.2" rpy="0 0.1 0"/><gyro_noise>1e-4</gyro_noise><gyro_range>30</gyro_range>
    <orientation>1</orientation></sensor>
  <sensor type="magnetometer"><hard_iron>1e-6 0 0</hard_iron>
    <soft_iron>1 0 0 0 1 0 0 0 1</soft_iron></sensor>
  <sensor type="usbl" rate="2"><transceiver>5 0 -1</transceiver><max_range>100</max_range></sensor>
  <sensor type="hydrophone" preset="robosub"><bandwidth>3</bandwidth></sensor>
  <sensor type="lbl"><range_noise>1</range_noise><multipath>0.1</multipath></sensor>
  <sensor type="pinger"><fix>1</fix><heading_bias>0.1</heading_bias></sensor>
  <sensor type="battery" preset="power_sense_module"><capacity>10</capacity></sensor>
  <sensor type="leak"><depth_rating>100</depth_rating></sensor>
  <sensor type="thermometer"><noise>0.1</noise><resolution>0.1</resolution></sensor>
  <barometer><variance>400</variance></barometer>
</robot>
"""
SEER = """<robot name="seer">
  <link name="base_link"><inertial><mass value="12"/>
    <inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial></link>
  <buoyancy><volume>0.0121</volume><height>0.2</height></buoyancy>
  <sensor type="dvl" preset="a50"><origin xyz="0 0 -0.1" rpy="3.14159 0 0"/>
    <beam_angle>22.5</beam_angle><max_altitude>50</max_altitude><dropout>0.1</dropout></sensor>
  <sensor type="adcp" preset="sentinel_v20"><layers>5</layers><reference>2</reference></sensor>
  <sensor type="altimeter" name="ping" link="base_link" rate="5" latency="0.1">
    <origin rpy="0 1.5708 0"/><beam_width>25</beam_width><max_range>30</max_range></sensor>
  <sensor type="scanning_sonar" preset="ping360"><sector>90</sector><samples>50</samples>
    <threshold>150</threshold></sensor>
  <sensor type="imaging_sonar"><beams>8</beams><bins>16</bins><rays>4</rays></sensor>
  <sensor type="multibeam" preset="seabat_7125"><beams>16</beams><threshold>5</threshold></sensor>
  <sensor type="side_scan" preset="starfish_450f"><bins>50</bins><rays>16</rays></sensor>
  <sensor type="sonar_3d" preset="sonar_3d_15"><columns>8</columns><rows>4</rows></sensor>
  <sensor type="camera" preset="low_light_hd"><distortion>0.1 0 0 0 0</distortion>
    <equidistant>1</equidistant></sensor>
  <sensor type="ins" preset="fog_ins"><fix_noise>2</fix_noise></sensor>
  <sensor type="lidar" preset="lms111"><columns>9</columns><dropout>0.1</dropout></sensor>
  <sensor type="gps"><horizontal_noise>1</horizontal_noise></sensor>
  <sensor type="barometer" link="base_link" preset="bar30"><pose>1</pose></sensor>
</robot>
"""
PICTURES = ('scanning_sonar', 'imaging_sonar', 'multibeam', 'side_scan', 'sonar_3d', 'camera')
"""Kinds of which a reading may take all memory: they are loaded only."""
FLOOR = Environment(scene=Scene((Plane('floor', [0, 0, -5], [0, 0, 1], 'sand'),)))
SEAS = (Environment(), load_environment('regular_waves'))
STATE = State(
    np.array([0, 0, 0.02]), np.array([0.1, 0, 0, 0.995]), np.array([1.0, 0, -1, 0, 1, 0])
)

NUMBER = re.compile(r'(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])')
WORD = re.compile(r'(?<=[<"/ ])[A-Za-z_]\w*(?=[ ">=/])')
STRANGE = st.one_of(
    st.sampled_from([
        '', ' ', 'nan', 'inf', '-inf', '-1', '0', '1e308', '1e-308', '1e999', '0x10', '1,5', '1 2',
        '½', '٣', '<', '&lt;', '&amp;', ']]>', '"', '0.1 0.1', 'true', 'package://x/y', '../../x',
        'base_link', 'hull', 'pa', 'cd', 'é', '\U0001f6a2',
    ]),
    st.text(max_size=5), st.floats().map(str),
)  # fmt: skip
UNITS = st.sampled_from([1000, 1e-3, 1e6, 57.29578, -1, 9.81, 1e9, 0.01, 25.4])


def replaced(text, pattern, which, make):
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = found[which % len(found)]
    return text[: match.start()] + make(match.group()) + text[match.end() :]


@st.composite
def mutated(draw, text):
    """Some numbers, words or elements of a text are not what they were."""
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(['number', 'unit', 'word', 'element', 'cut']))
        which = draw(st.integers(0, 500))
        strange = draw(STRANGE)
        if kind == 'number':
            text = replaced(text, NUMBER, which, lambda _, s=strange: s)
        elif kind == 'unit':
            factor = draw(UNITS)
            text = replaced(text, NUMBER, which, lambda n, f=factor: str(float(n) * f))
        elif kind == 'word':
            text = replaced(text, WORD, which, lambda _, s=strange: s)
        elif kind == 'cut':
            start = which * 7 % len(text)
            text = text[:start] + text[start + draw(st.integers(1, 200)) :]
        else:
            text = nested(draw, text, which)
        if not NUMBER.search(text) or not WORD.search(text):
            break
    return text


def nested(draw, text, which):
    """Move, copy, drop or bury one element."""
    try:
        root = etree.fromstring(text.encode())
    except (etree.XMLSyntaxError, ValueError, UnicodeEncodeError):
        return text
    elements = [e for e in root.iter(etree.Element) if e.getparent() is not None]
    if not elements:
        return text
    element = elements[which % len(elements)]
    how = draw(st.sampled_from(['drop', 'twice', 'move', 'bury']))
    if how == 'drop':
        element.getparent().remove(element)
    elif how == 'twice':
        element.addnext(deepcopy(element))
    elif how == 'move':
        elements[draw(st.integers(0, 500)) % len(elements)].append(deepcopy(element))
    else:
        depth = draw(st.sampled_from([1, 2, 50, 5000]))
        opened, closed = f'<{element.tag}>' * depth, f'</{element.tag}>' * depth
        return text.replace('</robot>', opened + closed + '</robot>', 1)
    return etree.tostring(root, encoding='unicode')


@st.composite
def encoded(draw, text):
    """A text as bytes, in an encoding that may not be the one it claims."""
    claimed = draw(st.sampled_from(['', 'utf-8', 'utf-16', 'latin-1', 'ascii', 'klingon']))
    body = re.sub(r'^<\?xml.*?\?>', '', draw(mutated(text)))
    head = f'<?xml version="1.0" encoding="{claimed}"?>' if claimed else ''
    real = draw(st.sampled_from(['utf-8', 'utf-8-sig', 'utf-16', 'utf-32', 'latin-1', 'cp500']))
    data = (head + body).encode(real, 'replace')
    if draw(st.booleans()):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=4)) + data[at:]
    return data


def loaded(description):
    """Return the vehicle of a description, or None where one line says what is wrong."""
    try:
        return load_vehicle(description)
    except MarineSimError as error:
        message = str(error)
    assert message.strip()
    assert '\n' not in message
    return None


def check(description):
    """Load; the vehicle must be usable in every sea, the error one line."""
    vehicle = loaded(description)
    if vehicle is None:
        return
    assert np.all(np.isfinite(vehicle.mass_matrix))
    assert np.min(np.linalg.eigvalsh(vehicle.mass_matrix)) > 0
    assert all('\n' not in warning for warning in vehicle.warnings)
    for sea in SEAS:
        for force in acting_forces(vehicle, sea):
            assert np.all(np.isfinite(force.wrench(vehicle, STATE, sea)))
        for sensor in vehicle.sensors:
            told(sensor, sea)


def told(sensor, sea):
    """Read a sensor; where it tells something, it is a message of numbers."""
    reader = SensorReader(sensor, 1)
    found = reader.read(0, STATE, sea, SensorInputs.none(), ())
    if found is None:
        return
    arrival, readings = found
    assert arrival >= 0
    for topic in reader.model.topics_of(sensor):
        assert topic.fields(sensor, readings)
    first = next(iter(readings.values()))
    assert np.all(np.isfinite(first))


def usual(number, seconds=10):
    """Return a decorator: so many examples, each in so much of a processor's time."""
    settled = settings(
        max_examples=examples(number),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture,
                               HealthCheck.large_base_example, HealthCheck.data_too_large],
    )  # fmt: skip
    return lambda test: limited(seconds)(settled(test))


@pytest.fixture(autouse=True)
def memory():
    """No example takes more than 1 GB; what other tests took before is not counted."""

    def kilobytes(what):
        status = Path('/proc/self/status').read_text()
        return int(re.search(rf'{what}:\s+(\d+)', status)[1])

    Path('/proc/self/clear_refs').write_text('5')  # the peak is what there is now
    before = kilobytes('VmRSS')
    yield
    assert kilobytes('VmHWM') - before < 1_000_000


@pytest.mark.long
@usual(1000)
@given(mutated(ROV))
def test_mutated_boxes(text):
    check(text if text.lstrip().startswith('<') else '<' + text)


@pytest.mark.long
@usual(500)
@given(mutated(ROUND))
def test_mutated_round_bodies(text):
    check(text if text.lstrip().startswith('<') else '<' + text)


@pytest.mark.long
@usual(500)
@given(mutated(BUOY))
def test_mutated_sensors(text):
    check(text if text.lstrip().startswith('<') else '<' + text)


@usual(300)
@given(mutated(SEER))
def test_mutated_ray_sensors(text):
    vehicle = loaded(text if text.lstrip().startswith('<') else '<' + text)
    for sensor in vehicle.sensors if vehicle is not None else ():
        if sensor.kind in PICTURES or (sensor.kind == 'gps' and not has('pymap3d')):
            continue
        found = SensorReader(sensor, 1).read(0, STATE, FLOOR, SensorInputs.none(), ())
        for topic in SENSORS[sensor.kind].topics_of(sensor) if found is not None else ():
            topic.fields(sensor, found[1])  # None where there is nothing to send


@pytest.mark.long
@usual(500)
@given(mutated(VESSEL))
def test_mutated_meshes(text):
    check(text if text.lstrip().startswith('<') else '<' + text)


@pytest.mark.long
@usual(1000)
@given(data=encoded(ROV))
def test_mutated_files(tmp_path, data):
    path = tmp_path / 'vehicle.urdf'
    path.write_bytes(data)
    check(path)
