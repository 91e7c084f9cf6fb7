# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Base class of every node: vehicle, environment, guarded callbacks, diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time

from marine_sim_ros.core.errors import MarineSimError, ParameterError, RunError, escape_controls
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.changes import EnvironmentChange, parse_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.fault_types import Fault, parse_faults, unsuited_fault, with_gusts
from marine_sim_ros.model.body_joints import SOLE_VEHICLE
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.bus import Bus, Outlet, SenderCheck, ThrottledPublisher
from marine_sim_ros.ros.base.internals import activate_ros_time, clock_subscription, leave_clock
from marine_sim_ros.ros.base.parameters import (
    NodeParameter,
    declare,
    neighbour_parameters,
    option_parameter,
)
from marine_sim_ros.ros.cdr import read_numbers
from marine_sim_ros.ros.message_fields import vector_from

__all__ = ['COMMON', 'NO_TYPE_DESCRIPTIONS', 'VehicleNode']

WARN_PERIOD = 5.0
"""s of wall time between two log lines of the same warning."""
MAX_WARNING_KINDS = 256
"""Bound of the warnings whose last log time is stored; some contain names from messages."""
MAX_CURRENT = 100.0
"""Upper bound of each component of a current, m/s."""

COMMON = (
    option_parameter('vehicle'),
    option_parameter('vehicle_arguments'),
    NodeParameter('robot_description', '', 'URDF text to use instead of vehicle', empty='none'),
    option_parameter('voltage'),
    option_parameter('hull_forces'),
    option_parameter('environment'),
    NodeParameter(
        'gravity',
        0.0,
        'acceleration of gravity',
        0.0,
        100.0,
        unit='m/s²',
        empty="the environment's",
    ),
    option_parameter('water_density'),
    option_parameter('current'),
    option_parameter('seed'),
    option_parameter('frame_prefix'),
    NodeParameter(
        'faults',
        '',
        'faults, as a scenario lists them (docs/reference/faults.md)',
        empty='none',
        live=True,
    ),
    NodeParameter(
        'environment_changes',
        '',
        'changes of the environment, a timetable (docs/reference/environments.md)',
        empty='none',
        live=True,
    ),
    option_parameter('compute'),
    NodeParameter(
        'jaws',
        '',
        'vehicles of a fleet whose grippers have jaws: JSON, vehicle and vehicle_arguments by '
        'namespace',
        empty="the vehicle's own",
    ),
)
"""Parameters of every node."""


NO_TYPE_DESCRIPTIONS = Parameter('start_type_description_service', value=False)
"""Parameter of nodes without get_type_description: rcl prints unescaped what a peer asks there."""


class VehicleNode(Node):
    """Node with a vehicle and an environment; a failing callback is logged and survived."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[NodeParameter] = (),
        *,
        bus: Bus | None = None,
        **options: Any,
    ) -> None:
        """Declare the common and the node's own parameters and load the vehicle.

        With a bus, per-tick messages to nodes of this process go over it.

        Raises:
            MarineSimError: a parameter or a vehicle that cannot be used.
        """
        overrides = [*options.pop('parameter_overrides', ()), NO_TYPE_DESCRIPTIONS]
        super().__init__(name, parameter_overrides=overrides, **options)
        self.bus = bus
        self.wall_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._declared = {p.name: p for p in (*COMMON, *parameters)}
        self.values = declare(self, self._declared.values())
        self.vehicle = vehicle_of(self.values)
        self.newest = 0
        for parameter in self._declared.values():
            if parameter.live and (
                reason := self._refusal(parameter.name, self.values[parameter.name])
            ):
                raise ParameterError(f'{name}: parameter {parameter.name!r}: {reason}')
        self.environment = run_environment(
            self.values['environment'],
            gravity=self.values['gravity'],
            water_density=self.values['water_density'],
            current=self.values['current'],
        )
        jaws = neighbour_parameters(self.values['jaws'], 'jaws')
        for owner, description in (jaws or {SOLE_VEHICLE: self.values}).items():
            self.environment = self.environment.with_jaws(vehicle_of(description), owner)
        self.body_frame = self.values['frame_prefix'] + self.vehicle.base_link
        self.finished = False
        self.exit_code = 0
        self._complaints: dict[str, bool] = {}
        self.health: dict[str, Any] = {}
        self._warned: dict[str, int] = {}
        self._throttled_publishers: list[ThrottledPublisher] = []
        self._take_changes()
        self.faults: tuple[Fault, ...] = ()
        self._take_faults()
        self._diagnostics = self.create_publisher(
            DiagnosticArray, topics.DIAGNOSTICS.name, topics.DIAGNOSTICS.qos
        )
        self.create_timer(1.0, self._report, clock=self.wall_clock)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self._clock_from_ticks = False
        if bus is not None:
            self._follow_bus_clock(bus)
        elif (clock := clock_subscription(self)) is not None:
            # rclpy raises where a stamp is negative, which would end the node.
            clock.callback = self.guard(topics.CLOCK.name, clock.callback)

    def _follow_bus_clock(self, bus: Bus) -> None:
        """Take ROS time from the bus, as use_sim_time does from /clock.

        The clock is set where it is read, once a second: one delivery a tick for all nodes.
        """
        self.freeze_clock()
        if bus.time is None:
            bus.time = 0
            clock = topics.CLOCK
            bus.subscribe_numbers(clock.name, lambda stamp, _: setattr(bus, 'time', stamp))
            if not bus.clock_is_here:  # one subscription serves all nodes of the process

                def take(data: bytes) -> None:
                    bus.relay(clock.name, data, *read_numbers(clock.type, data))

                self.listen_to_bytes(clock, take)

    def take_time_from_ticks(self) -> None:
        """Take ROS time from the newest tick, as use_sim_time does from /clock.

        For nodes that receive every tick anyway and read their clock once a second.
        """
        if self.bus is None and self.get_parameter('use_sim_time').value:
            self._clock_from_ticks = leave_clock(self)

    def freeze_clock(self) -> None:
        """Stop this node's clock; from now on only :meth:`set_clock` changes it."""
        activate_ros_time(self.get_clock())

    def set_clock(self, stamp: int) -> None:
        """Set this node's clock to a stamp in ns."""
        clock: Any = self.get_clock()  # a ROSClock: VehicleNode has no other
        clock.set_ros_time_override(Time(nanoseconds=stamp, clock_type=ClockType.ROS_TIME))

    def _on_set_parameters(self, parameters: Sequence[Any]) -> SetParametersResult:
        for parameter in parameters:
            if (declared := self._declared.get(parameter.name)) is None:
                continue
            try:
                reason = declared.refusal(parameter.value) or self._refusal(
                    parameter.name, parameter.value
                )
            except Exception as error:  # of any kind: a parameter does not end a node
                reason = f'{type(error).__name__}: {error}'
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        self.values.update({p.name: p.value for p in parameters if p.name in self._declared})
        if any(p.name == 'faults' for p in parameters):
            self._take_faults()
        if any(p.name == 'environment_changes' for p in parameters):
            self._take_changes()
        self.on_parameters()
        return SetParametersResult(successful=True)

    def _refusal(self, name: str, value: Any) -> str:
        if name not in ('faults', 'environment_changes'):
            return self.refuse(name, value)
        try:
            if name == 'environment_changes':
                changes = parse_changes(value)
                if not hasattr(self, 'environment'):  # it is read with the parameter
                    return ''
                self.environment.with_changes(changes)
                return self.refuse_changes(changes)
            return unsuited_fault(parse_faults(value), self.vehicle)
        except MarineSimError as error:
            return str(error)

    def _take_changes(self) -> None:
        """Apply the parameter ``environment_changes``."""
        changes = parse_changes(self.values['environment_changes'])
        if changes != self.environment.changes:
            self.environment = self.environment.with_changes(changes)

    def _take_faults(self) -> None:
        """Apply the parameter ``faults``; one without a time begins now."""
        self.faults = parse_faults(self.values['faults'], self.newest / NANOSECONDS)
        self.environment = with_gusts(replace(self.environment, gusts=None), self.faults)

    def on_parameters(self) -> None:
        """React to new values of live parameters; the default does nothing."""

    def refuse(self, name: str, value: Any) -> str:
        """Return the reason to refuse a value of a live parameter; the default accepts all."""
        del name, value
        return ''

    def refuse_changes(self, changes: tuple[EnvironmentChange, ...]) -> str:
        """Return the reason to refuse changes of the environment; the default accepts all."""
        del changes
        return ''

    def environment_at(self, stamp: int) -> Environment:
        """Return water, waves and current at a stamp in ns: the same in every node."""
        self.newest = stamp
        return self.environment.at(stamp / NANOSECONDS)

    @property
    def wrench_sources(self) -> list[str]:
        """Parameter ``wrench_sources``; default: all forces on the vehicle in its environment."""
        named = [source for source in self.values['wrench_sources'] if source]
        return named or list(wrench_sources(self.vehicle, self.environment))

    def follow_current(self, *, warns: bool = False) -> None:
        """Let /ocean_current replace the parameter ``current``.

        Args:
            warns: whether to report a refused current; one node of a vehicle does.
        """
        self.listen(topics.OCEAN_CURRENT, partial(self._on_current, warns))

    def _on_current(self, warns: bool, message: Any) -> None:
        current = vector_from(message)
        if np.all(np.abs(current) <= MAX_CURRENT):  # false for NaN
            self.environment = replace(self.environment, current=current)
        elif warns:
            self.warn_throttled(
                f'/ocean_current: {current}; expected up to {MAX_CURRENT:g} m/s; ignored'
            )

    def listen_numbers(
        self,
        topic: topics.Topic,
        callback: Callable[[Any, Any], None],
        reader: Callable[[bytes], tuple[Any, Any]] | None = None,
    ) -> None:
        """Subscribe as :meth:`listen` does, with a callback of stamp (ns) and numbers.

        Over DDS both are read from the bytes, which costs less than to build a message.

        Args:
            callback: called with stamp and numbers.
            reader: returns stamp and numbers of serialised bytes; default: that of cdr.py.
        """
        read = reader or partial(read_numbers, topic.type)
        if bus := self._bus_of(topic):
            guarded = self.guard(topic.name, callback)
            bus.subscribe_numbers(self.resolve_topic_name(topic.name), guarded)
        else:
            self.listen_to_bytes(topic, lambda data: callback(*read(data)))

    def listen_to_bytes(self, topic: topics.Topic, callback: Callable[[bytes], None]) -> None:
        """Subscribe over DDS with a callback of bytes, also where a bus delivers the topic.

        Of a per-tick topic, only the publisher of this run is accepted.
        """
        if not topic.per_tick or topic.shared:
            self._subscribe(topic, callback, raw=True)
            return
        check = SenderCheck(self, topic.name, self.warn_throttled)

        def take(data: bytes) -> None:
            if check.accepts(data):
                callback(data)

        check.attach(self._subscribe(topic, take, raw=True))

    def listen(
        self, topic: topics.Topic, callback: Callable[[Any], None], *, raw: bool = False
    ) -> Any:
        """Subscribe with a callback whose failure is reported and survived.

        With ``raw`` it gets the serialised bytes of messages over DDS.

        Returns:
            The subscription, or None over a bus.
        """
        if bus := self._bus_of(topic):
            guarded = self.guard(topic.name, callback)
            bus.subscribe(self.resolve_topic_name(topic.name), guarded)
            return None
        return self._subscribe(topic, callback, raw=raw)

    def _subscribe(
        self, topic: topics.Topic, callback: Callable[[Any], None], *, raw: bool
    ) -> Any:
        guarded = self.guard(topic.name, callback)
        return self.create_subscription(topic.type, topic.name, guarded, topic.qos, raw=raw)

    def guard(self, name: str, callback: Callable[..., None]) -> Callable[..., None]:
        """Return a callback whose failure is reported, with a name, and survived.

        A RunError does not come from the message: it ends the process with exit code 1.
        """

        # With its signature: from Kilted on a timer passes a TimerInfo to what takes arguments.
        @wraps(callback, updated=())
        def call_guarded(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except RunError as error:
                self.get_logger().error(str(error))
                self.end(1)
            except Exception as error:  # of any kind: a message does not end a node
                self.warn_throttled(f'{name}: {type(error).__name__}: {error}', error=True)

        return call_guarded

    def _bus_of(self, topic: topics.Topic) -> Bus | None:
        """Return the bus that delivers a topic; None: it comes over DDS."""
        if self.bus is None or not topic.per_tick:
            return None
        return self.bus if self.bus.has_topic(self.resolve_topic_name(topic.name)) else None

    def publisher(self, topic: topics.Topic) -> Any:
        """Return a publisher of a topic, to the bus and DDS."""
        publisher = self.create_publisher(topic.type, topic.name, topic.qos)
        always = self.bus is None and not topic.optional
        if not topic.per_tick or topic.name.startswith('/'):
            return Outlet(publisher, self.bus, always=always)
        result = ThrottledPublisher(self, topic, publisher, self.bus, always=always)
        self._throttled_publishers.append(result)
        return result

    def warn_throttled(self, text: str, *, error: bool = False) -> None:
        """Log a warning or an error at most every five seconds, and show it in diagnostics.

        Texts that differ in digits only count as the same.
        """
        text = escape_controls(text)
        self._complaints[text] = error
        kind = ''.join(c for c in text if not c.isdigit())
        now = self.wall_clock.now().nanoseconds
        if now - self._warned.get(kind, -(10**18)) < WARN_PERIOD * 1e9:
            return
        if len(self._warned) >= MAX_WARNING_KINDS:
            self._warned.clear()
        self._warned[kind] = now
        # A call for each severity: rclpy fixes the severity of a line of code at its first log.
        if error:
            self.get_logger().error(text)
        else:
            self.get_logger().warning(text)

    def end(self, exit_code: int = 0) -> None:
        """Ask the process to shut down."""
        self.exit_code = max(self.exit_code, exit_code)
        self.finished = True

    def stop_ticks(self) -> None:
        """Begin no further tick, because the process ends early; the default does nothing."""

    def drain(self, engine: Any) -> None:
        """Receive what is still on its way when the process ends; the default does nothing."""

    def close(self) -> None:
        """Close files and sockets; the default does nothing."""

    def _report(self) -> None:
        for publisher in self._throttled_publishers:
            publisher.catch_up()
        level = DiagnosticStatus.OK
        if self._complaints:
            errors = any(self._complaints.values())
            level = DiagnosticStatus.ERROR if errors else DiagnosticStatus.WARN
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name(),
            message='; '.join(list(self._complaints)[:5]) or 'ok',
            hardware_id=self.vehicle.name,
            values=[KeyValue(key=k, value=str(v)) for k, v in self.health.items()],
        )
        if self.bus is not None:
            self.set_clock(self.bus.time or 0)
        elif self._clock_from_ticks:
            self.set_clock(self.newest)
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
        self._complaints.clear()
