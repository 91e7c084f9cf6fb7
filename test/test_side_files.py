# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of YAML files beside a description, and of arguments of its xacro."""

import numpy as np
import pytest
from foreign import SDF, UUV, imported

from marine_sim_ros.importers import load
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.description import Fin, ImportedJoint, Sourced
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.model.kinematics import IDENTITY

MANAGER = 'thruster_manager:\n  tf_prefix: auv\n  max_thrust: {}\n  timeout: -1\n'
UNLIMITED = UUV.replace('<clampMin>-100</clampMin><clampMax>100</clampMax>', '')
HULL = SDF.partition('<link name="propeller">')[0] + '</model></sdf>'


def thrust(vehicle, pulse):
    return np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), pulse)))


@pytest.mark.parametrize(
    ('place', 'text'),
    [
        ('thrusters.yaml', MANAGER.format(80.0)),
        ('config/other.yml', f'auv:\n  ros__parameters:\n    {MANAGER.format(80)}'.replace(
            '\n  ', '\n      '
        ).replace('\n      ros', '\n  ros').replace('\n        thr', '\n    thr')),
        ('config/auv/thruster_manager.yaml', MANAGER.format('[80.0, 20.0]')),
    ],
)  # fmt: skip
def test_a_thruster_manager_limits_thrusters_without_a_limit(tmp_path, place, text):
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    description, vehicle = imported(tmp_path, UNLIMITED, '.urdf')
    assert thrust(vehicle, 1900.0) == pytest.approx([80.0])
    assert any(f'at most 80 N, of {file.name}' in line for line in description.assumptions)
    _, own = imported(tmp_path, UNLIMITED, '.urdf', max_thrust=30.0)
    assert thrust(own, 1900.0) == pytest.approx([30.0])
    _, limited = imported(tmp_path, UUV, '.urdf')
    assert thrust(limited, 1900.0) == pytest.approx([0.002 * 100**2])


def test_of_several_files_that_with_the_name_of_the_vehicle_counts(tmp_path):
    for name, most in (('auv', 80), ('boat', 20)):
        (tmp_path / f'{name}_thrusters.yaml').write_text(MANAGER.format(most))
    _, vehicle = imported(tmp_path, UNLIMITED, '.urdf')
    assert thrust(vehicle, 1900.0) == pytest.approx([80.0])
    (tmp_path / 'auv_old.yaml').write_text(MANAGER.format(60))
    description, vehicle = imported(tmp_path, UNLIMITED, '.urdf')
    assert thrust(vehicle, 1900.0) == pytest.approx([0.1 * 20.5 * 9.80665], rel=1e-3)
    assert any('several files' in line for line in description.dropped)


@pytest.mark.parametrize('kind', ['arg', 'property'])
def test_a_limit_in_an_argument_of_xacro_counts(tmp_path, kind):
    value = 'default' if kind == 'arg' else 'value'
    head = f'<xacro:{kind} name="thruster_max_thrust" {value}="55"/>'
    text = UNLIMITED.replace(
        '<robot name="auv">',
        f'<robot name="auv" xmlns:xacro="http://www.ros.org/wiki/xacro">{head}',
    )
    _, vehicle = imported(tmp_path, text, '.xacro')
    assert thrust(vehicle, 1900.0) == pytest.approx([55.0])


def test_an_allocation_matrix_makes_the_thrusters_that_are_not_described(tmp_path):
    places = np.array([[0.2, -0.1, 0.05], [-0.3, 0.15, 0.0]])
    axes = np.array([[np.sqrt(0.5), np.sqrt(0.5), 0.0], [0.0, 0.0, 1.0]])
    matrix = np.hstack([axes, np.cross(places, axes)]).T
    rows = '\n'.join(f'- {[float(v) for v in row]}' for row in matrix)
    (tmp_path / 'TAM.yaml').write_text(f'tam:\n{rows}\n')
    (tmp_path / 'manager.yaml').write_text(MANAGER.format('[40, 25]'))
    _, vehicle = imported(tmp_path, HULL, '.sdf')
    np.testing.assert_allclose(vehicle.thrusters.effectiveness, matrix, atol=1e-9)
    assert thrust(vehicle, 1900.0) == pytest.approx([40.0, 25.0])
    description, vehicle = imported(tmp_path, SDF, '.sdf')
    assert len(vehicle.thrusters) == 1
    assert any('2 columns for 1 thrusters' in line for line in description.dropped)


def test_engines_of_a_wamv_push_along_their_x_axes(tmp_path):
    (tmp_path / 'thruster_config.yaml').write_text(
        'engine:\n  - prefix: "left"\n    position: "-2.37 1.03 0.32"\n'
        '    orientation: "0 0 0.5"\n'
        '  - prefix: "bow"\n    position: "1 0"\n'
    )
    description, vehicle = imported(tmp_path, HULL, '.sdf', max_thrust=100.0)
    axis = np.array([np.cos(0.5), np.sin(0.5), 0.0])
    np.testing.assert_allclose(vehicle.thrusters.axis, [axis], atol=1e-9)
    place = np.array([-2.37, 1.03, 0.32 - 0.509371]) - 0.278156 * axis
    np.testing.assert_allclose(vehicle.thrusters.position, [place], atol=1e-9)
    assert any("engine 'bow'" in line for line in description.dropped)


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        ('tam: [[1, 0], [1]]\n', 'form that is known'),
        ('tam: {a: 1\n', 'not valid YAML'),
        ('thruster_manager: 5\n', 'form that is known'),
    ],
)
def test_a_broken_file_beside_is_named_and_left(tmp_path, text, told):
    (tmp_path / 'x.yaml').write_text(text)
    description, vehicle = imported(tmp_path, SDF, '.sdf')
    assert len(vehicle.thrusters) == 1
    assert any(told in line for line in description.dropped)


ROTORS = """name: rov
volume: 0.0115
coBM: 0.02
hydro_coef:
  added_mass: [5.5, 12.7, 14.57, 0.12, 0.13, 0.14]
  linear_damping: [4.03, 6.22, 5.18, 0.07, 0.08, 0.09]
  quadratic_damping: [18.18, 21.66, 36.99, 1.55, 1.56, 1.57]
rotor_configuration:
  force_constants: [4.4e-07, 2.2e-07]
"""


def test_water_and_rotors_of_marinegym(tmp_path, monkeypatch):
    from marine_sim_ros.importers.description import ImportedJoint, ImportedLink, Inertial, Sourced
    from marine_sim_ros.importers.writer import urdf_text
    from marine_sim_ros.model.kinematics import IDENTITY, Pose
    from marine_sim_ros.model.urdf import vehicle_from_urdf

    def stage(path, options):  # what the reader of USD gives
        builder = VehicleBuilder('rov', str(path), 'USD', path.parent, options)
        for name, mass in (('base_link', 11.2), ('rotor_0', 0.01), ('rotor_1', 0.01)):
            tensor = Sourced(mass * np.eye(3) / 50, '')
            builder.links[name] = ImportedLink(name, Inertial(Sourced(mass, ''), IDENTITY, tensor))
        quarter = np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)])
        for i, turn in enumerate((IDENTITY.quaternion, quarter)):
            at = Pose(np.array([0.1, 0.2 * i, 0.0]), turn)
            builder.joints[f'j{i}'] = ImportedJoint(
                f'j{i}', 'continuous', 'base_link', f'rotor_{i}', at
            )
        builder.base = 'base_link'
        return builder

    monkeypatch.setattr(load, 'read_usd', stage)
    (tmp_path / 'rov.usd').write_text('')
    (tmp_path / 'rov.yaml').write_text(ROTORS)
    builder = import_vehicle(tmp_path / 'rov.usd', Options())
    vehicle = vehicle_from_urdf(urdf_text(builder, tmp_path), base_link='base_link')
    assert vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density == pytest.approx(997 * 0.0115)
    assert vehicle.buoyancy.center_of_volume[2] == pytest.approx(0.02)
    np.testing.assert_allclose(np.diag(vehicle.damping.linear)[:3], [4.03, 6.22, 5.18])
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic)[3:], [1.55, 1.56, 1.57])
    full = 9.81 * (4.7368e-07 * 3900**2 - 1.9275e-04 * 3900 + 8.4452e-02)
    assert thrust(vehicle, 1900.0) == pytest.approx([full, full / 2])
    astern = 9.81 * (-3.8442e-07 * 3900**2 + 1.6186e-04 * 3900 - 3.9139e-02)
    assert thrust(vehicle, 1100.0) == pytest.approx([astern, astern / 2], rel=1e-3)
    speed = 3659.9 * 0.5 + 345.21
    half = 9.81 * (4.7368e-07 * speed**2 - 1.9275e-04 * speed + 8.4452e-02)
    assert thrust(vehicle, 1700.0) == pytest.approx([half, half / 2])
    np.testing.assert_allclose(vehicle.thrusters.axis, [[1, 0, 0], [0, 1, 0]], atol=1e-9)


def test_names_of_fins_stay_unique_and_a_circle_of_fixed_joints_ends(tmp_path):
    builder = VehicleBuilder('rov', 'x', 'SDF', tmp_path, Options())
    for name in ('fin', 'fin_3', 'fin', 'fin'):
        builder.add_fin(Fin(name, IDENTITY, {}, Sourced((-0.5, 0.5), 'x')))
    assert [fin.name for fin in builder.fins] == ['fin', 'fin_3', 'fin_2', 'fin_4']
    builder.base = 'base'
    for name, parent, child in (('a', 'one', 'two'), ('b', 'two', 'one'), ('c', 'base', 'arm')):
        builder.joints[name] = ImportedJoint(name, 'fixed', parent, child)
    assert [builder.is_rigid(link) for link in ('one', 'two', 'arm', 'base')] == [
        False,
        False,
        True,
        True,
    ]
