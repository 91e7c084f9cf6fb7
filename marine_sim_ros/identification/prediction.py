# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Prediction of many stretches of motion at once by JAX, with lagging rotors in closed form.

Between two commands s = sgn(F)√|F| goes from s₀ to its target a as s(x) = a + (s₀ − a) exp(−x/T),
whatever the vehicle does, so that the integral of the thrust F = s|s| has a closed form too. A
mean pulse width would have none: thrust is no straight line of it, and has a dead zone, so that
lag and delay came out wrong by a few milliseconds, and the error had a kink where the delay
crosses a sample.

The forces are those of every engine; the motion is integrated by the classical Runge-Kutta method
with the mean thrust of each step, which is exact: the step hardly shows in what is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_product, rotation_vector_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.recording import MotionRecording
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.physics.rigid_body import net_wrench, rk4, weight
from marine_sim_ros.physics.thrusters import bollard_wrench, rotor_target

__all__ = [
    'BEFORE',
    'Stretches',
    'held_commands',
    'integration_steps',
    'mean_thrusts',
    'predict_motion',
    'stretches_of',
    'tilt_attitudes',
]


# Thrust of lagging rotors in closed form, with exact derivatives by lag and delay.

_STAIRS = 5
"""Held values that stand for a straight line between two commands."""
_NO_LAG = 1e-6
"""s, in place of 0."""


def held_commands(times: Any, pwm: Any) -> tuple[Any, Any]:
    """Return held commands that follow straight lines between rows (s, m) and (s, m, k)."""
    jnp = require('jax.numpy', 'identify')
    fraction = np.arange(_STAIRS) / _STAIRS
    before, step = times[:, :-1, None], jnp.diff(times, axis=1)[..., None]
    at = (before + step * fraction).reshape(len(times), -1)
    rise = jnp.diff(pwm, axis=1)[:, :, None] * (fraction + 0.5 / _STAIRS)[:, None]
    values = (pwm[:, :-1, None] + rise).reshape(len(times), -1, pwm.shape[-1])
    return (
        jnp.concatenate([at, times[:, -1:]], axis=1),
        jnp.concatenate([values, pwm[:, -1:]], axis=1),
    )


def _impulse(start: Any, target: Any, lag: Any, time: Any) -> Any:
    """Return ∫ s|s| dx, N s, over a time: s from a start to its target, all of one shape."""
    jnp = require('jax.numpy', 'identify')

    def square(x: Any) -> Any:
        """Return ∫ s² dx."""
        response, gap = -jnp.expm1(-x / lag), start - target
        twice = -jnp.expm1(-2 * x / lag)
        return target**2 * x + 2 * target * gap * lag * response + gap**2 * lag / 2 * twice

    # s goes through 0 where exp(−x/T) = a/(a − s₀); from there on its sign is the target's.
    reverses = start * target < 0
    ratio = jnp.where(reverses, start / jnp.where(reverses, target, 1.0), 0.0)
    crossing = jnp.where(reverses, jnp.minimum(lag * jnp.log1p(-ratio), time), time)
    sign = jnp.where(start == 0, jnp.sign(target), jnp.sign(start))
    return sign * (2 * square(crossing) - square(time))


def mean_thrusts(vehicle: Vehicle, times: Any, pwm: Any, edges: Any) -> Any:
    """Return mean bollard thrusts (s, e − 1, k), N, between edges (s, e) in time.

    (1/Δt) ∫ F dt; the rotors begin as if the first command had come for long, and the last holds.

    Args:
        vehicle: its ``thrusters`` give F of a pulse width, and the time constant T.
        times: (s, m) at which commands are given, s, ascending.
        pwm: (s, m, k) pulse widths, held until the next, µs.
        edges: (s, e) times, s, ascending.
    """
    jax = require('jax', 'identify')
    jnp = jax.numpy
    target = rotor_target(vehicle, pwm)
    lag = jnp.maximum(jnp.asarray(vehicle.thrusters.time_constant), _NO_LAG)
    waits = jnp.diff(times, axis=1)[..., None]

    def follow(at: Any, interval: Any) -> Any:
        goal, wait = interval
        return goal + (at - goal) * jnp.exp(-wait / lag), at

    by_row = (jnp.moveaxis(target[:, :-1], 1, 0), jnp.moveaxis(waits, 1, 0))
    last, starts = jax.lax.scan(follow, target[:, 0], by_row)
    starts = jnp.concatenate([jnp.moveaxis(starts, 0, 1), last[:, None]], axis=1)
    sums = jnp.cumsum(_impulse(starts[:, :-1], target[:, :-1], lag, waits), axis=1)
    sums = jnp.concatenate([jnp.zeros_like(sums[:, :1]), sums], axis=1)
    fixed = jax.lax.stop_gradient(edges)
    command_index = jax.vmap(lambda t, at: jnp.searchsorted(t, at, side='right'))(times, fixed) - 1
    command_index = jnp.clip(command_index, 0, times.shape[1] - 1)
    row = jnp.arange(len(times))[:, None]
    start, goal = starts[row, command_index], target[row, command_index]
    # Before the first command s is steady, so that a negative time is as good as another.
    since = (edges - times[row, command_index])[..., None]
    early = goal * jnp.abs(goal) * since
    elapsed = jnp.maximum(since, 0.0)
    total = sums[row, command_index] + jnp.where(
        since < 0, early, _impulse(start, goal, lag, elapsed)
    )
    return jnp.diff(total, axis=1) / jnp.diff(edges, axis=1)[..., None]


# Simulation of many stretches of recordings at once, traceable by JAX.

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
        source: (s,) number of the recording; negative: of none, and nothing in it is an outlier.
        start: (s,) sample at which it begins.
        time: (s, BEFORE + l + 1) s, 0 at the beginning.
        sent: (s, m) times of the pulse widths, likewise.
        pwm: (s, m, k) µs.
        orientation: (s, l + 1, 4).
        up: (s, l + 1, 3).
        velocity: (s, l + 1, 6).
        trusted: (s, l + 1) whether a sample counts, or its weight; (s, l + 1, 9) by channel.
        held: whether pulse widths hold until the next.
    """

    source: np.ndarray
    start: np.ndarray
    time: np.ndarray
    sent: np.ndarray
    pwm: np.ndarray
    orientation: np.ndarray
    up: np.ndarray
    velocity: np.ndarray
    trusted: np.ndarray
    held: bool


def stretches_of(
    recordings: Sequence[MotionRecording], seconds: float, every: int | None = None
) -> Stretches:
    """Return all stretches without gaps.

    Args:
        every: one begins at every so many samples; None: they follow each other.

    Raises:
        ParameterError: recordings of both kinds of commands.
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
                parts.append(
                    (
                        number,
                        first,
                        time,
                        recording.sent[around].ravel() - recording.time[first],
                        recording.pwm[around].reshape(-1, recording.pwm.shape[-1]),
                        recording.orientation[rows],
                        up[rows],
                        recording.velocity[rows],
                        trusted[rows],
                    )
                )
    if not parts:
        none = np.zeros(0)
        return Stretches(none, none, none, none, none, none, none, none, none, True)
    held = {recording.held for recording in recordings}
    if len(held) > 1:
        raise ParameterError(
            'some recordings hold their pulse widths, others interpolate them; expected one kind'
        )
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    return Stretches._make([*columns, held.pop()])


def integration_steps(stretches: Stretches) -> int:
    """Return the number of integration steps between two samples."""
    return max(1, int(np.ceil(float(np.median(np.diff(stretches.time, axis=1))) / _STEP - 0.05)))


def tilt_attitudes(orientation: Any, angles: Any) -> Any:
    """Return attitudes (s, 4) turned about the body's x and y axes by (s, 2), rad."""
    xp = require('jax.numpy', 'identify')
    vector = xp.concatenate([angles, xp.zeros_like(angles[:, :1])], axis=1)
    return quaternion_product(orientation, rotation_vector_quaternion(vector))


def _forces(vehicle: Vehicle, environment: Environment) -> Callable[[State, Any], Any]:
    """Return the function of states and bollard thrusts that gives ν̇ (s, 6)."""
    force_models = [f for f in acting_forces(vehicle, environment) if f.name != 'thrusters']

    def acceleration(state: State, thrust: Any) -> Any:
        wrench, thrust = bollard_wrench(vehicle, state, environment, thrust)
        total = wrench + weight(vehicle, state, environment)
        inputs = ForceInputs(thrust, vehicle, {})
        for force in force_models:
            memory = None if force.begin is None else force.begin(vehicle, state)
            total = total + force.step(vehicle, state, environment, inputs, memory, dt=0.0)[0]
        net = net_wrench(vehicle, state, environment, total)
        return (vehicle.inverse_mass_matrix @ net[..., None])[..., 0]

    return acceleration


def predict_motion(
    vehicle: Vehicle,
    orientation: Any,
    velocity: Any,
    time: Any,
    sent: Any,
    pwm: Any,
    delay: Any,
    parts: int,
    held: bool,
    environment: Environment | None = None,
) -> State:
    """Return the motion of stretches at the times of their samples, (s, l + 1, ...).

    Args:
        vehicle: the vehicle to simulate; any of its numbers may be traced.
        orientation: (s, 4) at the beginning.
        velocity: (s, 6) likewise.
        time: (s, BEFORE + l + 1); from the beginning on those of the result.
        sent: (s, m) of the commands.
        pwm: (s, m, k) pulse widths, µs.
        delay: s, by which the commands come late.
        parts: steps of integration from one sample to the next.
        held: whether pulse widths hold until the next; else they follow straight lines.
        environment: still water; None: of the vehicle's density.
    """
    jax = require('jax', 'identify')
    jnp = jax.numpy
    environment = environment or Environment()
    acceleration = _forces(vehicle, environment)
    first = State(
        jnp.zeros((len(orientation), 3)).at[:, 2].set(_DEPTH),
        jnp.asarray(orientation),
        jnp.asarray(velocity),
    )

    # All times between which a step of integration lies, and the mean thrust in each.
    begins, ends = time[:, BEFORE:-1, None], time[:, BEFORE + 1 :, None]
    edges = begins + (ends - begins) * jnp.arange(parts) / parts
    edges = jnp.concatenate([edges.reshape(len(time), -1), time[:, -1:]], axis=1)
    thrust = jnp.moveaxis(
        mean_thrusts(vehicle, *(sent, pwm) if held else held_commands(sent, pwm), edges - delay),
        1,
        0,
    )

    def interval(carry: Any, i: Any) -> Any:
        wide = ((time[:, BEFORE + i + 1] - time[:, BEFORE + i]) / parts)[:, None]

        def part(j: Any, state: State) -> State:
            thrusts = thrust[i * parts + j]
            return rk4(state, lambda at: acceleration(at, thrusts), wide)

        carry = jax.lax.fori_loop(0, parts, part, carry)
        return carry, carry

    steps = time.shape[1] - BEFORE - 1
    _, later = jax.lax.scan(interval, first, jnp.arange(steps))
    return State(
        *(
            jnp.concatenate([begin[:, None], jnp.moveaxis(following, 0, 1)], axis=1)
            for begin, following in zip(first, later, strict=True)
        )
    )
