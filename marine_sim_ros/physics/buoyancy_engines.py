# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy engines: bladders or pistons that change the displaced volume, and hull compression.

A volume V is relative to that of the description, at which the vehicle is trimmed. The buoyancy is
ρ g V at the engine's position; the mass is constant, since oil or a piston moves within the hull.
The pressure is hydrostatic and relative to the hull's inside, p = ρ g d at the depth d, and the
pump takes the energy E = ∫ p dV/η, dV > 0 (boundary work); water pressure drives the return.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, text
from marine_sim_ros.core.spatial import cross, in_map, rotation_matrix, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.kinematics import PlacedElement
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.buoyancy import near_surface_fraction
from marine_sim_ros.physics.force import ForceInputs, ForceModel, zero_memory

__all__ = [
    'BUOYANCY_ENGINES',
    'displacement_wrench',
    'pump_rate',
    'volume_heights',
    'volume_wrench',
]

NAME = 'buoyancy_engines'


@dataclass(frozen=True, eq=False)
class BuoyancyEngineSet:
    """The k buoyancy engines of a vehicle, in the order of the URDF.

    Attributes:
        names: k names.
        position: (k + 1, 3) where each volume acts, m; the last one is that of the hull.
        height: (k + 1,) over which a volume leaves the water, m.
        lower: (k,) least volume, m³.
        upper: (k,) greatest volume, m³.
        rate: (k,) of the pump at the first depth of its table, m³/s.
        rate_depth: (k, t) first depths of the table's intervals, m.
        rate_width: (k, t) lengths of the intervals, m.
        rate_slope: (k, t) change of the rate with the depth in each interval, m²/s.
        return_rate: (k,) greatest rate at which a volume decreases, m³/s.
        efficiency: (k,) η of the pump.
        hull_compliance: (1,) κ V of the hull, m³/Pa.
        oil_compressibility: (k,) κ of what a bladder holds, 1/Pa.
    """

    names: tuple[str, ...]
    position: np.ndarray
    height: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rate: np.ndarray
    rate_depth: np.ndarray
    rate_width: np.ndarray
    rate_slope: np.ndarray
    return_rate: np.ndarray
    efficiency: np.ndarray
    hull_compliance: np.ndarray
    oil_compressibility: np.ndarray

    def __len__(self) -> int:
        """Return the number of engines."""
        return len(self.names)


# Reads <buoyancy_engines>.


@declaration(frozen=True, kw_only=True)
class VolumeLimitElement:
    """<limit> of an engine, relative to the volume of the description."""

    lower: float = number(0.0, -100.0, 0.0, 'm³', 'least volume', place='attribute')
    upper: float = number(0.0, 0.0, 100.0, 'm³', 'greatest volume', place='attribute')


@declaration(frozen=True, kw_only=True)
class RateElement:
    """<rate> of a pump at a depth."""

    depth: float = number(0.0, 0.0, 12e3, 'm', 'depth of the rate', place='attribute')
    value: float = number(REQUIRED, 1e-12, 100.0, 'm³/s', 'rate of the pump', place='content')


@declaration(frozen=True, kw_only=True)
class BuoyancyEngineElement(PlacedElement):
    """<buoyancy_engine>."""

    reader: Reader
    name: str = text('name', REQUIRED, place='attribute')
    limit: VolumeLimitElement = nested(VolumeLimitElement, 'range of the volume', default=REQUIRED)
    rate: tuple[RateElement, ...] = nested(RateElement, 'rates of the pump by depth', many=True)
    return_rate: float = number(
        math.nan, 1e-12, 100.0, 'm³/s', 'greatest rate of decrease; default: the first rate'
    )
    efficiency: float = number(1.0, 0.01, 1.0, '', 'work on the water per energy of the pump')
    compressibility: float = number(
        0.0, 0.0, 5e-9, '1/Pa', 'decrease of the volume outside, as a fraction, with pressure'
    )
    height: float = number(0.1, 1e-3, 100.0, 'm', 'height over which it leaves the water')


@declaration(frozen=True, kw_only=True)
class CompressedHullElement(PlacedElement):
    """<hull> that the pressure compresses."""

    volume: float = number(REQUIRED, 0.0, 1e5, 'm³', 'volume of the hull', place='attribute')
    compressibility: float = number(
        REQUIRED, 0.0, 5e-9, '1/Pa', 'decrease of the volume with pressure, as a fraction',
        place='attribute',
    )  # fmt: skip


@declaration(frozen=True, kw_only=True)
class BuoyancyEnginesElement:
    """<buoyancy_engines>."""

    buoyancy_engine: tuple[BuoyancyEngineElement, ...] = nested(
        BuoyancyEngineElement, 'engines', many=True
    )
    hull: CompressedHullElement | None = nested(CompressedHullElement, 'compression of the hull')


def read_buoyancy_engines(root: Reader) -> BuoyancyEngineSet:
    """Read ``<buoyancy_engines>``.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    element = root.read(BuoyancyEnginesElement)
    engines, hull = element.buoyancy_engine, element.hull
    if not engines:
        raise root.error('has no <buoyancy_engine>; expected one or more, or leave it out')
    names = [engine.name for engine in engines]
    for i, engine in enumerate(engines):
        if engine.name in names[:i]:
            raise engine.reader.error('two buoyancy engines have this name; expected unique names')
    count = 1 + max(len(engine.rate) for engine in engines)
    tables = np.stack([_rate_table(engine, count) for engine in engines])
    depth, rate = tables[:, 0], tables[:, 1]
    width = np.diff(depth, axis=1)
    placed_elements: list[PlacedElement] = [*engines, PlacedElement() if hull is None else hull]
    return_rate = np.array([engine.return_rate for engine in engines])
    return BuoyancyEngineSet(
        names=tuple(names),
        position=np.stack([part.origin.translation for part in placed_elements]),
        height=np.array([*(engine.height for engine in engines), 1.0]),
        lower=np.array([engine.limit.lower for engine in engines]),
        upper=np.array([engine.limit.upper for engine in engines]),
        rate=rate[:, 0],
        rate_depth=depth[:, :-1],
        rate_width=width,
        rate_slope=np.diff(rate, axis=1) / width,
        return_rate=np.where(np.isnan(return_rate), rate[:, 0], return_rate),
        efficiency=np.array([engine.efficiency for engine in engines]),
        oil_compressibility=np.array([engine.compressibility for engine in engines]),
        hull_compliance=np.array([0.0 if hull is None else hull.volume * hull.compressibility]),
    )


def _rate_table(engine: BuoyancyEngineElement, count: int) -> np.ndarray:
    """Return depths and rates (2, count) of a pump; beyond its table the last rate holds."""
    if not engine.rate:
        raise engine.reader.error('has no <rate>; expected the rate of its pump in m³/s')
    table = [(rate_element.depth, rate_element.value) for rate_element in engine.rate]
    if any(after[0] <= before[0] for before, after in pairwise(table)):
        raise engine.reader.error('depths of <rate> do not increase; expected them in order')
    depth, rate = table[-1]
    return np.array([*table, *((depth + 1.0 + i, rate) for i in range(count - len(table)))]).T


# Volumes, pressures and the wrench.


def volume_heights(points: np.ndarray, state: State, environment: Environment) -> Array:
    """Return the heights (..., n) of points (n, 3) of a body above the water's surface, m."""
    xp = namespace(state.position)
    position = constant(xp, points)
    z = matvec(position, up_in_body(state.orientation)) + state.position[..., 2:3]
    if environment.is_flat:
        return z
    return z - environment.elevation(in_map(state.position, state.orientation, position))


def volume_wrench(
    points: np.ndarray,
    height: np.ndarray,
    volume: Array,
    z: Array,
    state: State,
    environment: Environment,
    fluid_density: float,
) -> Wrench:
    """Return the wrench (..., 6) of displaced volumes about ``base_link``, N and N·m.

    Σ ρ V k (g ẑ + ∂u/∂t) at each point, k the submerged fraction by its height, as for voxels of
    a hull.

    Args:
        points: (n, 3) of the body, m.
        height: (n,) over which a volume leaves the water, m.
        volume: (..., n) m³.
        z: (..., n) heights of the points above the water's surface, m.
        state: position and attitude of the body.
        environment: the water.
        fluid_density: kg/m³, of the water the vehicle is trimmed for.
    """
    xp = namespace(state.velocity)
    position = constant(xp, points)
    density = environment.density(state.position, fluid_density)
    submerged = near_surface_fraction(z, height=constant(xp, height))
    specific_force = environment.gravity * up_in_body(state.orientation)[..., None, :]
    if not environment.is_flat:
        places = in_map(state.position, state.orientation, position)
        water_acceleration = environment.acceleration(places)
        specific_force = specific_force + water_acceleration @ rotation_matrix(state.orientation)
    force = (density * volume * submerged)[..., None] * specific_force
    moment = cross(position + 0.0 * force, force)
    return xp.concat([xp.sum(force, axis=-2), xp.sum(moment, axis=-2)], axis=-1)


def pump_rate(engines: BuoyancyEngineSet, depth: Array) -> Array:
    """Return the rates (..., k) of pumps at depths (..., k) in m: m³/s.

    Linear between the depths of a table, and constant before and beyond them.
    """
    xp = namespace(depth)
    depth_below_start = depth[..., None] - constant(xp, engines.rate_depth)
    depth_in_piece = xp.minimum(
        xp.maximum(depth_below_start, 0.0 * depth_below_start), constant(xp, engines.rate_width)
    )
    return constant(xp, engines.rate) + xp.sum(
        constant(xp, engines.rate_slope) * depth_in_piece, axis=-1
    )


def _pressure_at(environment: Environment, z: Array, state: State, fluid_density: float) -> Array:
    """Return the gauge pressure (..., k) at heights (..., k) above the water's surface, Pa."""
    xp = namespace(z)
    across = state.position[..., None, :2] + 0.0 * z[..., None]
    points = xp.concat([across, z[..., None]], axis=-1)
    return environment.hydrostatic_pressure(points, fluid_density)


def displacement_wrench(
    engines: BuoyancyEngineSet,
    state: State,
    environment: Environment,
    volume: Array,
    fluid_density: float,
) -> Wrench:
    """Return the wrench (..., 6) of volumes in the body frame about ``base_link``, N and N·m.

    See :func:`volume_wrench`; the hull's compression adds V = −κ V_h p at its position, and
    oil outside of the hull, V − V_lower, shrinks by κ p.

    Args:
        engines: k engines of a vehicle.
        state: its position and attitude.
        environment: the water.
        volume: (..., k) m³.
        fluid_density: kg/m³, of the water the vehicle is trimmed for.
    """
    xp = namespace(state.velocity)
    z = volume_heights(engines.position, state, environment)
    pressure = _pressure_at(environment, z, state, fluid_density)
    outside = volume - constant(xp, engines.lower)
    oil = volume - constant(xp, engines.oil_compressibility) * outside * pressure[..., :-1]
    hull = -constant(xp, engines.hull_compliance) * pressure[..., -1:]
    volumes = xp.concat([oil, hull], axis=-1)
    return volume_wrench(
        engines.position, engines.height, volumes, z, state, environment, fluid_density
    )


def _names(vehicle: Vehicle) -> tuple[str, ...]:
    engines: BuoyancyEngineSet | None = vehicle.extensions.get(NAME)
    return () if engines is None else engines.names


def _applies(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return NAME in vehicle.extensions


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return volumes in m³ and energies in J (..., 2 k), all 0."""
    return zero_memory(state, 2 * len(_names(vehicle)))


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Array,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Array]:
    """Return the wrench (..., 6), and the volumes in m³ and energies in J (..., 2 k)."""
    engines: BuoyancyEngineSet = vehicle.extensions[NAME]
    xp, count = namespace(memory), len(engines)
    previous_volume, energy = memory[..., :count], memory[..., count:]
    target_volume = inputs.commands.get(NAME, 0.0 * previous_volume)
    lower, upper = constant(xp, engines.lower), constant(xp, engines.upper)
    target_volume = xp.minimum(xp.maximum(target_volume, lower), upper)
    z = volume_heights(engines.position, state, environment)[..., :count]
    depth = xp.maximum(-z, 0.0 * z)
    increase = xp.minimum(target_volume - previous_volume, dt * pump_rate(engines, depth))
    change = xp.maximum(increase, -dt * constant(xp, engines.return_rate))
    fluid_density = vehicle.buoyancy.fluid_density
    pressure = _pressure_at(environment, z, state, fluid_density)
    work = pressure * xp.maximum(change, 0.0 * change)
    energy = energy + work / constant(xp, engines.efficiency)
    volume = previous_volume + change
    wrench = displacement_wrench(engines, state, environment, volume, fluid_density)
    return wrench, xp.concat([volume, energy], axis=-1)


def _wrench(
    vehicle: Vehicle, state: State, environment: Environment, states: Array, thrust: Array
) -> Wrench:
    """Return the wrench (..., 6) at constant volumes and energies (..., 2 k)."""
    del thrust
    engines: BuoyancyEngineSet = vehicle.extensions[NAME]
    volume = states[..., : len(engines)]
    fluid_density = vehicle.buoyancy.fluid_density
    return displacement_wrench(engines, state, environment, volume, fluid_density)


BUOYANCY_ENGINES = Actuator(
    NAME,
    _names,
    text='volumes of buoyancy engines, m³',
    unit='m³',
    limit=100.0,
    part='buoyancy engine',
    missing='{vehicle} has no buoyancy engine; expected a vehicle with <buoyancy_engines>',
    steered=True,
    stage='marine_sim_ros.control.glide:make_volume_allocation',
    wrench=_wrench,
    state=lambda memory: memory.forces.get(NAME),
    restore=lambda memory, state: memory._replace(forces={**memory.forces, NAME: state}),
    repeats=True,
    fields=('position', 'effort'),
    units=('m³', 'J'),
    state_topic=f'{NAME}/state',
    command_topic=f'{NAME}/command',
    force=ForceModel(
        NAME,
        _step,
        begin=_begin,
        applies=_applies,
        label='Buoyancy engines',
        colour='#1f77b4',
        element=NAME,
        read=read_buoyancy_engines,
        parts=BuoyancyEnginesElement,
    ),
)
