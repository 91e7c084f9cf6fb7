# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small vehicles in the formats of other simulators, and what imports them."""

from marine_sim_ros.importers.draft import Options
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import urdf_text
from marine_sim_ros.model.urdf import vehicle_from_urdf

INERTIA = """<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.3</izz>
<ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>"""
SDF = f"""<?xml version="1.0"?><sdf version="1.10"><model name="rov">
<link name="base_link"><inertial><pose>0 0 -0.01 0 0 0</pose><mass>10</mass>{INERTIA}</inertial>
<collision name="c"><pose>0 0 0.05 0 0 0</pose>
<geometry><box><size>0.5 0.4 0.05</size></box></geometry></collision></link>
<link name="propeller"><pose>-0.2 0.1 0 0 1.5707963267948966 0</pose>
<inertial><mass>0.01</mass></inertial></link>
<joint name="shaft" type="revolute"><parent>base_link</parent><child>propeller</child>
<axis><xyz>0 0 1</xyz></axis></joint>
<plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics">
<link_name>base_link</link_name><xDotU>-5</xDotU><yDotV>-6</yDotV><zDotW>-7</zDotW>
<nDotR>-1</nDotR><yDotR>-0.5</yDotR><nDotV>-0.5</nDotV><xU>-4</xU><yV>-1</yV>
<nR>-1</nR><yR>-0.2</yR>
<xUabsU>-18</xUabsU><yVabsR>-3</yVabsR><mQabsQ>-2</mQabsQ><zVabsV>-0.7</zVabsV>
<yVabsV>-8</yVabsV><zWabsW>-9</zWabsW></plugin>
<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">
<joint_name>shaft</joint_name><thrust_coefficient>0.02</thrust_coefficient>
<fluid_density>1000</fluid_density><propeller_diameter>0.1</propeller_diameter>
<max_thrust_cmd>50</max_thrust_cmd><min_thrust_cmd>-40</min_thrust_cmd></plugin>
</model></sdf>
"""

UUV = """<robot name="auv"><link name="auv/base_link"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/></inertial></link>
<link name="auv/thruster_0"><inertial><mass value="0.5"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="auv/thruster_0_joint" type="continuous">
<origin xyz="-0.5 0 0.1" rpy="0 0 3.14159265"/>
<parent link="auv/base_link"/><child link="auv/thruster_0"/><axis xyz="1 0 0"/></joint>
<gazebo><plugin name="u" filename="libuuv_underwater_object_ros_plugin.so">
<fluid_density>1025</fluid_density><link name="auv/base_link"><volume>0.02</volume>
<box><length>1</length><width>0.2</width><height>0.25</height></box>
<center_of_buoyancy>0.1 0.02 0.03</center_of_buoyancy><hydrodynamic_model><type>fossen</type>
<added_mass>1 0 0 0 0 0  0 16 0 0 0 2  0 0 16 0 -3 0  0 0 0 0.1 0 0  0 0 -3 0 5 0  0 2 0 0 0 5
</added_mass><linear_damping>-2 0 0 0 0 0  0 -23 0 0 0 11  0 0 -23 0 -11 0  0 0 0 -0.3 0 0
0 0 3 0 -9 0  0 -3 0 0 0 -9</linear_damping>
<quadratic_damping>-2.5 -80 -81 -0.1 -9 -9.5</quadratic_damping></hydrodynamic_model></link>
</plugin></gazebo>
<gazebo><plugin name="t" filename="libuuv_thruster_ros_plugin.so">
<linkName>auv/thruster_0</linkName><jointName>auv/thruster_0_joint</jointName>
<thrusterID>0</thrusterID><clampMin>-100</clampMin><clampMax>100</clampMax>
<dynamics><type>FirstOrder</type><timeConstant>0.05</timeConstant></dynamics>
<conversion><type>Basic</type><rotorConstant>0.002</rotorConstant></conversion></plugin></gazebo>
</robot>
"""

VRX = """<robot name="boat"><link name="base_link"><inertial><mass value="180"/>
<inertia ixx="120" ixy="0" ixz="0" iyy="393" iyz="0" izz="446"/></inertial></link>
<gazebo><plugin filename="libSurface.so" name="vrx::Surface"><link_name>base_link</link_name>
<hull_length>4.9</hull_length><hull_radius>0.213</hull_radius><fluid_density>1000</fluid_density>
<points><point>1.2 1 -0.3</point><point>-1.2 1 -0.3</point></points></plugin>
<plugin filename="libSurface.so" name="vrx::Surface"><link_name>base_link</link_name>
<hull_length>4.9</hull_length><hull_radius>0.213</hull_radius><fluid_density>1000</fluid_density>
<points><point>1.2 -1 -0.3</point><point>-1.2 -1 -0.3</point></points></plugin>
<plugin filename="libSimpleHydrodynamics.so" name="vrx::SimpleHydrodynamics">
<link_name>base_link</link_name><xDotU>3</xDotU><xU>100</xU><xUU>150</xUU><yV>100</yV>
<yVV>100</yVV><zW>500</zW><kP>300</kP><kPP>600</kPP><mQ>900</mQ><mQQ>900</mQQ><nR>800</nR>
<nRR>800</nRR></plugin></gazebo></robot>
"""

STONEFISH = """<?xml version="1.0"?><scenario>
<environment><ocean><water density="1031.0"/></ocean></environment>
<materials><material name="Steel" density="2000.0"/></materials>
<robot name="block" fixed="false"><base_link name="Vehicle" type="box" physics="submerged">
<dimensions xyz="1.0 0.5 0.4"/><origin xyz="0.1 0.2 0.3" rpy="0 0 0"/><material name="Steel"/>
<mass value="210"/>
<hydrodynamics viscous_drag="0.01 0.02 0.03" quadratic_drag="0.5 0.8 1.2"/></base_link>
<sensor name="depth" type="pressure" rate="5.0"><link name="Vehicle"/>
<origin xyz="0.4 0.1 -0.2" rpy="0 0 0"/><noise pressure="5.0"/></sensor>
<actuator name="stern" type="thruster"><link name="Vehicle"/>
<origin xyz="-0.5 0.1 0.2" rpy="0 0 0.5"/>
<specs max_setpoint="${{1200/60*2*pi}}" inverted_setpoint="false" normalized_setpoint="true"/>
<propeller diameter="0.18" right="true"><mesh filename="none.obj" scale="1.0"/></propeller>
<rotor_dynamics type="first_order"><time_constant value="0.2"/></rotor_dynamics>
<thrust_model type="fluid_dynamics"><thrust_coeff forward="0.48" reverse="0.4"/>
<torque_coeff value="0.05"/></thrust_model></actuator></robot></scenario>
""".replace('{{', '{').replace('}}', '}')

SUFFIX = {SDF: '.sdf', UUV: '.urdf', VRX: '.urdf', STONEFISH: '.scn'}


def imported(folder, text, suffix, **options):
    """Return what import reads of a text, and the vehicle that its URDF makes."""
    path = folder / f'vehicle{suffix}'
    path.write_text(text)
    description = import_vehicle(path, Options(**options))
    written = urdf_text(description, folder)
    vehicle = vehicle_from_urdf(written, base=folder, base_link=description.base)
    return description, vehicle
