# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Console backend: publishes what a page requests, and checks that its operator is alive."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import Path
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy
from std_msgs.msg import Float32MultiArray, String
from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.console.control_lease import (
    ControlLease,
    OperatorEvent,
    OperatorWatchdog,
    leave_lease,
    renew_lease,
    take_lease,
)
from marine_sim_ros.console.requests import (
    FREE_FOR_ALL,
    INSTRUCTOR,
    LOST,
    STOPS,
    OperatorInput,
    Request,
    Session,
)
from marine_sim_ros.console.run_events import EVENT_KINDS, run_event
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.control.gamepad import Gamepad, StickMemory, load_gamepad, read_sticks
from marine_sim_ros.control.pilot import (
    OUTPUT_MODES,
    SWITCHES,
    Pilot,
    follow_sticks,
    perform_function,
    stop_vehicle,
)
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import set_stamp
from marine_sim_ros.ros.operators.commands import (
    ArmOperator,
    CommandPublisher,
    Switches,
    call_trigger,
    find_service_owner,
    full_stick_velocity,
)
from marine_sim_ros.ros.operators.monitors import GraphMonitor
from marine_sim_ros.ros.operators.run_changes import FaultInjector, WaterControl

__all__ = ['ConsoleBackend']


# Operator's requests as topics and services; when steering stops, all outputs stop.

SWITCH_SETTLING_TIME = 2.5
"""s of wall time until diagnostics, once a second, report a change."""
TRIGGERS = ('reset', 'step', 'end')
DONE = {'reset': 'the run is back at time 0', 'end': 'the run ends …'}
"""Confirmations of called services."""
SLOW_PAGE = (
    "the operator's page is slow: its sticks count as released; close other programs, or switch "
    'the 3D view off in its menu Layers'
)
MAX_EVENTS = 500
"""Events that pages can show."""
PAGE_TIMEOUT = 10.0
"""s of wall time after a page's last request for sensors, one each second, until it counts as
closed."""


def _light_level(vehicle: Vehicle) -> float:
    """Return the initial brightness of the cameras' lamps, 0 to 1."""
    lit = (s.spec for s in vehicle.sensors if getattr(s.spec, 'light', 0.0))
    return max((spec.light_level for spec in lit), default=0.0)


class ConsoleBackend:
    """Executes requests of pages, and steers; call :meth:`update` at a steady rate, or more often.

    Attributes:
        slow_count: number of times that the operator's page was too slow to steer.
    """

    def __init__(
        self,
        node: VehicleNode,
        session: Session,
        period: float,
        *,
        record: Callable[[bool], None],
        report: Callable[..., object],
    ) -> None:
        """Make publishers and clients.

        Args:
            node: the console, with its parameters.
            session: requests of pages, and who steers.
            period: longest period of calls of ``update``, s.
            record: starts and ends a recording.
            report: called with a text, its level, and whether to log it.
        """
        self._node, self._session, self._period, self._report = node, session, period, report
        self._top = full_stick_velocity(node)
        self.command_publisher = CommandPublisher(node, self._top)
        names = dict.fromkeys(name for name, _ in SWITCHES.values())
        self.switches = Switches(node, list(names), 'controller')
        self.pilot = Pilot(node.values['output'], node.values['gain'])
        self.state: State | None = None
        self.stamp = 0
        self.paused = False
        self._switched = self._steered = 0.0
        self.slow_count = 0
        self._viewers: dict[str, float] = {}
        self._rearm = False
        self._watchdog = OperatorWatchdog(
            period, node.values['operator_timeout'], node.values['lease_timeout']
        )
        self.fault_injector = FaultInjector(node, session.scenery['sources'])
        self._water = WaterControl(node)
        self.lights = dict.fromkeys(session.scenery['look']['lights'], _light_level(node.vehicle))
        node.listen(topics.LIGHTS, self._on_lights)
        self._by_hand = False
        self._stick_memory, self._pad = StickMemory(), ''
        self._pads: dict[str, Gamepad] = {}
        self._names: dict[str, str] = {}
        self._out = {
            topic.name: node.publisher(topic)
            for topic in (
                topics.COMMAND_POSE,
                topics.COMMAND_PATH,
                topics.COMMAND_VELOCITY,
                topics.LIGHTS,
                topics.OPERATOR_EVENTS,
                topics.OPERATOR_STICKS,
            )
        }
        self._arm = ArmOperator(node)
        self._triggers = {name: node.create_client(Trigger, name) for name in TRIGGERS}
        self._pause = node.create_client(SetBool, 'pause')
        self._parameters: Any = None
        self._do: dict[str, Callable[[Any], None]] = {
            'hands': self._take_sticks,
            'stop': lambda _: self.halt(),
            'output': self._output,
            'gain': lambda value: self._set(gain=value),
            'switch': lambda value: self._switch(*value),
            'target': self._target,
            'path': self._path,
            'clear': lambda _: self._clear(),
            'joints': self._arm.go,
            'gripper': self._arm.grip,
            'lights': self._light,
            'current': lambda velocity: self._water.set_current(velocity, self.stamp),
            'environment': self._water.change,
            'fault': lambda fault: self.fault_injector.add(fault, self.stamp),
            'mend': lambda which: self.fault_injector.clear(*which),
            'pause': self._on_pause,
            'step': self._step,
            'record': record,
            'reset': self._reset,
            'end': lambda _: self._trigger('end'),
            'note': lambda _: None,  # an event is all that it is
            'message': lambda _: None,
            'report': lambda _: None,
        }

    def _set(self, **changes: Any) -> None:
        self.pilot = replace(self.pilot, **changes)

    def controls_state(self) -> dict[str, Any]:
        """Return the state of the controls for pages."""
        unavailable = self._unavailable_reasons()
        return {
            'output': self.pilot.output,
            'gain': self.pilot.gain,
            'faults': self.fault_injector.faults_json,
            **self._water.state(self.stamp),
            'switches': dict(self.switches.states),
            'unavailable': unavailable,
            'trouble': unavailable.get(self.pilot.output, '') if self._session.lease.page else '',
        }

    def _unavailable_reasons(self) -> dict[str, str]:
        """Return the reasons why outputs and switches have no effect now, by name."""
        reasons = {name: self.command_publisher.trouble(name) for name in OUTPUT_MODES}
        for axis in self._session.scenery['look']['unreachable']:
            reasons[axis] = (
                f'{self._node.vehicle.name} cannot command {axis}: no thruster or fin can'
            )
        for name in self.switches.states:
            if not self.switches.is_offered(name):
                reasons[name] = f'no controller offers {name}: start with --controller modern'
        return {name: reason for name, reason in reasons.items() if reason}

    def update(self, now: float, monitor: GraphMonitor) -> None:
        """Execute the requests since the last call, at a wall time (s), and steer."""
        self.state, self.stamp = monitor.state, monitor.stamp
        if (
            now - self._switched > SWITCH_SETTLING_TIME
        ):  # else diagnostics are older than a request
            self.paused = monitor.paused
            self.switches.states['arm'] = monitor.armed
        self._watchdog.advance(now)
        for page, request in self._session.requests():
            self._handle_request(page, request, now)
        self._watch_operator()
        if 'arm' in self.switches.unanswered:  # an answer comes between two calls at the earliest
            self._switched = now
        self.switches.check()
        self._find_controller()
        if self._session.lease.page:
            self._steer(min(now - self._steered, self._period))
        self._steered = now

    def _watch_operator(self) -> None:
        """Stop after the time-out of the operator's page; after that of the lease, revoke control.

        The sticks of a page that is connected but sends no sticks count as released; it keeps
        control, armed. A controller that a time-out has disarmed is armed again after it.
        """
        event = self._watchdog.check(self._session.lease)
        if event is OperatorEvent.EXPIRED:
            self._node.warn_throttled("the operator's page stays silent; it has lost control")
            self._revoke_control()
        elif event is OperatorEvent.SILENT:
            self._node.warn_throttled("the operator's page is silent; stopped until it is heard")
            armed = self.switches.states['arm'] is True
            self._stop_after_loss()
            self._rearm = armed and self._node.values['on_loss'] == 'disarm'
        elif event is OperatorEvent.HEARD:
            if self._rearm:
                self.switches.ask('arm', True)
            self._rearm = False
        elif event is OperatorEvent.SLOW and any(self.pilot.sticks):
            self.slow_count += 1
            self._report(SLOW_PAGE, 'warning', log=self.slow_count == 1)
            self._release_sticks()

    def _switch(self, name: str, on: bool | None) -> None:
        if name == 'arm':
            self._rearm = False  # the operator's request replaces it
        self.switches.ask(name, on)

    def has_viewers(self, now: float) -> bool:
        """Return whether a page shows the sensors at a wall time, s."""
        self._viewers = {
            page: when for page, when in self._viewers.items() if now - when < PAGE_TIMEOUT
        }
        return bool(self._viewers)

    def _handle_request(self, page: str, request: Request, now: float) -> None:
        if request.kind == 'look':  # does not renew the lease of the operator, which the sticks do
            self._viewers[page] = now
            return
        if request.kind == LOST:
            self._viewers.pop(page, None)
            self._names.pop(page, None)
        if request in STOPS and page != self._session.lease.page:
            self._stop_from(page)
            return
        lease = renew_lease(self._session.lease, page, self._watchdog.now)
        self._session.lease = lease
        kind = request.kind
        if kind == 'hello':
            self._names[page] = request.value
        elif kind == 'take':
            self._take_control(page, request.value)
        elif kind in ('leave', LOST):
            if leave_lease(lease, page) != lease:
                if kind == LOST:
                    self._node.warn_throttled("the operator's page is gone; it has lost control")
                self._revoke_control()
        elif page.startswith(INSTRUCTOR) or (kind not in FREE_FOR_ALL and page == lease.page):
            self._do[kind](request.value)
            self._keep_event(page, request)

    def _keep_event(self, page: str, request: Request) -> None:
        """Publish what a page did as an event, for the recording and the instructor's page."""
        if request.kind == 'reset':
            self._session.events = ()
        elif request.kind in EVENT_KINDS:
            by = 'instructor' if page.startswith(INSTRUCTOR) else 'pilot'
            event = run_event(request, by, self.stamp / NANOSECONDS)
            self._session.events = (*self._session.events[-MAX_EVENTS:], event)
            self._out[topics.OPERATOR_EVENTS.name].publish(String(data=json.dumps(event)))

    def _stop_from(self, page: str) -> None:
        """Stop by request of a page that does not steer; the operator loses control."""
        if self._session.lease.page:
            name = self._names.get(page) or f'page {page[:4]}'
            self._node.warn_throttled(f'{name} pressed STOP; take control to steer again')
        self._session.lease = ControlLease()
        self._watchdog.restart()
        self.halt()

    def _take_control(self, page: str, over: bool) -> None:
        """Give a page control; the sticks of the page before are released. May be refused."""
        name = self._names.get(page) or f'operator {page[:4]}'
        before = self._session.lease
        lease = take_lease(before, page, name, self._watchdog.now, over=over)
        if lease.page != page:
            return
        if before.page != page:
            self._release_sticks()
            self._watchdog.restart()
            self._rearm = False
        self._watchdog.note_sticks()
        self._session.lease = lease

    def _revoke_control(self) -> None:
        self._session.lease = ControlLease()
        self._stop_after_loss()
        self._watchdog.restart()
        self._rearm = False

    def _stop_after_loss(self) -> None:
        if self._node.values['on_loss'] == 'disarm':
            self.halt()
        else:
            self._release_sticks()

    def _release_sticks(self) -> None:
        """Centre the sticks, and publish the command that follows."""
        self._by_hand, self._stick_memory, self._pad = False, StickMemory(), ''
        self.pilot = stop_vehicle(self.pilot, self.state)
        if self.pilot.output != 'pose':
            self.command_publisher.send(self.pilot, self.stamp)

    def halt(self) -> None:
        """Bring the thrusters to neutral: directly, or by disarming the controller."""
        self._rearm = False
        self._release_sticks()
        if self.switches.is_offered('arm') and self.switches.states['arm'] is not False:
            self.switches.ask('arm', False)

    def _output(self, output: str) -> None:
        self._release_sticks()
        self.pilot = stop_vehicle(replace(self.pilot, output=output), self.state)

    def _take_sticks(self, sticks: OperatorInput) -> None:
        """Steer by the sticks of a page, and by its gamepad in addition."""
        self._watchdog.note_sticks()
        efforts = np.array(sticks.sticks)
        if sticks.gamepad != self._pad:  # another gamepad, or none
            self._stick_memory, self._pad = StickMemory(), sticks.gamepad
        if sticks.gamepad:
            pad = self._pads.setdefault(sticks.gamepad, load_gamepad(sticks.gamepad))
            dead_band = self._node.values['dead_band']
            gamepad_efforts, functions, self._stick_memory = read_sticks(
                pad, self._stick_memory, sticks.axes, sticks.buttons, dead_band
            )
            efforts = np.clip(efforts + gamepad_efforts, -1.0, 1.0)
            for function in functions:
                self._perform(function)
        self._set(sticks=tuple(efforts.tolist()))
        self._publish_sticks()
        self._by_hand = self._by_hand or bool(np.any(efforts))

    def _publish_sticks(self) -> None:
        message = Joy(axes=list(self.pilot.sticks))
        message.header.frame_id = 'base_link'
        set_stamp(message.header.stamp, self.stamp)
        self._out[topics.OPERATOR_STICKS.name].publish(message)

    def _perform(self, function: str) -> None:
        """Perform the function of a gamepad button."""
        if function in SWITCHES:
            self._switch(*SWITCHES[function])
        elif function == 'stop':
            self.halt()
        else:
            self.pilot = perform_function(self.pilot, function, self.state)

    def _steer(self, dt: float) -> None:
        if self.pilot.output == 'pose' and not self._by_hand:
            return  # the last command holds
        self.pilot = follow_sticks(self.pilot, self._top, dt, self.state)
        self.command_publisher.send(self.pilot, self.stamp)

    def _find_controller(self) -> None:
        """Find the controller: the node that offers the service ``arm``."""
        if self._parameters is None and self.switches.is_offered('arm'):
            name = find_service_owner(self._node, 'arm')
            if name is not None:
                service = f'{name}/set_parameters'
                self._parameters = self._node.create_client(SetParameters, service)

    def _command(self, free: Sequence[str]) -> None:
        """Switch to commands instead of sticks; some angles may be free."""
        self.pilot = replace(stop_vehicle(self.pilot, self.state), output='pose', target=None)
        self._by_hand = False
        if self._parameters is not None and self._parameters.service_is_ready():
            parameter = Parameter('free_axes', value=list(free) or [''])
            self._parameters.call_async(
                SetParameters.Request(parameters=[parameter.to_parameter_msg()])
            )

    def _target(self, target: Sequence[float]) -> None:
        angles = target[3:]
        free = [n for n, q in zip(SETPOINT_QUANTITIES[3:6], angles, strict=True) if math.isnan(q)]
        self._command(free if len(free) < 3 else [])
        self._out[topics.COMMAND_POSE.name].publish(self._pose(target))

    def _pose(self, target: Sequence[float]) -> PoseStamped:
        message = PoseStamped()
        message.header.frame_id = 'map'
        set_stamp(message.header.stamp, self.stamp)
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = target[:3]
        angles = np.array(target[3:], float)
        known = not np.isnan(angles).all()
        turn = quaternion_from_rpy(*np.nan_to_num(angles)) if known else np.full(4, np.nan)
        q.x, q.y, q.z, q.w = turn.tolist()
        return message

    def _path(self, points: Sequence[Sequence[float]]) -> None:
        self._command([])
        free = (math.nan,) * 3
        message = Path(poses=[self._pose((*point, *free)) for point in points])
        message.header.frame_id = 'map'
        self._out[topics.COMMAND_PATH.name].publish(message)

    def _clear(self) -> None:
        """Clear the target: a velocity of zero replaces a pose."""
        self._command([])
        self._out[topics.COMMAND_VELOCITY.name].publish(Twist())

    def _light(self, lights: dict[str, float]) -> None:
        self.lights |= {name: level for name, level in lights.items() if name in self.lights}
        self._out[topics.LIGHTS.name].publish(Float32MultiArray(data=list(self.lights.values())))

    def _on_lights(self, message: Any) -> None:
        """Take the levels that another node, such as an autopilot, has set."""
        self.lights |= dict(zip(self.lights, map(float, message.data), strict=False))

    def _on_pause(self, on: bool) -> None:
        if self._pause.service_is_ready():
            self._pause.call_async(SetBool.Request(data=on))
            self.paused = on
            self._switched = self._node.wall_clock.now().nanoseconds / NANOSECONDS
        else:
            self._node.warn_throttled('pause: no node owns the state')

    def _reset(self, _: object) -> None:
        self.fault_injector.restart()
        if self._session.scenery.get('mission') is not None:  # as at the start of the lesson
            self.halt()
            self._on_pause(True)
        self._trigger('reset')

    def _step(self, count: int) -> None:
        for _ in range(count):
            self._trigger('step')

    def _trigger(self, name: str) -> None:
        client = self._triggers[name]
        done = DONE.get(name)
        on_success = None if done is None else partial(self._report, done)
        call_trigger(self._node, name, client, absent='no node owns the state', done=on_success)
