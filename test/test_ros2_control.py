# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""<ros2_control>: read, written, checked; commands of its messages."""

import numpy as np
import pytest
from conftest import marine_sim
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.control.ros2_control import (
    FIELDS,
    ThrustTables,
    command_values,
    default_systems,
    hardware_faults,
    systems_of,
)
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.servos import HardwareJoint, HardwareSystem


@pytest.fixture(scope='module')
def heavy(tmp_path_factory):
    """The file that is exported of a BlueROV2 Heavy with an arm."""
    file = tmp_path_factory.mktemp('urdf') / 'heavy.urdf'
    code, told = marine_sim(
        'export-ros2-control', 'bluerov2_heavy', '--set', 'arm:=true', '-o', file,
        '--namespace', 'rov',
    )  # fmt: skip
    assert code == 0, told
    return file


def test_what_is_exported_comes_back_and_is_the_same_vehicle(heavy):
    vehicle, shipped = load_vehicle(str(heavy)), load_vehicle('bluerov2_heavy', arm='true')
    (system,) = systems_of(vehicle, 'other')
    assert system.commands_topic == '/rov/ros2_control/commands'
    (default,) = default_systems(shipped, 'rov')
    assert system == HardwareSystem(
        'bluerov2_heavy', default.plugin, default.commands_topic, default.states_topic,
        default.joints,
    )  # fmt: skip
    assert [j.name for j in system.joints][-3:] == ['shoulder', 'wrist', 'gripper']
    np.testing.assert_array_equal(vehicle.mass_matrix, shipped.mass_matrix)
    np.testing.assert_array_equal(vehicle.thrusters.effectiveness, shipped.thrusters.effectiveness)
    code, told = marine_sim('doctor', heavy)
    assert code == 0
    assert '[ros2-control]' not in told


FAULTS = [
    (('<joint name="thruster_1">', '<joint name="thrustr_1">'), "did you mean 'thruster_1'"),
    (('<command_interface name="effort"/>', '<command_interface name="pwm"/>'), "'pwm'"),
    (('<command_interface name="effort"/>', '<command_interface name="effort"/>'
      '<command_interface name="velocity"/>'), '2 command interfaces'),
    (('<state_interface name="position"/>', '<state_interface name="pose"/>'), "'pose'"),
    (('<joint name="thruster_2">', '<joint name="thruster_1">'), 'is in bluerov2_heavy too'),
    (('<command_interface name="position"/>', '<command_interface name="velocity"/>'),
     'different command interfaces'),
]  # fmt: skip


@pytest.mark.parametrize(('change', 'expected'), FAULTS)
def test_doctor_names_what_is_wrong_and_a_run_refuses_it(heavy, tmp_path, change, expected):
    text = heavy.read_text()
    cut = text.index('<ros2_control')
    file = tmp_path / 'wrong.urdf'
    file.write_text(text[:cut] + text[cut:].replace(*change, 1))
    _, told = marine_sim('doctor', file)
    assert expected in told
    assert '[ros2-control]' in told
    with pytest.raises(MarineSimError, match='ros2_control'):
        systems_of(load_vehicle(str(file)), 'rov')


def test_a_plugin_of_other_hardware_is_a_hint_and_cannot_be_served(heavy, tmp_path):
    file = tmp_path / 'other.urdf'
    file.write_text(heavy.read_text().replace('topic_based_ros2_control/Top', 'maker/Top'))
    vehicle = load_vehicle(str(file))
    assert [fault.is_error for fault in hardware_faults(vehicle)] == [False]
    with pytest.raises(MarineSimError, match='plugins that exchange topics'):
        systems_of(vehicle, 'rov')


def test_a_joint_that_the_urdf_does_not_have_is_named(heavy, tmp_path):
    file = tmp_path / 'less.urdf'
    file.write_text(
        heavy.read_text().replace('<joint name="thruster_1" type', '<joint name="t" type')
    )
    _, told = marine_sim('doctor', file)
    assert "'thruster_1' is no <joint>" in told


ARM = HardwareJoint('elbow', ('position',), ('position',))
MOTOR = HardwareJoint('motor', ('effort',), ('effort',))
SYSTEM = HardwareSystem('both', '', '/c', '/s', (MOTOR, ARM))


def test_fields_are_those_of_the_joints_with_that_interface():
    # What TopicBasedSystem::write sends: two names, one number in each field.
    fields = {'position': [0.5], 'velocity': [], 'effort': [12.0]}
    wanted = {'elbow': ('position', 0.5), 'motor': ('effort', 12.0)}
    assert command_values(SYSTEM, ['motor', 'elbow'], fields) == wanted
    # As others write a JointState: a number for each name.
    fields = {'position': [0.0, 0.5], 'effort': [12.0, 0.0]}
    assert command_values(SYSTEM, ['motor', 'elbow'], fields) == wanted
    assert command_values(SYSTEM, ['elbow'], {'position': [float('nan')]}) == {}


@given(
    st.lists(st.sampled_from(['motor', 'elbow', 'nobody']), max_size=4),
    st.fixed_dictionaries({f: st.lists(st.floats(), max_size=4) for f in FIELDS}),
)
def test_any_message_gives_finite_numbers_of_known_joints_or_one_reason(names, fields):
    try:
        values = command_values(SYSTEM, names, fields)
    except ValueError:
        return
    assert set(values) <= {'motor', 'elbow'}
    assert all(np.isfinite(number) for _, number in values.values())


def test_pulse_widths_are_nearest_to_the_commanded_thrust_or_speed():
    thrusters = load_vehicle('bluerov2').thrusters
    tables, pulses = ThrustTables(thrusters), np.arange(PWM_MIN, PWM_MAX + 1)
    for wanted in (-1e9, -20.0, -0.001, 0.0, 3.0, 17.3, 1e9):
        pwm = tables.pulse_width(0, 'effort', wanted)
        rows = np.broadcast_to(pulses[:, None], (len(pulses), len(thrusters)))
        thrust = thrusters.thrust_of_pwm(rows)[:, 0]
        assert abs(thrust[int(pwm - PWM_MIN)] - wanted) == np.abs(thrust - wanted).min()
    assert tables.pulse_width(0, 'effort', 0.0) == PWM_NEUTRAL
    assert tables.pulse_width(0, 'velocity', 0.0) == PWM_NEUTRAL
    speed = thrusters.speed_of_thrust(thrusters.thrust_of_pwm(np.full(len(thrusters), 1700.0)))
    assert tables.pulse_width(0, 'velocity', float(speed[0])) == 1700
