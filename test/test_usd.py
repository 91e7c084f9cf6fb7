# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of USD: masses, places and joints against closed forms; files that must not be read."""

from pathlib import Path

import numpy as np
import pytest

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers import load
from marine_sim_ros.importers.builder import Options
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.usd import read_stage
from marine_sim_ros.importers.writer import urdf_text
from marine_sim_ros.model.urdf import vehicle_from_urdf

pxr = pytest.importorskip('pxr.UsdUtils')

RIGID = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
SOLID = 'prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]'


def stage(inside, *, head='metersPerUnit = 1\n upAxis = "Z"'):
    return f'#usda 1.0\n(\n defaultPrim = "rov"\n {head}\n)\ndef Xform "rov"\n{{\n{inside}\n}}\n'


def body(name, attributes, inside=''):
    return f'def Xform "{name}" ({RIGID})\n{{\n{attributes}\n{inside}\n}}\n'


def cube(name, attributes, apis=SOLID):
    return f'def Cube "{name}" ({apis})\n{{\n{attributes}\n}}\n'


TWO_CUBES = cube(
    'low',
    'double size = 1\nfloat physics:density = 500\ndouble3 xformOp:scale = (0.4, 0.2, 0.1)\n'
    'uniform token[] xformOpOrder = ["xformOp:scale"]',
) + cube(
    'high',
    'double size = 0.1\nfloat physics:mass = 2\ndouble3 xformOp:translate = (0, 0, 0.2)\n'
    'uniform token[] xformOpOrder = ["xformOp:translate"]',
)


@pytest.fixture(autouse=True)
def quick(monkeypatch, request):
    """Read in this process; a slow test reads as the command does."""
    if 'slow' not in request.keywords:
        monkeypatch.setattr(load, 'read_usd', read_stage)


@pytest.fixture
def read(tmp_path):
    """Return a reader of a text: the builder, and the vehicle of its URDF."""

    def both(text, **options):
        path = tmp_path / 'vehicle.usda'
        path.write_text(text)
        builder = import_vehicle(path, Options(**options))
        return builder, vehicle_from_urdf(urdf_text(builder, tmp_path), base_link=builder.base)

    return both


def test_masses_of_density_and_mass_add_up(read):
    _, vehicle = read(stage(body('hull', '', TWO_CUBES)))
    first, second = 0.4 * 0.2 * 0.1 * 500, 2.0
    assert vehicle.inertia.mass == pytest.approx(first + second)
    height = second * 0.2 / (first + second)
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0, 0, height], atol=1e-6)
    own = first / 12 * np.array([0.2**2 + 0.1**2, 0.4**2 + 0.1**2, 0.4**2 + 0.2**2])
    other = second * 0.1**2 / 6
    arms = first * height**2 + second * (0.2 - height) ** 2
    np.testing.assert_allclose(
        np.diag(vehicle.inertia.tensor), own + other + np.array([arms, arms, 0]), rtol=1e-5
    )
    displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
    assert displaced == pytest.approx(first + second)  # 9 kg of shapes: USD has no buoyancy


def test_binary_files_and_packages_are_the_same(read, tmp_path):
    sdf = pytest.importorskip('pxr.Sdf')
    builder, _ = read(stage(body('hull', '', TWO_CUBES)))
    binary = tmp_path / 'binary.usdc'
    sdf.Layer.FindOrOpen(str(tmp_path / 'vehicle.usda')).Export(str(binary))
    package = tmp_path / 'package.usdz'
    assert pxr.CreateNewUsdzPackage(str(binary), str(package))
    for path in (binary, package):
        assert import_vehicle(path).mass == pytest.approx(builder.mass)


def test_units_are_those_of_the_stage(read):
    head = 'metersPerUnit = 0.01\n kilogramsPerUnit = 0.001\n upAxis = "Z"'
    text = stage(
        body(
            'hull',
            'float physics:mass = 9000\nfloat3 physics:diagonalInertia = (1e6, 2e6, 3e6)\n'
            'quatf physics:principalAxes = (0.70710678, 0, 0, 0.70710678)\n'
            'point3f physics:centerOfMass = (10, 0, -2)',
            cube('box', 'double size = 20'),
        ),
        head=head,
    )
    builder, vehicle = read(text)
    assert vehicle.inertia.mass == pytest.approx(9.0)
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.1, 0, -0.02], atol=1e-7)
    np.testing.assert_allclose(
        vehicle.inertia.tensor, np.diag([0.2, 0.1, 0.3]), atol=1e-7
    )  # 1e6 g·cm² = 0.1 kg·m²; a quarter turn about z swaps x and y
    assert builder.links['hull'].collisions[0].size == pytest.approx((0.2, 0.2, 0.2))


def test_y_up_is_turned_and_centimetres_are_the_default(read):
    inside = body(
        'hull',
        'float physics:mass = 4\ndouble3 xformOp:translate = (500, 300, 0)\n'
        'uniform token[] xformOpOrder = ["xformOp:translate"]',
        cube(
            'box',
            'double size = 10\ndouble3 xformOp:translate = (0, 7, 30)\n'
            'double3 xformOp:scale = (2, 1, 3)\n'
            'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]',
        ),
    )
    builder, _ = read(stage(inside, head='upAxis = "Y"'))
    shape = builder.links['hull'].collisions[0]
    np.testing.assert_allclose(shape.pose.translation, [0, -0.3, 0.07], atol=1e-9)
    turn = np.abs(rotation_matrix(shape.pose.quaternion))
    np.testing.assert_allclose(turn @ np.array(shape.size), [0.2, 0.3, 0.1], atol=1e-9)
    assert any('no metersPerUnit: 0.01' in text for text in builder.assumptions)


def test_a_body_that_lies_on_its_side_gets_the_axes_of_the_world(read):
    inside = body(
        'hull',
        'float physics:mass = 4\npoint3f physics:centerOfMass = (0, 0.1, 0)\n'
        'float xformOp:rotateX = 90\nuniform token[] xformOpOrder = ["xformOp:rotateX"]',
        cube('box', 'double size = 0.1'),
    )
    builder, vehicle = read(stage(inside))
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0, 0, 0.1], atol=1e-7)
    assert any('axes of the world' in text for text in builder.assumptions)


JOINT = """def Physics{kind}Joint "hinge"
{{
rel physics:body0 = </rov/hull>
rel physics:body1 = </rov/arm>
point3f physics:localPos0 = (0.5, 0, 0.1)
point3f physics:localPos1 = (-0.3, 0, 0)
quatf physics:localRot1 = (0.70710678, 0, 0, 0.70710678)
uniform token physics:axis = "Y"
float physics:lowerLimit = -90
float physics:upperLimit = 45
}}
"""
ARM = body('arm', 'float physics:mass = 1', cube('box', 'double size = 0.1'))


@pytest.mark.parametrize(
    ('kind', 'limits'), [('Revolute', (-np.pi / 2, np.pi / 4)), ('Prismatic', (-90, 45))]
)
def test_joints_have_their_frames_and_limits(read, kind, limits):
    hull = body('hull', 'float physics:mass = 5', cube('box', 'double size = 0.2'))
    builder, _ = read(stage(hull + ARM + JOINT.format(kind=kind)))
    joint = builder.joints['hinge']
    assert (joint.kind, joint.parent, joint.child) == (kind.lower(), 'hull', 'hinge_frame')
    assert (joint.lower, joint.upper) == pytest.approx(limits)
    np.testing.assert_allclose(joint.axis, [0, 1, 0], atol=1e-7)
    # x of the joint's frame is y of the arm: the arm's origin, 0.3 m ahead in its own x axis, lies
    # to the right of the hinge.
    pose = builder.pose_of('arm')
    np.testing.assert_allclose(pose.translation, [0.5, -0.3, 0.1], atol=1e-6)
    turned = rotation_matrix(pose.quaternion) @ np.array([0, 1, 0])
    np.testing.assert_allclose(turned, [1, 0, 0], atol=1e-6)


MESH = """def Mesh "shell" (
prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
{{
point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1)]
int[] faceVertexCounts = [3, 3, 3, 3]
int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
uniform token physics:approximation = "{}"
double3 xformOp:scale = (0.6, 0.6, {})
uniform token[] xformOpOrder = ["xformOp:scale"]
}}
"""


@pytest.mark.parametrize('height', [0.3, -0.3])
@pytest.mark.parametrize(
    ('approximation', 'volume'),
    [
        ('convexHull', 0.6 * 0.6 * 0.3 / 6),
        ('none', 0.6 * 0.6 * 0.3 / 6),
        ('sdf', 0.6 * 0.6 * 0.3 / 6),
        ('boundingCube', 0.6 * 0.6 * 0.3),
        ('boundingSphere', 4 / 3 * np.pi * 0.45**3),
    ],
)
def test_meshes_weigh_and_float_by_what_physx_makes_of_them(read, approximation, volume, height):
    density = f'float physics:density = {900}'
    builder, vehicle = read(stage(body('hull', density, MESH.format(approximation, height))))
    assert vehicle.inertia.mass == pytest.approx(900 * volume, rel=1e-5)
    box = builder.links['hull'].collisions[0]
    assert np.prod(box.size) == pytest.approx(volume)
    if approximation == 'convexHull':
        center = np.array([0.15, 0.15, height / 4])
        np.testing.assert_allclose(vehicle.inertia.center_of_mass, center, atol=1e-6)
        np.testing.assert_allclose(box.pose.translation, center, atol=1e-9)


ROUND = {
    'Cylinder': ('double radius = 0.1\ndouble height = 0.5', np.pi * 0.01 * 0.5),
    'Capsule': ('double radius = 0.1\ndouble height = 0.5', np.pi * (0.005 + 4 / 3 * 0.001)),
    'Cone': ('double radius = 0.1\ndouble height = 0.5', np.pi * 0.005 / 3),
    'Sphere': ('double radius = 0.1', 4 / 3 * np.pi * 0.001),
}


@pytest.mark.parametrize('axis', 'XYZ')
@pytest.mark.parametrize('kind', ROUND)
def test_round_shapes_have_their_volume_and_axis(read, kind, axis):
    attributes, volume = ROUND[kind]
    text = f'def {kind} "shell" ({SOLID})\n{{\n{attributes}\nuniform token axis = "{axis}"\n}}\n'
    builder, vehicle = read(stage(body('hull', 'float physics:density = 700', text)))
    assert vehicle.inertia.mass == pytest.approx(700 * volume, rel=1e-5)
    along = 'XYZ'.index(axis)
    if kind == 'Cone':
        assert vehicle.inertia.center_of_mass[along] == pytest.approx(-0.125, abs=1e-6)
    if kind != 'Sphere':
        shape = builder.links['hull'].collisions[0]
        up = np.asarray(rotation_matrix(shape.pose.quaternion))[:, 2]
        np.testing.assert_allclose(np.abs(up), np.eye(3)[along], atol=1e-9)


def test_a_shape_about_an_unknown_axis_is_named(read):
    round_shape = f'def Cylinder "drum" ({SOLID})\n{{\nuniform token axis = "west"\n}}\n'
    box = cube('box', 'double size = 0.2')
    builder, _ = read(stage(body('hull', 'float physics:mass = 5', box + round_shape)))
    assert any("drum: axis is 'west'; expected one of" in text for text in builder.dropped)
    assert len(builder.links['hull'].collisions) == 1


def test_a_vehicle_of_several_is_chosen_by_name_and_the_rest_is_named(read):
    pair = body('hull', 'float physics:mass = 5') + body('buoy', 'float physics:mass = 1')
    with pytest.raises(ModelError, match=r'has 2 vehicles .* found: hull, buoy'):
        read(stage(pair))
    drag = 'float physxRigidBody:linearDamping = 2'
    eye = 'def Camera "eye" {}\ndef Cube "rock" {}\n'
    builder, vehicle = read(stage(pair.replace('= 5', f'= 5\n{drag}') + eye), model='hull')
    assert vehicle.inertia.mass == pytest.approx(5.0)
    for text in (
        'Camera: is not read',
        'shape on no body',
        'linearDamping: damping of the physics',
    ):
        assert any(text in line for line in builder.dropped)
    assert builder.estimated


def test_layers_elsewhere_are_not_read(read, tmp_path, monkeypatch):
    secret = tmp_path.parent / f'{tmp_path.name}_secret.usda'
    secret.write_text(stage(body('hull', 'float physics:mass = 3')))
    outside = f'../{secret.name}'
    refer = 'def Xform "other" (prepend references = @{0}@) {{}}'
    for text in (
        stage(refer.format(outside)),
        stage(refer.format(secret)),
        stage(f'def Xform "other" (prepend payload = @{outside}@) {{}}'),
        stage('', head=f'subLayers = [@{outside}@]'),
        stage(
            'def Xform "o" (variants = {string v = "a"}\nprepend variantSets = "v")\n{\n'
            f'variantSet "v" = {{"a" (prepend references = @{outside}@) {{}}}}\n}}'
        ),
    ):
        with pytest.raises(ModelError, match='outside the folder of the description'):
            read(text)
    with pytest.raises(ModelError, match='expression'):
        read(stage(refer.format('`"${X}.usda"`')))
    with pytest.raises(ModelError, match='value clips'):
        read(stage('def "x" (clips = {dictionary default = {asset[] assetPaths = [@a.usd@]}}) {}'))
    work = tmp_path / 'work'
    work.mkdir()
    (work / 'near.usda').write_text(stage(body('hull', 'float physics:mass = 3')))
    below = tmp_path / 'below'
    below.mkdir()
    (below / 'v.usda').write_text(stage(refer.format('near.usda')))
    monkeypatch.chdir(work)  # where the resolver of usd-core looks too
    with pytest.raises(ModelError, match='outside the folder of the description'):
        import_vehicle(below / 'v.usda')


def test_a_shape_far_lighter_than_any_hull_is_not_taken_as_neutral(read):
    hull = body('hull', 'float physics:mass = 0.1', cube('box', 'double size = 0.2'))
    builder, _ = read(stage(hull))
    assert builder.materials  # 8 kg of water: an error of the verdict


def test_a_body_whose_layer_is_not_there_is_refused(read):
    lost = f'def "hull" ({RIGID}\nprepend payload = @parts/gone.usdz@)\n{{}}\n'
    with pytest.raises(ModelError, match=r'no mass and no collisions.*gone\.usdz'):
        read(stage(lost))


def test_scripts_and_graphs_are_named_as_forces(read):
    script = 'asset[] omni:scripting:scripts = [@deep/hydro.py@]\nfloat physics:mass = 3'
    builder, _ = read(stage(body('hull', script) + 'def OmniGraph "push"\n{\n}\n'))
    assert any('hydro.py' in text for text in builder.unread_forces)
    assert any('OmniGraph' in text for text in builder.unread_forces)


def test_layers_that_are_not_there_are_named(read):
    hull = body('hull', 'float physics:mass = 3', cube('box', 'double size = 0.1'))
    for place in ('./parts/gone.usd', 'parts/gone.usd', 'gone.usdz'):
        missing = f'def Xform "gone" (prepend payload = @{place}@) {{}}\n'
        builder, _ = read(stage(hull + missing))
        assert any(Path(place).name in text for text in builder.dropped)


def test_a_layer_that_the_stage_would_find_is_checked(read, tmp_path):
    hull = body('hull', 'float physics:mass = 3', cube('box', 'double size = 0.1'))
    refer = 'def Xform "o" (prepend references = @{}@) {{}}\n'
    (tmp_path / 'deep').mkdir()
    (tmp_path / 'deep/part.usda').write_text(stage(refer.format('near.usda')))
    (tmp_path / 'near.usda').write_text(stage(refer.format('/etc/other.usda')))
    with pytest.raises(ModelError, match='outside the folder of the description'):
        read(stage(hull + refer.format('deep/part.usda')))
    with pytest.raises(ModelError, match='outside the folder of the description'):
        read(stage(hull + refer.format('deep/../../other.usda')))


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('#usda 1.0\ndef Xform "a" {', 'is no USD'),
        ('nothing', 'is no USD'),
        (stage('def Cube "only" {}'), '0 vehicles of rigid bodies'),
        (stage('', head='metersPerUnit = 0'), 'metersPerUnit is 0'),
        (
            stage(
                body('hull', 'float physics:mass = 5', cube('box', 'double size = 0.2'))
                + ARM
                + JOINT.format(kind='Revolute').replace('"Y"', '"W"')
            ),
            "hinge>: axis is 'W'; expected one of: X, Y, Z",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line(read, text, words):
    with pytest.raises(ModelError, match=words) as caught:
        read(text)
    assert '\n' not in str(caught.value)


@pytest.mark.slow
def test_a_file_without_end_ends_one_process_only(tmp_path):
    path = tmp_path / 'v.usda'
    path.write_text(stage(body('hull', 'float physics:mass = 3', cube('c', 'double size = 0.1'))))
    assert import_vehicle(path).mass == pytest.approx(3.0)
    path.write_text('#usda 1.0\n' + 'def "a" {' * 100_000 + '}' * 100_000)
    with pytest.raises(ModelError, match=r'usd-core breaks off|is no USD|0 vehicles'):
        import_vehicle(path)
