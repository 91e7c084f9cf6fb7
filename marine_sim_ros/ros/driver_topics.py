# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the ROS drivers of real instruments, beside those of the suite.

They are those of an instrument of instruments/, so that they say what the driver would publish.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.instruments.instrument import Instrument, InstrumentReading
from marine_sim_ros.instruments.water_linked import WaterLinkedDvl
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import set_fields, set_stamp
from marine_sim_ros.sensors.addresses import DRIVERS

__all__ = ['DriverTopics', 'topics_of_drivers']

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
        types = _messages('dvl_msgs', 'https://github.com/paagutie/dvl_msgs')
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


def _messages(package: str, source: str) -> Any:
    """Return the messages of a package that only a driver has.

    Raises:
        ParameterError: it is not installed.
    """
    try:
        return import_module(f'{package}.msg')
    except ImportError:
        raise ParameterError(
            f'topics: {package} is not installed; expected it in the workspace, from {source}, '
            'or in the environment that `make setup` builds'
        ) from None


_TOPICS: Mapping[str, Callable[[VehicleNode, Sensor], DriverTopics]] = {
    'waterlinked': WaterLinkedTopics
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
