# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Force model: step, inputs, velocity relative to the water, and guards of plug-in forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_numeric, namespace
from marine_sim_ros.core.errors import MarineSimError, RunError
from marine_sim_ros.core.spatial import cross, to_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'ForceInputs',
    'ForceModel',
    'actuator_step',
    'guard_function',
    'guarded_force',
    'has_scene',
    'relative_velocity',
    'water_acceleration',
    'zero_memory',
]


# Velocity relative to the water.


def water_velocity(state: State, environment: Environment) -> Array:
    """Return the water's velocity ν_c (..., 6) at the ``base_link`` origin: [Rᵀ u; 0], m/s."""
    xp = namespace(state.velocity)
    linear = to_body(state.orientation, environment.velocity(state.position))
    return xp.concat([linear, xp.zeros_like(linear)], axis=-1)


def water_acceleration(state: State, environment: Environment) -> Array:
    """Return ν̇_c (..., 6) in the turning body frame: [Rᵀ ∂u/∂t − ω × Rᵀ u; 0]."""
    xp = namespace(state.velocity)
    velocity = water_velocity(state, environment)[..., :3]
    linear = cross(velocity, state.velocity[..., 3:])
    if not environment.is_flat:
        wave_acceleration = environment.acceleration(state.position)
        linear = linear + to_body(state.orientation, wave_acceleration)
    return xp.concat([linear, xp.zeros_like(linear)], axis=-1)


def relative_velocity(state: State, environment: Environment) -> Array:
    """Return ν_r = ν − ν_c (..., 6) where the vehicle is (Fossen 2011, eq. 8.2)."""
    if environment.is_still:
        return state.velocity
    return state.velocity - water_velocity(state, environment)


# A force is a pure function of one tick, with the properties that the package needs.


class ForceInputs(NamedTuple):
    """Optional inputs of a force, at the same tick.

    Attributes:
        thrust: (..., n) of the thrusters, N (``needs`` thrust).
        body: the vehicle with its arm's pose at this tick (``needs`` joints), and with the mass
            that it has at the states of its actuators (``needs`` mass).
        actuated: (..., 6) wrenches of the actuators, which are computed before the forces, by
            name.
        commands: (..., k) commands by actuator; see :mod:`marine_sim_ros.physics.actuator`.
        anchor: state of the vehicle at the other end of the tether, or None.
    """

    thrust: Array
    body: Vehicle
    actuated: dict[str, Wrench]
    commands: Mapping[str, Array] = MappingProxyType({})
    anchor: State | None = None

    @classmethod
    def idle(cls, vehicle: Vehicle, state: State) -> ForceInputs:
        """Return the inputs of a vehicle whose actuators rest."""
        xp = namespace(state.velocity)
        rotors = constant(xp, np.zeros(len(vehicle.thrusters)))
        return cls(xp.zeros_like(state.velocity[..., :1] + rotors), vehicle, {})


class ForceStep(Protocol):
    """``step(vehicle, state, environment, inputs, memory, *, dt) -> (wrench, memory)``.

    The wrench (..., 6) is in the body frame about the ``base_link`` origin, N and N·m; ``dt`` is
    the time since the tick before, s, and 0 in the first. Functions follow the array API standard
    and broadcast over leading axes, so that every engine runs them.
    """

    def __call__(
        self,
        vehicle: Vehicle,
        state: State,
        environment: Environment,
        inputs: ForceInputs,
        memory: Any,
        /,
        *,
        dt: Any,
    ) -> tuple[Wrench, Any]:
        """Return the wrench of a tick, and the next memory."""


@dataclass(frozen=True, eq=False)
class ForceModel:
    """One force: its wrench is the topic ``wrench/<name>``.

    Attributes:
        name: name of topic, node and recording.
        step: see :class:`ForceStep`.
        begin: memory before the first tick, of a vehicle and a state; None: no memory at first.
        applies: whether it acts on a vehicle in an environment; None: always.
        check: function that raises ParameterError if a vehicle cannot start in a state and an
            environment.
        needs: required inputs, of ``thrust``, ``joints`` and ``mass``.
        impulsive: whether a wrench is the impulse of one step; after a time-out of its node the
            wrench is then zero instead of the last one.
        label: display label.
        colour: colour of arrows and curves, ``#rrggbb``.
        element: URDF element at robot level that describes it, or empty.
        read: function of that element's :class:`~marine_sim_ros.model.xml.Reader`; its result is
            ``vehicle.extensions[element]``.
        parts: dataclass that declares attributes and children of that element (core/schema.py),
            for doctor's checks; None: unchecked.
        executable: executable that runs it; default: the shared node of all forces.
        in_gazebo: False if Gazebo's own physics replaces it.
        may_act: function of vehicle, state, environment and step (s) that is quickly computed:
            a truth (), false only where the wrench is zero now and at the next tick, so that
            programs skip the force; None: it always may.
        scalar: whether the compiled engine may compute it number by number (see
            :mod:`marine_sim_ros.engine.components`).
    """

    name: str
    step: ForceStep
    _: KW_ONLY
    begin: Callable[[Vehicle, State], Any] | None = None
    applies: Callable[[Vehicle, Environment], bool] | None = None
    check: Callable[[Vehicle, State, Environment], None] | None = None
    needs: tuple[str, ...] = ()
    impulsive: bool = False
    label: str = ''
    colour: str = '#999933'
    element: str = ''
    read: Callable[[Any], Any] | None = None
    parts: type | None = None
    executable: str = 'force'
    in_gazebo: bool = True
    may_act: Callable[[Vehicle, State, Environment, float], Array] | None = None
    scalar: bool = False

    @property
    def module(self) -> str:
        """Module whose docstring describes the force."""
        return getattr(self.step, 'actuator', self.step.__module__)

    def wrench(self, vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
        """Return the wrench (..., 6) of a first tick with actuators at rest."""
        memory = None if self.begin is None else self.begin(vehicle, state)
        inputs = ForceInputs.idle(vehicle, state)
        return self.step(vehicle, state, environment, inputs, memory, dt=0.0)[0]


def zero_memory(state: State, count: int) -> Array:
    """Return the memory (..., count) of a force that begins at 0, for a state or a batch."""
    xp = namespace(state.velocity)
    return xp.zeros_like(state.velocity[..., :1] + constant(xp, np.zeros(count)))


def has_scene(vehicle: Vehicle, environment: Environment) -> bool:
    """Return whether the environment has a scene, so that forces of surfaces apply."""
    del vehicle
    return environment.scene is not None


def actuator_step(name: str, module: str) -> ForceStep:
    """Return the step of a force whose wrench an actuator has already computed.

    Args:
        name: of the force.
        module: module whose docstring describes the force.
    """

    def step(
        vehicle: Vehicle,
        state: State,
        environment: Environment,
        inputs: ForceInputs,
        memory: Any,
        /,
        *,
        dt: Any,
    ) -> tuple[Wrench, Any]:
        del vehicle, environment, dt
        wrench = inputs.actuated.get(name)
        if wrench is None:
            wrench = namespace(state.velocity).zeros_like(state.velocity)
        return wrench, memory

    step.actuator = module  # type: ignore[attr-defined]
    return step


# Forces of other packages: each of their failures becomes a RunError with their name.

_GUARDED_FUNCTIONS = ('begin', 'applies', 'check')


def guarded_force(force: ForceModel, owner: str) -> ForceModel:
    """Return a force whose functions raise RunError on any failure.

    Args:
        force: force of another package.
        owner: name of the entry and of its package, for the message.
    """
    functions: dict[str, Any] = {
        name: guard_function(function, f'{owner}: {name}')
        for name in _GUARDED_FUNCTIONS
        if (function := getattr(force, name)) is not None
    }
    return replace(force, step=_guard_step(force.step, owner), **functions)


def guard_function(function: Callable[..., Any], label: str) -> Callable[..., Any]:
    """Return a function that raises RunError for all exceptions except MarineSimError."""

    @wraps(function)
    def guarded_call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except (MarineSimError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit included: it would end the run with success
            reason = ' '.join(f'{type(error).__name__}: {error}'.split())
            raise RunError(
                f'{label} failed: {reason}; expected its package to be mended'
            ) from error

    return guarded_call


def _guard_step(step: ForceStep, owner: str) -> ForceStep:
    """Return a guarded step whose result is a finite wrench and a memory."""
    inner = guard_function(step, f'{owner}: step')

    @wraps(step)
    def checked_step(vehicle: Any, state: Any, *inputs: Any, dt: Any) -> tuple[Array, Any]:
        result = inner(vehicle, state, *inputs, dt=dt)
        if not isinstance(result, tuple) or len(result) != 2:
            raise RunError(
                f'{owner}: step returned {type(result).__name__}; expected (wrench, memory)'
            )
        wrench, memory = result
        return _finite_wrench(wrench, state.velocity, owner), memory

    return checked_step


def _finite_wrench(wrench: Any, velocity: Array, owner: str) -> Array:
    """Return a wrench, checked for its shape and, in NumPy, for finite numbers."""
    known = is_numeric(velocity)
    try:
        numbers = np.asarray(wrench, float) if known else wrench
        fits = np.shape(numbers)[-1:] == (6,)
        fits = fits and np.broadcast_shapes(np.shape(numbers), velocity.shape) == velocity.shape
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise RunError(
            f'{owner}: step returned a wrench {_describe_value(wrench)}; expected '
            f'{velocity.shape}, N and N·m'
        )
    if known and not np.isfinite(numbers).all():
        raise RunError(f'{owner}: step returned the wrench {numbers}; expected finite numbers')
    return numbers


def _describe_value(wrench: Any) -> str:
    shape = getattr(wrench, 'shape', None)
    return f'of type {type(wrench).__name__}' if shape is None else f'of shape {shape}'
