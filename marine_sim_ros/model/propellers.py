# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Propellers: thrust and power at another voltage, angles for display.

At one pulse width thrust goes with (U/U₀)^1.22 and electrical power with (U/U₀)^2.24. The
exponents are fitted to Blue Robotics' bench data of the T200 (September 2019) at 10, 12 and 16 V:
within 0.61 N of 51 N, and 7 % of the power above 20 W. At 20 V the ESC gives up to 5 N less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.model.xml import parse

__all__ = [
    'CURVE_VOLTAGE',
    'POWER_EXPONENT',
    'SCALES',
    'has_propellers',
    'power_factor',
    'propeller_angles',
    'propeller_link',
    'propeller_turns',
    'scaled_curve',
    'thrust_factor',
    'with_turning_propellers',
]


# Thrust and power of a thruster at another supply voltage than that of its curve.

CURVE_VOLTAGE = 16.0
"""V; of a thrust curve that states none."""
SCALES = 0.6, 1.25
"""U/U₀ within which the law was compared with bench data: 10 to 20 V for a curve of 16 V."""
THRUST_EXPONENT, POWER_EXPONENT = 1.22, 2.24


def thrust_factor(ratio: Any) -> Any:
    """Thrust at U over thrust at U₀, one pulse width; ``ratio`` is U/U₀, a number or an array."""
    return ratio**THRUST_EXPONENT


def power_factor(ratio: Any) -> Any:
    """Electrical power at U over power at U₀, likewise."""
    return ratio**POWER_EXPONENT


def scaled_curve(curve: np.ndarray, ratio: float) -> np.ndarray:
    """Return rows (k, 4) of µs, N, W, rad/s at U/U₀; rotor speed goes with the root of thrust."""
    thrust = thrust_factor(ratio)
    return curve * np.array([1.0, thrust, power_factor(ratio), np.sqrt(thrust)])


# How far propellers have turned at a time: what console, cameras, films and RViz show alike.

_WHOLE = 2 * np.pi


def propeller_link(thruster: str) -> str:
    """Return the name of the link that turns with the rotor of a thruster, if a vehicle has it."""
    return f'{thruster}_propeller_link'


def has_propellers(vehicle: Vehicle) -> bool:
    """Return whether the URDF of a vehicle has a link that turns with a rotor."""
    links = map(propeller_link, vehicle.thrusters.names)
    return any(f'{quote}{link}{quote}' in vehicle.urdf for link in links for quote in '"\'')


def propeller_angles(thrusters: ThrusterSet, speed: np.ndarray, time: float) -> np.ndarray:
    """Return the angles (n,) of propellers about the z axes of their links, 0 to 2π rad.

    −h ω t modulo 2π, with ω the present speed: a function of the tick alone, which is the same in
    every process and after a restart. It is the angle turned where the speed is steady; while it
    changes, the blades are somewhere, as they are in pictures of rotors that turn several times
    from one picture to the next. A clockwise rotor (h = −1), seen from behind, turns about its
    axis. A speed that is not finite: 0.

    Args:
        thrusters: n thrusters.
        speed: (n,) rad/s of the rotors, above 0 where they push along their axes.
        time: s.
    """
    known = np.where(np.isfinite(speed), speed, 0.0)
    return np.mod(-thrusters.handedness * known * time, _WHOLE)


def propeller_turns(thrusters: ThrusterSet, speed: np.ndarray, time: float) -> dict[str, float]:
    """Return :func:`propeller_angles` by the names of the links."""
    angles = propeller_angles(thrusters, speed, time)
    links = map(propeller_link, thrusters.names)
    return dict(zip(links, angles.tolist(), strict=True))


def with_turning_propellers(urdf: str, thrusters: Iterable[str]) -> str:
    """Return a URDF in which links that turn with rotors hang on continuous joints.

    These turn about the z axes of the links. The simulation takes continuous joints for fixed
    ones, so that it reads both texts alike; who shows the first one expects no transforms of
    them, and who shows the other expects somebody to publish them.

    Args:
        urdf: the description; returned as it is where it has no such link.
        thrusters: names.

    Raises:
        ModelError: it cannot be read.
    """
    from lxml import etree

    root, links = parse(urdf, 'robot_description'), set(map(propeller_link, thrusters))
    fixed = [joint for joint in root.findall('joint') if joint.get('type') == 'fixed']
    turned = [j for j in fixed if any(c.get('link') in links for c in j.findall('child'))]
    for joint in turned:
        joint.set('type', 'continuous')
        for axis in joint.findall('axis'):
            joint.remove(axis)
        etree.SubElement(joint, 'axis', xyz='0 0 1')
    return etree.tostring(root, encoding='unicode') if turned else urdf
