# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the ROS drivers of real instruments, beside those of the suite.

They are those of an instrument of instruments/, so that they say what the driver would publish.
"""

from __future__ import annotations

import json
import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.instruments.instrument import Instrument, InstrumentReading
from marine_sim_ros.instruments.nmea import NmeaTalker, position_sentences
from marine_sim_ros.instruments.ping360 import AHEAD, CIRCLE, Ping360, head_angle
from marine_sim_ros.instruments.seatrac import PING_RESPONSE, SeaTrac, command_line, message_of
from marine_sim_ros.instruments.water_linked import WaterLinkedDvl
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import set_fields, set_stamp
from marine_sim_ros.sensors.addresses import DRIVERS

__all__ = ['DriverTopics', 'import_interfaces', 'topics_of_drivers']

_SENSOR_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As the drivers subscribe; publishers of either reliability match it."""
_DEPTH = 10


class DriverTopics(ABC):
    """Topics of a driver for one sensor.

    Attributes:
        instrument: the instrument, whose ``changes`` the sensor's node applies.
    """

    def __init__(
        self, node: VehicleNode, sensor: Sensor, instrument: Instrument, **messages: Any
    ) -> None:
        """Create the publishers.

        Args:
            node: node of the sensor.
            sensor: the simulated sensor.
            instrument: the instrument.
            **messages: a message of each topic, by its name below the sensor's, in which __ is /.
        """
        self._node, self.instrument, self._messages = node, instrument, messages
        self._publishers = {
            name: node.create_publisher(
                type(message), f'{sensor.name}/{name.replace("__", "/")}', _DEPTH
            )
            for name, message in messages.items()
        }

    @property
    def has_receiver(self) -> bool:
        """Whether a topic has a subscriber."""
        return any(p.get_subscription_count() for p in self._publishers.values())

    @abstractmethod
    def report(self, reading: InstrumentReading) -> None:
        """Publish a reading."""

    def watch(self, stamp: int) -> None:
        """Do nothing at a tick (ns): no subscriber waits for an answer."""
        del stamp

    def close(self) -> None:
        """End the topics."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)

    def publish(self, name: str, fields: Mapping[str, Any], stamp: int | None = None) -> None:
        """Publish the message of a topic with its fields, and with a stamp (ns) if it has one."""
        message = self._messages[name]
        if stamp is not None:
            set_stamp(message.header.stamp, stamp)
        set_fields(message, fields)
        self._publishers[name].publish(message)


class WaterLinkedTopics(DriverTopics):
    """Topics of the driver dvl_a50: ``data``, ``position``, and commands with their responses.

    Source: paagutie/dvl-a50, commit 2eed27e (src/dvl-sensor.cpp), and its messages
    paagutie/dvl_msgs, commit 555525e. Stamps are those of the measurement. Velocities are in the
    frame of the sensor; positions are in ``<name>_position_link``: ahead, right, down.
    """

    def __init__(self, node: VehicleNode, sensor: Sensor) -> None:
        """Create the publishers, and listen to ``config/command``."""
        types = import_interfaces('dvl_msgs', 'https://github.com/paagutie/dvl_msgs')
        prefix, name = node.values['frame_prefix'], sensor.name
        velocity, position = types.DVL(), types.DVLDR()
        velocity.header.frame_id = prefix + sensor.frame
        position.header.frame_id = f'{prefix}{name}_position_link'
        self._dvl = WaterLinkedDvl(sensor)
        super().__init__(
            node,
            sensor,
            self._dvl,
            data=velocity,
            position=position,
            config__status=types.ConfigStatus(),
            command__response=types.CommandResponse(),
        )
        command, topic = node.guard('config/command', self._on_command), f'{name}/config/command'
        node.create_subscription(types.ConfigCommand, topic, command, _SENSOR_QOS)

    def report(self, reading: InstrumentReading) -> None:
        """Publish both reports of the instrument."""
        for report in self._dvl.reports(reading):
            if report['type'] == 'velocity':
                self.publish('data', _velocity_fields(report), reading.stamp)
            else:
                self.publish('position', _position_fields(report), reading.stamp)

    def _on_command(self, message: Any) -> None:
        """Execute a command, and publish the response."""
        name, parameters = message.command[:40], None
        if name not in _COMMANDS:
            expected = ', '.join(_COMMANDS)
            self._node.warn_throttled(f'config/command is {name!r}; expected {expected}')
            return
        if name == 'set_config':
            parameters = {message.parameter_name: _parameter_value(message.parameter_value)}
        response = self._dvl.execute(name, parameters)
        common = {k: response[k] for k in ('response_to', 'success', 'error_message', 'format')}
        if name == 'get_config':
            result = response['result']
            whole = {k: round(result[k]) for k in ('speed_of_sound', 'mounting_rotation_offset')}
            rest = {k: result[k] for k in ('acoustic_enabled', 'dark_mode_enabled', 'range_mode')}
            self.publish('config__status', {**common, **whole, **rest, 'type': response['type']})
        else:
            self.publish('command__response', {**common, 'type': response['type']})


_COMMANDS = ('set_config', 'get_config', 'calibrate_gyro', 'reset_dead_reckoning')


def _parameter_value(text: str) -> Any:
    """Return the number, truth value or text that a parameter's text is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


def _velocity_fields(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of dvl_msgs/DVL of a velocity report."""
    same = (
        'time', 'fom', 'altitude', 'velocity_valid', 'status',
        'time_of_validity', 'time_of_transmission',
    )  # fmt: skip
    beams = [
        {('valid' if name == 'beam_valid' else name): value for name, value in beam.items()}
        for beam in report['transducers']
    ]
    return {
        **{name: report[name] for name in same},
        'velocity': {axis: report[f'v{axis}'] for axis in 'xyz'},
        'covariance': [x for row in report['covariance'] for x in row],
        'beams': beams,
        'form': report['format'],
    }


def _position_fields(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of dvl_msgs/DVLDR of a dead reckoning report."""
    return {
        'time': report['ts'],
        'position': {axis: report[axis] for axis in 'xyz'},
        'pos_std': report['std'],
        **{name: report[name] for name in ('roll', 'pitch', 'yaw', 'type', 'status', 'format')},
    }


def import_interfaces(package: str, source: str, kind: str = 'msg') -> Any:
    """Return the messages (or services, ``srv``) of a package that only a driver has.

    Raises:
        ParameterError: it is not installed.
    """
    try:
        return import_module(f'{package}.{kind}')
    except ImportError:
        raise ParameterError(
            f'topics: {package} is not installed; expected it in the workspace, from {source}, '
            'or in the environment that `make setup` builds'
        ) from None


class Ping360Topics(DriverTopics):
    """Topic of the driver ping360_sonar: ``scan_echo``.

    Source: CentraleNantesRobotics/ping360_sonar, commit fa53b8f (src/ping360_node.cpp,
    sonar_interface.cpp). Its angle is that of the head, and 0 is behind.
    """

    def __init__(self, node: VehicleNode, sensor: Sensor) -> None:
        """Create the publisher."""
        types = import_interfaces(
            'ping360_sonar_msgs', 'https://github.com/CentraleNantesRobotics/ping360_sonar'
        )
        echo = types.SonarEcho()
        echo.header.frame_id = node.values['frame_prefix'] + sensor.frame
        super().__init__(node, sensor, Ping360(sensor), scan_echo=echo)

    def report(self, reading: InstrumentReading) -> None:
        """Publish the echoes of a ping."""
        spec = reading.sensor.spec
        angle = head_angle(float(reading.readings['bearing']))
        angle -= CIRCLE if angle > AHEAD else 0
        fields = {
            'angle': angle * math.pi / AHEAD,
            'gain': 1,
            'number_of_samples': int(spec.samples),
            'transmit_frequency': round(spec.frequency),
            'speed_of_sound': round(SOUND_SPEED),
            'range': min(round(spec.max_range), 255),
            'intensities': np.asarray(reading.readings['echo'], np.uint8).tolist(),
        }
        self.publish('scan_echo', fields, reading.stamp)


class NmeaTopics(DriverTopics):
    """Topic of the driver nmea_navsat_driver: ``nmea_sentence``, a message for each sentence."""

    def __init__(self, node: VehicleNode, sensor: Sensor) -> None:
        """Create the publisher."""
        sentence = import_interfaces(
            'nmea_msgs', 'https://github.com/ros-drivers/nmea_msgs'
        ).Sentence()
        sentence.header.frame_id = node.values['frame_prefix'] + sensor.frame
        super().__init__(node, sensor, NmeaTalker(sensor), nmea_sentence=sentence)

    def report(self, reading: InstrumentReading) -> None:
        """Publish the sentences of a fix."""
        for sentence in position_sentences(reading):
            self.publish('nmea_sentence', {'sentence': sentence.strip()}, reading.stamp)


class SeaTracTopics(DriverTopics):
    """Topics of the driver seatrac: ``modem_send``, ``modem_rec`` and ``modem_cmd_update``.

    The node is a client of the instrument, as the driver is one of the serial port.

    Source: BYU-FROST-Lab/seatrac-ros2, commit f416e44 (seatrac/src/modem_ros_node.cpp).
    """

    received: bytearray

    def __init__(self, node: VehicleNode, sensor: Sensor) -> None:
        """Create the publishers, and listen to ``modem_send``."""
        types = import_interfaces(
            'seatrac_interfaces', 'https://github.com/BYU-FROST-Lab/seatrac-ros2'
        )
        self.received, self._seatrac, self._stamp = bytearray(), SeaTrac(sensor), 0
        self._seatrac.clients.append(self)
        super().__init__(
            node,
            sensor,
            self._seatrac,
            modem_rec=types.ModemRec(),
            modem_cmd_update=types.ModemCmdUpdate(),
        )
        command = node.guard('modem_send', self._on_send)
        node.create_subscription(types.ModemSend, f'{sensor.name}/modem_send', command, _DEPTH)

    def report(self, reading: InstrumentReading) -> None:
        """Answer the pings that wait."""
        self._stamp = reading.arrival
        self._seatrac.report(reading)

    def watch(self, stamp: int) -> None:
        """Answer pings that no reading answers."""
        self._stamp = stamp
        if self._seatrac.is_overdue(stamp):
            self._seatrac.expire()

    @property
    def has_receiver(self) -> bool:
        """Whether a ping waits for a reading, or a topic has a subscriber."""
        return self._seatrac.is_waiting or super().has_receiver

    def _on_send(self, message: Any) -> None:
        """Give a command to the instrument."""
        data = bytes((message.msg_id, message.dest_id, message.msg_type))
        if message.packet_len:
            data += bytes(message.packet_data[: message.packet_len])
        self.received += command_line(data)
        while self._seatrac.receive(self):
            pass

    def send(self, data: bytes) -> None:
        """Publish a response of the instrument."""
        response = message_of(data)
        if response[0] == PING_RESPONSE:
            fields = {'local_flag': True, **_fix_fields(response[1:])}
            self.publish('modem_rec', {'msg_id': response[0], **fields}, self._stamp)
            return
        target = response[2] if len(response) > 2 else 0
        fields = {'command_status_code': response[1], 'target_id': target}
        self.publish('modem_cmd_update', {'msg_id': response[0], **fields}, self._stamp)


def _fix_fields(data: bytes) -> dict[str, Any]:
    """Return the fields of modem_rec of a fix (ACOFIX): both beacons, and what its flags say."""
    names = (
        'dest_id', 'src_id', 'flags', 'type', 'attitude_yaw', 'attitude_pitch', 'attitude_roll',
        'depth_local', 'vos', 'rssi', 'range_count', 'range_time', 'range_dist',
    )  # fmt: skip
    head = struct.Struct('<4B3hHHhIiH')
    fields = dict(zip(names, head.unpack_from(data), strict=True))
    flags = fields.pop('flags')
    del fields['type']
    fields |= {
        'includes_range': bool(flags & 1),
        'includes_usbl': bool(flags & 2),
        'includes_position': bool(flags & 4),
        'position_enhanced': bool(flags & 8),
        'position_flt_error': bool(flags & 16),
    }
    if flags & 2:
        channels, *numbers = struct.unpack_from('<B10h', data, head.size)
        of_usbl = (
            'usbl_azimuth', 'usbl_elevation', 'usbl_fit_error',
            'position_easting', 'position_northing', 'position_depth',
        )  # fmt: skip
        fields |= {'usbl_channels': channels, 'usbl_rssi': numbers[:4]}
        fields |= dict(zip(of_usbl, numbers[4:], strict=True))
    return fields


_TOPICS: Mapping[str, Callable[[VehicleNode, Sensor], DriverTopics]] = {
    'waterlinked': WaterLinkedTopics,
    'ping360': Ping360Topics,
    'seatrac': SeaTracTopics,
    'nmea': NmeaTopics,
}
"""Topics by driver; ``DRIVERS`` of sensors/addresses.py has the kinds of their sensors."""


def topics_of_drivers(
    node: VehicleNode, names: Iterable[str], sensor: Sensor
) -> Sequence[DriverTopics]:
    """Return the topics of the drivers of a sensor.

    Args:
        node: node that publishes them.
        names: values of the option ``topics``.
        sensor: of the node.
    """
    chosen = [name for name in names if name and sensor.kind in DRIVERS[name]]
    return [_TOPICS[name](node, sensor) for name in dict.fromkeys(chosen)]
