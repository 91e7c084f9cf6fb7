# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The exported SDF, read back by other readers, is the vehicle."""

import subprocess
import sys
from shutil import which

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from scipy.spatial.transform import Rotation
from sdf_reader import SdfReader, values
from test_fuzz_urdf import mutated

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError, ModelError, ParameterError
from marine_sim_ros.model.materials import parse_materials
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.tools.main import main

I90 = load_vehicle('investigator90')
ORCA3 = ROOT / 'test' / 'data' / 'orca3.urdf'


def exported(vehicle, **options):
    model = sdf_model(vehicle, **options)
    return SdfReader(model.text), model


def rov(links='', base='', extra=''):
    return load_vehicle(
        f"""<robot name="rov"><link name="base_link"><inertial><mass value="10"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{base}</link>
        {links}{extra}</robot>"""
    )


def fixed(name, parent='base_link', inside='', origin='', kind='fixed'):
    return (
        f'<link name="{name}">{inside}</link><joint name="{name}_joint" type="{kind}">'
        f'<parent link="{parent}"/><child link="{name}"/>{origin}'
        '<limit lower="-1" upper="1" velocity="2" effort="3"/></joint>'
    )


# --- systems of Gazebo


def test_a_buoyancy_engine_of_gazebo_has_the_volumes_of_ours(tmp_path):
    lrauv = load_vehicle('lrauv')
    model = sdf_model(lrauv, engines=True)
    (plugin,) = etree.fromstring(model.text.encode()).iter('plugin')
    assert plugin.get('name') == 'gz::sim::systems::BuoyancyEngine'
    number = {e.tag: float(e.text) for e in plugin if e.tag not in ('link_name', 'namespace')}
    # The plugin's own rule (BuoyancyEngine.cc), beside our run of the same command.
    volume, dt, command, forces = number['default_volume'], 0.1, 1.0, []
    command = min(max(command, number['min_volume']), number['max_volume'])
    for _ in range(2000):
        volume += min(dt * number['max_inflation_rate'], command - volume)
        forces.append(9.80665 * number['fluid_density'] * (volume - number['neutral_volume']))
    run = simulate(
        lrauv,
        parse_scenario(
            'duration: 200\ninitial: {position: [0, 0, -900]}\n'
            'segments: [{at: 0, axes: {}, buoyancy_engines: {bladder: 1.0}}]',
            'engine',
        ),
        dt=dt,
    )
    ours = 9.80665 * lrauv.buoyancy.fluid_density * run.actuators['buoyancy_engines'][:, 0]
    assert ours[-1] == pytest.approx(forces[-1]) == pytest.approx(1025 * 9.80665 * 0.000455)
    np.testing.assert_allclose(ours[1:], forces[: len(ours) - 1], atol=4e-3)  # a step
    assert any('position: it pushes at the origin' in warning for warning in model.warnings)
    assert '<plugin' not in sdf_model(lrauv).text
    with pytest.raises(ParameterError, match='investigator90 has no buoyancy engine'):
        sdf_model(I90, engines=True)


# --- masses


def test_mass_matrix_is_that_of_the_integrator(vehicle):
    reader, _ = exported(vehicle)
    np.testing.assert_allclose(reader.mass_matrix(), vehicle.mass_matrix, rtol=1e-9, atol=1e-9)


def test_wu_s_added_mass_is_written_as_published():
    reader, _ = exported(load_vehicle('bluerov2', coefficients='wu2018'))
    fluid = reader.links['base_link'].find('inertial/fluid_added_mass')
    assert [float(fluid.findtext(2 * a)) for a in 'xyzpqr'] == [5.5, 12.7, 14.57, 0.12, 0.12, 0.12]
    assert len(fluid) == 21


@pytest.mark.parametrize('seed', range(3))
def test_an_arm_moved_has_the_mass_matrix_of_the_simulation(seed):
    reader, _ = exported(I90)
    arm = I90.manipulator
    q = np.random.default_rng(seed).uniform(arm.lower, arm.upper)
    moved = reader.mass_matrix(dict(zip(arm.names, q, strict=True)))
    wanted = pose_vehicle(I90, link_poses(arm, q)).mass_matrix
    np.testing.assert_allclose(moved, wanted, rtol=1e-9, atol=1e-8)


def test_joints_have_axes_and_limits_of_the_arm():
    reader, _ = exported(I90)
    arm = I90.manipulator
    assert tuple(reader.joints) == arm.names
    for i, joint in enumerate(reader.joints.values()):
        axis = joint.find('axis')
        np.testing.assert_array_equal(values(axis.find('xyz')), arm.axis[i])
        limits = [float(axis.findtext(f'limit/{t}')) for t in ('lower', 'upper', 'velocity')]
        assert limits == [arm.lower[i], arm.upper[i], arm.max_rate[i]]
        assert float(axis.findtext('limit/effort')) == 100


def test_joint_damping_is_kept_and_mimic_is_told():
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
        'izz="1"/></inertial>'
    )
    text = fixed('slide', inside=inertial, kind='prismatic').replace(
        '<limit', '<dynamics damping="0.7" friction="0.2"/><mimic joint="x"/><limit'
    )
    reader, model = exported(rov(text))
    axis = reader.joints['slide_joint'].find('axis')
    assert reader.joints['slide_joint'].get('type') == 'prismatic'
    assert float(axis.findtext('dynamics/damping')) == 0.7
    assert float(axis.findtext('dynamics/friction')) == 0.2
    assert any('<mimic>' in w for w in model.warnings)


def test_massless_links_get_the_least_that_gazebo_takes():
    massless = load_vehicle('investigator90', arm='massless')
    reader, model = exported(massless)
    masses = [float(e.findtext('inertial/mass')) for e in reader.links.values()]
    assert masses == [massless.inertia.mass] + 6 * [0.001]
    assert sum('weighs nothing' in w for w in model.warnings) == 6


def test_inertia_of_no_body_is_told():
    from dataclasses import replace

    odd = rov()
    tensor = np.diag([1.0, 1.0, 3.0])
    odd = replace(odd, inertia=replace(odd.inertia, tensor=tensor))
    assert any('Gazebo refuses' in w for w in exported(odd)[1].warnings)
    assert exported(rov())[1].warnings == ()


def test_added_mass_off_the_diagonal_is_written_too():
    random = np.random.default_rng(1).normal(size=(6, 6))
    matrix = random @ random.T
    text = ' '.join(str(v) for v in matrix.ravel())
    asked = rov(extra=f'<hydrodynamics><added_mass>{text}</added_mass></hydrodynamics>')
    fluid = exported(asked)[0].mass_matrix() - asked.rigid_body_mass
    np.testing.assert_allclose(fluid, matrix, atol=1e-12)


# --- shapes and frames


def urdf_shapes(vehicle, tag):
    """Yield the pose in base_link, kind and sizes of each shape, by SciPy."""
    poses = {'base_link': np.eye(4)}
    for frame in vehicle.frames:
        poses[frame.name] = np.eye(4)
        poses[frame.name][:3, :3] = Rotation.from_quat(frame.quaternion).as_matrix()
        poses[frame.name][:3, 3] = frame.translation
    for link in etree.fromstring(vehicle.urdf.encode()).findall('link'):
        for element in link.findall(tag):
            local = np.eye(4)
            origin = element.find('origin')
            if origin is not None:
                local[:3, 3] = [float(v) for v in origin.get('xyz', '0 0 0').split()]
                rpy = [float(v) for v in origin.get('rpy', '0 0 0').split()]
                local[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
            shape = element.find('geometry')[0]
            yield poses[link.get('name')] @ local, shape.tag, dict(shape.attrib)


@pytest.mark.parametrize('tag', ['collision', 'visual'])
def test_shapes_are_where_the_urdf_has_them(vehicle, tag):
    def key(entry):
        return entry[1], np.round(entry[0], 6).ravel().tolist()

    reader, _ = exported(vehicle)
    found = sorted(((p, k, s) for _, p, k, s in reader.shapes(tag)), key=key)
    wanted = sorted(urdf_shapes(vehicle, tag), key=key)
    assert len(found) == len(wanted) > 0
    for (pose, kind, sizes), (wanted_pose, wanted_kind, attributes) in zip(
        found, wanted, strict=True
    ):
        assert kind == wanted_kind
        np.testing.assert_allclose(pose, wanted_pose, atol=1e-9)
        for name, value in sizes.items():
            if name == 'uri':
                assert value == attributes['filename'].replace('package://', 'model://')
            else:
                np.testing.assert_array_equal(value, [float(v) for v in attributes[name].split()])


def test_links_that_do_not_move_are_frames(vehicle):
    reader, _ = exported(vehicle)
    assert set(reader.links) | set(reader.frames) == {'base_link'} | {
        f.name for f in vehicle.frames
    }
    for frame in vehicle.frames:
        pose = reader.pose(frame.name)
        np.testing.assert_allclose(pose[:3, 3], frame.translation, atol=1e-9)
        turned = Rotation.from_quat(frame.quaternion).as_matrix()
        np.testing.assert_allclose(pose[:3, :3], turned, atol=1e-9)


lengths = st.lists(st.floats(-2, 2), min_size=3, max_size=3)
turns = st.lists(st.floats(-3, 3), min_size=3, max_size=3)
origins = st.builds(
    lambda xyz, rpy: '<origin xyz="{} {} {}" rpy="{} {} {}"/>'.format(*xyz, *rpy), lengths, turns
)
inertials = st.builds(
    lambda at, m, a: (
        f'<inertial>{at}<mass value="{m}"/><inertia ixx="{a}" ixy="0.1" ixz="0" '
        f'iyy="{a + 0.5}" iyz="-0.2" izz="{a + 0.7}"/></inertial>'
    ),
    origins,
    st.floats(0.1, 50),
    st.floats(1, 9),
)
parts = st.lists(
    st.tuples(
        st.sampled_from(['fixed', 'revolute', 'prismatic']),
        origins,
        inertials,
        origins,
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(parts)
def test_any_tree_has_its_mass_and_its_places(tree):
    names, text = ['base_link'], ''
    for i, (kind, at, inertial, visual, parent) in enumerate(tree):
        inside = f'{inertial}<visual>{visual}<geometry><sphere radius="1"/></geometry></visual>'
        text += fixed(f'part_{i}', names[parent % len(names)], inside, at, kind)
        names.append(f'part_{i}')
    vehicle = rov(text)
    reader, model = exported(vehicle)
    assert model.warnings == ()
    np.testing.assert_allclose(reader.mass_matrix(), vehicle.mass_matrix, rtol=1e-7, atol=1e-7)
    for frame in vehicle.frames:
        np.testing.assert_allclose(reader.pose(frame.name)[:3, 3], frame.translation, atol=1e-9)
    places = sorted(p[:3, 3].round(6).tolist() for _, p, _, _ in reader.shapes('visual'))
    wanted = sorted(p[:3, 3].round(6).tolist() for p, _, _ in urdf_shapes(vehicle, 'visual'))
    np.testing.assert_allclose(places, wanted, atol=2e-6)


def test_names_that_sdf_keeps_for_itself_or_has_twice_are_changed():
    text = fixed('a::b') + fixed('arm', kind='revolute').replace('arm_joint', 'arm')
    text += fixed('__x__') + fixed('world')
    reader, model = exported(rov(text))
    assert set(reader.frames) == {'a_b', 'urdf_x', 'urdf_world'}
    assert list(reader.joints) == ['arm_joint']
    assert len([w for w in model.warnings if 'is called' in w]) == 4


def test_nothing_but_the_body_is_in_the_model(vehicle):
    reader, _ = exported(vehicle)
    assert {e.tag for e in reader.model} <= {'link', 'joint', 'frame'}
    assert reader.root.get('version') == '1.10'
    assert reader.model.get('canonical_link') == 'base_link'


def test_colours_are_found_by_name_and_glass_is_transparent():
    reader, _ = exported(load_vehicle('bluerov2'))
    visuals = reader.links['base_link'].findall('visual')
    assert visuals[0].findtext('material/diffuse') == '0.1 0.35 0.75 1'
    for acrylic in visuals[1:3]:  # the second one only names its material
        assert acrylic.findtext('material/diffuse') == '0.7 0.8 0.85 1'
        assert float(acrylic.findtext('transparency')) == 0.3


@pytest.mark.parametrize(
    ('base', 'message'),
    [
        (
            '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>',
            "package 'nowhere' is not installed",
        ),
        (
            '<visual><geometry><sphere radius="1"/></geometry><material name="m">'
            '<color rgba="2 0 0 1"/></material></visual>',
            'expected numbers of 0 to 1',
        ),
    ],
)
def test_what_cannot_be_read_is_one_line(base, message):
    with pytest.raises(ModelError, match=message) as error:
        sdf_model(rov(base=base))
    assert '\n' not in str(error.value)


def test_textures_are_told():
    base = (
        '<visual><geometry><sphere radius="1"/></geometry><material name="m">'
        '<texture filename="a.png"/></material></visual>'
    )
    assert any('textures' in w for w in exported(rov(base=base))[1].warnings)


ARM = """<robot name="rov">
<material name="blue"><color rgba="0 0 1 0.5"/></material>
<link name="base_link"><inertial><origin xyz="0 0 0.1"/><mass value="10"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0 0 1" rpy="0 1 0"/><geometry><box size="1 2 3"/></geometry>
<material name="blue"/></visual>
<collision><geometry><sphere radius="0.2"/></geometry><contact_material name="HDPE"/></collision>
</link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
izz="1"/></inertial><visual><geometry><cylinder radius="0.1" length="1"/></geometry></visual>
</link>
<joint name="elbow" type="revolute"><origin xyz="1 0 0" rpy="0 0 1"/><parent link="base_link"/>
<child link="arm"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="2" effort="3"/>
<dynamics damping="0.1"/></joint>
<hydrodynamics><added_mass>5 6 7 1 1 1</added_mass></hydrodynamics></robot>"""


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(mutated(ARM))
def test_whatever_loads_is_exported_or_told_in_one_line(text):
    message = reader = None
    try:
        vehicle = load_vehicle(text)
        reader, model = exported(vehicle)
    except MarineSimError as error:
        message = str(error)
    if reader is None:
        assert '\n' not in message
        return
    assert all('\n' not in w for w in model.warnings)
    mass = reader.mass_matrix()
    assert np.all(np.isfinite(mass))
    if not any('weighs nothing' in w for w in model.warnings):
        size = np.abs(vehicle.mass_matrix).max()
        np.testing.assert_allclose(mass, vehicle.mass_matrix, rtol=1e-6, atol=1e-6 * size)


# --- surfaces


def surface(reader):
    found = reader.root.find('.//collision/surface')
    return (
        float(found.findtext('friction/ode/mu')),
        float(found.findtext('bounce/restitution_coefficient')),
        float(found.findtext('friction/ode/slip1')),
    )


def touching(material):
    return rov(
        base='<collision><geometry><sphere radius="1"/></geometry>'
        f'<contact_material {material}/></collision>'
    )


def darts_pair(a, b):
    """Return what DART makes of two surfaces."""
    return min(a[0], b[0]), a[1] * b[1], a[2] + b[2]


FRICTION = """
materials:
  - {name: skid, roughness: 0.4, viscosity: 0.36, surfaceViscosity: 1.0e-6}
  - {name: floor, roughness: 0.9, viscosity: 0.2, surfaceViscosity: 3.0e-6}
  - {name: smooth, roughness: 0.1}
  - {name: pad, roughness: 0.4}
contactMaterials:
  - {materials: [floor, pad], friction: 0.7, restitution: 0.5, surfaceViscosity: 5.0e-6,
     secondaryFriction: 0.1, adhesionForce: 3.0}
"""


def test_a_surface_alone_is_that_of_its_material():
    materials = parse_materials(FRICTION, 'test')
    alone = surface(exported(touching('name="skid"'), materials=materials)[0])
    assert alone == pytest.approx((0.4, 0.8, 1e-6))
    floor = surface(exported(touching('name="floor"'), materials=materials)[0])
    # √((1 − 0.36)(1 − 0.2)) = 0.715542 and the sum of surface viscosities are exact in DART.
    assert darts_pair(alone, floor)[1:] == pytest.approx((0.715542, 4e-6), rel=1e-6)
    in_place = 'name="useLinkInfo" roughness="0.3" viscosity="0.75"'
    assert surface(exported(touching(in_place))[0])[:2] == pytest.approx((0.3, 0.5))


@pytest.mark.parametrize('name', ['skid', 'pad'])
def test_a_surface_for_a_ground_makes_dart_s_pair_right(name):
    materials = parse_materials(FRICTION, 'test')
    reader, model = exported(touching(f'name="{name}"'), materials=materials, ground='floor')
    floor = surface(exported(touching('name="floor"'), materials=materials)[0])
    pair = materials.contact(name, 'floor')
    wanted = pair.friction, pair.restitution, pair.surface_viscosity
    assert darts_pair(surface(reader), floor) == pytest.approx(wanted)
    told = ' '.join(model.warnings)
    assert ('adhesion' in told) == ('secondary friction' in told) == (name == 'pad')


def test_what_a_ground_cannot_give_is_told():
    materials = parse_materials(FRICTION, 'test')
    _, model = exported(touching('name="skid"'), materials=materials, ground='smooth')
    assert any(
        'friction of skid on smooth is 0.2; Gazebo takes the lesser' in w for w in model.warnings
    )
    with pytest.raises(ParameterError, match="ground is 'mud'; expected one of: HDPE"):
        sdf_model(touching('name="skid"'), ground='mud')


# --- the command


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(['export-sdf', *map(str, arguments)])
    return end.value.code, *capsys.readouterr()


def test_standard_output_is_the_file(capsys, tmp_path):
    code, out, _ = run(capsys, 'bluerov2', '--set', 'coefficients:=wu2018')
    assert code == 0
    assert SdfReader(out).mass_matrix()[0, 0] == pytest.approx(17.0)
    file = tmp_path / 'new' / 'rov.sdf'
    assert run(capsys, 'bluerov2', '--set', 'coefficients:=wu2018', '-o', file)[:2] == (0, '')
    assert file.read_text(encoding='utf-8') == out


def test_meshes_are_copied_beside_the_file(capsys, tmp_path):
    file = tmp_path / 'model.sdf'
    assert run(capsys, 'surface_vessel', '--meshes', 'copy', '-o', file)[0] == 0
    uris = {e.text for e in etree.parse(str(file)).iter('uri')}
    assert uris == {'meshes/surface_vessel_hull.dae'}
    original = ROOT / 'urdf' / 'meshes' / 'surface_vessel_hull.dae'
    assert (tmp_path / 'meshes' / original.name).read_bytes() == original.read_bytes()


def test_meshes_of_one_name_are_told_apart(tmp_path):
    import trimesh

    base = ''
    for i, folder in enumerate(('one', 'two')):
        (tmp_path / folder).mkdir()
        trimesh.creation.box([1, 1, 1 + i]).export(tmp_path / folder / 'hull.stl')
        base += f'<visual><geometry><mesh filename="{folder}/hull.stl"/></geometry></visual>'
    reader, model = exported(rov(base=base), base=tmp_path, meshes='copy')
    uris = [s['uri'] for _, _, _, s in reader.shapes('visual')]
    assert uris == ['meshes/hull.stl', 'meshes/hull_2.stl']
    model.meshes.copy_to(tmp_path / 'out')
    for uri, folder in zip(uris, ('one', 'two'), strict=True):
        copied = (tmp_path / 'out' / uri).read_bytes()
        assert copied == (tmp_path / folder / 'hull.stl').read_bytes()
    reader, _ = exported(rov(base=base), base=tmp_path)
    assert next(reader.shapes('visual'))[3]['uri'] == (tmp_path / 'one/hull.stl').as_uri()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['nothing'], "vehicle 'nothing' is neither"),
        (['bluerov2', '--meshes', 'copy'], '--meshes copy: needs a place'),
        (['bluerov2', '--set', 'x=1'], '--set x=1: expected NAME:=VALUE'),
        (['bluerov2', '-o', '/proc/no/such.sdf'], '-o /proc/no/such.sdf: cannot be written'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, '')
    assert err.startswith(f'ERROR: {message}')
    assert err.count('\n') == 1


def test_warnings_are_told_on_standard_error(capsys):
    code, _, err = run(capsys, 'investigator90', '--set', 'arm:=massless')
    assert code == 0
    assert err.count('WARNING: link') == 6


# --- other people's readers


def test_what_gazebo_does_not_read_of_a_material_file_is_told(capsys, tmp_path):
    file = tmp_path / 'materials.yaml'
    file.write_text('materials: [{name: HDPE, roughness: 0.3, adhesionForce: 2}]')
    code, out, err = run(capsys, 'bluerov2', '--materials', file, '--ground', 'HDPE')
    assert code == 0
    assert surface(SdfReader(out))[0] == 0.3
    assert 'adhesion_force has no effect: SDF has no such element' in err
    assert 'roughness' not in err


@pytest.mark.skipif(which('gz') is None, reason='gz: not on this machine')
@pytest.mark.parametrize('name', ['bluerov2', 'investigator90', 'surface_vessel'])
def test_gz_finds_no_fault(name, tmp_path):
    file = tmp_path / 'model.sdf'
    arguments = ['export-sdf', name, '--meshes', 'copy', '-o', str(file)]
    subprocess.run([sys.executable, '-m', 'marine_sim_ros.tools.main', *arguments], check=True)
    done = subprocess.run(['gz', 'sdf', '--check', str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 'Valid' in done.stdout
