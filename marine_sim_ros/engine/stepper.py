# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles moved on by some ticks at a time, for whoever decides between the steps."""

from __future__ import annotations

import copy
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS, step_nanoseconds
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.batch import BLOCK
from marine_sim_ros.engine.compiled import compiled
from marine_sim_ros.engine.components import Components, components, joined
from marine_sim_ros.engine.curves import with_curves
from marine_sim_ros.engine.records import derived
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.thrust import Propulsion
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.step import Commands, Stepping, advance, begin

__all__ = ['Bodies', 'Forces', 'Stepper']

SHARE = 128
"""Vehicles that are worth a thread of their own."""


class Bodies(NamedTuple):
    """What vehicles carry from step to step.

    Attributes:
        position: (N, 3) m, map.
        orientation: (N, 4) x, y, z, w.
        velocity: (N, 6) body, m/s and rad/s.
        rotors: (N, n) of the thrusters, √N.
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    rotors: np.ndarray


class Forces(NamedTuple):
    """What sensors need beside that, of the last tick of a step.

    Attributes:
        acceleration: (N, 6) rate of change of the velocity, m/s² and rad/s².
        power: (N, n) of the thrusters, W.
    """

    acceleration: np.ndarray
    power: np.ndarray


class Stepper:
    """N vehicles of one kind, each in a current of its own, compiled for some ticks at a time."""

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        size: int,
        ticks: int = 10,
        dt: float = 0.01,
        environment: Environment | None = None,
        with_forces: bool = False,
    ) -> None:
        """Compile.

        Args:
            vehicle: without hull and arm.
            size: N.
            ticks: number of ticks of one step.
            dt: tick, s.
            environment: without waves, gusts and scene; its steady current is not used.
            with_forces: let :attr:`forces` be known after a step.

        Raises:
            ParameterError: a vehicle or an environment that is more than a few numbers.
        """
        around = environment or Environment()
        if vehicle.hull is not None or vehicle.manipulator is not None:
            raise ParameterError(
                f'{vehicle.name} has a hull or an arm; expected a vehicle with lumped coefficients'
            )
        if around.waves or around.fluctuation or around.scene or around.profile:
            raise ParameterError(
                f'environment {around.name} has waves, gusts, a profile or a scene; '
                'expected still water'
            )
        self.vehicle = derived(with_curves(vehicle))
        self._environment = around
        self._ticks = ticks
        self._with_forces = with_forces
        self.forces: Forces | None = None
        self._stepping = Stepping(step_nanoseconds(dt) / NANOSECONDS)
        cores = max(os.cpu_count() or 1, 1)
        threads = min(cores, max(size // SHARE, 1))
        self._block = min(BLOCK, -(-size // threads))
        self._starts = range(0, size, self._block)
        self._pool = ThreadPoolExecutor(cores)
        shapes = (3, 4, 6, len(vehicle.thrusters))
        arrays = [np.zeros((n, self._block)) for n in shapes]
        pwm = np.zeros((len(vehicle.thrusters), self._block))
        with precision('float64'):
            lowered = jax.jit(self._run).lower(arrays, pwm, np.zeros((3, self._block)))
            self._compiled = compiled(lowered, written_out=True)

    def _run(self, bodies: list[jax.Array], pwm: jax.Array, current: jax.Array) -> list[jax.Array]:
        """Return bodies (k, block) after a step; the batch's axis is the last."""
        around = copy.copy(self._environment)
        vars(around).update(current=components(current, 1), still=False)
        commands = Commands(components(pwm, 1))
        batch, dtype = pwm.shape[1:], pwm.dtype

        def tick(carry: list[Components], nothing: None) -> tuple[list[Components], None]:
            *state, rotors = carry[:4]
            memory = begin(self.vehicle, around, State(*state))
            memory = memory._replace(propulsion=Propulsion(rotors))
            del nothing
            happened, after = advance(
                self.vehicle, around, memory, commands, self._stepping, since=self._stepping.dt
            )
            following = [*after.state, after.propulsion.rotors]
            if self._with_forces:
                following += [happened.acceleration, happened.thrusters.power]
            return jax.tree.map(lambda x: jnp.broadcast_to(x, batch), following), None

        # Number by number from tick to tick: joined, every row would be computed by itself.
        forces = [jnp.zeros_like(x) for x in bodies[2:]] if self._with_forces else []
        begun = [components(x, 1) for x in (*bodies, *forces)]
        moved, _ = jax.lax.scan(tick, begun, None, length=self._ticks)
        return [joined(x, batch, dtype) for x in moved]

    def at_rest(self, position: np.ndarray, orientation: np.ndarray) -> Bodies:
        """Return vehicles at rest at positions (N, 3) and attitudes (N, 4)."""
        count = len(position)
        return Bodies(
            position,
            orientation,
            np.zeros((count, 6)),
            np.zeros((count, len(self.vehicle.thrusters))),
        )

    def step(self, bodies: Bodies, pwm: np.ndarray, current: np.ndarray) -> Bodies:
        """Return the vehicles after a step.

        Args:
            bodies: bodies at the start.
            pwm: (N, n) pulse widths all through it, µs.
            current: (N, 3) velocity of the water in map, m/s.
        """

        def block(start: int) -> list[np.ndarray]:
            rows = np.minimum(np.arange(start, start + self._block), len(pwm) - 1)
            turned = [np.ascontiguousarray(x[rows].T) for x in (*bodies, pwm, current)]
            with precision('float64'):
                kept = self._compiled(turned[:-2], *turned[-2:])
                return [np.asarray(x).T for x in kept]

        parts = list((map if len(self._starts) == 1 else self._pool.map)(block, self._starts))
        joint = [np.concatenate(p)[: len(pwm)] for p in zip(*parts, strict=True)]
        if self._with_forces:
            self.forces = Forces(*joint[4:])
        return Bodies(*joint[:4])
