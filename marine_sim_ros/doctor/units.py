# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Units: numbers that physics does not allow as they are, but in another usual unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.doctor.extents import numbers
from marine_sim_ros.model.propulsion import T200_DIAMETER
from marine_sim_ros.model.xml import Element

__all__ = ['angle_unit', 'inertia_unit', 'link_mass', 'mass_unit', 'thrust_unit']

_MERIT = (0.05, 0.9)
"""Figures of merit that a propeller at the bollard can have."""
_GOOD_MERIT = 0.35
"""Of usual thrusters; a T200 at 16 V has 0.32 at full power."""
_LIKELY = (0.12, 0.85)
_DENSITY = 25000.0
"""kg/m³; denser than any metal that vehicles are made of."""
_TURN = 2 * math.pi + 0.01
_INERTIA_UNITS: Mapping[str, float] = MappingProxyType(
    {'g·mm²': 1e9, 'g·cm²': 1e7, 'kg·mm²': 1e6, 'kg·cm²': 1e4, 'lb·in²': 3417.0, 'g·m²': 1e3}
)
_LARGEST = 1e6
"""m; a link of this size is not judged."""
_GYRATION = (1e-3, 20.0)
"""m; radii of gyration √(I/m) of links without geometry."""
_RATIOS: Mapping[str, float] = MappingProxyType(
    {
        'the masses are likely in g': 1e-3,
        'the volume is likely in litres': 1e3,
        'the volume is likely in cm³': 1e6,
        'the volume is likely in mm³': 1e9,
    }
)


def _merit(thrust: np.ndarray, power: np.ndarray, area: float, density: float) -> float:
    """Return the median of T^1.5/(√(2 ρ A) P) (Carlton 2018, the ideal actuator disc at rest)."""
    used = (thrust > 0.3 * thrust.max()) & (power > 0)
    if not used.any():
        return math.nan
    return float(np.median(thrust[used] ** 1.5 / (math.sqrt(2 * density * area) * power[used])))


def thrust_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The figure of merit of a thrust table, T^1.5/(√(2 ρ A) P), is 0.05 to 0.9."""
    density = context.vehicle.buoyancy.fluid_density
    for curve in context.root.findall('thrusters/curve'):
        words = (curve.text or '').split()
        table = numbers(curve.text, len(words))
        if table is None or len(words) % 4 or not len(words):
            continue
        _, force, power, speed = table.reshape(-1, 4).T
        thrust, volts = np.abs(force), float(curve.get('voltage') or 16.0)
        area = math.pi * (_diameter(context, curve) / 2) ** 2
        merit = _merit(thrust, power, area, density)
        if math.isnan(merit) or _MERIT[0] <= merit <= _MERIT[1]:
            continue
        likely = {
            'the thrust is likely in kgf: multiply it by 9.80665': (9.80665 * thrust, power),
            'the thrust is likely in lbf: multiply it by 4.44822': (4.44822 * thrust, power),
            'the thrust is likely in gf, or the power in kW': (9.80665e-3 * thrust, power),
            'the power is likely the current in A: multiply it by the voltage': (
                thrust,
                volts * power,
            ),
            'thrust and power are likely swapped': (power, thrust),
            'power and speed are likely swapped': (thrust, np.abs(speed)),
        }
        merits = {text: _merit(*columns, area, density) for text, columns in likely.items()}
        good = {t: m for t, m in merits.items() if _LIKELY[0] <= m <= _LIKELY[1]}
        advice = min(good, key=lambda t: abs(math.log(good[t] / _GOOD_MERIT)), default='')
        yield context.warning(
            curve,
            f'{thrust.max():.4g} N at {power[np.argmax(thrust)]:.4g} W are a figure of merit of '
            f'{merit:.2g}, where propellers have {_MERIT[0]:g} to {_MERIT[1]:g}: a unit or a '
            'column is wrong',
            advice or 'check thrust in N, power in W, and the diameter of the thrusters',
        )


def _diameter(context: DescriptionContext, curve: Element) -> float:
    """Return the diameter of the first thruster with a curve, m."""
    for thruster in context.root.findall('thrusters/thruster'):
        if thruster.get('curve') == curve.get('name'):
            found = numbers(thruster.findtext('diameter'), 1)
            if found is not None and found[0] > 0:
                return float(found[0])
    return T200_DIAMETER


def mass_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Mass and displaced water are of the same order, in the units of the description."""
    vehicle = context.vehicle
    ratio = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume / vehicle.inertia.mass
    for text, factor in _RATIOS.items():
        if 0.4 < ratio / factor < 2.5:
            yield context.warning(
                context.root.find('buoyancy') if factor > 1 else _heaviest(context),
                f'it displaces {ratio:.3g} times its mass, {vehicle.inertia.mass:.4g} kg: {text}',
                'give masses in kg, and lengths and volumes in m and m³',
            )


def _mass(link: Element) -> float:
    element = link.find('inertial/mass')
    value = None if element is None else numbers(element.get('value'), 1)
    return 0.0 if value is None else float(value[0])


def _heaviest(context: DescriptionContext) -> Element | None:
    return max(context.root.findall('link'), key=_mass, default=None)


def link_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """No link is denser than 25 000 kg/m³ in the box around its geometry."""
    for link in context.root.findall('link'):
        boxes = [e for e in context.extents if e.element.getparent() is link]
        volume = sum(e.volume for e in boxes if e.element.tag == 'collision')
        volume = volume or sum(e.volume for e in boxes)
        mass = _mass(link)
        if volume > 0 and mass > _DENSITY * volume:
            likely = mass / 1000 < _DENSITY * volume
            yield context.warning(
                link,
                f'{mass:.4g} kg in {volume:.3g} m³ are {mass / volume:.3g} kg/m³, denser than any '
                'metal',
                'its mass is likely in g' if likely else 'check its mass in kg and its size in m',
            )


def inertia_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Radii of gyration √(I/m) of a link are within its size, or 1 mm to 20 m."""
    for link in context.root.findall('link'):
        element, mass = link.find('inertial/inertia'), _mass(link)
        if element is None or mass <= 0:
            continue
        own = [numbers(element.get(n), 1) for n in ('ixx', 'iyy', 'izz')]
        largest = max((float(v[0]) for v in own if v is not None), default=0.0)
        boxes = [e for e in context.extents if e.element.getparent() is link]
        size = max((math.hypot(*(e.high - e.low)) for e in boxes), default=0.0)
        if size > _LARGEST:
            continue
        low, high = (0.02 * size, 5 * size) if size else _GYRATION
        radius = math.sqrt(max(largest, 0.0) / mass)
        if low <= radius <= high or largest <= 0:
            continue
        factor = largest / (mass * (0.3 * (size or 1.0)) ** 2)
        text = min(_INERTIA_UNITS, key=lambda unit: abs(math.log(factor / _INERTIA_UNITS[unit])))
        yield context.warning(
            link,
            f'a moment of inertia of {largest:.3g} kg·m² with {mass:.4g} kg is a radius of '
            f'gyration of {radius:.3g} m; expected {low:.2g} to {high:.3g} m',
            f'the inertia is likely in {text}' if factor > 100 else 'check its unit: kg·m²',
        )


def angle_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Angles are in rad: rpy and limits of joints that turn are within a turn."""
    for element in context.root.iter('origin', 'limit'):
        parent = element.getparent()
        if element.tag == 'limit' and parent is not None and parent.get('type') == 'prismatic':
            continue
        for name in ('rpy', 'lower', 'upper'):
            words = (element.get(name) or '').split()
            values = numbers(element.get(name), len(words))
            if values is not None and len(values) and np.abs(values).max() > _TURN:
                turns = ' '.join(f'{math.radians(v):.6g}' for v in values)
                yield context.warning(
                    element,
                    f'{name}="{element.get(name)}" is more than a turn in rad: it is likely in '
                    'degrees',
                    f'write {name}="{turns}"',
                )
