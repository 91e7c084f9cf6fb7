# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imported vehicles against a second reader, which imports nothing of the package.

The published ones are not part of this repository. ``MARINE_PUBLISHED`` names the folder of their
sources, as for docs/scripts/make_vehicles.py.
"""

import os
from pathlib import Path

import numpy as np
import plain_reader
import pytest
from foreign import SDF, STONEFISH, SUFFIX, UUV, imported
from foreign_kinds import HIPPO

from marine_sim_ros.core.packages import PACKAGE_PATH
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.importers.builder import Options
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import urdf_text
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.physics.drag import drag

FREEFLOATING = """<robot name="r"><link name="base_link"><inertial><mass value="31"/>
<inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial><fluid>
<buoyancy><compensation>1.03</compensation></buoyancy><hydrodynamics>
<damping type="linear" xyz="30 50 60" rpy="4 5 6"/><drag xyz="9 12 15" rpy="1 1 1"/>
</hydrodynamics></fluid></link>
<gazebo><plugin name="c" filename="libfreefloating_gazebo_control.so">
<thruster><map>-1 0 0 0 0 0.2</map><effort>40</effort></thruster>
<thruster><map>0 0.5 0 0 0 0</map><effort>25</effort></thruster></plugin></gazebo></robot>"""
COEFFICIENTS = STONEFISH.replace(
    '<specs max_setpoint="${1200/60*2*pi}" inverted_setpoint="false" normalized_setpoint="true"/>',
    '<specs thrust_coeff="0.4" thrust_coeff_backward="0.3" torque_coeff="0.05" max_rpm="1500"/>',
)
COEFFICIENTS = (
    COEFFICIENTS[: COEFFICIENTS.index('<rotor_dynamics')]
    + COEFFICIENTS[COEFFICIENTS.index('</actuator>') :]
)
SPEED = STONEFISH.replace('${1200/60*2*pi}', '125.6637')
PRESENT = HIPPO.replace('relative_compensation', 'compensation').replace('>1.0<', '>1.03<')
PRESENT = PRESENT.replace('<height_scale', '<force_added>1.5</force_added><height_scale')
BOX = """<mujoco model="rov"><option density="1025" viscosity="0.5"/><worldbody>
<body name="hull" pos="0 0 -3" gravcomp="1.02"><freejoint/>
<geom type="box" size="0.4 0.2 0.1" density="900"/><site name="stern" pos="-0.4 0 0"/></body>
</worldbody><actuator><motor name="t" site="stern" gear="30 40 0 0 0 0" ctrllimited="true"
ctrlrange="-0.4 0.8"/></actuator></mujoco>"""
USD = """#usda 1.0
(metersPerUnit = 1
upAxis = "Z")
def Xform "rov" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:density = 600
    def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 0.4
        float3 xformOp:scale = (2, 1, 0.5)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def Xform "rotor_0" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 0.2
    }
    def PhysicsFixedJoint "holds"
    {
        rel physics:body0 = </rov>
        rel physics:body1 = </rov/rotor_0>
    }
}
"""
MARINEGYM = """volume: 0.04
coBM: 0.01
hydro_coef: {added_mass: [1, 2, 3, 0.1, 0.1, 0.1], linear_damping: [4, 5, 6, 0.1, 0.1, 0.1],
  quadratic_damping: [18, 21, 36, 1, 1, 1]}
rotor_configuration: {force_constants: [8.8e-07]}
"""
LRAUV = """<sdf version="1.9"><model name="auv"><include merge="true"><uri>hull</uri>
<experimental:params xmlns:experimental="http://sdformat.org/schemas/experimental">
<plugin name="gz::sim::systems::Thruster" filename="t" action="add"><joint_name>spin</joint_name>
<fluid_density>1025</fluid_density><max_thrust_cmd>30</max_thrust_cmd></plugin>
<plugin name="gz::sim::systems::Hydrodynamics" filename="h" action="add">
<link_name>base_link</link_name><xUU>-6.2</xUU><yVV>-601</yVV><zWW>-602</zWW><xU>-1</xU></plugin>
</experimental:params></include></model></sdf>"""
HULL = """<sdf version="1.9"><model name="hull"><link name="base_link"><inertial><mass>20</mass>
</inertial><collision name="c"><geometry><box><size>1 0.1 0.2</size></box></geometry></collision>
</link><link name="prop"><inertial><mass>0.5</mass></inertial></link>
<joint name="spin" type="revolute"><parent>base_link</parent><child>prop</child><axis>
<xyz>1 0 0</xyz></axis></joint></model></sdf>"""
SOURCES = Path(os.environ.get('MARINE_PUBLISHED', '/nowhere'))
DAVE = 'IOES-Lab+dave/models/dave_robot_models/description'
UUV_FOLDER = ('uuvsimulator+uuv_simulator',)
PUBLISHED = {
    'bluerov2_ignition': 'clydemcqueen+bluerov2_ignition/models/bluerov2/model.sdf',
    'bluerov2_ignition_heavy': 'clydemcqueen+bluerov2_ignition/models/bluerov2_heavy/model.sdf',
    'orca4': 'clydemcqueen+orca4/orca_description/models/orca4/model.sdf',
    'dave_bluerov2': f'{DAVE}/bluerov2/model.sdf',
    'dave_heavy': f'{DAVE}/bluerov2_heavy/model.sdf',
    'n_gz': 'kogodemilade+bluerov2_n_gz/src/bluerov2_description/models/bluerov2_ping/model.sdf',
    'atr_rov': 'benedict-amoako+atr_rov_sim/src/atr_rov_description/urdf/atr_rov.urdf.xacro',
    'rexrov': 'uuvsimulator+uuv_simulator/uuv_descriptions/robots/rexrov_default.xacro',
    'rexrov2': 'uuvsimulator+rexrov2/rexrov2_description/robots/rexrov2_default.xacro',
    'lauv': 'uuvsimulator+lauv_gazebo/lauv_description/robots/default.xacro',
    'desistek': 'uuvsimulator+desistek_saga/desistek_saga_description/robots/'
    'desistek_saga_default.xacro',
    'fletcher': 'FletcherFT+bluerov2/bluerov2_description/robots/default.xacro',
    'hkpolyu': 'HKPolyU-UAV+bluerov2/bluerov2_environ/robots/default.xacro',
    'brov_ffg': 'freefloating-gazebo+bluerov_ffg/urdf/brov2.xacro',
    'g500arm5e': 'freefloating-gazebo+freefloating_gazebo_demo/urdf/g500arm5e.xacro',
    'vectored': 'freefloating-gazebo+freefloating_gazebo_demo/urdf/vectored.xacro',
    'cola2_blueboat': 'markusbuchholz+stonefish_ros2_marine_robotics/sf_ws/src/'
    'cola2_stonefish_ros2/scenarios/blueboat.scn',
    'marinegym': 'Marine-RL+MarineGym/marinegym/robots/assets/usd/BlueROV/BlueROV.usd',
    'lrauv': 'osrf+lrauv/lrauv_description/models/tethys_equipped/model.sdf',
    'sphere': 'uuvsimulator+uuv_simulator/uuv_gazebo_plugins/uuv_gazebo_ros_plugins/test/models/'
    'sphere_vehicle/model.xacro',
}


def compare(numbers, vehicle):
    """Compare what the second reader found, to the fourth digit."""
    assert vehicle.inertia.mass == pytest.approx(numbers.mass, rel=1e-4)
    if np.isfinite(numbers.displaced):
        displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
        assert displaced == pytest.approx(numbers.displaced, rel=1e-4)
    if np.all(np.isfinite(numbers.drag)):
        deep, level = np.array([0.0, 0.0, -50.0]), np.array([0.0, 0.0, 0.0, 1.0])
        pulls = [
            -np.asarray(drag(vehicle, State(deep, level, np.eye(6)[i]), Environment()))[i]
            for i in range(3)
        ]
        np.testing.assert_allclose(pulls, numbers.drag, rtol=1e-4)
    assert len(vehicle.thrusters) == len(numbers.thrust)
    known = [i for i, row in enumerate(numbers.thrust) if row is not None]
    for k, pulse in enumerate(plain_reader.PULSES):
        given = vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), pulse))
        found = np.abs(np.asarray(given))[known]
        wanted = np.abs([numbers.thrust[i][k] for i in known])
        np.testing.assert_allclose(np.sort(found), np.sort(wanted), rtol=1e-3, atol=1e-6)
    return len(known)


@pytest.mark.parametrize(
    ('text', 'suffix', 'known'),
    [
        (SDF, SUFFIX[SDF], 1), (UUV, SUFFIX[UUV], 1), (FREEFLOATING, '.urdf', 2),
        (COEFFICIENTS, '.scn', 1), (SPEED, '.scn', 1), (HIPPO, '.sdf', 1), (PRESENT, '.sdf', 1),
        (BOX, '.xml', 1), (USD, '.usda', 1), (LRAUV, '.sdf', 1),
    ],
    ids=[
        'gazebo', 'uuv', 'freefloating', 'stonefish', 'stonefish of 2026', 'hippo_sim',
        'hippo_sim of 2026', 'mujoco', 'usd', 'lrauv',
    ],
)  # fmt: skip
def test_numbers_are_those_of_a_second_reader(tmp_path, text, suffix, known):
    if suffix in ('.xml', '.usda'):
        pytest.importorskip('mujoco' if suffix == '.xml' else 'pxr')
    (tmp_path / 'hull').mkdir()
    (tmp_path / 'hull' / 'model.sdf').write_text(HULL)
    if text is USD:
        (tmp_path / 'vehicle.yaml').write_text(MARINEGYM)
    _, vehicle = imported(tmp_path, text, suffix)
    assert compare(plain_reader.read_numbers(tmp_path / f'vehicle{suffix}'), vehicle) == known


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES.is_dir(), reason='MARINE_PUBLISHED: no published vehicles here')
@pytest.mark.parametrize('name', PUBLISHED)
def test_published_vehicles_have_the_numbers_of_a_second_reader(name, tmp_path, monkeypatch):
    path = SOURCES / PUBLISHED[name]
    if not path.is_file():
        pytest.skip(f'{PUBLISHED[name]} is not in MARINE_PUBLISHED')
    folders = [SOURCES / f for f in (*UUV_FOLDER, PUBLISHED[name].partition('/')[0])]
    monkeypatch.setenv(PACKAGE_PATH, ':'.join(map(str, folders)))
    builder = import_vehicle(path, Options())
    text = urdf_text(builder, tmp_path)
    vehicle = vehicle_from_urdf(text, base=tmp_path, base_link=builder.base)
    compare(plain_reader.read_numbers(path, folders), vehicle)
