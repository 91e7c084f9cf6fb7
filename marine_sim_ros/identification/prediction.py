# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates many stretches of recordings at once, traceable by JAX.

The forces are those of every engine; the motion is integrated by the classical Runge-Kutta method
with the thrust at the middle of each step, so that the step hardly shows in what is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_product, rotation_vector_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.recording import Recording
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.physics.integration import rk4
from marine_sim_ros.physics.rigid_body import net_wrench, weight
from marine_sim_ros.physics.thrusters import ThrusterOutput, thrusters

__all__ = ['BEFORE', 'Stretches', 'parts_of', 'predicted', 'stretches_of', 'turned']

BEFORE = 4
"""Samples before a stretch whose commands count, because of delay and lag."""
_GAP = 1.8
"""Median intervals; a longer one ends a stretch."""
_STEP = 0.07
"""s, longest."""
_DEPTH = -500.0
"""m; nothing feels the surface."""


class Stretches(NamedTuple):
    """s stretches of l steps.

    Attributes:
        source: (s,) number of the recording.
        start: (s,) sample at which it begins.
        time: (s, BEFORE + l + 1) s, 0 at the beginning.
        pwm: (s, BEFORE + l + 1, k) µs.
        orientation: (s, l + 1, 4).
        up: (s, l + 1, 3).
        velocity: (s, l + 1, 6).
        trusted: (s, l + 1).
    """

    source: np.ndarray
    start: np.ndarray
    time: np.ndarray
    pwm: np.ndarray
    orientation: np.ndarray
    up: np.ndarray
    velocity: np.ndarray
    trusted: np.ndarray


def stretches_of(
    recordings: Sequence[Recording], seconds: float, every: int | None = None
) -> Stretches:
    """Return all stretches without gaps.

    Args:
        recordings: their sources.
        seconds: length.
        every: one begins at every so many samples; None: they follow each other.
    """
    parts: list[tuple[Any, ...]] = []
    tick = float(np.median(np.concatenate([np.diff(r.time) for r in recordings])))
    steps = max(2, round(seconds / tick))
    for number, recording in enumerate(recordings):
        trusted, up = recording.trusted, recording.up
        for first in range(BEFORE, len(recording) - steps, every or steps):
            rows = slice(first, first + steps + 1)
            around = slice(first - BEFORE, first + steps + 1)
            time = recording.time[around] - recording.time[first]
            if np.diff(time).max() < _GAP * tick:
                parts.append((
                    number, first, time, recording.pwm[around], recording.orientation[rows],
                    up[rows], recording.velocity[rows], trusted[rows],
                ))  # fmt: skip
    if not parts:
        return Stretches(*(np.zeros((0,)) for _ in Stretches._fields))
    return Stretches(*(np.array(column) for column in zip(*parts, strict=True)))


def parts_of(stretches: Stretches) -> int:
    """Return how many steps of integration fit between two samples."""
    return max(1, int(np.ceil(float(np.median(np.diff(stretches.time, axis=1))) / _STEP - 0.05)))


def turned(orientation: Any, angles: Any) -> Any:
    """Return attitudes (s, 4) turned about the body's x and y axes by (s, 2), rad."""
    xp = require('jax.numpy', 'identify')
    vector = xp.concatenate([angles, xp.zeros_like(angles[:, :1])], axis=1)
    return quaternion_product(orientation, rotation_vector_quaternion(vector))


@dataclass(frozen=True)
class _Moment:
    """Interpolated pulse widths at a time after each stretch's beginning."""

    time: Any
    pwm: Any

    def __call__(self, at: Any) -> Any:
        """Return (s, k) at times (s,)."""
        jax = require('jax', 'identify')
        jnp = jax.numpy
        place = jax.vmap(jnp.searchsorted)(self.time, jax.lax.stop_gradient(at)) - 1
        place = jnp.clip(place, 0, self.time.shape[1] - 2)
        row = jnp.arange(len(at))
        low, high = self.time[row, place], self.time[row, place + 1]
        share = jnp.clip((at - low) / (high - low), 0.0, 1.0)[:, None]
        return self.pwm[row, place] * (1 - share) + self.pwm[row, place + 1] * share


def _forces(vehicle: Vehicle, environment: Environment) -> Callable[[State, Any], Any]:
    """Return the function of states and thrusters' outputs that gives ν̇ (s, 6)."""
    others = [f for f in acting_forces(vehicle, environment) if f.name != 'thrusters']

    def acceleration(state: State, made: ThrusterOutput) -> Any:
        total = made.wrench + weight(vehicle, state, environment)
        inputs = ForceInputs(made.thrust, vehicle, {})
        for force in others:
            memory = None if force.begin is None else force.begin(vehicle, state)
            total = total + force.step(vehicle, state, environment, inputs, memory, dt=0.0)[0]
        net = net_wrench(vehicle, state, environment, total)
        return (vehicle.inverse_mass_matrix @ net[..., None])[..., 0]

    return acceleration


def predicted(
    vehicle: Vehicle, orientation: Any, velocity: Any, time: Any, pwm: Any,
    delay: Any = 0.0, parts: int = 4,
) -> State:  # fmt: skip
    """Return the motion of stretches at the times of their samples, (s, l + 1, ...).

    Args:
        vehicle: the vehicle to simulate; any of its numbers may be traced.
        orientation: (s, 4) at the beginning.
        velocity: (s, 6) likewise.
        time: (s, BEFORE + l + 1) of the commands; from the beginning on those of the result.
        pwm: (s, BEFORE + l + 1, k) pulse widths, µs, straight lines between their times.
        delay: s, by which the commands come late.
        parts: steps of integration from one sample to the next.
    """
    jax = require('jax', 'identify')
    jnp = jax.numpy
    environment = Environment()
    acceleration = _forces(vehicle, environment)
    command = _Moment(time, pwm)
    first = State(
        jnp.zeros((len(orientation), 3)).at[:, 2].set(_DEPTH), jnp.asarray(orientation),
        jnp.asarray(velocity),
    )  # fmt: skip

    def follow(state: State, rotors: Any, sent: Any, seconds: Any) -> tuple[ThrusterOutput, Any]:
        return thrusters(vehicle, state, environment, rotors, pwm=sent, dt=seconds)

    none = jnp.zeros((len(orientation), pwm.shape[-1]))
    # The rotors begin as if the first command had come for long.
    rotors = follow(first, none, command(time[:, 0] - delay), 1e3)[1]
    for i in range(BEFORE):
        wait = (time[:, i + 1] - time[:, i])[:, None]
        rotors = follow(first, rotors, command((time[:, i] + time[:, i + 1]) / 2 - delay), wait)[1]

    def interval(carry: Any, i: Any) -> Any:
        begin = time[:, BEFORE + i]
        step = (time[:, BEFORE + i + 1] - begin) / parts
        wide = step[:, None]

        def part(j: Any, carry: Any) -> Any:
            state, rotors = carry
            sent = command(begin + (j + 0.5) * step - delay)
            made, middle = follow(state, rotors, sent, wide / 2)
            moved = rk4(state, lambda at: acceleration(at, made), wide)
            return moved, follow(state, middle, sent, wide / 2)[1]

        carry = jax.lax.fori_loop(0, parts, part, carry)
        return carry, carry[0]

    steps = time.shape[1] - BEFORE - 1
    _, later = jax.lax.scan(interval, (first, rotors), jnp.arange(steps))
    return State(*(
        jnp.concatenate([begin[:, None], jnp.moveaxis(rest, 0, 1)], axis=1)
        for begin, rest in zip(first, later, strict=True)
    ))  # fmt: skip
