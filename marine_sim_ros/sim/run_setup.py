# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Setup of a run: namespaces, start poses, tethers between vehicles, and the longest safe step.

A step is symplectic, so that the heave at the surface with ω = √(k/M) is stable for T ω < 2, and
0.4 % too slow at T ω = 0.3. Forces are constant over a step in axes that rotate by ω T, and lag
the waves by T/2, an error of π T/T_w of their amplitude. Lumped drag is implicit and panel drag is
bounded, except with ``rk4``, which is stable for λ T < 1 (:func:`drag_rates`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import parse_xacro_arguments, vehicle_of, vehicle_path
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import resolve_integrator
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN
from marine_sim_ros.scene.bathymetry import distance_outside
from marine_sim_ros.sensors import moving_parts
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'camera_parts',
    'check_anchor',
    'drag_rates',
    'drag_step_limit',
    'environment_of',
    'initial_pose_parameters',
    'integrator_fault',
    'longest_safe_step',
    'namespace_of',
    'start_warnings',
    'started_scenario',
    'step_warnings',
    'surface_stiffness',
    'towing_namespaces',
]


_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def namespace_of(options: RunOptions, vehicle_name: str = '') -> str:
    """Return the namespace of a run's topics, such as ``/bluerov2``.

    Raises:
        ParameterError: a name that ROS cannot use.
    """
    name = (options.namespace or vehicle_name).strip('/')
    if not _NAMESPACE.fullmatch(name):
        raise ParameterError(
            f'namespace is {name!r}; expected letters, digits and underscores, as in "bluerov2"'
        )
    return '/' + name


def initial_pose_parameters(
    options: RunOptions, scenario: Scenario | None
) -> dict[str, list[float]]:
    """Return ``initial_position`` (m) and ``initial_rpy`` (rad) in map, if specified."""
    start: dict[str, list[float]] = {}
    if scenario is not None:
        start = {'initial_position': list(scenario.position), 'initial_rpy': list(scenario.rpy)}
    if options.initial_position is not None:
        start['initial_position'] = [float(x) for x in options.initial_position]
    if options.initial_rpy is not None:
        start['initial_rpy'] = [float(x) for x in options.initial_rpy]
    return start


def started_scenario(scenario: Scenario, options: RunOptions) -> Scenario:
    """Return a scenario with the start pose of the options, if they have one."""
    return replace(
        scenario,
        position=options.initial_position or scenario.position,
        rpy=options.initial_rpy or scenario.rpy,
    )


def environment_of(options: RunOptions) -> Environment:
    """Return the environment of a run.

    Raises:
        ParameterError: a missing or invalid environment.
    """
    return run_environment(
        options.environment, current=options.current, water_density=options.water_density
    )


# Tethers between vehicles of a fleet.


def check_anchor(vehicle: Vehicle, namespace: str, others: Mapping[str, Any]) -> None:
    """Check that the anchor of a vehicle's tether is another vehicle of the run.

    Args:
        vehicle: the vehicle with the tether, if it has one.
        namespace: its namespace, such as ``/scout_1``.
        others: the other vehicles of the run by their namespaces.

    Raises:
        ParameterError: the anchor is the vehicle itself, or is not in the run.
    """
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None or not tether.vehicle:
        return
    names = ', '.join(other.strip('/') for other in others) or '(a fleet with it, --fleet)'
    if tether.vehicle == namespace.strip('/'):
        raise ParameterError(
            f'tether of {tether.vehicle}: its anchor is the vehicle itself; expected one of: '
            f'{names}'
        )
    if '/' + tether.vehicle not in others:
        raise ParameterError(
            f'tether of {namespace.strip("/")}: its anchor is vehicle {tether.vehicle!r}, which '
            f'is not in this run; expected one of: {names}'
        )


def towing_namespaces(namespace: str, others: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sorted namespaces of the vehicles whose tethers are anchored at one.

    Args:
        namespace: its namespace, such as ``/scout_1``.
        others: ``vehicle`` and ``vehicle_arguments`` of the others by their namespaces.

    Raises:
        MarineSimError: a description that cannot be read.
    """
    vehicle_name = namespace.strip('/')
    ends = {
        name: _tether_end(str(description['vehicle']), tuple(description['vehicle_arguments']))
        for name, description in others.items()
    }
    return tuple(sorted(name for name, end in ends.items() if end == vehicle_name))


@lru_cache(maxsize=128)
def _tether_end(vehicle: str, arguments: tuple[str, ...]) -> str:
    """Return the anchor vehicle of a vehicle's tether, or '', without loading the vehicle."""
    from marine_sim_ros.model.xacro_expansion import expand_description

    xacro_values = {k: str(v) for k, v in parse_xacro_arguments(arguments).items()}
    description = expand_description(vehicle_path(vehicle), xacro_values)
    element = xml.parse(description.text, description.source).find('tether')
    return '' if element is None else element.get('vehicle', '').strip('/')


def camera_parts(options: RunOptions, vehicle: Vehicle) -> set[str]:
    """Return the parts of a vehicle that cameras of other vehicles need in each tick.

    They are ``payloads``, if its gripper moves them, and ``tether``.
    """
    parts = moving_parts(vehicle) & {'payloads', 'tether'}
    if not parts:
        return parts  # the other vehicles need not be loaded
    needs = {
        need
        for other in options.neighbours.values()
        for sensor in vehicle_of(other).sensors
        for need in SENSORS[sensor.kind].needs
    }
    return parts & needs


# Longest step that is safe for a vehicle in its water, and the warning of a longer one.

CHECK_SPEED = np.array([1.5, 1.5, 1.5, 3.0, 3.0, 3.0])
"""Typical top speeds, m/s and rad/s."""
MAX_HEAVE_PHASE = 0.3
"""Largest T √(k/M)."""
MAX_TURN = 0.1
"""Largest rotation in a step, rad."""
MAX_WAVE_FRACTION = 1 / 60
"""Largest step as a fraction of the shortest wave period: a lag of 5 %."""
_MAX_TURN_RATE = 1e3
"""Upper bound of the search for a turn rate, rad/s."""


class SafeStep(NamedTuple):
    """Longest safe step (s), and what limits it."""

    seconds: float
    reason: str


def drag_rates(vehicle: Vehicle) -> np.ndarray:
    """Return λ (6,) 1/s of the lumped drag at 1.5 m/s and 3 rad/s, axis by axis.

    M is the mass, and the inertia about the centre of mass, with the added mass.
    """
    linear, squared = vehicle.damping.by_axis
    rigid = np.concatenate([np.full(3, vehicle.inertia.mass), np.diag(vehicle.inertia.tensor)])
    mass = rigid + np.diag(vehicle.added_mass)
    return np.asarray((linear + 2 * squared * CHECK_SPEED) / mass)


def drag_step_limit(vehicle: Vehicle) -> float:
    """Return the longest stable step (s) for drag that is explicit and one sample old."""
    max_rate = float(np.max(drag_rates(vehicle)))
    return 1 / max_rate if max_rate > 0 else math.inf


def surface_stiffness(vehicle: Vehicle) -> float:
    """Return the largest k = −dF_z/dz (N/m) of the buoyancy near the surface."""
    heights = np.linspace(-0.6, 0.6, 25) * vehicle.buoyancy.height
    water = Environment()
    force = np.array(
        [float(np.asarray(buoyancy(vehicle, rest((0.0, 0.0, z)), water))[2]) for z in heights]
    )
    return float(np.max(-np.diff(force) / np.diff(heights)))


def yaw_rate(vehicle: Vehicle) -> float:
    """Return the rate (rad/s) at which drag balances all thrust in yaw; infinite without drag."""
    count = len(vehicle.thrusters)
    ends = [
        np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(count, pwm)))
        * vehicle.thrusters.effectiveness[5]
        for pwm in (PWM_MIN, PWM_MAX)
    ]
    moment = float(np.sum(np.maximum(*ends)))

    def surplus(rate: float) -> float:
        deep = State(np.array([0.0, 0.0, -100.0]), np.array([0.0, 0.0, 0.0, 1.0]), rate * _YAW)
        return moment + float(np.asarray(drag(vehicle, deep, Environment()))[5])

    low, high = 0.0, _MAX_TURN_RATE
    if moment <= 0 or surplus(high) > 0:
        return math.inf if moment > 0 else 0.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return high


_YAW = np.eye(6)[5]


def _step_limits(
    vehicle: Vehicle, environment: Environment, integrator: str
) -> Iterator[SafeStep]:
    stiffness, mass = surface_stiffness(vehicle), float(vehicle.mass_matrix[2, 2])
    if stiffness > 0:
        frequency = math.sqrt(stiffness / mass)
        yield SafeStep(
            MAX_HEAVE_PHASE / frequency, f'it heaves at the surface with {frequency:.3g} rad/s'
        )
    rate = yaw_rate(vehicle)
    if 0 < rate < _MAX_TURN_RATE:  # without drag in yaw, the doctor says so
        yield SafeStep(MAX_TURN / rate, f'it turns at up to {rate:.3g} rad/s')
    if environment.waves is not None:
        period = 2 * math.pi / float(np.max(environment.waves.frequency))
        yield SafeStep(
            MAX_WAVE_FRACTION * period, f'the shortest waves have a period of {period:.3g} s'
        )
    if integrator == 'rk4':
        yield SafeStep(drag_step_limit(vehicle), 'the integrator rk4 treats drag as explicit')


def longest_safe_step(
    vehicle: Vehicle, environment: Environment | None = None, integrator: str = 'auto'
) -> SafeStep:
    """Return the longest safe step.

    Args:
        environment: gives the waves; None: calm water.
        integrator: integrator of the run.
    """
    limits = _step_limits(vehicle, environment or Environment(), integrator)
    return min(limits, default=SafeStep(math.inf, 'nothing in it is fast'))


_INTEGRATOR_FAULTS = {
    'semi_implicit': 'adds ½ ω² dt to the motion in every second that {name} turns with ω, '
    '{share:.2g} % at 1 rad/s, which the drag of hull panels takes away only at speed',
    'rk4': 'holds the drag of hull panels over a step: where {name} turns with ω, it points '
    '½ ω dt aside, {share:.2g} % at 1 rad/s',
}


def integrator_fault(vehicle: Vehicle, dt: float, integrator: str) -> str:
    """Return what an integrator does wrong at any step, with its size at a step (s), or ''."""
    if integrator not in _INTEGRATOR_FAULTS or resolve_integrator(vehicle) != 'conserving':
        return ''
    fault = _INTEGRATOR_FAULTS[integrator].format(name=vehicle.name, share=50 * dt)
    return f'the integrator {integrator} {fault}'


def step_warnings(
    vehicle: Vehicle, environment: Environment, dt: float, integrator: str
) -> list[str]:
    """Return warnings about a step (s) that is too long, or an unsuitable integrator."""
    limit, reason = longest_safe_step(vehicle, environment, integrator)
    fault = integrator_fault(vehicle, dt, integrator)
    result = [f'{fault}; expected --integrator auto'] if fault else []
    if dt <= limit:
        return result
    return [
        *result,
        f'dt is {dt:g} s; expected at most {limit:.2g} s for {vehicle.name} in this water: '
        f'{reason}; a longer step may end elsewhere',
    ]


# Warnings about the start position.

AIRBORNE_HEIGHT = 1.0
"""Height above the surface from which a start gives a warning, m."""


def start_warnings(environment: Environment, position: Sequence[float] | np.ndarray) -> list[str]:
    """Return warnings about a start in the air, below the ground, or outside the terrain.

    Args:
        environment: its scene has the ground.
        position: (3,) of the origin in map, m.
    """
    east, north, up = (float(value) for value in position)
    if up > AIRBORNE_HEIGHT:
        return [
            f'the vehicle starts {up:g} m above the surface and falls, for z points up; expected '
            f'z {-up:g} for that depth'
        ]
    if environment.scene is None:
        return []
    ground = environment.scene.ground(east, north)
    name = environment.name or 'without a name'
    terrain, result = environment.scene.terrain, []
    if terrain is not None and distance_outside(terrain, np.asarray(position)[:2]) > 1:
        (west, south), (far_east, far_north) = terrain.extent
        result.append(
            f'the vehicle starts at x {east:g}, y {north:g} m, farther from the terrain of '
            f'environment {name} than that is wide (x {west:g} to {far_east:g}, y {south:g} to '
            f'{far_north:g} m); expected a start on it: beyond, the heights of its edge go on'
        )
    if up >= ground:
        return result
    return [
        *result,
        f'the vehicle starts {ground - up:.2f} m below the ground of environment '
        f'{name}, at {up:g} m; expected above {ground:.2f} m: '
        'contact will push it out',
    ]
