# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Actuator model: parts of a vehicle that follow one commanded number each.

Commands, scenarios, scripts, forces, trajectories, bags and nodes carry one mapping by the name of
the actuator. Thrusters are no actuators in this sense: they follow pulse widths, which every
vehicle takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.servos import Servos
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceModel, guard_function, guarded_force

__all__ = ['Actuator', 'NO_COMMANDS', 'guarded_actuator', 'servo_step']

NO_COMMANDS: Mapping[str, Any] = MappingProxyType({})
"""Commands (..., k) or numbers by part, by the name of the actuator: none."""


@dataclass(frozen=True, eq=False)
class Actuator:
    """One kind of actuator; a vehicle with k parts of it takes commands (..., k).

    Attributes:
        name: name in commands and trajectories.
        names: function of a vehicle: names of its parts; empty: it has none.
        text: one line for lists.
        label: display label; default: the name.
        unit: unit of a commanded number.
        limit: largest magnitude of a commanded number in a scenario.
        part: noun for one part in messages.
        key: key in the segments of a scenario; default: the name.
        read: function of the value of that key: numbers by part; default: a mapping of them.
        missing: message where a scenario commands it and ``{vehicle}`` has none.
        rest: commanded number before the first command.
        yields_to: actuator whose commands return the parts that they name to ``rest``.
        adds_to: actuator of the same ``source`` to whose targets its commands are added, by the
            names of the parts; empty: none.
        steered: whether a controller commands it.
        stage: function of a vehicle that returns the actuator's
            :class:`~marine_sim_ros.control.allocator.AllocationStage`, as ``module:function``;
            empty: none.
        compiled: whether compiled programs take its commands.
        state: function of a vehicle's memory after a tick
            (:class:`~marine_sim_ros.sim.step.Memory`): state (..., k) or more; None: none.
        restore: function of such a memory and a state: the memory with that state,
            from which a restarted node goes on; None: it begins anew, or goes on by other means.
        fields: fields of a JointState that the columns of the state fill, k each.
        units: units of those fields; default: the unit of a commanded number.
        state_topic: topic of the state, a JointState; empty: it is not published.
        command_topic: topic of commands, a JointState; empty: there is none.
        command_field: its field with the numbers.
        wrench: function of a vehicle, a state, an environment, the actuator's own state (..., k)
            and thrusts (..., n): the wrench (..., 6) while that state is held; None: unknown, or
            in the wrench of the thrusters.
        repeats: whether a recorded state, commanded again, repeats the run.
        body: function of a vehicle and the actuator's state (..., k): the vehicle with the mass
            that it then has; None: the actuator changes no mass.
        source: name of the force that follows its commands; default: that of ``force``, or its
            own.
        force: force model that follows its commands, if ``FORCES`` lists none.
        element: URDF element at robot level that describes its parts, if no force reads one.
        read_element: function that reads that element with a
            :class:`~marine_sim_ros.model.xml.Reader`; its result is in ``Vehicle.extensions``.
        parts: dataclass that declares attributes and children of that element.
    """

    name: str
    names: Callable[[Vehicle], tuple[str, ...]]
    _: KW_ONLY
    text: str
    unit: str
    label: str = ''
    limit: float = 1e3
    part: str = 'part'
    key: str = ''
    read: Callable[[YamlReader], Mapping[str, float]] | None = None
    missing: str = ''
    rest: float = 0.0
    yields_to: str = ''
    adds_to: str = ''
    steered: bool = False
    stage: str = ''
    compiled: bool = True
    state: Callable[[Any], Array | None] | None = None
    restore: Callable[[Any, Array], Any] | None = None
    fields: tuple[str, ...] = ('position',)
    units: tuple[str, ...] = ()
    state_topic: str = ''
    command_topic: str = ''
    command_field: str = 'position'
    wrench: Callable[[Vehicle, State, Environment, Array, Array], Wrench] | None = None
    repeats: bool = False
    body: Callable[[Vehicle, Array], Vehicle] | None = None
    source: str = ''
    force: ForceModel | None = None
    element: str = ''
    read_element: Callable[[Any], Any] | None = None
    parts: type | None = None

    def __post_init__(self) -> None:
        """Fill in the label, the key, the units of the state and the source.

        Raises:
            ValueError: another number of units than of fields.
        """
        if self.units and len(self.units) != len(self.fields):
            raise ValueError(
                f'actuator {self.name!r}: has {len(self.units)} units; expected one for each '
                f'field of its state: {", ".join(self.fields)}'
            )
        force = self.name if self.force is None else self.force.name
        label = self.name.replace('_', ' ').capitalize()
        object.__setattr__(self, 'label', self.label or label)
        object.__setattr__(self, 'units', self.units or (self.unit,) * len(self.fields))
        object.__setattr__(self, 'key', self.key or self.name)
        object.__setattr__(self, 'source', self.source or force)

    def zero_state(self, vehicle: Vehicle) -> np.ndarray:
        """Return a state (k times the number of ``fields``,) of zeros."""
        return np.zeros(len(self.names(vehicle)) * len(self.fields))

    def read_commands(self, item: YamlReader) -> Mapping[str, float]:
        """Return the commanded numbers by part of a segment's value.

        Raises:
            ScenarioError: no such mapping.
        """
        if self.read is not None:
            return self.read(item)
        if not isinstance(item.value, dict):
            raise item.error(f' is {item.value!r}; expected a mapping of {self.key}')
        limit = self.limit
        return {str(name): item.child(name).number(-limit, limit) for name in item.value}


def servo_step(
    servos: Servos, angle: Array, target: Array, dt: Any, load: Array | None = None
) -> Array:
    """Return the angles (..., m) in rad, dt seconds later.

    A first-order lag within its rate: δ' = δ + clip((1 − e^(−dt/T)) (δ_c − δ), ±r dt), δ_c the
    commanded angle within the limits. Under a load m the rates are r (1 − m) upwards and
    r (1 + m) downwards, within ±r: the line of a direct-current motor from its free speed to its
    stall, beyond which the load turns it back.

    Args:
        angle: (..., m) angles before, rad.
        target: (..., m) commanded angles, rad.
        dt: s.
        load: (..., m) torques against positive angles over the stall torques; None: no load.
    """
    xp = namespace(angle)
    limited_target = xp.minimum(
        xp.maximum(target, constant(xp, servos.lower)), constant(xp, servos.upper)
    )
    step_fraction = 1 - xp.exp(-dt / xp.maximum(constant(xp, servos.time_constant), 1e-12))
    max_step = constant(xp, servos.max_rate) * dt
    lower, upper = -max_step, max_step
    if load is not None:
        lower = lower * xp.clip(1 + load, -1.0, 1.0)
        upper = upper * xp.clip(1 - load, -1.0, 1.0)
    angle = angle + xp.minimum(xp.maximum(step_fraction * (limited_target - angle), lower), upper)
    if load is not None:  # a load may turn it as far as its end stops
        angle = xp.minimum(
            xp.maximum(angle, constant(xp, servos.lower)), constant(xp, servos.upper)
        )
    return angle


def guarded_actuator(actuator: Actuator, owner: str) -> Actuator:
    """Return an actuator whose functions raise RunError where they fail.

    Args:
        actuator: actuator of another package.
        owner: name of the entry and of its package, for the message.
    """
    functions: dict[str, Any] = {
        name: guard_function(function, f'{owner}: {name}')
        for name in ('names', 'read', 'state', 'restore', 'wrench', 'body', 'read_element')
        if (function := getattr(actuator, name)) is not None
    }
    force = actuator.force and guarded_force(actuator.force, owner)
    return replace(actuator, force=force, **functions)
