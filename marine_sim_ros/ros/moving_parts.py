# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moving parts in messages and transforms: tether, joints, propellers.

robot_state_publisher publishes no transform of a continuous joint without its angle. A description
has such joints for propellers in a run with markers (``model/propulsion.py``), or by its author.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState, PointCloud2, PointField
from std_msgs.msg import String

from marine_sim_ros.core.spatial import rotation_vector_quaternion
from marine_sim_ros.core.state import NANOSECONDS, header_stamp, stamp_ns
from marine_sim_ros.model.kinematics import IDENTITY, Pose, read_origin_pose
from marine_sim_ros.model.propulsion import propeller_link, propeller_turns
from marine_sim_ros.model.tether import CableState
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader, parse
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.message_fields import is_finite, path_message, set_stamp, transform_message

__all__ = [
    'PROPELLER_RATE',
    'PropellerFrames',
    'TetherPublisher',
    'listen_to_parts',
    'part_readers',
]


# Publisher of a tether's cable: shape and tension at a rate, nodes per tick.

_POINT_SIZE = 24
"""Bytes of a point: three numbers of 8."""


class TetherPublisher:
    """Publishes tether/tension and tether/shape, and tether/nodes where a camera needs it."""

    def __init__(self, node: VehicleNode, rate: float) -> None:
        """Publish for a node ``rate`` times per second of simulated time; 0: only nodes."""
        self._rate, self._published_at = rate, -(10**18)
        self._tension = node.publisher(topics.TETHER_TENSION)
        self._shape = node.publisher(topics.TETHER_SHAPE)
        needed = node.values['seen'] or 'tether' in topics.sensor_needs(node.vehicle)
        self._nodes = node.publisher(topics.TETHER_NODES) if needed else None
        fields = [
            PointField(name=name, offset=8 * i, datatype=PointField.FLOAT64, count=1)
            for i, name in enumerate('xyz')
        ]
        self._cloud = PointCloud2(height=1, point_step=_POINT_SIZE, fields=fields, is_dense=True)
        self._cloud.header.frame_id = 'map'

    def publish(self, stamp: int, cable: CableState) -> None:
        """Publish a cable at a stamp in ns."""
        self.publish_nodes(stamp, cable.position)
        if self._rate <= 0 or 0 <= stamp - self._published_at < NANOSECONDS / self._rate:
            return
        self._published_at = stamp
        tension = JointState(name=['vehicle', 'anchor'])
        set_stamp(tension.header.stamp, stamp)
        tension.effort = cable.tension.tolist()
        self._tension.publish(tension)
        self._shape.publish(path_message(stamp, cable.position))

    def publish_nodes(self, stamp: int, points: np.ndarray) -> None:
        """Publish points (n, 3) in map, m, on tether/nodes, if a sensor needs them."""
        if self._nodes is None:
            return
        set_stamp(self._cloud.header.stamp, stamp)
        write_cloud(self._cloud, points)
        self._nodes.publish(self._cloud)


def write_cloud(cloud: PointCloud2, points: np.ndarray) -> None:
    """Write points (n, 3) into a cloud of x, y and z, as little-endian float64."""
    cloud.width, cloud.row_step = len(points), _POINT_SIZE * len(points)
    cloud.data = array('B', np.ascontiguousarray(points, '<f8').tobytes())


def read_cloud(cloud: PointCloud2) -> np.ndarray:
    """Return the points (n, 3) that :func:`write_cloud` wrote; raises ValueError for another."""
    if cloud.point_step != _POINT_SIZE:
        raise ValueError(f'points have {cloud.point_step} bytes; expected {_POINT_SIZE}')
    return np.frombuffer(bytes(cloud.data), '<f8').reshape(-1, 3)


# Moving parts that cameras see, from the messages of a tick.

PartReader = Callable[[Any], np.ndarray | None]


def part_readers(vehicle: Vehicle) -> dict[str, PartReader]:
    """Return readers of the messages of a vehicle's moving parts, by name of the need.

    Each returns the numbers of :class:`~marine_sim_ros.sensors.SensorInputs`; None where their
    number is not that of the vehicle, or they are not finite.
    """
    arm = vehicle.manipulator
    joints = 0 if arm is None else len(arm)
    readers: dict[str, tuple[Callable[[Any], np.ndarray], tuple[int, ...]]] = {
        # The number of the gripped body may follow.
        'joints': (lambda m: np.array(m.position[:joints], float), (joints,)),
        'tether': (read_cloud, (3,)),
        'rotors': (lambda m: np.array(m.velocity, float), (len(vehicle.thrusters),)),
    }
    return {need: partial(_read_checked, *reader) for need, reader in readers.items()}


def listen_to_parts(
    node: VehicleNode, last: Mapping[str, Any], take: Callable[[str, int, Any], None]
) -> None:
    """Subscribe to the moving parts of a vehicle that the sensors of a node need.

    Args:
        last: latest value of each need of the sensors, by name.
        take: called with the name of a need, a stamp in ns and the value.
    """

    def on_message(need: str, read: PartReader, message: Any) -> None:
        value = read(message)
        if value is None:
            name = topics.NEEDS[need].name
            node.warn_throttled(
                f'{name}: not as many finite numbers as expected; the last ones hold'
            )
            value = last[need]
        take(need, stamp_ns(message.header.stamp), value)

    for need, read in part_readers(node.vehicle).items():
        if need in last:
            node.listen(topics.NEEDS[need], partial(on_message, need, read))


def _read_checked(
    read: Callable[[Any], np.ndarray], shape: tuple[int, ...], message: Any
) -> np.ndarray | None:
    value = read(message)
    return value if value.shape[-len(shape) :] == shape and is_finite(value) else None


# Transforms of propellers, for viewers that use robot_description.

PROPELLER_RATE = NodeParameter(
    'propeller_rate',
    25.0,
    'transforms of each propeller per second of simulated time, where robot_description has '
    'continuous joints for them',
    0.0,
    1e3,
    unit='Hz',
    empty='none',
)


class _Mount(NamedTuple):
    """Mount of a propeller: its link, the parent link, and its pose there at angle 0."""

    link: str
    parent: str
    origin: Pose


class PropellerFrames:
    """Publishes the transforms of propellers that are continuous joints of a robot_description.

    Each is stamped a period ahead, with the angle that the rotor reaches by then at its present
    speed: a viewer shows the newest time at which all frames are known, so that stamps of now
    would hold the picture of the vehicle back by up to a period.
    """

    def __init__(self, node: VehicleNode, rate: float) -> None:
        """Wait for the description of a node's vehicle.

        Args:
            rate: transforms of each per second of simulated time; 0: none.
        """
        self._node = node
        self._mounts: tuple[_Mount, ...] = ()
        self._publisher: Any = None
        if topics.TF is None or not rate:
            return
        self._period = round(NANOSECONDS / rate)
        self._last = -3 * self._period
        self._speeds = part_readers(node.vehicle)['rotors']
        node.listen(topics.ROBOT_DESCRIPTION, self._on_description)

    def _on_description(self, message: String) -> None:
        links = {propeller_link(name) for name in self._node.vehicle.thrusters.names}
        self._mounts = tuple(_mounts(message.data, links))
        if self._mounts and self._publisher is None:
            tf = topics.TF
            assert tf is not None
            self._publisher = self._node.create_publisher(tf.type, tf.name, tf.subscriber_qos)
            self._node.listen(topics.THRUSTER_STATE, self._on_thrusters, raw=True)

    def _on_thrusters(self, message: Any) -> None:
        """Take a message, or its bytes, which are deserialised only when a transform is due."""
        raw = isinstance(message, bytes)
        stamp = header_stamp(message) if raw else stamp_ns(message.header.stamp)
        elapsed = stamp - self._last
        if 0 <= elapsed < self._period or not self._publisher.get_subscription_count():
            return
        kind = topics.THRUSTER_STATE.type
        speeds = self._speeds(deserialize_message(message, kind) if raw else message)
        if speeds is None:
            self._node.warn_throttled(
                'thrusters/state: not one finite speed for each thruster; propellers stand still'
            )
            return
        self._last = stamp
        # After a gap, tf needs the transform of now too, to interpolate from.
        now = () if self._period <= elapsed <= 2 * self._period else (stamp,)
        transforms = [
            transform
            for time in (*now, stamp + self._period)
            for transform in self._transforms(speeds, time)
        ]
        assert topics.TF is not None
        self._publisher.publish(topics.TF.type(transforms=transforms))

    def _transforms(self, speeds: np.ndarray, stamp: int) -> Iterator[Any]:
        """Yield the transforms at a stamp, ns, of rotors with speeds (n,), rad/s."""
        prefix = self._node.values['frame_prefix']
        angles = propeller_turns(self._node.vehicle.thrusters, speeds, stamp / NANOSECONDS)
        for link, parent, origin in self._mounts:
            angle = np.array([0.0, 0.0, angles[link]])
            rotation = Pose(IDENTITY.translation, np.asarray(rotation_vector_quaternion(angle)))
            pose = origin.then(rotation)
            message = transform_message(
                prefix + parent, prefix + link, pose.translation, pose.quaternion
            )
            set_stamp(message.header.stamp, stamp)
            yield message


def _mounts(urdf: str, links: Collection[str]) -> Iterator[_Mount]:
    """Yield the mounts of the given links that continuous joints carry."""
    root = parse(urdf, 'robot_description')
    for element in root.findall('joint'):
        joint = Reader(element, 'robot_description')
        parent, child = joint.child('parent'), joint.child('child')
        if element.get('type') != 'continuous' or parent is None or child is None:
            continue
        if (link := child.attribute('link')) in links:
            yield _Mount(link, parent.attribute('link'), read_origin_pose(joint))
