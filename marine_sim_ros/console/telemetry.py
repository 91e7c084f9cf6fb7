# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Telemetry frame of a run from rows of its topics, and the colours of its forces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.bags.roles import actuator_of, role_of, state_columns
from marine_sim_ros.console.sensor_readings import quantity_text
from marine_sim_ros.core.spatial import level_velocity, rpy_from_quaternion
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.model.propulsion import propeller_angles
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics import FORCES, actuators_of

__all__ = [
    'Energy',
    'actuator_readings',
    'force_colour',
    'force_colours',
    'telemetry_frame',
    'wrench_names',
]


# Colours of forces, the same in RViz and in the browser.

_FORCE_COLOURS = {
    'weight': '#666666',
    'total': '#1a1a1a',
    'external': '#cc4dcc',
    'damping': '#f2991a',
    'viscous': '#33b34d',
    'pressure': '#e64d1a',
    'suction': '#8033cc',
    'slamming': '#e61a80',
    'air': '#80ccf2',
}
"""Of wrenches that are no forces of the list, and of the kinds of drag."""
_UNKNOWN = '#999933'


def force_colour(name: str) -> tuple[float, float, float]:
    """Return red, green and blue (0 to 1) of a wrench."""
    text = FORCES[name].colour if name in FORCES else _FORCE_COLOURS.get(name, _UNKNOWN)
    r, g, b = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b


def force_colours() -> dict[str, tuple[float, float, float]]:
    """Return the colours of all wrenches that are known by name."""
    return {name: force_colour(name) for name in (*FORCES, *_FORCE_COLOURS)}


# Telemetry frame of a run from rows of its topics, the same live and from a bag.

Row = Sequence[float]
RPM = 30 / math.pi
MAX_TETHER_POINTS = 64
"""Places of a tether that a page draws."""


def wrench_names(rows: Iterable[str]) -> list[str]:
    """Return the sources among names of topics that have a wrench; the total is none."""
    return [
        n.removeprefix('wrench/') for n in rows if n.startswith('wrench/') and n[7:] != 'total'
    ]


def _clean(values: Iterable[float]) -> list[float | None]:
    """Return numbers for JSON, which has no NaN."""
    return [float(x) if math.isfinite(x) else None for x in values]


def _motion(row: Row) -> dict[str, Any]:
    numbers = np.array(row, float)
    position, orientation, velocity = numbers[:3], numbers[3:7], numbers[7:]
    known = np.isfinite(orientation).all()
    return {
        'position': _clean(position),
        'turn': _clean(orientation),
        'rpy': _clean(rpy_from_quaternion(orientation)) if known else [None] * 3,
        'velocity': _clean(level_velocity(orientation, velocity)) if known else [None] * 3,
        'rates': _clean(velocity[3:]),
    }


def _thrusters(time: float, rows: Mapping[str, Row], known: ThrusterSet | None) -> dict[str, Any]:
    state = rows.get('thrusters/state', ())
    half = len(state) // 2
    speeds = np.array(state[half:], float)
    angles = np.zeros(0)
    if known is not None and len(speeds) == len(known):
        angles = propeller_angles(known, speeds, time)
    return {
        'pwm': _clean(rows.get('thrusters/pwm', ())),
        'thrust': _clean(state[:half]),
        'rpm': _clean([x * RPM for x in state[half:]]),
        'power': _clean(rows.get('thrusters/power', ())),
        'propellers': angles.round(4).tolist(),
    }


def _forces(rows: Mapping[str, Row], weight: float) -> dict[str, Any]:
    """Return wrenches by source, and each one's share of the sum of all |F| at this time."""
    names = wrench_names(rows)
    sizes = {name: math.hypot(*rows[f'wrench/{name}'][:3]) for name in names}
    total = math.fsum(sizes.values())
    wrenches = {
        name: _clean(rows[f'wrench/{name}'])
        for name in (*names, 'total')
        if f'wrench/{name}' in rows
    }
    return {
        'wrenches': wrenches,
        'weight': weight,
        'shares': {n: size / total if total > 0 else 0.0 for n, size in sizes.items()},
    }


def _tether(rows: Mapping[str, Row]) -> dict[str, Any]:
    """Return at most MAX_TETHER_POINTS places along a tether in map, m; tension at its ends, N."""
    places = np.reshape(np.array(rows.get('tether/shape', ()), float), (-1, 3))
    if not np.isfinite(places).all():
        places = places[:0]
    chosen = (
        np.linspace(0, len(places) - 1, min(len(places), MAX_TETHER_POINTS)).round().astype(int)
    )
    return {
        'shape': places[chosen].round(3).tolist(),
        'tension': _clean(rows.get('tether/tension', ())),
    }


def _bodies(rows: Mapping[str, Row]) -> dict[str, list[float | None]]:
    """Return position, m, and quaternion of the free bodies by name."""
    ends = len(BODIES), -len('/odom')
    return {
        topic[slice(*ends)]: _clean(row[:7])
        for topic, row in rows.items()
        if topic.startswith(BODIES)
    }


def actuator_readings(rows: Mapping[str, Row], vehicle: Vehicle) -> list[dict[str, str]]:
    """Return key, label and state in words of each part of a vehicle's actuators; JSON.

    Joints of an arm are left out: they have a panel of their own.
    """
    result = []
    for actuator in actuators_of(vehicle):
        if actuator_of(role_of(actuator.state_topic) or '') is not actuator:
            continue
        row, names = rows.get(actuator.state_topic, ()), actuator.names(vehicle)
        texts: list[list[str]] = [[] for _ in names]
        if len(row) == len(actuator.zero_state(vehicle)):
            for value, (part, unit) in zip(row, state_columns(actuator, len(row)), strict=True):
                texts[part].append(quantity_text(value, unit))
        result += [
            {
                'key': f'{actuator.name}-{i}',
                'label': name.replace('_', ' '),
                'text': ', '.join(text) or '–',
            }
            for i, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
    return result


def telemetry_frame(
    time: float, rows: Mapping[str, Row], *, weight: float, vehicle: Vehicle | None = None
) -> dict[str, Any]:
    """Return the telemetry frame of a time (s) as JSON; unknown values are None or empty.

    Depth by the barometer is (p − p₀)/(ρ g), of its sensor.

    Args:
        time: s.
        rows: rows by topic name, as :mod:`marine_sim_ros.bags.roles` makes them.
        weight: weight of the vehicle, N.
        vehicle: the vehicle; None: it is unknown, and so are the angles of its propellers.
    """
    result: dict[str, Any] = {'time': time}
    if 'odom' in rows:
        result |= _motion(rows['odom'])
    thrusters = None if vehicle is None else vehicle.thrusters
    barometer = None if vehicle is None else vehicle.barometer
    result |= _thrusters(time, rows, thrusters) | _forces(rows, weight)
    result['setpoints'] = _clean(rows.get('controller/setpoints', ())) or [None] * 12
    result['joints'] = _clean(rows.get('joint_states', ()))
    result['tether'] = _tether(rows)
    result['bodies'] = _bodies(rows)
    result['actuators'] = [] if vehicle is None else actuator_readings(rows, vehicle)
    pressure = rows.get('barometer/pressure')
    result['pressure'] = None if pressure is None else float(pressure[0])
    if pressure is not None:
        surface = 101300.0 if barometer is None else barometer.atmospheric_pressure
        density = 997.0 if barometer is None else barometer.fluid_density
        depth = (float(pressure[0]) - surface) / (density * STANDARD_GRAVITY)
        result['barometer_depth'] = depth
    temperature = rows.get('barometer/temperature')
    result['temperature'] = None if temperature is None else float(temperature[0])
    return result


class Energy:
    """Electrical energy of a run, from samples: Σ P Δt, nothing over gaps longer than 2 s."""

    HOLD = 2.0

    def __init__(self) -> None:
        """Start at nothing."""
        self.joules = 0.0
        self._last: tuple[float, float] | None = None

    def add(self, time: float, power: Row) -> float:
        """Take the power (W) of the thrusters at a time (s); return the energy so far, J."""
        if self._last is not None:
            step = time - self._last[0]
            if step < 0:  # the run was reset
                self.joules = 0.0
            elif step <= self.HOLD:
                self.joules += self._last[1] * step
        self._last = time, math.fsum(x for x in power if math.isfinite(x))
        return self.joules
