# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes that an operator makes during a run: faults, water, recordings."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3Stamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String

from marine_sim_ros.core.processes import module_command
from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import file_name
from marine_sim_ros.environment.changes import EnvironmentChange
from marine_sim_ros.faults.fault_types import (
    BarometerDrift,
    Fault,
    Gust,
    SensorFault,
    ThrusterFault,
    fault_text,
    fault_type_name,
    unsuited_fault,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import set_stamp
from marine_sim_ros.ros.node_graph import NodeSpec
from marine_sim_ros.ros.topics import STATE_NODES
from marine_sim_ros.sensors import sensor_nodes

__all__ = ['FaultInjector', 'RecorderProcess', 'WaterControl']


# Faults that an operator sets during a run, in every affected node.

EXCLUSIVE_KINDS = {'dead': 'thrust', 'weak': 'thrust'}
"""Fault kinds of which a thruster has one at most, by the name of their slot."""
Slot = tuple[str, str]


def _slot(kind: str, thruster: str) -> Slot:
    return EXCLUSIVE_KINDS.get(kind, kind), thruster


class FaultInjector:
    """Active faults, at most one of each kind (of thrusters: each kind and thruster).

    Every change sets the parameter ``faults`` of all nodes.
    """

    def __init__(self, node: VehicleNode, sources: Sequence[str]) -> None:
        """Begin with the faults of the node's parameter; ``sources`` also name nodes."""
        self._node = node
        controllers = [model.executable for model in CONTROLLERS.values()]
        sensors = sensor_nodes(node.vehicle)
        self._clients = {
            name: node.create_client(SetParameters, f'{name}/set_parameters')
            for name in dict.fromkeys((*STATE_NODES, *controllers, *sensors, *sources))
        }
        self._faults = {_slot(fault_type_name(f), _thruster(f)): f for f in node.faults}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return the faults."""
        return tuple(self._faults.values())

    @property
    def faults_json(self) -> list[dict[str, Any]]:
        """Return the faults as JSON."""
        return [
            {'kind': fault_type_name(fault)}
            | {n: v for n, v in asdict(fault).items() if isinstance(v, str) or np.isfinite(v)}
            for fault in self._faults.values()
        ]

    def add(self, fault: Fault, stamp: int) -> None:
        """Add a fault; a drift or a gust begins at the stamp (ns), the others have no history."""
        if reason := unsuited_fault([fault], self._node.vehicle):
            self._node.warn_throttled(f'fault: {reason}')
            return
        if isinstance(fault, (BarometerDrift, Gust)):
            fault = replace(fault, start=stamp / NANOSECONDS)
        self._faults[_slot(fault_type_name(fault), _thruster(fault))] = fault
        self._publish()

    def clear(self, kind: str, thruster: str) -> None:
        """Clear faults of a kind; empty: clear all faults."""
        if kind:
            self._faults.pop(_slot(kind, thruster), None)
        else:
            self._faults.clear()
        self._publish()

    def restart(self) -> None:
        """Drop faults with a start time, for a new run."""
        self._faults = {slot: fault for slot, fault in self._faults.items() if not fault.start}
        self._publish()

    def _publish(self) -> None:
        text = fault_text(tuple(self._faults.values()))
        parameters = [Parameter('faults', value=text).to_parameter_msg()]
        for name, client in self._clients.items():
            if client.service_is_ready():
                future = client.call_async(SetParameters.Request(parameters=parameters))
                future.add_done_callback(partial(self._report_answer, name))

    def _report_answer(self, name: str, future: Any) -> None:
        answer = future.result()
        for result in () if answer is None else answer.results:
            if not result.successful:
                self._node.warn_throttled(f'fault: {name}: refused: {result.reason}')


def _thruster(fault: Fault) -> str:
    if isinstance(fault, SensorFault):
        return fault.sensor
    return fault.thruster if isinstance(fault, ThrusterFault) else ''


# Current, wind, level and turbidity of the water.

LOOK_AHEAD = 0.1
"""s; what an operator changes begins with the next tick, also while the run is paused."""


class WaterControl:
    """Requests of an operator for another current or environment."""

    def __init__(self, node: VehicleNode) -> None:
        """Make the publishers."""
        self._node = node
        self._current = node.environment.current.tolist()
        self._begun: list[EnvironmentChange] = []
        self._current_out = node.publisher(topics.OCEAN_CURRENT)
        self._change_out = node.publisher(topics.ENVIRONMENT_CHANGE)

    @property
    def _can_change(self) -> bool:
        return bool(self._node.count_subscribers(topics.ENVIRONMENT_CHANGE.name))

    def change(self, change: str) -> None:
        """Ask the state node for a change of the environment (JSON) from its next tick on."""
        if self._can_change:
            self._change_out.publish(String(data=change))
        else:
            self._node.warn_throttled(
                'environment/change: this run cannot change it; expected one without Gazebo'
            )

    def set_current(self, velocity: Sequence[float], stamp: int) -> None:
        """Request a current (3,) in map, m/s, at a stamp in ns."""
        self._current = list(velocity)
        if self._can_change:
            east_north_up = self._node.environment.origin.enu(np.array(velocity))
            self.change(json.dumps({'current': {'velocity': east_north_up.tolist()}}))
            return
        message = Vector3Stamped()
        message.header.frame_id = 'map'
        set_stamp(message.header.stamp, stamp)
        message.vector.x, message.vector.y, message.vector.z = self._current
        self._current_out.publish(message)

    def state(self, stamp: int) -> dict[str, Any]:
        """Return current, wind, level and turbidity for pages, those of a change that is next.

        The current is the one that was requested last until another change begins.
        """
        environment = self._node.environment
        around = environment.at(stamp / NANOSECONDS + LOOK_AHEAD)
        begun = [c for c in environment.changes if c.start <= around.time]
        if begun != self._begun:
            self._begun, self._current = begun, around.current.tolist()
        tides = [c.tide for c in begun if c.tide]
        wind = around.wind
        return {
            'current': self._current,
            'water': {
                'wind': None if wind is None else [wind.speed, wind.from_direction % 360.0],
                'offset': tides[-1].offset if tides else 0.0,
                'turbidity': around.optics.turbidity,
            },
        }


# Recorder that an operator starts and ends during a run.

CLOSING_TIMEOUT = 3.0
"""s of wall time that a recorder may take to close its bag."""


class RecorderProcess:
    """Recorder node in a separate process, started and ended by an operator.

    Attributes:
        directory: folder of the newest recording; empty: none.
        is_saved: whether the newest recording has ended in order.
    """

    def __init__(
        self, node: VehicleNode, parameters: str, folder: str, report: Callable[[str], object]
    ) -> None:
        """Prepare; start nothing.

        Args:
            node: node that starts the recording, in whose namespace it records.
            parameters: parameters of the recorder, JSON; empty where none can be started.
            folder: folder for the recordings, one subfolder each.
            report: called with messages about a recording.
        """
        self._node, self._parameters, self._folder, self._report = node, parameters, folder, report
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ending = self._has_begun = False
        self._progress: Any = None
        self.directory = ''
        self.is_saved = False

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def starting(self) -> bool:
        """Whether a recording has not written its first tick yet."""
        return self.running and not (self._has_begun or self._is_ending)

    @property
    def closing(self) -> bool:
        """Whether a recording was told to end, and is still writing."""
        return self.running and self._is_ending

    def check(self) -> None:
        """Report a recorder that has ended since the last call."""
        if self._process is None or self.running:
            return
        code, self._process = self._process.returncode, None
        self._node.destroy_subscription(self._progress)
        self.is_saved = not code
        if code:
            why = (
                'it was ended before it began' if code == -signal.SIGTERM else f'exit code {code}'
            )
            self._node.warn_throttled(f'record: {self.directory} is not recorded: {why}')
            self.directory = ''
        else:
            self._report(f'recording saved: {self.directory}')

    def switch(self, on: bool) -> None:
        """Start or end a recording."""
        if self.closing and on:
            self._node.warn_throttled(f'record: {self.directory} is still being closed')
        if on == self.running or self.closing:
            return
        if not on:
            self._interrupt()
            self._report(f'closing the recording {self.directory} …')
        elif not self._parameters:
            self._node.warn_throttled('record: the run is recorded already, or nothing says how')
        else:
            self._start()

    def close(self) -> None:
        """End a recording, and wait until its bag is closed."""
        if self._process is not None:
            self._interrupt()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_TIMEOUT)
                self.check()

    def _start(self) -> None:
        name = f'{file_name(self._node.vehicle.name)}_{time.strftime("%Y%m%d_%H%M%S")}'
        self.directory = str(Path(self._folder) / name)
        parameters = {**json.loads(self._parameters), 'directory': self.directory}
        spec = NodeSpec('recorder', self._node.get_namespace(), parameters)
        command = module_command('marine_sim_ros.nodes.recorder', *spec.ros_arguments())
        self._process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
        self._is_ending = self._has_begun = self.is_saved = False
        self._progress = self._node.listen(topics.RECORDER_WRITTEN, self._on_written)

    def _on_written(self, message: Any) -> None:
        """Report the start of a recording once its first tick is written."""
        if not self._has_begun and message.sec >= 0:
            self._has_begun = True
            self._report(f'recording to {self.directory}')

    def _interrupt(self) -> None:
        if self._process is not None and self._process.poll() is None:
            # Not SIGINT: a recorder that is still starting would print a traceback.
            self._process.send_signal(signal.SIGTERM)
            self._is_ending = True
