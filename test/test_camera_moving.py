# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What moves in the camera's picture beside vehicles: arm, payloads and tether, by the pinhole."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors import SENSORS, SensorInputs, needs_of
from marine_sim_ros.sensors.camera.camera import Camera, lens_of
from marine_sim_ros.sensors.seen_bodies import OWN_VEHICLE, PAYLOAD, TETHER_LABEL, OwnParts, label
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

pytestmark = pytest.mark.usefixtures('renderer')

SPEC = Camera(width=400.0, height=300.0, field_of_view=60.0, depth=1.0, segmentation=1.0)
TO_PORT = np.column_stack([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""v_body = R v_camera of a camera that looks along y, x to the right."""
EYE = np.array([0.4, -1.0, -0.3])
STATE = State(
    np.array([1.0, 2.0, -300.0]),
    Rotation.from_euler('xyz', [0.2, -0.3, 0.9]).as_quat(),
    np.zeros(6),
)
FOCAL = 200.0 / np.tan(np.radians(30.0))


def camera():
    place = Frame('c', 'base_link', EYE, Rotation.from_matrix(TO_PORT).as_quat())
    return Sensor('camera', 'camera', SPEC, place, 10**8)


def taken(environment, inputs, state=STATE):
    return SENSORS['camera'].measure(camera(), state, environment, inputs)


def projected(points):
    """Return the pixels (n, 2) of points (n, 3) of the body: the pinhole's formula."""
    x, y, z = ((points - EYE) @ TO_PORT).T
    return np.stack([FOCAL * x / z + 199.5, FOCAL * y / z + 149.5], axis=-1)


def in_map(points, state=STATE):
    return state.position + Rotation.from_quat(state.orientation).apply(points)


def arm(shoulder, wrist=0.0):
    """Return place and turn of the hand of bluerov2_heavy in the body, by the URDF's numbers."""
    turn = Rotation.from_euler('y', shoulder)
    return np.array([0.2, 0.0, -0.12]) + turn.apply([0.25, 0, 0]), (
        turn * Rotation.from_euler('x', wrist)
    )


def test_the_lens_is_the_pinhole_of_the_test():
    assert lens_of(SPEC).focal_length == pytest.approx(FOCAL)


@pytest.mark.parametrize('shoulder', [0.5, 0.9, 1.3])
def test_the_arm_is_where_its_joints_are(shoulder):
    vehicle = vehicle_of('bluerov2_heavy', arm='true')
    environment = Environment(looks=OwnParts(vehicle))
    still = SensorInputs.none()
    zero, moved = (
        taken(environment, still._replace(joints=joints))['segmentation'] == OWN_VEHICLE
        for joints in (np.zeros(2), np.array([shoulder, 0.4]))
    )
    none = taken(environment, still)['segmentation'] == OWN_VEHICLE
    assert np.array_equal(none, zero)
    # The hand is a cylinder of 2.5 cm radius and 10 cm: the silhouette ends at the rim of its end.
    place, turn = arm(shoulder, 0.4)
    angle = np.linspace(0, 2 * np.pi, 400)
    rim = np.stack([np.full(400, 0.1), 0.025 * np.cos(angle), 0.025 * np.sin(angle)], axis=-1)
    end = projected(place + turn.apply(rim))
    rows, columns = np.nonzero(moved & ~zero)
    assert rows.max() == pytest.approx(end[:, 1].max(), abs=2)
    # In the row of its middle, the hand is about that middle, where there was water before.
    middle = projected((place + turn.apply([0.05, 0, 0]))[None])[0]
    row = round(middle[1])
    assert columns[rows == row].mean() == pytest.approx(middle[0], abs=2)


def test_the_tether_is_where_its_nodes_are():
    vehicle = vehicle_of('bluerov2', tether='fathom')
    environment = Environment(looks=OwnParts(vehicle))
    along = np.linspace(-0.3, 1.1, 15)
    own = np.stack([along, 0.3 + 0.2 * along, -0.55 + 0.4 * (along - 0.4) ** 2], axis=-1)
    inputs = SensorInputs.none()._replace(tether=in_map(own))
    labels = taken(environment, inputs)['segmentation']
    assert not np.any(taken(environment, SensorInputs.none())['segmentation'] == TETHER_LABEL)
    fine = np.linspace(0, 14, 5001)
    places = np.stack([np.interp(fine, np.arange(15), column) for column in own.T], axis=-1)
    pixels, seen = projected(places), labels == label(TETHER_LABEL, 0)
    for column in range(20, 350, 10):
        rows = np.nonzero(seen[:, column])[0]
        expected = np.interp(column, pixels[:, 0], pixels[:, 1])
        assert rows.mean() == pytest.approx(expected, abs=1.0)
    # Its width is that of the cable, at each range.
    middle = np.argmin(np.abs(pixels[:, 0] - 200))
    distance = ((places[middle] - EYE) @ TO_PORT)[2]
    diameter = vehicle.extensions['tether'].cable.diameter
    across = seen[:, 150:250].sum() / 100
    assert across == pytest.approx(FOCAL * diameter / distance, abs=0.5)


AROUND = """
water: {kind: fresh}
payloads:
  - {name: far, shape: sphere, radius: 0.1, position: [0.4, 3.0, -10.2], mass: 5}
  - {name: brick, shape: box, size: [0.2, 0.1, 0.06], position: [0.62, 0.0, -10.1], mass: 2}
"""
GRIPS = """
duration: 3.0
initial: {position: [0, 0, -10], rpy: [0, 0, 0]}
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500]}
  - {at: 0.1, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], gripper: close}
  - {at: 0.2, pwm: [1550, 1450, 1500, 1500, 1400, 1500, 1500, 1500],
     joints: {shoulder: 0.6, wrist: 0.5}}
  - {at: 2.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], gripper: open}
"""


def test_a_payload_is_in_the_gripper_and_where_it_was_let_go(tmp_path):
    for name, text in (('around', AROUND), ('grips', GRIPS)):
        (tmp_path / f'{name}.yaml').write_text(text)
    vehicle = vehicle_of('bluerov2_heavy', arm='true', camera='true')
    assert needs_of(vehicle) >= {'joints', 'payloads'}
    environment = load_environment(str(tmp_path / 'around.yaml'))
    run = simulate(vehicle, load_scenario(str(tmp_path / 'grips.yaml')), environment=environment)
    inputs, held = run.sensors.inputs, run.actuators['gripper'][:, 0]
    assert held[0] == 0
    assert held[-1] == 0
    assert inputs.payloads[0, 1, :3] == pytest.approx([0.62, 0.0, -10.1])
    around = replace(environment, looks=OwnParts(vehicle))

    def seen(i, number):
        state = State(run.position[i], run.orientation[i], run.velocity[i])
        labels = taken(around.at(run.time[i]), inputs.at(i), state)['segmentation']
        return state, np.argwhere(labels == label(PAYLOAD, number))[:, ::-1]

    for i in np.flatnonzero(held == 2)[[1, 100, 200, -1]]:
        place, turn = arm(*run.actuators['joints'][i])
        wanted = place + turn.apply([0.15, 0, 0])
        state, pixels = seen(i, 1)
        whole = Rotation.from_quat(state.orientation)
        assert inputs.payloads[i, 1, :3] == pytest.approx(in_map(wanted, state), abs=1e-6)
        turned = Rotation.from_quat(inputs.payloads[i, 1, 3:]) * (whole * turn).inv()
        assert turned.magnitude() < 1e-6
        box = np.array(np.meshgrid([-0.1, 0.1], [-0.05, 0.05], [-0.03, 0.03])).reshape(3, -1).T
        corners = projected(wanted + turn.apply(box))
        # The hand hides some of its upper end; its sides and its lower end are seen.
        assert pixels.max(axis=0) == pytest.approx(corners.max(axis=0), abs=2)
    assert run.actuators['joints'][np.flatnonzero(held == 2)[-1], 0] > 0.5
    # Let go, it sinks straight down with the axes that were declared.
    after = np.flatnonzero(run.time > 2.0)
    places = inputs.payloads[after, 1]
    assert np.ptp(places[:, :2], axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert places[-1, 2] < places[0, 2] - 0.1
    assert places[0, 3:] == pytest.approx([0, 0, 0, 1])
    state, pixels = seen(after[20], 1)
    own = Rotation.from_quat(state.orientation).inv().apply(places[20, :3] - state.position)
    assert pixels.mean(axis=0) == pytest.approx(projected(own[None])[0], abs=3)
    # What was never taken stays where it is declared.
    assert inputs.payloads[-1, 0] == pytest.approx([0.4, 3.0, -10.2, 0, 0, 0, 1])


def test_payloads_are_drawn_where_they_are_declared_for_a_vehicle_without_a_gripper(tmp_path):
    (tmp_path / 'around.yaml').write_text(AROUND)
    environment = load_environment(str(tmp_path / 'around.yaml'))
    state = State(np.array([0.0, 0, -10.0]), np.array([0.0, 0, 0, 1]), np.zeros(6))
    labels = taken(environment, SensorInputs.none(), state)['segmentation']
    middle = np.argwhere(labels == label(PAYLOAD, 0))[:, ::-1].mean(axis=0)
    assert middle == pytest.approx(projected(np.array([[0.4, 3.0, -0.2]]))[0], abs=0.6)


def test_quaternions_of_matrices_are_those_of_scipy():
    turns = Rotation.random(200, random_state=4)
    for turn in [*turns, *Rotation.from_euler('x', [[0], [180], [-180], [90]], degrees=True)]:
        found = matrix_quaternion(turn.as_matrix())
        assert rotation_matrix(found) == pytest.approx(turn.as_matrix(), abs=1e-12)
