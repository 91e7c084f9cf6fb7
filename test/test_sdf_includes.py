# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Includes of SDF: merged and nested models, parameters, plugins of worlds, cycles."""

import shutil

import numpy as np
import pytest
from foreign import SDF, imported

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.world import import_world

QUARTER = np.pi / 2
PART = """<sdf version="1.9"><model name="part"><pose>0 0 9 0 0 0</pose>
<frame name="mount"><pose>0 0.5 0 0 0 0</pose></frame>
<link name="base_link"><pose>1 0 0 0 0 0</pose><inertial><mass>8</mass></inertial>
<collision name="c"><pose>0 0 0.02 0 0 0</pose><geometry><box><size>0.4 0.25 0.1</size></box>
</geometry></collision>
<sensor name="imu" type="imu"><update_rate>50</update_rate></sensor>
<sensor name="sonar" type="altimeter"/></link>
<link name="rotor"><pose relative_to="mount">0 0 0 0 0 0</pose><inertial><mass>0.5</mass>
</inertial></link>
<joint name="shaft" type="revolute"><parent>base_link</parent><child>rotor</child>
<axis><xyz expressed_in="__model__">1 0 0</xyz></axis></joint></model></sdf>"""
THRUSTER = (
    '<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">'
    '<joint_name>{}</joint_name><max_thrust_cmd>{}</max_thrust_cmd></plugin>'
)


@pytest.fixture
def read(tmp_path):
    (tmp_path / 'part').mkdir()
    (tmp_path / 'part' / 'model.sdf').write_text(PART)

    def read(*parts, world=False):
        kind = 'world' if world else 'model'
        text = f'<sdf version="1.9"><{kind} name="top">{"".join(parts)}</{kind}></sdf>'
        return imported(tmp_path, text, '.sdf')

    return read


def include(*parts, merge=''):
    return f'<include{merge}><uri>model://part</uri>{"".join(parts)}</include>'


MERGE = ' merge="true"'
TURNED = f'<pose>0 0 2 0 0 {QUARTER}</pose>'


def test_a_merged_model_keeps_its_names_and_hangs_on_the_pose_of_the_include(read):
    top = '<link name="mast"><pose>0 0 3 0 0 0</pose><inertial><mass>1</mass></inertial></link>'
    joint = '<joint name="f" type="fixed"><parent>base_link</parent><child>mast</child></joint>'
    description, vehicle = read(
        include(TURNED, merge=MERGE), top, joint, THRUSTER.format('shaft', 30)
    )
    assert set(description.links) == {'base_link', 'rotor', 'mast'}
    # In the axes of base_link, which is turned by 90 degrees at (0, 1, 2) of the top model.
    np.testing.assert_allclose(description.pose_of('rotor').translation, [-1, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(description.pose_of('mast').translation, [-1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(vehicle.thrusters.axis, [[1, 0, 0]], atol=1e-12)


def test_a_merged_model_without_a_pose_of_the_include_has_its_own(read):
    top = '<link name="mast"><inertial><mass>1</mass></inertial></link>'
    joint = '<joint name="f" type="fixed"><parent>base_link</parent><child>mast</child></joint>'
    description, _ = read(include(merge=MERGE), top, joint)
    np.testing.assert_allclose(description.pose_of('mast').translation, [-1, 0, -9], atol=1e-12)


def test_a_name_of_a_nested_model_that_is_the_only_one_is_found_and_said(read):
    description, vehicle = read(include('<name>hull</name>'), THRUSTER.format('shaft', 30))
    assert description.base == 'hull/base_link'
    assert len(vehicle.thrusters) == 1
    assert any("stands for 'hull/shaft'" in text for text in description.assumptions)


def test_parameters_add_change_remove_and_replace(read):
    params = """<experimental:params>
<sensor element_id="base_link" action="add" name="compass" type="magnetometer">
<update_rate>7</update_rate></sensor>
<sensor element_id="base_link::imu" action="modify"><update_rate>200</update_rate></sensor>
<sensor element_id="base_link::sonar" action="remove"/>
<link element_id="rotor" action="replace" name="rotor"><inertial><mass>2</mass></inertial></link>
<link element_id="nowhere::x" action="remove"/></experimental:params>"""
    description, vehicle = read(include(params, merge=MERGE))
    rates = {sensor.kind: sensor.rate.value for sensor in description.sensors}
    assert rates == {'magnetometer': 7.0, 'imu': 200.0}
    assert vehicle.inertia.mass == pytest.approx(10.0)
    assert any("'nowhere::x', which is not there" in text for text in description.dropped)


@pytest.mark.parametrize('world', [True, False])
def test_plugins_of_an_include_act_on_its_model(read, world):
    drag = (
        '<plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics">'
        '<link_name>base_link</link_name><xUabsU>-18</xUabsU><zWabsW>-30</zWabsW></plugin>'
    )
    _, vehicle = read(include('<name>r</name>', THRUSTER.format('shaft', 44), drag), world=world)
    assert vehicle.damping.quadratic[0, 0] == pytest.approx(18)
    assert np.asarray(vehicle.thrusters.thrust_of_pwm(np.array([1900.0]))) == pytest.approx([44])


def test_what_is_not_there_is_named_with_its_remedy(read):
    lost = '<include><uri>https://fuel.example/1.0/x/models/Lost</uri></include>'
    with pytest.raises(ModelError, match=r'fuel.example.*--package-path FOLDER'):
        read(lost, world=True)
    description, _ = read(lost, include(merge=MERGE))
    assert any('fuel.example' in text for text in description.dropped)


def test_a_model_of_nothing_but_a_missing_include_names_it(read):
    text = '<include merge="true"><uri>model://{}</uri></include>'
    with pytest.raises(ModelError, match=r'has no links.*not there: model://hull_of_nowhere'):
        read(text.format('hull_of_nowhere'))


def test_a_model_below_a_folder_of_packages_is_found(tmp_path, read, monkeypatch):
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path / 'repository'))
    deep = tmp_path / 'repository' / 'far_description' / 'models' / 'far'
    deep.mkdir(parents=True)
    (deep.parents[1] / 'package.xml').write_text('<package><name>far_description</name></package>')
    (deep / 'model.sdf').write_text(PART)
    for uri in ('far', 'model://far'):
        description, _ = read(f'<include merge="true"><uri>{uri}</uri></include>')
        assert 'rotor' in description.links


def test_a_missing_model_whose_template_is_there_says_so(tmp_path, read):
    (tmp_path / 'raw').mkdir()
    (tmp_path / 'raw' / 'model.sdf.in').write_text('<sdf><mass>@heavy</mass></sdf>')
    with pytest.raises(ModelError, match=r'template model\.sdf\.in: expand it to model\.sdf'):
        read('<include merge="true"><uri>model://raw</uri></include>')


def test_models_that_include_each_other_are_one_line(tmp_path, read):
    for here, there in (('a', 'b'), ('b', 'a')):
        (tmp_path / here).mkdir()
        (tmp_path / here / 'model.sdf').write_text(
            f'<sdf version="1.9"><model name="{here}"><include><uri>model://{there}</uri></include>'
            '</model></sdf>'
        )
    with pytest.raises(ModelError, match='includes itself: a -> b -> a'):
        read('<include><uri>model://a</uri></include>')


def test_includes_that_double_each_other_end_at_once(tmp_path, read):
    for i in range(8):
        twice = f'<include><uri>model://m{i + 1}</uri></include>' * 9
        (tmp_path / f'm{i}').mkdir()
        (tmp_path / f'm{i}' / 'model.sdf').write_text(
            f'<sdf version="1.9"><model name="m{i}">{twice}</model></sdf>'
        )
    (tmp_path / 'm8').mkdir()
    (tmp_path / 'm8' / 'model.sdf').write_text(PART)
    with pytest.raises(ModelError, match='nested deeper than 8'):
        read('<include><uri>model://m0</uri></include>')


def test_plugins_of_two_equal_models_mean_their_own_joints(tmp_path):
    pod = (
        '<sdf version="1.10"><model name="pod"><link name="pod"><inertial><mass>1</mass>'
        '</inertial></link><link name="prop"><pose>0 0 -0.1 0 1.5707963267948966 0</pose>'
        '<inertial><mass>0.1</mass></inertial></link><joint name="shaft" type="continuous">'
        '<parent>pod</parent><child>prop</child><axis><xyz>0 0 1</xyz></axis></joint>'
        '<plugin filename="gz-sim-thruster-system" name="t"><joint_name>shaft</joint_name>'
        '<max_thrust_cmd>{}</max_thrust_cmd></plugin></model></sdf>'
    )
    for name, most in (('pod', 50), ('small', 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'model.sdf').write_text(pod.format(most))
    sides = (('pod', 'left', 0.4), ('small', 'right', -0.5))
    includes = ''.join(
        f'<include><uri>{uri}</uri><name>{name}</name><pose>0 {y} 0 0 0 0</pose></include>'
        f'<joint name="hold_{name}" type="fixed"><parent>base_link</parent>'
        f'<child>{name}::pod</child></joint>'
        for uri, name, y in sides
    )
    _, vehicle = imported(tmp_path, SDF.replace('</model>', f'{includes}</model>'), '.sdf')
    thrusters = vehicle.thrusters
    np.testing.assert_allclose(thrusters.position[:, 1], [0.4, -0.5, 0.1])
    full = np.asarray(thrusters.thrust_of_pwm(np.full(3, 1900.0)))
    np.testing.assert_allclose(full, [50, 20, 50])


def _world(folder, uri):
    folder.mkdir(exist_ok=True)
    path = folder / 'w.sdf'
    path.write_text(
        f'<sdf version="1.9"><world name="w"><include><uri>{uri}</uri></include></world></sdf>'
    )
    return path


def _read_vehicle(path):
    return set(import_vehicle(path).links)


def _read_world(path):
    content = import_world(path).content
    return {o['name'] for key in ('obstacles', 'bodies') for o in content.get(key, ())}


@pytest.fixture
def secret(tmp_path, monkeypatch):
    for key in ('ROS_PACKAGE_PATH', 'GZ_SIM_RESOURCE_PATH', 'SDF_PATH'):
        monkeypatch.setenv(key, '')
    (tmp_path / 'secret').mkdir()
    (tmp_path / 'secret' / 'model.sdf').write_text(PART)
    (tmp_path / 'own' / 'deep').mkdir(parents=True)
    return tmp_path / 'secret'


_OUTSIDE = {
    'above': '../secret',
    'file above': '../secret/model.sdf',
    'down and up': 'deep/../../secret',
    'absolute': '{0}',
    'file': 'file://{0}/model.sdf',
    'model above': 'model://../secret',
    'model beside': 'model://secret',
    'fuel': 'https://fuel.example/1.0/a/models/secret',
    'link': 'link',
    'link of a file': 'linked.sdf',
    'nested': 'nested',
}


@pytest.mark.parametrize('read', [_read_vehicle, _read_world])
@pytest.mark.parametrize('door', _OUTSIDE)
def test_files_outside_the_folder_are_not_included(tmp_path, secret, read, door):
    own = tmp_path / 'own'
    (own / 'link').symlink_to(secret)
    (own / 'linked.sdf').symlink_to(secret / 'model.sdf')
    (own / 'nested').mkdir()
    (own / 'nested' / 'model.sdf').write_text(
        '<sdf version="1.9"><model name="n"><include><uri>../../secret</uri></include></model>'
        '</sdf>'
    )
    path = _world(own, _OUTSIDE[door].format(secret))
    with pytest.raises(ModelError, match=r'\.sdf:1.*<include>.*outside the folder.*--package'):
        read(path)


@pytest.mark.parametrize('read', [_read_vehicle, _read_world])
@pytest.mark.parametrize('key', ['GZ_SIM_RESOURCE_PATH', 'SDF_PATH', 'ROS_PACKAGE_PATH'])
def test_models_of_folders_that_the_user_names_are_included(
    tmp_path, secret, monkeypatch, read, key
):
    monkeypatch.setenv(key, str(tmp_path))
    assert read(_world(tmp_path / 'own', 'model://secret'))


def test_a_model_may_use_meshes_of_models_of_these_folders(tmp_path, monkeypatch):
    """As the black buoy of VRX does, whose mesh is that of the orange one."""
    monkeypatch.setenv('ROS_PACKAGE_PATH', '')
    monkeypatch.setenv('GZ_SIM_RESOURCE_PATH', str(tmp_path / 'models'))
    orange, black = (tmp_path / 'models' / name for name in ('orange', 'black'))
    for folder in (orange, black):
        folder.mkdir(parents=True)
    (orange / 'part.obj').write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n')
    (black / 'model.sdf').write_text(
        '<sdf version="1.9"><model name="b"><static>1</static><link name="l"><collision name="c">'
        '<geometry><mesh><uri>model://orange/part.obj</uri></mesh></geometry></collision></link>'
        '</model></sdf>'
    )
    (tmp_path / 'own').mkdir()
    assert import_world(_world(tmp_path / 'own', 'model://black')).meshes


@pytest.mark.parametrize('read', [_read_vehicle, _read_world])
def test_a_model_includes_those_beside_its_own_and_a_package_its_models(tmp_path, secret, read):
    models = tmp_path / 'models'
    shutil.copytree(secret, models / 'part')
    _world(models / 'rov', 'model://part').rename(models / 'rov' / 'model.sdf')
    assert read(models / 'rov' / 'model.sdf')
    with pytest.raises(ModelError, match='outside the folder'):
        read(_world(tmp_path / 'worlds', 'model://part'))
    (tmp_path / 'package.xml').write_text('<package><name>p</name></package>')
    assert read(_world(tmp_path / 'worlds', 'model://part'))


@pytest.mark.parametrize('name', ['../secret.scn', '{}/secret.scn', 'link.scn'])
def test_scenarios_outside_the_folder_are_not_included(tmp_path, name):
    own = tmp_path / 'own'
    own.mkdir()
    (tmp_path / 'secret.scn').write_text('<scenario/>')
    (own / 'link.scn').symlink_to(tmp_path / 'secret.scn')
    path = own / 's.scn'
    path.write_text(f'<scenario>\n<include file="{name.format(tmp_path)}"/></scenario>')
    with pytest.raises(ModelError, match=r's\.scn:2.*<include>.*outside the folder'):
        import_vehicle(path)
