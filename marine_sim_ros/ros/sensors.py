# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensor nodes, and the neighbouring vehicles that their sensors meet."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.instruments.instrument import InstrumentReading
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics.silt import SiltClouds
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import (
    DRIVER_NAMES,
    NEIGHBOURS,
    PROTOCOL,
    VIDEO,
    NodeParameter,
    neighbour_parameters,
)
from marine_sim_ros.ros.base.publishers import NumbersPublisher
from marine_sim_ros.ros.cdr import JointNumbers, read_joints
from marine_sim_ros.ros.driver_topics import DriverTopics, topics_of_drivers
from marine_sim_ros.ros.fleet import OtherVehicles, Outbox, read_outbox
from marine_sim_ros.ros.message_fields import (
    is_finite,
    set_fields,
    set_stamp,
    state_from,
    state_of,
    transform_message,
)
from marine_sim_ros.ros.moving_parts import listen_to_parts, part_readers
from marine_sim_ros.ros.ticks import TickSynchronizer
from marine_sim_ros.sensors import SENSORS, SHARED, Readings, SensorInputs, moving_parts, needs_of
from marine_sim_ros.sensors.addresses import read_protocols, video_address
from marine_sim_ros.sensors.dead_reckoning import start_pose
from marine_sim_ros.sensors.partners import check_partners, partner_of
from marine_sim_ros.sensors.seen_bodies import OwnParts, body_of, with_vehicles
from marine_sim_ros.sensors.sensor_model import SensorTopic
from marine_sim_ros.sensors.series import SensorReader, SensorSample

if TYPE_CHECKING:
    from marine_sim_ros.sensors.camera.video_stream import VideoStream

__all__ = ['SENSORS_PARAMETERS', 'SENSOR_PARAMETERS', 'SensorNode', 'SensorsNode']


# Other vehicles of a fleet around a sensor: their positions and parts at a tick.


class Neighbours(OtherVehicles):
    """States and moving parts of every other vehicle, whose bodies sensors detect.

    Attributes:
        last: latest state by namespace; None before the first.
        inputs: the same, and the latest parts by name of the topic: inputs of the synchroniser.
    """

    def __init__(
        self,
        node: VehicleNode,
        text: str,
        needs: Collection[str],
        partners: Collection[str] | None = None,
    ) -> None:
        """Load the vehicles.

        Args:
            text: value of the parameter ``neighbours``.
            needs: moving parts of vehicles that the sensors detect, of ``topics.NEEDS``.
            partners: names of the vehicles to include; None: all.

        Raises:
            MarineSimError: not JSON, or a vehicle that cannot be used.
        """
        vehicles = _vehicles(text, partners)
        seeds = {name: entry['seed'] for name, entry in neighbour_parameters(text).items()}
        self._bodies = {n: body_of(vehicle, n, seeds[n]) for n, vehicle in vehicles.items()}
        super().__init__(
            node,
            self._bodies,
            topics.ODOM,
            state_from,
            first=None,
            fallback='sensors see it where it was last',
        )
        none = SensorInputs.none()
        self._parts = {
            (name, need): OtherVehicles(
                node,
                [name],
                topics.NEEDS[need],
                read,
                first=getattr(none, need),
                fallback='cameras see its parts where they were last',
                by_topic=True,
            )
            for name, vehicle in vehicles.items()
            for need, read in {**part_readers(vehicle), 'outbox': read_outbox}.items()
            if need in needs and need in moving_parts(vehicle) | needs_of(vehicle)
        }
        self.inputs = dict(self.last)
        for part in self._parts.values():
            self.inputs |= part.last

    def listen(self, synchronizer: TickSynchronizer) -> None:
        """Subscribe, and pass the values to a synchroniser that waits for them."""
        super().listen(synchronizer)
        for part in self._parts.values():
            part.listen(synchronizer)

    def environment_with_neighbours(
        self, environment: Environment, time: float, values: Mapping[str, Any]
    ) -> Environment:
        """Return an environment with the other vehicles at a tick.

        Args:
            environment: water and scene.
            time: s.
            values: states and parts of the other vehicles, by the names of ``inputs``.
        """
        others = dict.fromkeys(self._bodies, SensorInputs.none(time))
        for (name, need), part in self._parts.items():
            (key,) = part.last
            others[name] = others[name]._replace(**{need: values[key]})
        return with_vehicles(environment, self._bodies, values, others)


def _vehicles(text: str, partners: Collection[str] | None) -> dict[str, Vehicle]:
    return {
        name: vehicle_of(parameters)
        for name, parameters in neighbour_parameters(text).items()
        if partners is None or name.strip('/') in partners
    }


# Sensor nodes: readings for each ``odom``.

SENSORS_PARAMETERS = (NEIGHBOURS, PROTOCOL, DRIVER_NAMES)
"""Parameters of the node of several sensors, beside the common ones."""
SENSOR_PARAMETERS = (*SENSORS_PARAMETERS, VIDEO)
"""Parameters of the node of one sensor, beside the common ones."""

_THRUST = 'thrust'
"""Input of a node that follows clouds of silt, beside the needs of its sensors."""
DELIVERY_TIMEOUT = Duration(seconds=1)
"""Grace period before a subscriber of pictures counts as gone."""


def _is_wanted(topic: SensorTopic, publisher: Any) -> bool:
    """Whether the next message of a topic has a receiver."""
    return bool(publisher.get_subscription_count() if topic.on_demand else publisher.has_receiver)


class _SensorPublisher:
    """Reads one sensor of a node, and publishes its readings after their latency."""

    def __init__(self, node: VehicleNode, sensor: Sensor) -> None:
        self.reader = SensorReader(sensor, node.values['seed'])
        self._node = node
        self._waiting: deque[tuple[int, int, Readings, Sensor]] = deque()
        self._stamp = -1
        self._outputs = []
        self.video: VideoStream | None = None
        self.servers: list[InstrumentServer | DriverTopics] = [
            *topics_of_drivers(node, node.values.get('topics', ()), sensor)
        ]
        published = topics.published_topics(sensor)
        for topic in self.reader.model.topics_of(sensor):
            if topic not in published:
                node.get_logger().info(
                    f'{sensor.name}/{topic.name} is not published: {topic.type} is not installed'
                )
        for topic in published:
            ros_topic = topics.sensor_topic(sensor, topic)
            message = ros_topic.type()
            prefix = node.values['frame_prefix']
            if ros_topic.has_stamp:
                message.header.frame_id = topic.frame_of(sensor, prefix)
            if topic.type == 'nav_msgs/msg/Odometry':
                message.child_frame_id = prefix + sensor.frame
            # Made on demand of DDS subscribers only, which a wrapped publisher does not count.
            create = node.create_publisher
            publisher = (
                create(ros_topic.type, ros_topic.name, ros_topic.qos)
                if topic.on_demand
                else node.publisher(ros_topic)
            )
            self._outputs.append((topic, message, publisher, ros_topic.has_stamp))

    @property
    def _has_reader(self) -> bool:
        """Whether the readings have a receiver."""
        return (
            bool(self._waiting)
            or self.video is not None
            or any(server.has_receiver for server in self.servers)
            or any(_is_wanted(topic, publisher) for topic, _, publisher, _ in self._outputs)
        )

    def read(self, node: SensorsNode, stamp: int, sample: SensorSample) -> bool:
        """Read at a tick, and publish due readings; return whether there were any.

        Args:
            stamp: ns.
            sample: returns state, environment and inputs of the tick; called only if needed.
        """
        if stamp < self._stamp:  # the run was reset
            self._waiting.clear()
        self._stamp = stamp
        for server in self.servers:
            while server.instrument.changes:
                server.instrument.changes.popleft()(self.reader)
            if (packet := server.instrument.take_outgoing(stamp)) is not None:
                node.send_packet(packet)
            server.watch(stamp)
        if not self._has_reader and self.reader.skip(stamp, sample, node.faults):
            return False
        reading = self.reader.read(stamp, *sample(), node.faults)
        if reading is not None:
            if self.reader.first == stamp and any(topic.odometry for topic, *_ in self._outputs):
                node.frame_odometry(self.reader.sensor, sample()[0])
            arrival, readings = reading
            self._waiting.append((arrival, stamp, readings, self.reader.sensor))
        due = bool(self._waiting) and self._waiting[0][0] <= stamp
        while self._waiting and self._waiting[0][0] <= stamp:
            _, measured, readings, sensor = self._waiting.popleft()
            self._publish(measured, readings, sensor)
        return due

    def deliver(self) -> None:
        """Wait until all subscribers have received the messages."""
        for _, _, publisher, _ in self._outputs:
            publisher.wait_for_all_acked(DELIVERY_TIMEOUT)

    def _publish(self, stamp: int, readings: Readings, sensor: Sensor) -> None:
        if self.video is not None:
            self.video.show(readings[self.reader.model.video])
        for server in self.servers:
            heading = self._node.environment.origin.heading
            server.report(InstrumentReading(stamp, self._stamp, readings, sensor, heading))
        for topic, message, publisher, stamped in self._outputs:
            if not _is_wanted(topic, publisher):
                continue
            values = topic.fields(sensor, readings)
            if values is None:
                continue
            if stamped:
                set_stamp(message.header.stamp, stamp)
            set_fields(message, values)
            publisher.publish(message)


class SensorsNode(VehicleNode):
    """Publishes readings of sensors; by default of all that have no node of their own."""

    def __init__(
        self,
        name: str = SHARED,
        parameters: Sequence[NodeParameter] = SENSORS_PARAMETERS,
        **options: Any,
    ) -> None:
        """Create the node."""
        super().__init__(name, parameters, **options)
        self._sensors = [_SensorPublisher(self, sensor) for sensor in self._own_sensors(name)]
        self._serve_instruments()
        all_needs = {n for s in self._sensors for n in s.reader.model.needs}
        needs = [need for need in topics.sensor_needs(self.vehicle) if need in all_needs]
        none = SensorInputs.none()
        self._last = {need: getattr(none, need) for need in needs}
        line_of_sight = any(s.reader.model.sees for s in self._sensors)
        sensors = [s.reader.sensor for s in self._sensors]
        partners = {name for name in map(partner_of, sensors) if name}
        neighbours = self.values.get('neighbours', '') if line_of_sight or partners else ''
        check_partners(sensors, self.get_namespace(), neighbour_parameters(neighbours))
        self._neighbours = Neighbours(
            self, neighbours, all_needs, None if line_of_sight else partners
        )
        self._silt = None
        if self.environment.sediment is not None and 'silt' in all_needs:
            self._silt = SiltClouds(self.vehicle)
        last = {**self._last, **self._neighbours.inputs}
        if self._silt is not None:
            last[_THRUST] = np.zeros(len(self.vehicle.thrusters))
        self._synchronizer = TickSynchronizer(self._on_motion, last, self._neighbours.inputs)
        self._neighbours.listen(self._synchronizer)
        self.environment = replace(
            self.environment, looks=OwnParts(self.vehicle), own=self.get_namespace()
        )
        modem = next((s for s in sensors if 'outbox' in SENSORS[s.kind].needs), None)
        self._outbox = None if modem is None else Outbox(self, modem)
        if 'acceleration' in needs:
            self.listen_numbers(topics.ACCELERATION, self._on_acceleration)
        if 'supply' in needs:
            self.listen_numbers(topics.THRUSTER_SUPPLY, self._on_supply, read_joints)
        listen_to_parts(self, self._last, self._take)
        if self._silt is not None:
            self.listen_numbers(topics.THRUSTER_STATE, self._on_thrust, read_joints)
        self._frames: dict[str, TransformStamped] = {}
        self._frames_publisher: Any = None
        self._publish_frames()
        tick = topics.sensor_tick(name)
        reports = tick in topics.sensor_ticks(self.vehicle)
        self._tick = NumbersPublisher(self, tick, tick.type()) if reports else None
        # Pictures are many packets: over DDS a tick that is sent later may arrive before them.
        slow = any(SENSORS[s.reader.sensor.kind].executable == 'sensor' for s in self._sensors)
        self._large = slow and self.bus is None
        self.follow_current()
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()

    def _own_sensors(self, name: str) -> list[Sensor]:
        """Return the sensors of the node of a name."""
        del name
        return [s for s in self.vehicle.sensors if SENSORS[s.kind].executable == SHARED]

    def _serve_instruments(self) -> None:
        """Start the servers of the sensors that have a wire protocol."""
        by_name = {s.reader.sensor.name: s for s in self._sensors}
        sensors = [s.reader.sensor for s in self._sensors]
        for address in read_protocols(self.values.get('protocol', ()), sensors, self.vehicle.name):
            sensor = by_name[address.sensor]
            server = InstrumentServer(sensor.reader.sensor, address, self.warn_throttled)
            sensor.servers.append(server)
            self.get_logger().info(f'{address.sensor}: {address.protocol} at {address.endpoint}')

    def close(self) -> None:
        """Close the sockets."""
        for sensor in self._sensors:
            for server in sensor.servers:
                server.close()

    def _publish_frames(self) -> None:
        """Publish the frames of sensors without a link, which robot_state_publisher cannot."""
        for sensor in (s.reader.sensor for s in self._sensors):
            if sensor.own_frame:
                self._put_frame(
                    self.body_frame, sensor.frame, sensor.position, sensor.place.quaternion
                )
        self._send_frames()

    def frame_odometry(self, sensor: Sensor, state: State) -> None:
        """Publish the frame in which a sensor's odometry starts, at a state of the vehicle."""
        pose = start_pose(state, sensor.position, sensor.place.quaternion)
        self._put_frame('map', f'{sensor.name}_odom', *pose)
        self._send_frames()

    def _put_frame(
        self, parent: str, child: str, position: np.ndarray, attitude: np.ndarray
    ) -> None:
        name = self.values['frame_prefix'] + child
        self._frames[child] = transform_message(parent, name, position, attitude)

    def _send_frames(self) -> None:
        if not self._frames or topics.TF_STATIC is None:
            return
        if self._frames_publisher is None:
            self._frames_publisher = self.publisher(topics.TF_STATIC)
        # All in one message: late subscribers get the last message only.
        transforms = list(self._frames.values())
        self._frames_publisher.publish(topics.TF_STATIC.type(transforms=transforms))

    def send_packet(self, data: bytes) -> None:
        """Have the vehicle's modem send a packet to all."""
        if self._outbox is not None:
            self._outbox.send(data)

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        self.newest, state = stamp, state_of(numbers)
        if self._outbox is not None:
            self._take('outbox', stamp, self._outbox.take(stamp))
        if state is None:
            self.warn_throttled('odom: not finite; no reading')
        else:
            self._synchronizer.main(stamp, state)

    def _on_acceleration(self, stamp: int, numbers: Sequence[float]) -> None:
        acceleration = np.array(numbers)
        if not is_finite(acceleration):
            self.warn_throttled('acceleration: not finite; the last one holds')
            acceleration = self._last['acceleration']
        self._take('acceleration', stamp, acceleration)

    def _on_supply(self, stamp: int, numbers: JointNumbers) -> None:
        supply = np.array(numbers[0], float)
        if supply.shape != (len(topics.SUPPLY),):
            self.warn_throttled('thrusters/supply: not three numbers; the last ones hold')
            supply = self._last['supply']
        self._take('supply', stamp, supply)

    def _on_thrust(self, stamp: int, numbers: JointNumbers) -> None:
        thrust = np.array(numbers[2], float)
        if thrust.shape != (len(self.vehicle.thrusters),) or not is_finite(thrust):
            self.warn_throttled('thrusters/state: not a thrust for each; it stirs up no silt')
            thrust = np.zeros(len(self.vehicle.thrusters))
        self._synchronizer.add_other(_THRUST, stamp, thrust)

    def _take(self, need: str, stamp: int, value: Any) -> None:
        self._last[need] = value
        self._synchronizer.add_other(need, stamp, value)

    def _on_motion(self, stamp: int, state: State, values: Mapping[str, Any]) -> None:
        environment, clouds = self.environment, None
        if self._silt is not None:
            at_tick = environment.at(stamp / NANOSECONDS)
            clouds = self._silt.advance(stamp, state, at_tick, values[_THRUST])

        @cache  # computed once, and only if a sensor is due
        def sample() -> tuple[State, Environment, SensorInputs]:
            needs = {name: values[name] for name in self._last}
            time = stamp / NANOSECONDS
            inputs = SensorInputs.none(time)._replace(**needs, silt=clouds)
            around = environment.at(time)
            around = self._neighbours.environment_with_neighbours(around, time, values)
            return state, around, inputs

        for sensor in self._sensors:
            try:
                published = sensor.read(self, stamp, sample)
                waits = self._large and self._tick is not None and self._tick.has_subscriber
                if published and waits:
                    sensor.deliver()
            except Exception as error:  # the other sensors continue
                text = f'{sensor.reader.sensor.name}: {type(error).__name__}: {error}'
                self.warn_throttled(text, error=True)
        if self._tick is not None:
            self._tick.publish(stamp)


class SensorNode(SensorsNode):
    """Publishes the readings of the sensor that has the node's name."""

    def __init__(
        self,
        name: str = SHARED,
        parameters: Sequence[NodeParameter] = SENSOR_PARAMETERS,
        **options: Any,
    ) -> None:
        """Create the node; send video if the parameter has an address."""
        super().__init__(name, parameters, **options)
        sensor = self._sensors[0]
        if getattr(sensor.reader.sensor.spec, 'light', 0.0):
            self.listen(topics.LIGHTS, self._on_lights)
        if not (text := self.values.get('video', '')):
            return
        if not sensor.reader.model.video:
            raise ParameterError(f'video: {name} is no camera; expected no address')
        from marine_sim_ros.sensors.camera.rtsp import RtspStream
        from marine_sim_ros.sensors.camera.video_stream import RATE, VideoStream

        scheme, host, port = video_address(text)
        period, warn = sensor.reader.sensor.period, partial(self.warn_throttled, error=True)
        stream, direction = (RtspStream, 'at') if scheme == 'rtsp' else (VideoStream, 'to')
        sensor.video = stream((host, port), warn, NANOSECONDS / period if period else RATE)
        self.get_logger().info(f'video: H.264 {direction} {text} (RTP, payload type 96)')

    def close(self) -> None:
        """Close the sockets, and send no more video."""
        super().close()
        if (video := self._sensors[0].video) is not None:
            video.close()

    def _own_sensors(self, name: str) -> list[Sensor]:
        sensors = [sensor for sensor in self.vehicle.sensors if sensor.name == name]
        if not sensors:
            names = ', '.join(s.name for s in self.vehicle.sensors) or 'none'
            raise ParameterError(f'{self.vehicle.name} has no sensor {name!r}; it has: {names}')
        return sensors

    def _on_lights(self, message: Any) -> None:
        """Set the light level of a camera to the mean of its lamps."""
        levels = np.array(message.data, float)
        if not levels.size or not np.all((levels >= 0.0) & (levels <= 1.0)):
            self.warn_throttled(f'lights: {levels[:9].tolist()}; expected 0 to 1 each; ignored')
            return
        self.describe_sensor(light_level=float(levels.mean()))

    def describe_sensor(self, **changes: Any) -> None:
        """Replace fields of the sensor's specification."""
        reader = self._sensors[0].reader
        reader.sensor = replace(reader.sensor, spec=replace(reader.sensor.spec, **changes))
