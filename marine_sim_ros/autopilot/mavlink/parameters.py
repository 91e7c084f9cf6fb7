# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of ArduSub that have an effect in a MAVLink vehicle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ['ParameterTable', 'VEHICLE_PARAMETERS']


@dataclass(frozen=True)
class VehicleParameter:
    """A parameter.

    Attributes:
        name: ArduSub's name.
        default: value at the start, ArduSub's unless the text says otherwise.
        text: effect, with its unit.
        low: smallest value.
        high: largest value; that of ``low``: it cannot be set.
    """

    name: str
    default: float
    text: str
    low: float = 0.0
    high: float = 0.0

    @property
    def is_fixed(self) -> bool:
        """Whether it cannot be set."""
        return self.low == self.high


VEHICLE_PARAMETERS = (
    VehicleParameter(
        'SYSID_THISMAV', 1.0, 'MAVLink system of the vehicle: `--autopilot-instance` + 1',
    ),
    VehicleParameter('SYSID_MYGCS', 255.0, 'MAVLink system whose sticks count', 1.0, 255.0),
    VehicleParameter('JS_GAIN_DEFAULT', 0.5, 'gain of MANUAL_CONTROL', 0.1, 1.0),
    VehicleParameter('JS_GAIN_MAX', 1.0, 'largest gain by buttons', 0.2, 1.0),
    VehicleParameter('JS_GAIN_MIN', 0.25, 'smallest gain by buttons', 0.1, 0.8),
    VehicleParameter('JS_GAIN_STEPS', 4.0, 'number of gains by buttons', 1.0, 10.0),
    VehicleParameter('JS_LIGHTS_STEPS', 8.0, 'steps of the lights by buttons', 1.0, 10.0),
    VehicleParameter('JS_THR_GAIN', 1.0, 'gain of the throttle, times the gain', 0.5, 4.0),
    VehicleParameter(
        'RC_OVERRIDE_TIME', 3.0, 's that an override lasts; negative: for ever', -1.0, 120.0,
    ),
    VehicleParameter('FS_PILOT_INPUT', 0.0, 'sticks that fall silent do not disarm; ArduSub: 2'),
    VehicleParameter(
        'FS_GCS_ENABLE',
        2.0,
        'ground station silent: 0 nothing, 1 a text, 2 disarm, 3 ALT_HOLD, 4 SURFACE', 0.0, 4.0,
    ),
    VehicleParameter(
        'SURFACE_DEPTH', -10.0, 'cm, altitude that counts as the surface', -100.0, 0.0,
    ),
    VehicleParameter(
        'THR_DZ', 100.0, 'dead zone of the throttle in modes that hold depth', 0.0, 300.0,
    ),
    VehicleParameter(
        'WPNAV_SPEED', 1000.0, 'cm/s between waypoints; the vehicle may be slower', 20.0, 2000.0,
    ),
    VehicleParameter('WPNAV_SPEED_UP', 250.0, 'cm/s upwards', 10.0, 1000.0),
    VehicleParameter('WPNAV_SPEED_DN', 150.0, 'cm/s downwards', 10.0, 500.0),
    VehicleParameter(
        'WPNAV_RADIUS',
        100.0,
        'cm from a waypoint at which it counts as reached; ArduSub: 200', 5.0, 1000.0,
    ),
    VehicleParameter(
        'CIRCLE_RADIUS', 1000.0, 'cm, of NAV_LOITER_TURNS without a radius', 100.0, 200000.0,
    ),
)  # fmt: skip
"""In the order of their index."""


class ParameterTable:
    """Values by name."""

    def __init__(self, system: int = 1) -> None:
        """Take the defaults, and the number of the MAVLink system."""
        self._known = {p.name: p for p in VEHICLE_PARAMETERS}
        self._values = {p.name: p.default for p in VEHICLE_PARAMETERS}
        self._values['SYSID_THISMAV'] = float(system)

    def __getitem__(self, name: str) -> float:
        """Return a value."""
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a parameter."""
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._values)

    def set(self, name: str, value: float) -> str:
        """Set a parameter; return the reason why it keeps its value, or an empty text."""
        known = self._known[name]
        if known.is_fixed:
            return f'{name} is fixed at {self._values[name]:g} here'
        if not known.low <= value <= known.high:
            return f'{name} {value:g}: expected {known.low:g} to {known.high:g}'
        self._values[name] = float(value)
        return ''
