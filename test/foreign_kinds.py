# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""More small vehicles of other simulators, each with the files that it needs, for the fuzz."""

from foreign import INERTIA, SDF, STONEFISH

_HULL = f"""<link name="base_link"><inertial><mass>20</mass>{INERTIA}</inertial>
<collision name="c"><geometry><box><size>0.8 0.5 0.05</size></box></geometry></collision></link>"""
_ROTOR = f"""<link name="rotor"><pose>-0.3 0.1 0 0 1.57 0</pose><inertial><mass>0.01</mass>
{INERTIA}</inertial></link><joint name="spin" type="revolute"><parent>base_link</parent>
<child>rotor</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>
</joint>"""


def _model(*parts):
    return f'<sdf version="1.9"><model name="m">{_HULL}{_ROTOR}{"".join(parts)}</model></sdf>'


INCLUDES = """<sdf version="1.10"><model name="boat"><include merge="true"><uri>hull</uri>
<pose>0.1 0 0.2 0 0 0.1</pose></include><include><uri>pod</uri><name>left</name>
<pose relative_to="base_link">0 0.4 0 0 0 0</pose><experimental:params><plugin action="modify"
element_id="thrust"><max_thrust_cmd>20</max_thrust_cmd></plugin></experimental:params></include>
<joint name="hold" type="fixed"><parent>base_link</parent><child>left::pod</child></joint>
<frame name="f" attached_to="left::pod"><pose>0 0 1 0 0 0</pose></frame></model></sdf>"""
PX4 = _model(
    """<plugin name="m" filename="libgazebo_motor_model.so"><jointName>spin</jointName>
<linkName>rotor</linkName><turningDirection>cw</turningDirection><reversible>true</reversible>
<timeConstantUp>0.01</timeConstantUp><maxRotVelocity>1100</maxRotVelocity><motorNumber>0
</motorNumber><motorConstant>1e-5</motorConstant></plugin>
<plugin name="u" filename="libgazebo_uuv_plugin.so"><baseLinkName>base_link</baseLinkName>
<addedMassLinear>1.1 2.8 2.8</addedMassLinear><addedMassAngular>0 0.01 0.01</addedMassAngular>
<dampingLinear>5 17 17</dampingLinear><dampingAngular>0.1 0.1 0.1</dampingAngular><buoyancy>
<link_name>base_link</link_name><origin>0 0 0.01</origin><compensation>1.03</compensation>
<height_scale_limit>0.1</height_scale_limit></buoyancy></plugin>"""
)
MOTORS = _model(
    """<plugin name="g" filename="libGenericMotorModelPlugin.so"><jointName>spin</jointName>
<linkName>rotor</linkName><motorType>force_polynomial</motorType><bidirectionalMotor>true
</bidirectionalMotor><controlMethod>duty_cycle</controlMethod><minDutyCycle>1100</minDutyCycle>
<maxDutyCycle>1900</maxDutyCycle><minCommand>0.05</minCommand><actuator_number>0</actuator_number>
<positiveThrustPolynomial>[0, 2.5, 30]</positiveThrustPolynomial>
<negativeThrustPolynomial>0 2 20</negativeThrustPolynomial></plugin>
<plugin name="g2" filename="libgz-sim-multicopter-motor-model-system.so"
><jointName>spin</jointName><linkName>rotor</linkName><motorConstant>1e-5</motorConstant>
<maxRotVelocity>800</maxRotVelocity></plugin>"""
)
HIPPO = _model(
    """<plugin filename="hydrodynamics" name="hippo_gz_plugins::hydrodynamics::Plugin">
<hydrodynamics><link>base_link</link><added_mass_linear>1.1 2.8 2.8</added_mass_linear>
<damping_linear>5.4 17.4 17.4</damping_linear><damping_angular>0.1 0.1 0.1</damping_angular>
</hydrodynamics></plugin><plugin filename="b" name="hippo_gz_plugins::buoyancy::Plugin"><buoyancy>
<link>base_link</link><relative_compensation>1.0</relative_compensation><origin>0 0 0.01</origin>
<height_scale_limit>0.1</height_scale_limit></buoyancy></plugin>
<plugin filename="t" name="hippo_gz_plugins::thruster::Plugin"><link>rotor</link>
<joint>spin</joint><maximum_rpm>9000</maximum_rpm><thruster_number>2</thruster_number>
<constant_coeff>-0.1</constant_coeff><linear_coeff>0.001</linear_coeff>
<quadratic_coeff>1e-3</quadratic_coeff><timeconstant_up>0.1</timeconstant_up></plugin>"""
)
_URDF = """<robot name="r"><link name="base_link"><inertial><mass value="30"/><inertia ixx="2"
ixy="0" ixz="0" iyy="3" iyz="0" izz="4"/></inertial>{}</link><link name="t1"><inertial>
<mass value="0.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
</link><joint name="j1" type="revolute"><origin xyz="-0.6 0.2 0" rpy="0 1.57 0"/>
<parent link="base_link"/><child link="t1"/><axis xyz="0 0 1"/>
<limit lower="-0.5" upper="0.5" velocity="1" effort="9"/></joint>{}</robot>"""
FREEFLOATING = _URDF.format(
    """<buoyancy><compensation>1.02</compensation><origin xyz="0 0 0.05"/><limit radius="0.3"/>
<damping xyz="80 90 100" rpy="20 20 30"/><damping type="linear" xyz="5 5 5"/></buoyancy>""",
    """<gazebo><plugin name="c" filename="libfreefloating_gazebo_control.so"><link>base_link</link>
<thruster><map>1 0 0 0 0 -0.2</map><effort>30</effort></thruster><thruster><name>t1</name>
<effort>20</effort></thruster></plugin></gazebo>""",
)
CLASSIC = _URDF.format(
    '',
    """<gazebo><plugin name="d" filename="libusv_gazebo_dynamics_plugin.so">
<bodyName>base_link</bodyName><waterDensity>1000</waterDensity><xDotU>3</xDotU><xU>50</xU>
<xUU>70</xUU><yV>40</yV><zW>500</zW><kP>50</kP><mQ>50</mQ><nR>400</nR><boatLength>2</boatLength>
<boatWidth>1</boatWidth><hullRadius>0.15</hullRadius></plugin>
<plugin name="t" filename="libusv_gazebo_thrust_plugin.so"><thruster><linkName>t1</linkName>
<propJointName>j1</propJointName><maxForceFwd>250</maxForceFwd><maxForceRev>-100</maxForceRev>
<mappingType>0</mappingType></thruster></plugin></gazebo>""",
)
SURFACES = SDF.replace(
    '</model>',
    """<link name="fin"><pose>-0.4 0 0.1 0 0 0</pose><inertial><mass>0.01</mass></inertial></link>
<joint name="flap" type="revolute"><parent>base_link</parent><child>fin</child><axis><xyz>0 1 0
</xyz><limit><lower>-0.2</lower><upper>0.4</upper></limit></axis></joint>
<plugin filename="l" name="gz::sim::systems::LiftDrag"><link_name>base_link</link_name>
<area>0.05</area><air_density>1000</air_density><cla>3</cla><cda>0.1</cda><cp>-0.3 0 0</cp>
<radial_symmetry>true</radial_symmetry><control_joint_name>flap</control_joint_name>
<control_joint_rad_to_cl>2</control_joint_rad_to_cl></plugin>
<plugin filename="a" name="gz::sim::systems::AdvancedLiftDrag"><link_name>base_link</link_name>
<AR>6.5</AR><eff>0.97</eff><area>0.34</area><air_density>1000</air_density><CL0>0.15</CL0>
<CLa>4.75</CLa><CD0>0.03</CD0><CYb>-0.26</CYb><Cellp>-0.5</Cellp><Cemq>-12</Cemq>
<alpha_stall>0.34</alpha_stall></plugin>
<plugin filename="b" name="gz::sim::systems::BuoyancyEngine"><link_name>base_link</link_name>
<min_volume>0.0001</min_volume><max_volume>0.0009</max_volume><neutral_volume>0.0004
</neutral_volume><fluid_density>1000</fluid_density></plugin>
<plugin name="f" filename="libfoil_dynamics_plugin.so"><link_type>keel</link_type><area>0.02</area>
<fluid_density>1000</fluid_density><upward>0 1 0</upward><link_name>fin</link_name></plugin>
</model>""",
)
ACTUATORS = STONEFISH.replace(
    '</robot>',
    """<link name="ring" type="torus" physics="submerged"><dimensions major_radius="0.2"
minor_radius="0.05"/><origin xyz="0 0 0" rpy="0 0 0"/><material name="Steel"/></link>
<link name="wing" type="wing" physics="submerged"><dimensions base_chord="0.3" tip_chord="0.1"
length="0.5" naca="0012"/><origin xyz="0 0 0" rpy="0 0 0"/><material name="Steel"/></link>
<joint name="a" type="fixed"><parent name="Vehicle"/><child name="ring"/><origin xyz="0 1 0"
rpy="0 0 0"/></joint><joint name="b" type="revolute"><parent name="Vehicle"/><child name="wing"/>
<origin xyz="0 1 0" rpy="0 0 0"/><axis xyz="0 0 1"/><limits min="-0.4" max="0.4"/></joint>
<actuator name="rudder" type="rudder"><link name="Vehicle"/><origin xyz="-0.5 0.1 0.2"
rpy="0 0 0"/><specs area="0.03" lift_coeff="2.5" drag_coeff="9" max_angle="0.6"
stall_angle="0.4"/></actuator><actuator name="tank" type="vbs"><link name="Vehicle"/>
<origin xyz="0.3 0 0.1" rpy="0 0 0"/><volume initial="0.001"><mesh filename="a.stl"/>
<mesh filename="b.stl"/></volume></actuator></robot>""",
)
MJCF = """<mujoco model="rov"><compiler angle="degree"/><option density="1025"
viscosity="0.001"/><worldbody><body name="hull" pos="0 0 -3" gravcomp="1.02"><freejoint/>
<geom name="shell" type="ellipsoid" size="0.5 0.15 0.1" density="500" fluidshape="ellipsoid"/>
<site name="stern" pos="-0.5 0.1 0" euler="0 0 30"/><body name="arm" pos="0.5 0 0">
<joint name="elbow" axis="0 1 0" range="-90 45"/><geom type="capsule" size="0.02"
fromto="0 0 0 0.2 0 0"/></body></body></worldbody><actuator><motor name="t1" site="stern"
gear="40 0 0 0 0 0" ctrllimited="true" ctrlrange="-1 0.5"/></actuator></mujoco>"""
USD = """#usda 1.0
(
 defaultPrim = "rov"
 metersPerUnit = 0.01
 kilogramsPerUnit = 1
 upAxis = "Y"
)
def Xform "rov" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
 def Xform "hull" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
 {
  float physics:mass = 12
  float3 physics:diagonalInertia = (1000, 2000, 3000)
  quatf physics:principalAxes = (0.7071, 0, 0, 0.7071)
  point3f physics:centerOfMass = (10, 0, -2)
  double3 xformOp:translate = (50, 30, 0)
  uniform token[] xformOpOrder = ["xformOp:translate"]
  def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
  {
   double size = 20
   float physics:density = 0.0005
   double3 xformOp:scale = (2, 1, 0.5)
   uniform token[] xformOpOrder = ["xformOp:scale"]
  }
  def Mesh "shell" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
  {
   point3f[] points = [(0, 0, 0), (10, 0, 0), (0, 10, 0), (0, 0, 10)]
   int[] faceVertexCounts = [3, 3, 3, 3]
   int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
   uniform token physics:approximation = "convexHull"
  }
 }
 def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
 {
  float physics:mass = 1
  def Capsule "rod" (prepend apiSchemas = ["PhysicsCollisionAPI"])
  {
   double radius = 2
   double height = 30
   uniform token axis = "X"
  }
 }
 def PhysicsRevoluteJoint "hinge"
 {
  rel physics:body0 = </rov/hull>
  rel physics:body1 = </rov/arm>
  point3f physics:localPos0 = (50, 0, 10)
  point3f physics:localPos1 = (-30, 0, 0)
  quatf physics:localRot1 = (0.7071, 0, 0, 0.7071)
  uniform token physics:axis = "Y"
  float physics:lowerLimit = -90
  float physics:upperLimit = 45
 }
}
"""
MATRIX = """thruster_manager:
  max_thrust: [40, 25]
tam:
- [0.7, 0.0]
- [0.7, 0.0]
- [0.0, 1.0]
- [0.05, 0.1]
- [0.0, 0.3]
- [-0.1, 0.0]
engine:
  - prefix: left
    position: "-2.37 1.03 0.32"
    orientation: "0 0 0.5"
"""
BARE = _model()
_POD = f"""<sdf version="1.10"><model name="pod"><link name="pod"><inertial><mass>1</mass>{INERTIA}
</inertial></link><link name="prop"><pose>0 0 -0.1 0 1.57 0</pose><inertial><mass>0.01</mass>
</inertial></link><joint name="shaft" type="revolute"><parent>pod</parent><child>prop</child>
<axis><xyz>0 0 1</xyz></axis></joint><plugin filename="gz-sim-thruster-system" name="thrust">
<joint_name>shaft</joint_name><max_thrust_cmd>50</max_thrust_cmd></plugin></model></sdf>"""
INCLUDED = {
    'hull/model.sdf': SDF.replace('name="rov"', 'name="hull"'),
    'pod/model.sdf': _POD,
    **{
        f'{name}.stl': 'solid x\n'
        + ''.join(
            'facet normal 0 0 0\nouter loop\n'
            + ''.join(f'vertex {size * x} {size * y} {size * z}\n' for x, y, z in corners)
            + 'endloop\nendfacet\n'
            for corners in (
                ((0, 0, 0), (0, 1, 0), (1, 0, 0)),
                ((0, 0, 0), (1, 0, 0), (0, 0, 1)),
                ((0, 0, 0), (0, 0, 1), (0, 1, 0)),
                ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
            )
        )
        + 'endsolid x\n'
        for name, size in (('a', 0.05), ('b', 0.3))
    },
}
"""Files beside all of them."""
