# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names, message types and qualities of service of all topics, relative to the namespace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    PoseStamped,
    Twist,
    Vector3Stamped,
    Wrench,
    WrenchStamped,
)
from nav_msgs.msg import Odometry, Path
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, Joy, PointCloud2
from std_msgs.msg import (
    Bool,
    Float32MultiArray,
    Header,
    String,
    UInt8MultiArray,
    UInt16,
    UInt16MultiArray,
)
from visualization_msgs.msg import MarkerArray

from marine_sim_ros.model.body_joints import joint_topic
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.model.hull import FORCE_TERMS
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics import Actuator, actuators_of
from marine_sim_ros.sensors import SENSORS, SHARED, SensorTopic, needs_of, sensor_nodes

__all__ = [
    'ACK_WINDOW',
    'ARM_COMMANDS',
    'ARM_COMMANDS_PER_TICK',
    'AUTOPILOT_ARMED',
    'AUTOPILOT_EKF',
    'AUTOPILOT_MODE',
    'AUTOPILOT_POSITION',
    'CLOCK',
    'COMMAND_PATH',
    'COMMAND_POSE',
    'COMMAND_SETPOINTS',
    'COMMAND_VELOCITY',
    'COMMAND_WRENCH',
    'CONTACT_MARKERS',
    'CONTROLLER_WRENCH',
    'DIAGNOSTICS',
    'ENVIRONMENT_CHANGE',
    'DRAG_COMPONENTS',
    'DRAG_KINDS',
    'EXTERNAL_WRENCH',
    'GAZEBO_CLOCK',
    'GAZEBO_POSE',
    'GAZEBO_STATE',
    'GAZEBO_STATUS',
    'GAZEBO_WRENCH',
    'JOINT_STATES',
    'JOY',
    'LATCHED',
    'LIGHTS',
    'LOCKSTEP',
    'MARKERS',
    'MISSION_SCORE',
    'OCEAN_CURRENT',
    'ODOM',
    'OPERATOR_EVENTS',
    'OPERATOR_STICKS',
    'PWM',
    'PWM_PER_TICK',
    'QUEUE',
    'RECORDER_WRITTEN',
    'ROBOT_DESCRIPTION',
    'SCENE_MARKERS',
    'SERVOS',
    'SETPOINTS',
    'STATE_NODES',
    'TETHER_ANCHOR',
    'TETHER_SHAPE',
    'TETHER_TENSION',
    'TF',
    'TF_STATIC',
    'THRUSTER_POWER',
    'THRUSTER_STATE',
    'TOTAL_WRENCH',
    'Topic',
    'actuator_commands',
    'actuator_state',
    'drag_topic',
    'topics_to_record',
    'wrench_topic',
]

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None


DEPTH = 16
LOCKSTEP = QoSProfile(
    depth=DEPTH,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""QoS of per-tick topics. Transient local, so that the first tick, which is the handshake,
reaches a node that is discovered late."""
SHARED_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
"""QoS of a subscriber to topics with publishers of other packages, as that of tf2_ros."""
QUEUE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""QoS of topics that any node may publish at any time."""
ACK_WINDOW = 8
"""Ticks that the state node may be ahead of the recorder; below the queues' depth, so that
nothing is dropped."""


@dataclass(frozen=True)
class Topic:
    """A topic of the suite.

    Attributes:
        name: relative to the namespace.
        type: message class.
        qos: quality of service.
        per_tick: one message for every tick.
        sometimes: has the QoS of per-tick topics, but not a message in every tick: a sensor with a
            rate.
        optional: no node waits for it, so that it is not sent without subscribers.
        open_ended: its messages have sequences of names before numbers, or end in empty ones, of
            which ``serialize_message`` overstates the size; strict readers take only what DDS
            delivered.
        shared: other packages publish it too, without messages for late subscribers.
    """

    name: str
    type: Any
    qos: QoSProfile
    per_tick: bool = True
    open_ended: bool = False
    shared: bool = False
    sometimes: bool = False
    optional: bool = False

    @property
    def type_name(self) -> str:
        """The type as bags and ``ros2 topic`` name it: ``package/msg/Name``."""
        return f'{self.type.__module__.split(".")[0]}/msg/{self.type.__name__}'

    @property
    def subscriber_qos(self) -> QoSProfile:
        """QoS with which a subscriber matches every publisher."""
        return SHARED_QOS if self.shared else self.qos

    @property
    def transient_local(self) -> bool:
        """Whether a late subscriber gets the last messages."""
        return bool(self.qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)

    @property
    def has_stamp(self) -> bool:
        """Whether a message starts with a header or a stamp, so that its bytes have the time."""
        first = next(iter(self.type.get_fields_and_field_types().values()))
        return first in ('std_msgs/Header', 'builtin_interfaces/Time')


ODOM = Topic('odom', Odometry, LOCKSTEP)
STATE_NODES = ('dynamics', 'gazebo_bridge')
"""Names of the nodes that publish the state."""
TF = Topic('/tf', TFMessage, LOCKSTEP, shared=True, optional=True) if TFMessage else None
"""None: tf2_msgs is missing, which has no wheel on PyPI; the graph runs without."""
CLOCK = Topic('/clock', Clock, LOCKSTEP)
TOTAL_WRENCH = Topic('wrench/total', WrenchStamped, LOCKSTEP)
EXTERNAL_WRENCH = Topic('wrench/external', WrenchStamped, QUEUE, per_tick=False)
PWM = Topic('thrusters/pwm', UInt16MultiArray, QUEUE, per_tick=False)
PWM_PER_TICK = Topic(PWM.name, PWM.type, LOCKSTEP)
"""The same topic where a controller sends one command for every odom; its layout has the stamp of
that odom (ros/cdr.py)."""
JOY = Topic('/joy', Joy, QUEUE, per_tick=False)
THRUSTER_STATE = Topic('thrusters/state', JointState, LOCKSTEP)
THRUSTER_POWER = Topic('thrusters/power', Float32MultiArray, LOCKSTEP, optional=True)
ACCELERATION = Topic('acceleration', AccelStamped, LOCKSTEP)
"""Rate of change of the body-frame velocity over the step that follows, for inertial sensors."""
THRUSTER_SUPPLY = Topic('thrusters/supply', JointState, LOCKSTEP)
"""position: the numbers of SUPPLY, which are the ``supply`` of SensorInputs; published where a
sensor needs it."""
SUPPLY = ('power', 'voltage', 'used')
OCEAN_CURRENT = Topic('/ocean_current', Vector3Stamped, QUEUE, per_tick=False)
ENVIRONMENT_CHANGE = Topic('environment/change', String, QUEUE, per_tick=False)
"""A change of wind, current, tide or turbidity from the next tick on, YAML or JSON."""
DIAGNOSTICS = Topic('/diagnostics', DiagnosticArray, QUEUE, per_tick=False)
RECORDER_WRITTEN = Topic('recorder/written', Time, QUEUE, per_tick=False)
"""Up to which stamp the recorder has every per-tick message; below 0: it listens, and has none."""


LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""QoS of topics that are sent once and delivered to late subscribers."""
TF_STATIC = Topic(
    '/tf_static',
    TFMessage,
    QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
    ),
    per_tick=False,
)
"""The fixed links, from robot_state_publisher, as tf2_ros subscribes to it."""
ROBOT_DESCRIPTION = Topic('robot_description', String, LATCHED, per_tick=False)
"""The URDF, from robot_state_publisher."""
SCENE_MARKERS = Topic('scene/markers', MarkerArray, LATCHED, per_tick=False)
LIGHTS = Topic('lights', Float32MultiArray, LATCHED, per_tick=False)
"""Brightness of each light of the URDF, 0 to 1, in its order."""
SERVOS = Topic('servos', JointState, LATCHED, per_tick=False)
"""Commands of an autopilot besides thrusters: lights 0 to 1, camera_tilt rad, gripper 0 to 1."""
AUTOPILOT_MODE = Topic('autopilot/mode', String, LATCHED, per_tick=False)
AUTOPILOT_ARMED = Topic('autopilot/armed', Bool, LATCHED, per_tick=False)
AUTOPILOT_EKF = Topic('autopilot/ekf_flags', UInt16, LATCHED, per_tick=False)
"""EKF_STATUS_FLAGS of MAVLink."""
AUTOPILOT_POSITION = Topic('autopilot/position', PointStamped, QUEUE, per_tick=False)
"""Position in map, estimated by the autopilot, m."""
JOINT_STATES = Topic('joint_states', JointState, LOCKSTEP)
ARM_COMMANDS = Topic('joint_commands', JointState, QUEUE, per_tick=False)
ARM_COMMANDS_PER_TICK = Topic(ARM_COMMANDS.name, JointState, LOCKSTEP, open_ended=True)
"""The same topic where a program sends one command for every odom; its header has that stamp."""
COMMAND_VELOCITY = Topic('cmd_vel', Twist, QUEUE, per_tick=False)
COMMAND_POSE = Topic('cmd_pose', PoseStamped, QUEUE, per_tick=False)
COMMAND_PATH = Topic('cmd_path', Path, QUEUE, per_tick=False)
COMMAND_WRENCH = Topic('cmd_wrench', Wrench, QUEUE, per_tick=False)
COMMAND_SETPOINTS = Topic('cmd_setpoints', JointState, QUEUE, per_tick=False)
"""name: some of the twelve quantities; position: their targets; the others are free."""
SETPOINTS = Topic('controller/setpoints', JointState, LOCKSTEP, optional=True)
"""name: the twelve quantities; position: their targets, NaN where free."""
CONTROLLER_WRENCH = Topic('controller/wrench', WrenchStamped, LOCKSTEP, optional=True)
"""Wrench that the controller commands, about the centre of mass."""
MISSION_SCORE = Topic('mission/score', String, LATCHED, per_tick=False)
"""Score of a mission so far, JSON as in score.json, with the time of its newest tick."""
OPERATOR_EVENTS = Topic('console/events', String, QUEUE, per_tick=False)
"""What pilot and instructor do at the console beside steering, JSON of ``console.run_events``."""
OPERATOR_STICKS = Topic('console/sticks', Joy, QUEUE, per_tick=False)
"""The six efforts of the pilot's sticks at the console, -1 to 1 (FLU), with the run's time."""
MARKERS = Topic('markers', MarkerArray, QUEUE, per_tick=False)
CONTACT_MARKERS = Topic('contact/markers', MarkerArray, QUEUE, per_tick=False)
TETHER_TENSION = Topic('tether/tension', JointState, QUEUE, per_tick=False, open_ended=True)
"""name: vehicle, anchor; effort: pull of the cable there, N."""
TETHER_ANCHOR = Topic('tether/anchor_wrench', WrenchStamped, LOCKSTEP)
"""On the vehicle that carries the anchor, in its body frame; where one does."""
TETHER_SHAPE = Topic('tether/shape', Path, QUEUE, per_tick=False)
GAZEBO_STATE = Topic('gazebo/state', Odometry, QUEUE, per_tick=False)
"""Between gazebo_bridge and ros_gz_bridge, which has no latched topics."""
GAZEBO_CLOCK = Topic('gazebo/clock', Clock, QUEUE, per_tick=False)
GAZEBO_POSE = Topic('gazebo/pose', PoseStamped, QUEUE, per_tick=False)
GAZEBO_WRENCH = Topic('gazebo/wrench', WrenchStamped, QUEUE, per_tick=False)
GAZEBO_STATUS = Topic('gazebo/status', String, QUEUE, per_tick=False)
DRAG_COMPONENTS = Topic('drag/components', MarkerArray, LOCKSTEP)
DRAG_KINDS = ('damping', *FORCE_TERMS)
"""Terms of wrench/drag."""


OUTBOX = Topic('outbox', JointState, LOCKSTEP, open_ended=True)
"""Packets that the vehicle's modem sends at a tick. name: destinations; velocity: number of bytes
of each; position: all bytes, one after the other."""
TETHER_NODES = Topic('tether/nodes', PointCloud2, LOCKSTEP, open_ended=True)
"""Exact shape of the tether in every tick; published where a sensor needs it."""
NEEDS = {
    'acceleration': ACCELERATION,
    'supply': THRUSTER_SUPPLY,
    'joints': JOINT_STATES,
    'tether': TETHER_NODES,
    'rotors': THRUSTER_STATE,
    'outbox': OUTBOX,
}
"""Topics that only some sensors need, by the name of the need."""
_RECORDED_NEEDS = ('acceleration', 'supply')
"""The other needs follow from recorded topics, and serve pictures only."""


def actuator_commands(actuator: Actuator, *, per_tick: bool = False) -> Topic:
    """Return the topic on which an actuator is commanded.

    Per tick where a controller sends one command for every odom.
    """
    policy = LOCKSTEP if per_tick else QUEUE
    return Topic(actuator.command_topic, JointState, policy, per_tick=per_tick)


def actuator_state(actuator: Actuator) -> Topic:
    """Return the topic of the state of an actuator."""
    return Topic(actuator.state_topic, JointState, LOCKSTEP)


def drag_topic(kind: str) -> Topic:
    """Return the topic of one kind of drag, published if the option is on."""
    return Topic(f'drag/{kind}', WrenchStamped, LOCKSTEP)


def wrench_topic(source: str) -> Topic:
    """Return the topic of a wrench source."""
    return Topic(f'wrench/{source}', WrenchStamped, LOCKSTEP)


def modem_send(sensor: Sensor) -> Topic:
    """Return the topic of packets that a modem is to send."""
    return Topic(f'{sensor.name}/send', UInt8MultiArray, QUEUE, per_tick=False)


def sensor_topic(sensor: Sensor, topic: SensorTopic) -> Topic:
    """Return a topic of a sensor."""
    package, _, name = topic.type.split('/')
    kind = getattr(import_module(f'{package}.msg'), name)
    rare = bool(sensor.period or sensor.latency)
    return Topic(f'{sensor.name}/{topic.name}', kind, LOCKSTEP, sometimes=rare, optional=True)


def published_topics(sensor: Sensor) -> tuple[SensorTopic, ...]:
    """Return the topics of a sensor whose types are installed: not every ROS has all packages."""
    return tuple(
        topic for topic in SENSORS[sensor.kind].topics_of(sensor) if _is_installed(topic.type)
    )


@cache
def _is_installed(message_type: str) -> bool:
    """Return whether a message type exists; older versions of packages have fewer."""
    package, _, name = message_type.split('/')
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return False
    module = re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', name).lower()
    return (FilePath(spec.origin).parent / 'msg' / f'_{module}.py').is_file()


def sensor_ticks(vehicle: Vehicle) -> tuple[Topic, ...]:
    """Return the topic on which sensor nodes report completed ticks.

    Sensors with a rate do not publish in every tick, and pictures may still be on their way.
    """
    programs = {s.name: SENSORS[s.kind].executable for s in vehicle.sensors}
    rare = {
        s.name: bool(s.period or s.latency or programs[s.name] == 'sensor')
        for s in vehicle.sensors
    }
    shared = any(rare[name] for name, program in programs.items() if program == SHARED)
    return tuple(
        sensor_tick(node)
        for node in sensor_nodes(vehicle)
        if (shared if node == SHARED else rare[node])
    )


def sensor_tick(node: str) -> Topic:
    """Return the topic on which a sensor node reports each tick that it has completed."""
    return Topic(f'{node}/tick', Header, LOCKSTEP)


def sensor_needs(vehicle: Vehicle) -> tuple[str, ...]:
    """Return the inputs beside the state that a vehicle's sensors need, of ``NEEDS``."""
    needs = needs_of(vehicle)
    if not len(vehicle.thrusters):
        needs -= {'supply'}
    return tuple(need for need in NEEDS if need in needs)


def sensor_topics(vehicle: Vehicle) -> tuple[Topic, ...]:
    """Return the recorded topics of a vehicle's sensors, and of their recorded needs.

    Topics on demand are left out: their content is in another topic.
    """
    needs = sensor_needs(vehicle)
    needed = (NEEDS[need] for need in _RECORDED_NEEDS if need in needs)
    readings = (
        sensor_topic(sensor, topic)
        for sensor in vehicle.sensors
        for topic in published_topics(sensor)
        if not topic.on_demand
    )
    sends = (modem_send(s) for s in vehicle.sensors if 'outbox' in SENSORS[s.kind].needs)
    return (*needed, *readings, *sends)


_ALWAYS = (
    ODOM,
    *(t for t in (TF, TF_STATIC) if t is not None),
    ROBOT_DESCRIPTION,
    CLOCK,
    TOTAL_WRENCH,
    EXTERNAL_WRENCH,
    PWM,
    THRUSTER_STATE,
    THRUSTER_POWER,
    LIGHTS,
    SERVOS,
    OCEAN_CURRENT,
    OPERATOR_EVENTS,
    OPERATOR_STICKS,
    AUTOPILOT_MODE,
    AUTOPILOT_ARMED,
    AUTOPILOT_EKF,
    AUTOPILOT_POSITION,
    DIAGNOSTICS,
    MARKERS,
    SCENE_MARKERS,
    CONTACT_MARKERS,
)


def _actuator_topics(vehicle: Vehicle, sources: Sequence[str]) -> tuple[Topic, ...]:
    """Return states and commands of the actuators that some sources of wrenches move."""
    result: dict[str, Topic] = {}
    for actuator in actuators_of(vehicle):
        if actuator.source in sources:
            if actuator.state_topic:
                result.setdefault(actuator.state_topic, actuator_state(actuator))
            if actuator.command_topic:
                result.setdefault(actuator.command_topic, actuator_commands(actuator))
    return tuple(result.values())


def body_odom(name: str) -> Topic:
    """Return the topic of the odometry of a free body."""
    return Topic(f'{BODIES}{name}/odom', Odometry, LOCKSTEP)


def kept(topic: Topic) -> Topic:
    """Return the topic on which the state node keeps a state while its node is away."""
    return Topic(f'{topic.name}/kept', topic.type, LATCHED, per_tick=False)


def body_joint_states(name: str) -> Topic:
    """Return the topic of the joints of a free body."""
    return Topic(joint_topic(name), JointState, LOCKSTEP)


def body_tether_shape(name: str) -> Topic:
    """Return the topic of the tether of a free body."""
    return Topic(f'{BODIES}{name}/{TETHER_SHAPE.name}', Path, QUEUE, per_tick=False)


def of_gazebo_body(topic: Topic, name: str) -> Topic:
    """Return the topic of a free body between gazebo_bridge and ros_gz_bridge.

    Args:
        topic: the vehicle's, such as ``GAZEBO_STATE``.
        name: name of the body.
    """
    return replace(topic, name=topic.name.replace('/', f'{BODIES}{name}/', 1))


def body_frame_name(name: str) -> str:
    """Return the frame of a free body."""
    return f'{BODIES}{name}'.lstrip('/')


def topics_to_record(
    vehicle: Vehicle,
    *,
    components: bool = False,
    controller: bool = False,
    pwm_per_tick: bool = False,
    sources: Sequence[str],
    bodies: Sequence[str] = (),
    joined: Sequence[str] = (),
    tethered: Sequence[str] = (),
) -> tuple[Topic, ...]:
    """Return everything that is recorded of a run, whoever records it.

    Args:
        vehicle: the vehicle that is recorded.
        components: the kinds of drag are published.
        controller: whether there is a controller.
        pwm_per_tick: whether there is one command for every odom.
        bodies: names of the free bodies.
        joined: names of those with joints that move.
        tethered: names of those with a tether.
    """
    always = tuple(PWM_PER_TICK if t is PWM and pwm_per_tick else t for t in _ALWAYS)
    result = (
        *always,
        *(wrench_topic(s) for s in sources),
        *sensor_topics(vehicle),
        *sensor_ticks(vehicle),
        *map(body_odom, bodies),
        *map(body_joint_states, joined),
        *map(body_tether_shape, tethered),
    )
    if 'thrusters' not in sources:
        result = tuple(t for t in result if not t.name.startswith('thrusters/'))
    if components:
        result = (*result, DRAG_COMPONENTS, *(drag_topic(kind) for kind in DRAG_KINDS))
    result = (*result, *_actuator_topics(vehicle, sources))
    if 'tether' in sources:
        result = (*result, TETHER_TENSION, TETHER_SHAPE)
        if vehicle.extensions['tether'].vehicle:
            result = (*result, TETHER_ANCHOR)
    if controller:
        commands = (COMMAND_VELOCITY, COMMAND_POSE, COMMAND_PATH, COMMAND_WRENCH)
        result = (*result, SETPOINTS, CONTROLLER_WRENCH, *commands, COMMAND_SETPOINTS)
    return result
