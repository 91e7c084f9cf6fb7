# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The exported SDF as libsdformat reads it, through Drake and through Gazebo's own tools."""

import shutil
import subprocess

import numpy as np
import pytest
from conftest import OTHERS, ROOT, VEHICLES
from lxml import etree
from sdf_reader import ORDER, SdfReader

from marine_sim_ros import load_vehicle
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding
from marine_sim_ros.sdf.model import sdf_model

ORCA3 = ROOT / 'test' / 'data' / 'orca3.urdf'
EVERY = [*VEHICLES, *OTHERS]


def plain(text):
    """Return a model without what Drake knows and does not use: visuals, meshes of collisions."""
    root = etree.fromstring(text.encode())
    for tag in ('visual', 'surface'):
        for element in root.iter(tag):
            element.getparent().remove(element)
    for mesh in list(root.iter('mesh')):
        collision = mesh.getparent().getparent()
        collision.getparent().remove(collision)
    return etree.tostring(root, encoding='unicode')


def drake(text, *, strict=False):
    """Return a finalised plant, the inspector of its geometry, and the model's instance."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder

    plant, scene = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    parser = Parser(plant)
    if strict:
        parser.SetStrictParsing()
    parser.AddModelsFromString(text, 'sdf')
    plant.Finalize()
    return plant, scene.model_inspector()


@pytest.mark.drake
@pytest.mark.parametrize('name', [*EVERY, ORCA3], ids=str)
def test_drake_reads_the_same_inertia(name):
    from pydrake.multibody.tree import BodyIndex

    vehicle = load_vehicle(name)
    plant, _ = drake(plain(sdf_model(vehicle).text), strict=True)
    bodies = [BodyIndex(i) for i in range(1, plant.num_bodies())]
    assert len(bodies) == 1 + (len(vehicle.manipulator) if vehicle.manipulator else 0)
    total = plant.CalcSpatialInertia(
        plant.CreateDefaultContext(), plant.GetFrameByName('base_link'), bodies
    ).CopyToFullMatrix6()  # rotations first
    order = [3, 4, 5, 0, 1, 2]
    np.testing.assert_allclose(
        total[np.ix_(order, order)], vehicle.rigid_body_mass, rtol=1e-9, atol=1e-9
    )


@pytest.mark.drake
@pytest.mark.parametrize('name', VEHICLES)
def test_drake_refuses_each_number_of_the_added_mass_that_is_none(name):
    """Drake has no use for it, but its libsdformat reads every element by name and type."""
    text = plain(sdf_model(load_vehicle(name)).text)
    for i, a in enumerate(ORDER):
        for b in ORDER[i:]:
            root = etree.fromstring(text)
            (element,) = root.iter(a + b)
            element.text = 'heavy'
            with pytest.raises(RuntimeError, match=f'fluid_added_mass/{a}{b}: Error reading'):
                drake(etree.tostring(root, encoding='unicode'), strict=True)


@pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine')
@pytest.mark.parametrize('name', [*EVERY, ORCA3], ids=str)
def test_gazebo_prints_the_same_mass_and_shapes(name, tmp_path):
    """``gz sdf --print`` writes what libsdformat has read, added mass included."""
    vehicle, file = load_vehicle(name), tmp_path / 'model.sdf'
    file.write_text(sdf_model(vehicle).text)
    command = ['gz', 'sdf', '--print', '--precision', '17', str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed, written = SdfReader(done.stdout), SdfReader(file.read_text())
    np.testing.assert_allclose(printed.mass_matrix(), vehicle.mass_matrix, rtol=1e-9, atol=1e-9)
    for tag in ('collision', 'visual'):
        pairs = list(zip(printed.shapes(tag), written.shapes(tag), strict=True))
        assert pairs or tag == 'visual'
        for (owner, pose, kind, sizes), (own, at, shape, numbers) in pairs:
            assert (owner, kind, sizes.keys()) == (own, shape, numbers.keys())
            np.testing.assert_allclose(pose, at, atol=1e-9)
            for key, value in numbers.items():
                if isinstance(value, str):
                    assert sizes[key] == value
                else:
                    np.testing.assert_allclose(sizes[key], value, rtol=1e-9)


def own_collisions(text):
    """Yield name, pose in the model (4, 4), kind and sizes of each collision that is no mesh."""
    reader = SdfReader(text)
    names = (e.get('name') for link in reader.links.values() for e in link.findall('collision'))
    for name, (_, pose, kind, sizes) in zip(names, reader.shapes('collision'), strict=True):
        if kind != 'mesh':
            yield name, pose, kind, sizes


@pytest.mark.drake
@pytest.mark.parametrize('name', EVERY)
def test_drake_reads_the_same_collisions(name):
    from pydrake.geometry import Role

    text = sdf_model(load_vehicle(name)).text
    plant, inspector = drake(plain(text), strict=True)
    context = plant.CreateDefaultContext()
    found = {}
    for geometry in inspector.GetAllGeometryIds(Role.kProximity):
        body = plant.GetBodyFromFrameId(inspector.GetFrameId(geometry))
        pose = plant.EvalBodyPoseInWorld(context, body) @ inspector.GetPoseInFrame(geometry)
        label = inspector.GetName(geometry).split('::')[-1]
        found[label] = pose.GetAsMatrix4(), inspector.GetShape(geometry)
    expected = list(own_collisions(text))
    assert len(found) == len(expected)
    for label, pose, kind, sizes in expected:
        matrix, shape = found[label]
        np.testing.assert_allclose(matrix, pose, atol=1e-9)
        if kind == 'box':
            np.testing.assert_allclose(shape.size(), sizes['size'])
        else:
            assert shape.radius() == pytest.approx(sizes['radius'])
            if kind == 'cylinder':
                assert shape.length() == pytest.approx(sizes['length'])


def loaded(text):
    """Return the model as Gazebo reads it."""
    root = binding('sdformat').Root()
    root.load_sdf_string(text)
    return root.model(), root  # the model belongs to the root


@pytest.mark.sdformat
@pytest.mark.parametrize('name', EVERY)
def test_gazebo_reads_every_shape_where_it_is(name):
    text = sdf_model(load_vehicle(name)).text
    model, _root = loaded(text)
    assert model.link_count() == len(SdfReader(text).links)
    count = 0
    for i in range(model.link_count()):
        link = model.link_by_index(i)
        for j in range(link.collision_count()):
            collision = link.collision_by_index(j)
            count += 1
            own = next(
                e
                for e in SdfReader(text).links[link.name()].findall('collision')
                if e.get('name') == collision.name()
            )
            pose = collision.raw_pose()
            given = own.find('pose')
            numbers = [0.0] * 6 if given is None else [float(v) for v in given.text.split()]
            at = pose.pos()
            np.testing.assert_allclose([at.x(), at.y(), at.z()], numbers[:3], atol=1e-12)
            turn = pose.rot()
            quaternion = np.array([turn.x(), turn.y(), turn.z(), turn.w()])
            if len(numbers) == 7:
                wanted = np.array(numbers[3:])
                assert abs(quaternion @ wanted) == pytest.approx(1)
            geometry = collision.geometry()
            shape = own.find('geometry')[0]
            if shape.tag == 'box':
                size = geometry.box_shape().size()
                expected = [float(v) for v in shape.findtext('size').split()]
                np.testing.assert_allclose([size.x(), size.y(), size.z()], expected)
            elif shape.tag == 'cylinder':
                cylinder = geometry.cylinder_shape()
                assert cylinder.radius() == float(shape.findtext('radius'))
                assert cylinder.length() == float(shape.findtext('length'))
    assert count == len(list(etree.fromstring(text.encode()).iter('collision')))
