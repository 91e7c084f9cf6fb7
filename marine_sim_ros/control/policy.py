# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller ``policy``: a learned station keeper, a network of tanh layers from a JSON file.

The network commands a number from −1 to 1 for each thruster, 1500 + 400 a µs, of what the task
``StationKeeping`` of :mod:`marine_sim_ros.gym` observes. The law returns the wrench of these
thrusts, so that allocation, faults and every engine stay as they are. A file has numbers alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home, read_text_file, resource_folder
from marine_sim_ros.core.schema import REQUIRED, declaration, number, text
from marine_sim_ros.core.spatial import skew, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle

__all__ = ['OBSERVED_LIMITS', 'POLICY', 'PULSE_WIDTH_SPAN', 'Policy', 'load_policy']

PULSE_WIDTH_SPAN = 400.0
"""µs from neutral to full thrust."""
OBSERVED_LIMITS = np.repeat([6.0, 1.0, 1.0, 10.0, 20.0], 3)
"""(15,) largest magnitudes of what StationKeeping observes: vector to the station, m; the
station's axes x and z; velocity, m/s and rad/s."""
MAX_LAYERS, MAX_WIDTH = 8, 1024


# The network and its file.


@dataclass(frozen=True, eq=False)
class Policy:
    """A network y = tanh(W x + b), the last layer without tanh.

    Attributes:
        vehicle: name of the vehicle that it was trained with.
        weights: W (m, n) of each layer.
        biases: b (m,) of each layer.
    """

    vehicle: str
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __call__(self, observation: Array) -> Array:
        """Return actions (n,) from −1 to 1 of an observation (m,)."""
        xp, values = namespace(observation), observation
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = constant(xp, weight) @ values + constant(xp, bias)
            values = values if i == last else xp.tanh(values)
        return xp.clip(values, -1.0, 1.0)

    def to_json(self) -> str:
        """Return the network as the JSON that :func:`load_policy` reads, 7 digits a number."""

        def rounded(array: np.ndarray) -> Any:
            return np.vectorize(lambda x: float(f'{x:.7g}'))(np.asarray(array, float)).tolist()

        layers = [
            {'weight': rounded(w), 'bias': rounded(b)}
            for w, b in zip(self.weights, self.biases, strict=True)
        ]
        return json.dumps({'vehicle': self.vehicle, 'layers': layers})


def load_policy(name_or_path: str) -> Policy:
    """Return the policy of a shipped name or a path.

    Raises:
        ParameterError: the file cannot be read, or holds no network; one line with what was
            expected.
    """
    path = resource_folder('config') / 'policies' / f'{name_or_path}.json'
    if '/' in name_or_path or not path.is_file():
        path = Path(expand_home(name_or_path))
    content = read_text_file(path, ParameterError)
    try:
        record = json.loads(content)
        layers = record['layers']
        weights = tuple(np.array(layer['weight'], float) for layer in layers)
        biases = tuple(np.array(layer['bias'], float) for layer in layers)
        policy = Policy(str(record.get('vehicle', '')), weights, biases)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ParameterError(
            f'{path}: holds no policy; expected JSON with layers of weight and bias'
        ) from None
    if flaw := _flaw(policy):
        raise ParameterError(f'{path}: {flaw}')
    return policy


def _flaw(policy: Policy) -> str:
    """Return why a network cannot be used, or an empty text."""
    if not 1 <= len(policy.weights) <= MAX_LAYERS:
        return f'has {len(policy.weights)} layers; expected 1 to {MAX_LAYERS}'
    size = len(OBSERVED_LIMITS)
    for i, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        rows = len(bias) if bias.ndim == 1 else 0
        if not 1 <= rows <= MAX_WIDTH or weight.shape != (rows, size):
            return (
                f'layer {i} has a weight of shape {weight.shape} and a bias of {bias.shape}; '
                f'expected (m, {size}) and (m,)'
            )
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            return f'layer {i} has numbers that are not finite; expected finite ones'
        size = rows
    return ''


# The law.


@declaration(frozen=True)
class PolicySettings:
    """Settings of the controller ``policy``."""

    file: str = text('network: shipped name in config/policies, or path', REQUIRED)
    period: float = number(0.1, 1e-3, 1.0, 's', 'time for which an action is kept')


class PolicyMemory(NamedTuple):
    """Last actions (n,), and the time (1,) since they were chosen, s."""

    actions: Array
    age: Array


@dataclass(frozen=True, eq=False)
class PolicyLaw:
    """Law of a policy: (set-points, state, memory) -> (wrench, memory).

    Attributes:
        policy: the network.
        period: s for which an action is kept.
        thrusters: thrusters that it commands.
        effectiveness: (6, n) thrusts -> wrench about the centre of mass.
    """

    policy: Policy
    period: float
    thrusters: ThrusterSet
    effectiveness: np.ndarray
    error_diffusion: bool = False

    def begin(self, state: State, *, dt: float | None = None) -> PolicyMemory:
        """Return the memory of a start, at which an action is due."""
        del dt
        zero = 0.0 * state.position[:1]
        xp = namespace(zero)
        actions = xp.concat([zero] * len(self.thrusters))
        return PolicyMemory(actions, zero + self.period)

    def wrench(
        self, setpoint: Array, state: State, memory: PolicyMemory, *, unachieved: Array, dt: Any
    ) -> tuple[Array, PolicyMemory]:
        """Return the wrench (6,) about the centre of mass, and the next memory.

        Args:
            setpoint: set-points (12,); of these x, y and z are the station and yaw its heading.
                One that is free is where the vehicle is.
            state: state of the vehicle.
            memory: memory of the step before.
            unachieved: not used.
            dt: since the step before, s.
        """
        del unachieved
        xp = namespace(state.velocity)
        age = memory.age + dt
        due = age >= self.period - 1e-9
        chosen = self.policy(self._observe(setpoint, state))
        actions = xp.where(due, chosen, memory.actions)
        thrust = self.thrusters.thrust_of_pwm(PWM_NEUTRAL + PULSE_WIDTH_SPAN * actions)
        wrench = constant(xp, self.effectiveness) @ thrust
        return wrench, PolicyMemory(actions, xp.where(due, 0.0 * age, age))

    def _observe(self, setpoint: Array, state: State) -> Array:
        """Return the observation (15,) of StationKeeping."""
        xp = namespace(state.velocity)
        target, yaw, none = setpoint[:3], setpoint[5:6], 0.0 * state.position
        offset = xp.where(xp.isnan(target), none, target - state.position)
        zero = none[:1]
        heading = xp.where(xp.isnan(yaw), zero, yaw)
        east = xp.concat([xp.cos(heading), xp.sin(heading), zero])
        up = xp.concat([zero, zero, zero + 1.0])
        parts = [to_body(state.orientation, vector) for vector in (offset, east, up)]
        limits = constant(xp, OBSERVED_LIMITS)
        return xp.minimum(xp.maximum(xp.concat([*parts, state.velocity]), -limits), limits)


def _policy_law(settings: PolicySettings, vehicle: Vehicle) -> PolicyLaw:
    """Return the law of a policy for a vehicle.

    Raises:
        ParameterError: no such file, or a policy for another number of thrusters.
    """
    policy, count = load_policy(settings.file), len(vehicle.thrusters)
    if len(policy.biases[-1]) != count:
        raise ParameterError(
            f'controller policy: {settings.file} commands {len(policy.biases[-1])} thrusters, and '
            f'{vehicle.name} has {count}; expected a policy that was trained with it'
        )
    effectiveness = np.array(vehicle.thrusters.effectiveness)
    effectiveness[3:] -= skew(vehicle.inertia.center_of_mass) @ effectiveness[:3]
    return PolicyLaw(policy, settings.period, vehicle.thrusters, effectiveness)


POLICY = ControllerModel('policy', PolicySettings, law=_policy_law, label='Learned policy')
