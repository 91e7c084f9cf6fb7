# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds of Stonefish as environments: NED poses, masses, height maps, and what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bodies import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.importers.world import import_world
from marine_sim_ros.tools.main import main

TO_MAP = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""East, north, up of north, east, down."""
MATERIALS = '<materials><material name="Rock" density="3000"/></materials>'
BALL = (
    '<dynamic name="ball" type="sphere" physics="submerged"><dimensions radius="0.3"/>'
    '<material name="Rock"/><world_transform xyz="3 1 2" rpy="0 0 0"/></dynamic>'
)
CORNER = """v 0 0 0
v 2 0 0
v 0 1 0
v 0 0 3
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def write(folder: Path, content: str) -> Path:
    path = folder / 'w.scn'
    path.write_text(f'<scenario>{MATERIALS}{content}</scenario>')
    return path


def imported(folder: Path, content: str) -> Environment:
    """Return the environment that the command writes."""
    with pytest.raises(SystemExit) as ended:
        main(['import-world', str(write(folder, content)), '-o', str(folder / 'out')])
    assert ended.value.code == 0
    return load_environment(str(folder / 'out' / 'environment.yaml'))


def static(kind: str, inside: str, xyz: str = '0 0 0', rpy: str = '0 0 0') -> str:
    return (
        f'<static name="s" type="{kind}">{inside}<material name="Rock"/>'
        f'<world_transform xyz="{xyz}" rpy="{rpy}"/></static>'
    )


_pose = st.tuples(*[st.floats(-20, 20)] * 3, *[st.floats(-1.5, 1.5)] * 3)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pose=_pose, own=_pose)
def test_corners_of_a_mesh_are_where_stonefish_has_them(
    tmp_path: Path, pose: tuple[float, ...], own: tuple[float, ...]
) -> None:
    """Also those of a box, whose origin is in the frame of the body."""
    (tmp_path / 'corner.obj').write_text(CORNER)

    def places(xyz: np.ndarray) -> np.ndarray:
        for p in (own, pose):
            xyz = Rotation.from_euler('xyz', p[3:]).apply(xyz) + p[:3]
        return xyz @ TO_MAP.T

    def text(p: tuple[float, ...]) -> str:
        return f'xyz="{" ".join(map(repr, p[:3]))}" rpy="{" ".join(map(repr, p[3:]))}"'

    world = f'<material name="Rock"/><world_transform {text(pose)}/></static>'
    mesh = f'<physical><mesh filename="corner.obj"/><origin {text(own)}/></physical>'
    box = f'<dimensions xyz="1 2 3"/><origin {text(own)}/>'
    result = import_world(
        write(
            tmp_path,
            f'<static name="m" type="model">{mesh}{world}<static name="b" type="box">{box}{world}',
        )
    )
    first, second = result.content['obstacles']
    for entry, corners in (
        (first, [[0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 3]]),
        (second, [[0.5, 1, -1.5], [-0.5, 1, 1.5]]),
    ):
        turn = Rotation.from_euler('xyz', entry['rpy'])
        local = np.array(corners, float)
        # A box has its own axes turned by half a turn about x, which leaves it as it is.
        there = local if entry is first else local * [1, -1, -1]
        found = turn.apply(there) + entry['position']
        np.testing.assert_allclose(found, places(local), atol=1e-7)


def test_the_written_environment_has_surroundings_bodies_and_a_plane(tmp_path: Path) -> None:
    environment = imported(
        tmp_path,
        '<environment><ned latitude="41.5" longitude="2.5"/><ocean><water density="1020"/>'
        '<current type="uniform"><velocity xyz="0.5 0.2 0.1"/></current></ocean></environment>'
        + static('plane', '', '0 0 12')
        + BALL
        + '<dynamic name="pair" type="compound" physics="submerged">'
        '<external_part name="a" type="box"><dimensions xyz="0.4 0.4 0.4"/>'
        '<material name="Rock"/><compound_transform xyz="0 0 0.5" rpy="0 0 0"/></external_part>'
        '<external_part name="c" type="box"><dimensions xyz="0.4 0.4 0.4"/><mass value="10"/>'
        '<compound_transform xyz="0 0 -0.5" rpy="0 0 0"/></external_part>'
        '<world_transform xyz="6 0 4" rpy="0 0 1.5707963267948966"/></dynamic>',
    )
    assert environment.water_density == 1020
    assert (environment.origin.latitude, environment.origin.longitude) == (41.5, 2.5)
    np.testing.assert_allclose(environment.current, [0.2, 0.5, -0.1])
    assert environment.scene is not None
    assert environment.scene.ground(5.0, -7.0) == pytest.approx(-12.0)
    assert environment.scene.materials == ('rock',)
    ball, pair = environment.free_bodies
    np.testing.assert_allclose(ball.position, [1, 3, -2])
    assert ball.vehicle.inertia.mass == pytest.approx(3000 * 4 / 3 * np.pi * 0.3**3)
    np.testing.assert_allclose(pair.position, [0, 6, -4])
    masses = 3000 * 0.4**3, 10.0
    assert pair.vehicle.inertia.mass == pytest.approx(sum(masses))
    center = (-0.5 * masses[0] + 0.5 * masses[1]) / sum(masses)  # the rock is below
    np.testing.assert_allclose(pair.vehicle.inertia.center_of_mass, [0, 0, center], atol=1e-9)
    assert run(environment, 1.0, 0.02)['ball'].position[-1, 2] < -2.3  # rock sinks


@pytest.mark.parametrize('quarters', range(4))
def test_a_height_map_is_the_terrain(tmp_path: Path, quarters: int) -> None:
    """One pixel is black: where it lies is known for every quarter turn."""
    image = pytest.importorskip('PIL.Image')
    pixels = np.full((4, 3), 65535, np.uint16)  # rows to the east, columns to the north
    pixels[3, 0] = 0
    image.fromarray(pixels).save(tmp_path / 'map.png')
    map_ = '<height_map filename="map.png"/><dimensions scalex="2" scaley="1" height="5"/>'
    turn = f'0 0 {quarters * np.pi / 2!r}'
    environment = imported(tmp_path, static('terrain', map_, '10 20 15', turn))
    north, east = -2.0, 1.5  # of the black pixel, before the turn
    cos, sin = np.cos(quarters * np.pi / 2), np.sin(quarters * np.pi / 2)
    place = 20 + sin * north + cos * east, 10 + cos * north - sin * east
    assert environment.scene is not None
    assert environment.scene.ground(*place) == pytest.approx(-15.0)
    assert environment.scene.ground(40 - place[0], 20 - place[1]) == pytest.approx(-10.0)
    halfway = 20 + 0.5 * (place[0] - 20), 10 + 0.5 * (place[1] - 10)
    assert environment.scene.ground(*halfway) > -15.0


@pytest.mark.parametrize(
    ('content', 'told'),
    [
        ('<robot name="r"><base_link name="b" type="box"/></robot>', 'import --model r'),
        ('<cable name="c"/>', '<cable>: is not taken'),
        ('<include file="none.scn"/>', "'none.scn' is not there"),
        (static('tetrahedron', '<dimensions radius="1"/>'), "a 'tetrahedron' is no"),
        (static('model', '<physical><mesh filename="none.obj"/></physical>'), 'none.obj'),
        (static('terrain', '<height_map filename="none.png"/><dimensions/>'), 'none.png'),
        (static('terrain', '<height_map filename="w.scn"/><dimensions/>'), 'no image'),
        (static('box', '<dimensions xyz="1 0 1"/>'), 'expected positive lengths'),
        (BALL.replace('ball', 'light').replace('Rock', 'none'), 'neutral, 1000 kg/m³'),
        ('<environment><ocean><waves height="0.4"/></ocean></environment>', '<waves>: is not'),
        ('<environment><ocean><current type="jet"/></ocean></environment>', '<current>: is not'),
    ],
)
def test_what_is_left_out_or_assumed_is_named(tmp_path: Path, content: str, told: str) -> None:
    result = import_world(write(tmp_path, content + BALL))
    assert sum(told in note for note in result.notes) == 1, result.notes
    assert result.content['bodies'][-1]['name'] == 'ball'


def test_an_included_file_is_part_of_the_world(tmp_path: Path) -> None:
    (tmp_path / 'more.scn').write_text(
        f'<scenario>{BALL.replace("3 1 2", "$(arg place)")}</scenario>'
    )
    include = '<include file="more.scn"><arg name="place" value="7 8 9"/></include>'
    result = import_world(write(tmp_path, include))
    assert result.content['bodies'][0]['position'] == [8.0, 7.0, -9.0]
    assert not result.notes


def test_an_empty_scenario_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match='nothing solid'):
        import_world(write(tmp_path, ''))
