# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle on the bottom of a pool through real nodes: the same contact, to the bit."""

import numpy as np
import pytest
from conftest import marine_sim
from graph import WAYS, recorded, run_everywhere

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 2.0
initial: {position: [2.0, 1.0, -3.8], rpy: [0.1, -0.1, 0.5]}
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1650, 1650]}
  - {at: 1.0, pwm: [1600, 1420, 1400, 1650, 1600, 1640]}
"""


WITH_ARM = """
duration: 1.5
initial: {position: [2.0, 1.0, -3.66], rpy: [0.1, -0.1, 0.5]}
segments:
  - {at: 0.0, pwm: [1900, 1900, 1500, 1500, 1500, 1500], joints: {arm_2_joint: -1.0}}
"""


def wedge_in_a_pool(folder):
    trimesh = pytest.importorskip('trimesh')
    pytest.importorskip('numba')
    ends = [(x, y, z) for x in (-1.0, 1.0) for y, z in ((-1.0, 0.0), (1.0, 0.0), (0.0, 0.2))]
    trimesh.Trimesh(ends).convex_hull.export(folder / 'wedge.stl')
    scene = folder / 'wedge.yaml'
    scene.write_text(
        'pool: {length: 25.0, width: 12.5, depth: 4.2}\n'
        'obstacles: [{shape: mesh, file: wedge.stl, position: [2.0, 1.2, -4.15]}]\n'
    )
    return scene


def crate_in_a_pool(folder):
    scene = folder / 'crate.yaml'
    scene.write_text(
        'pool: {length: 25.0, width: 12.5, depth: 4.2}\n'
        'bodies:\n  - {name: crate, shape: box, size: [0.3, 0.3, 0.3], mass: 29, '
        'position: [2.42, 1.2, -4.0]}\n  - {name: lid, shape: box, size: [0.3, 0.3, 0.02], '
        'position: [2.42, 1.2, -3.83], mass: 1.6}\n'
        'joints:\n  - {name: hinge, type: revolute, child: lid, parent: crate, '
        "position: [2.57, 1.2, -3.84], axis: [0, 1, 0], limits: [null, '0.1 deg'], "
        'stiffness: 4, rest: -1, damping: 0.5, '
        'detents: {positions: [0], effort: 0.1, width: 0.2}}\n'
        '  - {name: stud, type: ball, child: crate, mate: {position: [2.42, 1.2, -4.06], '
        'distance: 0.05}, break_force: 3}\n'
    )
    return scene


def check_bodies_alike(*recordings):
    paths = []
    for topics in recordings:
        odom = topics.get('crate/odom', {})
        places = [odom[stamp].pose.pose.position for stamp in sorted(odom)]
        paths.append(np.array([[p.x, p.y, p.z] for p in places]))
    for path in paths[1:]:
        np.testing.assert_array_equal(path, paths[0])
    lids: list[list[float]] = []
    studs: list[list[float]] = []
    for topics in recordings:
        states = topics.get('lid/joint_states', {})
        lids.append([states[stamp].position[0] for stamp in sorted(states)])
        states = topics.get('crate/joint_states', {})
        studs.append([states[stamp].position[0] for stamp in sorted(states)])
    assert lids[1:] == lids[:1] * (len(lids) - 1)
    for stud in studs[1:]:
        np.testing.assert_array_equal(stud, studs[0])
    if len(paths[0]):
        assert lids[0][0] == 0.0
        assert lids[0][-1] < -0.05  # its spring opens it
        assert np.isnan(studs[0][0])
        assert 0.0 in studs[0]  # it mated
        assert np.abs(paths[0][-1] - paths[0][0]).max() > 0.01  # it fell to the floor


@pytest.mark.parametrize(
    ('vehicle', 'text', 'more'),
    [
        ('bluerov2', SCENARIO, ()),
        ('investigator90', WITH_ARM, ()),
        ('investigator90', WITH_ARM, ('--set', 'arm_dynamics:=articulated')),
        ('bluerov2', SCENARIO, ('--environment', 'wedge.yaml')),
        ('bluerov2', SCENARIO, ('--environment', 'crate.yaml')),
    ],
    ids=['bluerov2', 'investigator90', 'articulated', 'on_a_mesh', 'among_bodies'],
)
def test_the_graph_is_the_simulation_on_the_bottom(processes, tmp_path, vehicle, text, more):
    scenario = tmp_path / 'bottom.yaml'
    scenario.write_text(text)
    if '--environment' in more:
        make = wedge_in_a_pool if 'wedge.yaml' in more else crate_in_a_pool
        more = ('--environment', make(tmp_path))
    common = [vehicle, '--scenario', scenario, '--environment', 'pool', *more]
    run_everywhere(processes, tmp_path, *common, separate=['--markers'])
    for name in ('separate', 'composed'):
        topics = recorded(tmp_path / name)
        wrenches = topics['wrench/contact']
        assert set(wrenches) == set(topics['odom'])
        up = np.array([wrenches[stamp].wrench.force.z for stamp in sorted(wrenches)])
        assert up[0] == 0.0  # the first tick has none
        assert np.count_nonzero(up) > 20
    if '--environment' in more:
        check_bodies_alike(*(recorded(tmp_path / way, '') for way in WAYS))
    # Pressed points are red.
    markers = [m.markers[0] for m in topics['contact/markers'].values()]
    assert any(m.action == 0 and any(c.g < 0.2 for c in m.colors) for m in markers)
    assert all(m.header.frame_id == 'base_link' for m in markers)


def test_a_wrong_material_file_is_one_line(tmp_path):
    (tmp_path / 'e.yaml').write_text('seabed: {depth: 3.0}\nmaterials: m.yaml\n')
    (tmp_path / 'm.yaml').write_text('materials: [{name: tin, densty: 3}]')
    code, output = marine_sim('run', 'bluerov2', '--environment', tmp_path / 'e.yaml')
    assert code == 2
    assert "m.yaml: materials[0]: unknown key 'densty'" in output
    assert 'Traceback' not in output


def test_the_node_is_there_only_where_something_is_solid():
    names = [spec.executable for spec in node_specs(RunOptions(environment='pool'))]
    assert 'contact' in names
    assert 'contact' not in [spec.executable for spec in node_specs(RunOptions())]
    with pytest.raises(ParameterError, match='expected lockstep'):
        node_specs(RunOptions(environment='pool', lockstep=False))
