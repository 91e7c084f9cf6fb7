# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Any tree of links is a vehicle: its root has any name, and the body is where it is said."""

import numpy as np
import pytest

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import load_context
from marine_sim_ros.model.xacro_expansion import read_description

INERTIAL = """<inertial><origin xyz="0 0 -0.02"/><mass value="10"/>
<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/></inertial>"""
REST = """<buoyancy><volume>0.0102</volume><center_of_volume>0 0 0.03</center_of_volume></buoyancy>
<hydrodynamics><quadratic_damping>20 30 40 1 1 1</quadratic_damping></hydrodynamics>
<barometer/></robot>"""
FIXED = """<joint name="{0}_{1}" type="fixed"><parent link="{0}"/><child link="{1}"/>
<origin xyz="{2}" rpy="{3}"/></joint>"""
SENSOR = '<link name="dvl"/>' + FIXED.format('{body}', 'dvl', '0.1 0 -0.1', '0 0 0')


def urdf(body, before='', after='', links=SENSOR):
    return (
        f'<robot name="r">{before}<link name="{body}">{INERTIAL}</link>'
        + links.format(body=body)
        + after
        + REST
    )


FOOTPRINT = '<link name="base_footprint"/>'
TREES = {
    'base_link': urdf('base_link'),
    'hull': urdf('hull'),
    'rov/base_link': urdf('rov/base_link'),
    'footprint': urdf(
        'base_link', FOOTPRINT, FIXED.format('base_footprint', 'base_link', '0 0 0.3', '0 0 0.5')
    ),
    'a frame above any body': urdf(
        'hull', '<link name="world_frame"/>', FIXED.format('world_frame', 'hull', '1 2 3', '1 0 0')
    ),
}


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / 'r.urdf'
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize('name', TREES)
def test_the_body_moves_the_same_whatever_it_is_called(written, name, tmp_path):
    path = written(TREES[name])
    scenario = tmp_path / 's.yaml'
    scenario.write_text(
        'duration: 1\ninitial: {position: [0, 0, -3], rpy: [0.2, 0.1, 0]}\nsegments: [{at: 0.0}]\n'
    )
    runs = [
        simulate(load_vehicle(v), load_scenario(str(scenario))) for v in (TREES['base_link'], path)
    ]
    assert runs[0].sha256 == runs[1].sha256
    assert not [f for f in examine(load_context(str(path), {})) if f.check == 'frames']


def test_the_body_is_named_by_the_description():
    assert load_vehicle(TREES['hull']).base_link == 'hull'
    assert load_vehicle(TREES['rov/base_link']).base_link == 'rov/base_link'
    assert load_vehicle(TREES['a frame above any body']).base_link == 'hull'
    assert load_vehicle(TREES['hull']).barometer.frame == 'hull'


def test_a_tree_turned_around_keeps_its_poses():
    before = (np.array([0.1, 0.2, 0.3]), quaternion_from_rpy(0.4, -0.5, 0.6))
    joint = FIXED.format('base_footprint', 'base_link', '0.1 0.2 0.3', '0.4 -0.5 0.6')
    vehicle = load_vehicle(urdf('base_link', FOOTPRINT, joint))
    frame = next(f for f in vehicle.frames if f.name == 'base_footprint')
    turn = rotation_matrix(before[1])
    np.testing.assert_allclose(frame.translation, -turn.T @ before[0], atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(frame.quaternion), turn.T, atol=1e-12)


def test_the_published_description_has_the_body_at_its_root(written):
    path = written(TREES['footprint'])
    text = read_description(path, {})
    assert '<parent link="base_link"/><child link="base_footprint"/>' in text
    assert load_vehicle(path).urdf == text


@pytest.mark.parametrize('given', [{'base_link': 'dvl'}, {'base_link': 'hull'}])
def test_another_body_can_be_named(written, given):
    path = written(TREES['hull'])
    vehicle = load_vehicle(path, **given)
    assert vehicle.base_link == given['base_link']
    moved = 0.1 if given['base_link'] == 'dvl' else 0.0
    assert vehicle.inertia.center_of_mass[0] == pytest.approx(-moved)


def test_a_body_that_does_not_exist_is_one_line(written):
    with pytest.raises(ModelError, match=r"has no link 'keel' \(--base-link\); found: hull, dvl"):
        load_vehicle(written(TREES['hull']), base_link='keel')


def test_a_moving_joint_above_the_body_is_refused():
    joint = FIXED.format('base_footprint', 'base_link', '0 0 0', '0 0 0').replace(
        'fixed', 'revolute'
    )
    with pytest.raises(ModelError, match='revolute and above'):
        load_vehicle(urdf('base_link', FOOTPRINT, joint))


LOCKED = """<link name="fin"/><joint name="f" type="{}"><parent link="base_link"/>
<child link="fin"/><origin xyz="1 0 0" rpy="0 0 1"/><axis xyz="{}"/>
<limit lower="{}" upper="{}" velocity="{}" effort="1"/></joint>"""


@pytest.mark.parametrize(
    ('kind', 'axis', 'limits', 'place', 'yaw'),
    [
        ('revolute', '0 0 2', (0.3, 0.3, 1), [1, 0, 0], 1.3),
        ('prismatic', '0 0 1', (0.3, 0.3, 1), [1, 0, 0.3], 1.0),
        ('revolute', '0 0 1', (-1, 1, 0), [1, 0, 0], 1.0),
    ],
)
def test_joints_that_cannot_move_are_fixed_where_they_are(kind, axis, limits, place, yaw):
    vehicle = load_vehicle(urdf('base_link', links=LOCKED.format(kind, axis, *limits)))
    assert vehicle.manipulator is None
    (frame,) = vehicle.frames
    np.testing.assert_allclose(frame.translation, place, atol=1e-12)
    np.testing.assert_allclose(
        rotation_matrix(frame.quaternion),
        rotation_matrix(quaternion_from_rpy(0, 0, yaw)),
        atol=1e-12,
    )
    (told,) = vehicle.warnings
    assert 'it is taken as fixed' in told


ADDED = np.diag([8.0, 12, 20, 0.3, 0.4, 0.5])


def with_added_mass(uneven):
    added = ADDED.copy()
    added[1, 5], added[5, 1] = -0.3, -0.3 + uneven
    text = ' '.join(f'{x:g}' for x in added.ravel())
    return (
        urdf('base_link')
        .replace('damping>20', 'damping>20')
        .replace('<quadratic', f'<added_mass>{text}</added_mass><quadratic')
    )


def test_a_slightly_uneven_added_mass_is_made_symmetric_with_a_warning(written):
    vehicle = load_vehicle(with_added_mass(0.2))
    assert vehicle.added_mass[1, 5] == vehicle.added_mass[5, 1] == pytest.approx(-0.2)
    assert 'not symmetric, by 0.01' in vehicle.warnings[0]
    found = examine(load_context(str(written(with_added_mass(0.2))), {}))
    assert not [f for f in found if f.check == 'negative-damping']


def test_a_very_uneven_one_is_refused():
    with pytest.raises(ModelError, match='not symmetric'):
        load_vehicle(with_added_mass(8.0))


def test_negative_numbers_that_would_gain_energy_are_found(written):
    text = (
        urdf('base_link')
        .replace('>20 30 40 1 1 1<', '>20 30 40 1 1 1<')
        .replace(
            '</hydrodynamics>',
            '<linear_damping>'
            + ' '.join(
                f'{x:g}' for x in (np.eye(6) - 3 * np.eye(6, k=1) - 3 * np.eye(6, k=-1)).ravel()
            )
            + '</linear_damping></hydrodynamics>',
        )
    )
    found = examine(load_context(str(written(text)), {}))
    assert [f for f in found if f.check == 'negative-damping']


@pytest.mark.parametrize('uri', ['package://rexrov/meshes/hull.stl', '$(find rexrov)/x.xacro'])
def test_a_package_that_is_not_there_says_what_to_pass(tmp_path, uri):
    path = tmp_path / 'r.urdf.xacro'
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    mesh = f'<collision><geometry><mesh filename="{uri}"/></geometry></collision>'
    body = mesh if uri.startswith('package') else ''
    include = '' if body else f'<xacro:include filename="{uri}"/>'
    path.write_text(f'{head}{include}<link name="base_link">{INERTIAL}{body}</link></robot>')
    with pytest.raises(ModelError) as caught:
        _ = load_vehicle(path).contact
    assert "package 'rexrov' is not installed; expected --package-path FOLDER" in str(caught.value)
    assert '\n' not in str(caught.value)
