# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Signs of a frame that looks down (NED, FRD) where ours look up (ENU, FLU; REP 103)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.doctor.repairs import opposite_numbers

__all__ = ['looks_down', 'negative_damping']

_HIGH = ('float', 'foam', 'buoy', 'top', 'antenna', 'mast')
_LOW = ('ballast', 'skid', 'keel', 'lead', 'bottom', 'leg')
_PORT = ('port', 'left')
_STARBOARD = ('starboard', 'right')


def _evidence(context: DescriptionContext) -> list[str]:
    vehicle = context.vehicle
    com = vehicle.inertia.center_of_mass
    told = []
    if vehicle.buoyancy.volume > 0 and vehicle.buoyancy.center_of_volume[2] < com[2]:
        told.append('the centre of buoyancy is below that of gravity')
    places = {frame.name: frame.translation for frame in context.frames.values()}
    thrusters = vehicle.thrusters
    places |= dict(zip(thrusters.names, thrusters.position, strict=True))
    for name, at in places.items():
        lower = name.lower()
        if any(word in lower for word in _HIGH) and at[2] < com[2] - 0.01:
            told.append(f'{name!r} is below the centre of gravity')
        if any(word in lower for word in _LOW) and at[2] > com[2] + 0.01:
            told.append(f'{name!r} is above the centre of gravity')
        side = _side(lower)
        if side * at[1] < -1e-3:
            told.append(f'{name!r} is at y = {at[1]:.3g} m')
    return told


def _side(name: str) -> int:
    words = name.replace('-', '_').split('_')
    return int(any(w in words for w in _PORT)) - int(any(w in words for w in _STARBOARD))


def looks_down(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Two or more signs together: what belongs on top is below, what is to port has y < 0."""
    links = {link.get('name'): link for link in context.root.findall('link')}
    for frame in context.frames.values():
        named = {'ned', 'frd'} & set(frame.name.lower().split('_'))
        if named and np.allclose(frame.quaternion, [0, 0, 0, 1]):
            yield context.hint(
                links.get(frame.name),
                'is named for a frame with z down',
                'make sure that its joint turns it by pi about x; nothing here converts it',
            )
    told = _evidence(context)
    if len(told) >= 2:
        yield context.warning(
            None,
            f'it looks as if its z pointed down (NED): {"; ".join(told[:4])}',
            'turn the signs of all y and z, and of the products I_xy and I_xz: x forward, y to '
            'port, z up',
        )


def _takes_energy(text: str) -> bool:
    """Return whether the symmetric part of a matrix in a text is positive semi-definite."""
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        return False
    if len(numbers) != 36 or not np.all(np.isfinite(numbers)):
        return False
    matrix = numbers.reshape(6, 6)
    moments = np.linalg.eigvalsh(matrix + matrix.T)
    return bool(moments[0] >= -1e-9 * max(1.0, abs(moments[-1])))


def negative_damping(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Coefficients with the sign of the literature, X_u < 0, instead of positive ones.

    Only the symmetric part of a matrix gains or takes energy, νᵀ D ν; negative numbers off the
    diagonal are right as long as it is positive semi-definite.
    """
    for tag in ('linear_damping', 'quadratic_damping', 'modulus_damping', 'added_mass'):
        for element in context.root.findall(f'hydrodynamics/{tag}'):
            text = element.text or ''
            values = [w for w in text.split() if w.startswith('-') and w.strip('-0.')]
            if values and not _takes_energy(text):
                yield context.error(
                    element,
                    f'has negative numbers ({" ".join(values[:3])}), as the literature writes X_u',
                    'give positive coefficients: a force against the motion, a mass',
                    opposite_numbers(element),
                )
