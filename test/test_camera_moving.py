# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What moves in a camera's picture: arm, held body, tether, by the pinhole."""

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
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.camera.camera import Camera, lens_of
from marine_sim_ros.sensors.seen_bodies import (
    OTHER_VEHICLE,
    OWN_VEHICLE,
    TETHER_LABEL,
    OwnParts,
    body_of,
    label,
    with_vehicles,
)
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
bodies:
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


def test_a_held_body_is_in_the_gripper_and_where_it_was_let_go(tmp_path):
    for name, text in (('around', AROUND), ('grips', GRIPS)):
        (tmp_path / f'{name}.yaml').write_text(text)
    vehicle = vehicle_of('bluerov2_heavy', arm='true', camera='true')
    environment = load_environment(str(tmp_path / 'around.yaml'))
    run = simulate(vehicle, load_scenario(str(tmp_path / 'grips.yaml')), environment=environment)
    inputs, held = run.sensors.inputs, run.actuators['gripper'][:, 0]
    assert held[0] == held[-1] == 0
    brick = run.bodies['/bodies/brick']
    bodies = {'brick': body_of(environment.free_bodies[0].vehicle, 'brick')}
    around = replace(environment, looks=OwnParts(vehicle))

    def seen(i):
        state = State(run.position[i], run.orientation[i], run.velocity[i])
        states = {'brick': State(*(x[i] for x in brick))}
        world = with_vehicles(around.at(run.time[i]), bodies, states)
        labels = taken(world, inputs.at(i), state)['segmentation']
        return state, np.argwhere(labels == label(OTHER_VEHICLE, 0))[:, ::-1]

    for i in np.flatnonzero(held == 1)[[1, 100, 200, -1]]:
        place, turn = arm(*run.actuators['joints'][i])
        wanted = place + turn.apply([0.15, 0, 0])
        state, pixels = seen(i)
        box = np.array(np.meshgrid([-0.1, 0.1], [-0.05, 0.05], [-0.03, 0.03])).reshape(3, -1).T
        corners = projected(wanted + turn.apply(box))
        assert brick.position[i] == pytest.approx(in_map(wanted, state), abs=1e-6)
        # The hand hides some of its upper end; its sides and its lower end are seen.
        assert pixels.max(axis=0) == pytest.approx(corners.max(axis=0), abs=2)
    assert run.actuators['joints'][np.flatnonzero(held == 1)[-1], 0] > 0.5
    after = np.flatnonzero(run.time > 2.0)
    assert brick.position[after[-1], 2] < brick.position[after[0], 2] - 0.1
    state, pixels = seen(after[20])
    place = brick.position[after[20]] - state.position
    own = Rotation.from_quat(state.orientation).inv().apply(place)
    assert pixels.mean(axis=0) == pytest.approx(projected(own[None])[0], abs=3)


def test_quaternions_of_matrices_are_those_of_scipy():
    turns = Rotation.random(200, random_state=4)
    for turn in [*turns, *Rotation.from_euler('x', [[0], [180], [-180], [90]], degrees=True)]:
        found = matrix_quaternion(turn.as_matrix())
        assert rotation_matrix(found) == pytest.approx(turn.as_matrix(), abs=1e-12)
