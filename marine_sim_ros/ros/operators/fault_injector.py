# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults that an operator sets while a run is under way, in every node that they concern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.faults.fitting import unfit
from marine_sim_ros.faults.kinds import (
    BarometerDrift,
    Fault,
    Gust,
    SensorFault,
    ThrusterFault,
    kind_of,
)
from marine_sim_ros.faults.reading import fault_text
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.sensors import sensor_nodes

__all__ = ['FaultInjector']

OWNERS = ('dynamics', 'gazebo_bridge')
SHARES = {'dead': 'thrust', 'weak': 'thrust'}
"""Kinds of which a thruster has one or the other."""
Slot = tuple[str, str]


def _slot(kind: str, thruster: str) -> Slot:
    return SHARES.get(kind, kind), thruster


class FaultInjector:
    """One fault of a kind, of thrusters one of a kind each; kept here, and set as a whole."""

    def __init__(self, node: SuiteNode, sources: Sequence[str]) -> None:
        """Begin with the faults of the node's parameter; ``sources`` also name nodes."""
        self._node = node
        controllers = [model.executable for model in CONTROLLERS.values()]
        sensors = sensor_nodes(node.vehicle)
        self._clients = {
            name: node.create_client(SetParameters, f'{name}/set_parameters')
            for name in dict.fromkeys((*OWNERS, *controllers, *sensors, *sources))
        }
        self._faults = {_slot(kind_of(f), _thruster(f)): f for f in node.faults}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return the faults."""
        return tuple(self._faults.values())

    @property
    def shown(self) -> list[dict[str, Any]]:
        """Return the faults as JSON."""
        return [
            {'kind': kind_of(fault)}
            | {n: v for n, v in asdict(fault).items() if isinstance(v, str) or np.isfinite(v)}
            for fault in self._faults.values()
        ]

    def add(self, fault: Fault, stamp: int) -> None:
        """Add a fault; a drift or a gust begins at the stamp (ns), the others have no history."""
        if reason := unfit([fault], self._node.vehicle):
            self._node.warn_throttled(f'fault: {reason}')
            return
        if isinstance(fault, (BarometerDrift, Gust)):
            fault = replace(fault, start=stamp / NANOSECONDS)
        self._faults[_slot(kind_of(fault), _thruster(fault))] = fault
        self._tell()

    def clear(self, kind: str, thruster: str) -> None:
        """Clear faults of a kind; empty: clear all faults."""
        if kind:
            self._faults.pop(_slot(kind, thruster), None)
        else:
            self._faults.clear()
        self._tell()

    def restart(self) -> None:
        """Forget what began at a time that is yet to come, since the run starts anew."""
        self._faults = {slot: fault for slot, fault in self._faults.items() if not fault.start}
        self._tell()

    def _tell(self) -> None:
        text = fault_text(tuple(self._faults.values()))
        wanted = [Parameter('faults', value=text).to_parameter_msg()]
        for name, client in self._clients.items():
            if client.service_is_ready():
                future = client.call_async(SetParameters.Request(parameters=wanted))
                future.add_done_callback(partial(self._told, name))

    def _told(self, name: str, future: Any) -> None:
        answer = future.result()
        for result in () if answer is None else answer.results:
            if not result.successful:
                self._node.warn_throttled(f'fault: {name}: refused: {result.reason}')


def _thruster(fault: Fault) -> str:
    if isinstance(fault, SensorFault):
        return fault.sensor
    return fault.thruster if isinstance(fault, ThrusterFault) else ''
