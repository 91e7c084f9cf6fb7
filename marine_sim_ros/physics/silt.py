# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Silt: sediment that jets and contacts stir up, as clouds that drift, spread and settle.

A cloud is a Gaussian of mass m and standard deviation σ. It moves with the water and sinks at the
settling speed w of the grains, σ² grows by 2 K t, and the bed takes what settles on it,

    dm/dt = −w m 2/(√(2π) σ) exp(−h²/(2 σ²)),

the flux w c at a bed at the distance h that reflects the cloud. All follows from the states and
thrusts of a run: nodes, ``simulate`` and a score have the same clouds.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.sediment import Sediment, jet_pick_up
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.scene import Scene

__all__ = ['CLOUDS', 'PERIOD', 'SiltClouds', 'cloud_depths', 'silt_sources', 'stirred_mass']

CLOUDS = 48
"""Clouds at a time; more are joined to their nearest."""
PERIOD = NANOSECONDS // 10
"""Interval of the clouds' steps, ns."""
_REACH = 3.0
"""Distance of the bed beyond which jets stir up nothing, m (assumed)."""
_TOUCH = 0.02
"""Height of a point above the bed below which it ploughs, m (assumed)."""
_PLOUGHED = 0.05
"""Mass that a ploughing point stirs up along its way, kg/m (assumed)."""
_FIRST_SIZE, _SIZE_OF_DISTANCE = 0.12, 0.25
"""σ of a new cloud: m at least, and per distance of its jet from the bed (assumed)."""
_LEAST_MASS = 1e-6
"""kg; clouds of less are gone."""


@lru_cache(maxsize=16)
def _bed(scene: Scene) -> Scene:
    """Return the seabed of a scene: terrain, and planes that face up."""
    solid = len(scene) - len(scene.obstacles)
    planes = [i for i, plane in enumerate(scene.planes) if plane.normal[2] > 0.5]
    return scene.part((*planes, *range(len(scene.planes), solid)))


def _nearest_bed(bed: Scene, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance (..., m), m, of points (..., m, 3) from a bed, and its normal there."""
    distance, normal = bed.surfaces(points)
    nearest = np.argmin(distance, axis=-2)[..., None, :]
    return (
        np.take_along_axis(distance, nearest, -2)[..., 0, :],
        np.take_along_axis(normal, nearest[..., None], -3)[..., 0, :, :],
    )


def silt_sources(
    vehicle: Vehicle, state: State, environment: Environment, thrust: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places and rates of the silt that a vehicle stirs up.

    Args:
        state: (...) states.
        environment: with sediment.
        thrust: (..., n) N.

    Returns:
        Rates (..., n + 1), kg/s, of each jet and of what touches the bed; the middles
        (..., n + 1, 3) of the new clouds, map, m; their standard deviations (..., n + 1), m.
    """
    sediment, scene = environment.sediment, environment.scene
    count, lead = len(vehicle.thrusters) + 1, state.position.shape[:-1]
    none = np.zeros((*lead, count))
    if sediment is None or scene is None or not len(bed := _bed(scene)):
        return none, np.zeros((*lead, count, 3)), none + _FIRST_SIZE
    turn = np.asarray(rotation_matrix(state.orientation))
    arms = np.concatenate([vehicle.thrusters.position, vehicle.contact.position])
    points = np.asarray(in_map(state.position, state.orientation, arms))
    distance, normal = _nearest_bed(bed, points)
    jets, touching = np.s_[..., : count - 1], np.s_[..., count - 1 :]
    axis = np.asarray(vehicle.thrusters.axis) @ np.swapaxes(turn, -1, -2)
    jet = -np.asarray(thrust)[..., None] * axis
    towards = -np.sum(jet * normal[..., : count - 1, :], axis=-1)
    height = np.maximum(distance[jets], 0.05)
    critical = sediment.critical_stress(*_water(environment, vehicle))
    rate = jet_pick_up(sediment, critical, towards, height) * (distance[jets] <= _REACH)
    size = np.maximum(_SIZE_OF_DISTANCE * height, _FIRST_SIZE)
    # A jet meets the bed where its direction leads; not beyond 45°.
    strength = np.maximum(towards, 1e-9)[..., None]
    aside = jet + towards[..., None] * normal[..., : count - 1, :]
    slope = np.clip(aside / strength, -1.0, 1.0)
    foot = points[..., : count - 1, :] - height[..., None] * (normal[..., : count - 1, :] - slope)
    middle = foot + size[..., None] * normal[..., : count - 1, :]
    velocity = state.velocity[..., None, :3] + np.cross(
        state.velocity[..., None, 3:], vehicle.contact.position
    )
    ploughed = _PLOUGHED * np.linalg.norm(velocity, axis=-1) * (distance[touching] <= _TOUCH)
    total = np.sum(ploughed, axis=-1, keepdims=True)
    weight = np.where(total > 0, ploughed / np.where(total > 0, total, 1.0), 0.0)
    touch = np.sum(weight[..., None] * points[..., count - 1 :, :], axis=-2, keepdims=True)
    return (
        np.concatenate([rate, total], axis=-1),
        np.concatenate([middle, touch], axis=-2),
        np.concatenate([size, np.full_like(total, _FIRST_SIZE)], axis=-1),
    )


def _water(environment: Environment, vehicle: Vehicle) -> tuple[float, float]:
    """Return the density, kg/m³, and the kinematic viscosity, m²/s, of the water at a bed."""
    density = environment.water_density or vehicle.buoyancy.fluid_density
    return float(density), environment.kinematic_viscosity


def stirred_mass(
    vehicle: Vehicle, states: State, environment: Environment, thrust: np.ndarray
) -> np.ndarray:
    """Return the mass per time (n,), kg/s, that a vehicle stirs up at n states."""
    rates, _, _ = silt_sources(vehicle, states, environment, thrust)
    return np.asarray(np.sum(rates, axis=-1))


class SiltClouds:
    """Clouds that a vehicle stirs up in a run, tick by tick.

    Attributes:
        rows: (CLOUDS, 5) middle, map, m; standard deviation, m; mass, kg, 0 of an unused row.
            A step makes a new array.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Start with clear water."""
        self._vehicle = vehicle
        self._stamp = -1
        self.rows = np.zeros((CLOUDS, 5))

    def advance(
        self, stamp: int, state: State, environment: Environment, thrust: np.ndarray
    ) -> np.ndarray:
        """Return the rows at a tick; they change once in PERIOD, or in more of them between ticks.

        Args:
            stamp: ns; one before the last one begins anew.
            state: of the vehicle at the stamp.
            environment: at the stamp, with sediment.
            thrust: (n,) at the stamp, N.
        """
        if stamp < self._stamp:
            self.rows = np.zeros((CLOUDS, 5))
            self._stamp = -1
        before, self._stamp = self._stamp, stamp
        sediment = environment.sediment
        if sediment is None or stamp // PERIOD == before // PERIOD or before < 0:
            return self.rows
        step = (stamp // PERIOD - before // PERIOD) * PERIOD / NANOSECONDS
        rows = self.rows.copy()
        self._drift(rows, environment, sediment, step)
        rates, middles, sizes = silt_sources(self._vehicle, state, environment, thrust)
        for rate, middle, size in zip(rates.tolist(), middles, sizes.tolist(), strict=True):
            if rate * step > _LEAST_MASS:
                _add(rows, np.array([*middle, size, rate * step]))
        self.rows = rows
        return rows

    def _drift(
        self, rows: np.ndarray, environment: Environment, sediment: Sediment, step: float
    ) -> None:
        """Move, spread and settle the clouds of a step, s."""
        used = np.flatnonzero(rows[:, 4])
        if not len(used):
            return
        middle, size = rows[used, :3], rows[used, 3]
        fall = sediment.settling_speed(*_water(environment, self._vehicle))
        assert environment.scene is not None
        height, _ = _nearest_bed(_bed(environment.scene), middle)
        flux = 2.0 / (math.sqrt(2 * math.pi) * size) * np.exp(-0.5 * (height / size) ** 2)
        rows[used, 4] *= np.exp(-fall * step * flux)
        rows[used, :3] += step * np.asarray(environment.velocity(middle))
        rows[used, 2] -= step * fall * (height > 0)
        rows[used, 3] = np.sqrt(size**2 + 2 * sediment.diffusivity * step)
        rows[rows[:, 4] < _LEAST_MASS] = 0.0


def cloud_depths(rows: np.ndarray, attenuation: float) -> list[list[float]]:
    """Return middle, m, standard deviation, m, and optical depth through it of each cloud.

    Args:
        rows: as of :attr:`SiltClouds.rows`.
        attenuation: of light per concentration, m²/kg.
    """
    used = rows[rows[:, 4] > 0].copy()
    used[:, 4] *= attenuation / (2 * math.pi * used[:, 3] ** 2)
    result: list[list[float]] = np.round(used, 3).tolist()
    return result


def _add(rows: np.ndarray, cloud: np.ndarray) -> None:
    """Add a cloud, or join it to one that it is within; mass, middle and variance stay."""
    used = rows[:, 4] > 0
    apart = np.linalg.norm(rows[:, :3] - cloud[:3], axis=1)
    ratio = np.where(used, apart / np.where(used, rows[:, 3], 1.0), np.inf)
    nearest = int(np.argmin(ratio))
    if ratio[nearest] > 0.5 and not used.all():
        rows[int(np.argmin(used))] = cloud
        return
    other = rows[nearest].copy()
    mass = other[4] + cloud[4]
    share = cloud[4] / mass
    middle = other[:3] + share * (cloud[:3] - other[:3])
    variance = (1 - share) * other[3] ** 2 + share * cloud[3] ** 2
    spread = share * (1 - share) * float(np.sum((cloud[:3] - other[:3]) ** 2)) / 3
    rows[nearest] = [*middle, math.sqrt(variance + spread), mass]
