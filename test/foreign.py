# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small vehicles in the formats of other simulators, and what imports them."""

from marine_sim_ros.importers.builder import Options
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

_NOISE = '<noise type="gaussian">{}</noise>'
_GYRO = _NOISE.format(
    '<stddev>0.02</stddev><bias_stddev>0.003</bias_stddev>'
    '<dynamic_bias_stddev>1e-4</dynamic_bias_stddev>'
)
IMU = ''.join(
    (
        '<sensor name="imu 1" type="imu"><pose>0.1 0.2 0.3 3.141592653589793 0 0</pose>',
        '<update_rate>400</update_rate><imu><angular_velocity>',
        *(f'<{a}>{_GYRO}</{a}>' for a in 'xyz'),
        '</angular_velocity><linear_acceleration>',
        *(
            f'<{a}>{_NOISE.format(f"<stddev>{s}</stddev>")}</{a}>'
            for a, s in (('x', 0.1), ('y', 0.1), ('z', 0.2))
        ),
        '</linear_acceleration></imu></sensor>',
    )
)
CAMERA = """<sensor name="eye" type="{}"><update_rate>10</update_rate><camera>
<horizontal_fov>1.5707963267948966</horizontal_fov><image><width>800</width><height>600</height>
</image><noise><stddev>0.01</stddev></noise><distortion><k1>-0.1</k1><p2>0.02</p2></distortion>
</camera></sensor>"""


DVL = """<sensor xmlns:gz="http://gazebosim.org/schema" name="dvl" type="custom" gz:type="dvl">
<update_rate>8</update_rate><gz:dvl><arrangement degrees="true"><beam><tilt>25</tilt></beam>
</arrangement><tracking><bottom_mode><noise type="gaussian"><stddev>0.005</stddev></noise>
</bottom_mode></tracking><maximum_range>200</maximum_range></gz:dvl></sensor>"""


UUV_SENSORS = """<link name="dvl_link"><inertial><mass value="0.1"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
<joint name="dvl" type="fixed"><parent link="auv/base_link"/><child link="dvl_link"/>
<origin xyz="-1 0 -0.3" rpy="0 1.5707963267948966 0"/></joint>
<link name="beam"/><joint name="b" type="fixed"><parent link="dvl_link"/><child link="beam"/>
<origin rpy="0 -0.52 0"/></joint><gazebo reference="beam"><sensor type="ray" name="beam0"><ray>
<scan><horizontal><samples>3</samples><min_angle>-0.03</min_angle><max_angle>0.03</max_angle>
</horizontal></scan><range><min>0.5</min><max>80</max></range></ray></sensor></gazebo>
<gazebo><plugin filename="libuuv_gazebo_ros_dvl_plugin.so" name="dvl_plugin">
<link_name>dvl_link</link_name><sensor_topic>dvl</sensor_topic><update_rate>7</update_rate>
<noise_sigma>0.05</noise_sigma><noise_amplitude>0.2</noise_amplitude>
<beam_link_name_0>beam</beam_link_name_0></plugin>
<plugin filename="libuuv_gazebo_ros_subsea_pressure_plugin.so" name="p">
<link_name>auv/base_link</link_name><noise_sigma>3</noise_sigma><update_rate>10</update_rate>
<standard_pressure>100</standard_pressure></plugin>
<plugin filename="libuuv_gazebo_ros_imu_plugin.so" name="i"><link_name>auv/base_link</link_name>
<gyroscope_noise_density>3e-4</gyroscope_noise_density><noise_amplitude>1</noise_amplitude>
<accelerometer_turn_on_bias_sigma>0.2</accelerometer_turn_on_bias_sigma></plugin>
<plugin filename="libuuv_gazebo_ros_magnetometer_plugin.so" name="m">
<link_name>auv/base_link</link_name><noise_xy>1</noise_xy><noise_z>1.4</noise_z>
<noise_amplitude>0.1</noise_amplitude></plugin></gazebo></robot>"""


_ON = '<link name="Vehicle"/>'


STONEFISH_SENSORS = ''.join(
    (
        f'<sensor name="dvl" type="dvl" rate="5">{_ON}',
        '<origin xyz="1 2 3" rpy="3.14159265359 0 0"/>',
        '<specs beam_angle="20"/><range velocity="9 8 7" altitude_min="0.5" altitude_max="81"/>',
        '<noise velocity="0.0015"/></sensor>',
        f'<sensor name="up" type="dvl" rate="5">{_ON}<origin xyz="0 0 0" rpy="0 0 0"/>',
        '<specs beam_angle="20" beam_positive_z="true"/></sensor>',
        f'<sensor name="imu" type="imu" rate="25">{_ON}<origin xyz="0 0 0" rpy="0 0 0"/>',
        '<noise angle="0.01" angular_velocity="0.05" linear_acceleration="1 2 3"/></sensor>',
        f'<sensor name="gps" type="gps" rate="1">{_ON}<noise ned_position="0.5"/></sensor>',
        f'<sensor name="front" type="camera" rate="13">{_ON}',
        '<origin xyz="0.4 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs resolution_x="640" resolution_y="480" horizontal_fov="55"/></sensor>',
        f'<sensor name="fls" type="fls" rate="10">{_ON}',
        '<origin xyz="0 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs beams="256" bins="500" horizontal_fov="120" vertical_fov="20"/>',
        '<settings range_min="0.5" range_max="10"/></sensor>',
        f'<sensor name="msis" type="msis" rate="10">{_ON}',
        '<origin xyz="0 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs step="0.9" bins="400" horizontal_beam_width="2" vertical_beam_width="20"/>',
        '<settings range_max="30" rotation_min="-45" rotation_max="45"/></sensor>',
        '<sensor name="odom" type="odometry"/>',
    )
)


def sensors_on_sdf(*elements):
    """Return the SDF vehicle with sensors on its first link."""
    return SDF.replace('</link>', f'{"".join(elements)}</link>', 1)


def sensors_on_robot(*elements):
    return STONEFISH.replace('<sensor name="depth"', f'{"".join(elements)}<sensor name="depth"')


SUFFIX = {SDF: '.sdf', UUV: '.urdf', VRX: '.urdf', STONEFISH: '.scn'}


def imported(folder, text, suffix, **options):
    """Return what import reads of a text, and the vehicle that its URDF makes."""
    path = folder / f'vehicle{suffix}'
    path.write_text(text)
    description = import_vehicle(path, Options(**options))
    written = urdf_text(description, folder)
    vehicle = vehicle_from_urdf(written, base=folder, base_link=description.base)
    return description, vehicle
