# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boundary disturbance: force of a rotor's jet near the ground, a wall or a ceiling.

``documented`` is the law of the boundary-disturbance API, unchanged: the jet J is mirrored at the
plane and acts back, attenuated by (1 + d/R)^−k,

    F = (1 + d/R)^−k (J − 2 (J·n) n).

It pushes a rotor above the ground upwards, and pulls one below a ceiling to it. It has two flaws:
a jet along a wall gives a force along the wall, and there is no cut-off distance. ``normal_only``
keeps the attenuation and the normal force of a jet towards the surface,

    F = w(d) (1 + d/R)^−k (max(0, −J·n) − γ max(0, J·n)) n,

with γ the suction of a jet that leaves it (default 0), and w = 1 up to 10 R, exactly 0
from 20 R on, and a quintic between whose slope and curvature vanish at both ends.

Source: hakoniwa-drone's boundary-disturbance API document. It works in NED and FRD, and its
"thrust along z" is the jet of a thrust along −z; here all is ENU and FLU: thrust T ≥ 0 acts along
the body's +z axis and the jet is J = −R [0, 0, T].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    cond,
    constant,
    is_numeric,
    is_traced,
    matvec,
    namespace,
)
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.scene.scene import JetInteraction, Scene

__all__ = [
    'BOUNDARY',
    'FADE_END',
    'FADE_START',
    'boundary_wrench',
    'boundary_disturbance',
    'boundary_disturbance_as_wind',
]

FADE_START, FADE_END = 10.0, 20.0
"""Distances in rotor radii between which ``normal_only`` fades out."""
_NO_BOUNDARY = 0.5
"""Length of a normal below which there is no boundary."""
_SEPARATE_COSINE, _PARALLEL_COSINE = math.cos(math.radians(45.0)), math.cos(math.radians(15.0))
"""Cosines of the angle between normals at which two surfaces act separately, and as one."""
_DOWN = np.array([0.0, 0.0, -1.0])


def _fade_factor(ratio: Array) -> Array:
    """Return w of a distance in rotor radii: 1, then a quintic, then exactly 0."""
    xp = namespace(ratio)
    t = xp.clip((FADE_END - ratio) / (FADE_END - FADE_START), 0.0, 1.0)
    return t * t * t * (t * (t * 6 - 15) + 10)


def _jet_disturbance(
    distance: Array, normal: Array, jet: Array, radius: Array, law: JetInteraction
) -> Array:
    """Return the force (..., 3) of jets J (..., 3) N at signed distances (...) from surfaces."""
    xp = namespace(distance)
    documented = law.mode == 'documented'
    ratio = xp.abs(distance) if documented else xp.maximum(distance, xp.zeros_like(distance))
    ratio = ratio / radius
    attenuation = (1 + ratio) ** (-law.exponent)
    normal_component = xp.vecdot(jet, normal)
    if documented:
        return attenuation[..., None] * (jet - 2 * normal_component[..., None] * normal)
    zero = xp.zeros_like(normal_component)
    normal_force = xp.maximum(-normal_component, zero) - law.suction * xp.maximum(
        normal_component, zero
    )
    return (_fade_factor(ratio) * attenuation * normal_force)[..., None] * normal


def boundary_disturbance(
    position: Array,
    rotation: Array,
    boundary_point: Array,
    boundary_normal: Array,
    thrust: Array,
    rotor_radius: Array,
    exponent: float = 1.5,
    *,
    mode: str = 'documented',
) -> Array:
    """Return the force (..., 3) in N on a rotor near a plane, map axes.

    Args:
        position: (..., 3) p of the rotor, map, m.
        rotation: (..., 3, 3) body to map.
        boundary_point: (..., 3) b of the plane, map, m; the documented d is |(p − b)·n|.
        boundary_normal: (..., 3) n from the surface towards the rotor; a vector shorter than
            0.5 means no boundary and gives no force, any other is taken at length 1.
        thrust: (...) T along the body's +z axis, N; a negative one has its jet along +z.
        rotor_radius: (...) R, above 0, m.
        exponent: k, 1 to 2.
        mode: ``documented`` or ``normal_only``.

    Raises:
        ParameterError: a mode or an exponent that is none.
    """
    xp = namespace(position)
    law = JetInteraction(mode, exponent)
    square = xp.vecdot(boundary_normal, boundary_normal)
    has_boundary = square >= _NO_BOUNDARY**2
    length = xp.sqrt(xp.where(has_boundary, square, xp.ones_like(square)))
    normal = boundary_normal / length[..., None]
    distance = xp.vecdot(position - boundary_point, normal)
    jet = -rotation[..., :, 2] * xp.asarray(thrust)[..., None]
    force = _jet_disturbance(distance, normal, jet, xp.asarray(rotor_radius), law)
    return xp.where(has_boundary[..., None], force, xp.zeros_like(force))


def boundary_disturbance_as_wind(
    position: Array,
    rotation: Array,
    boundary_point: Array,
    boundary_normal: Array,
    thrust: Array,
    rotor_radius: Array,
    drag: Array,
    exponent: float = 1.5,
    *,
    mode: str = 'documented',
) -> Array:
    """Return the wind W = F/c_z (..., 3) in m/s, map, whose drag equals the boundary force.

    Args:
        position: position; it and the others as for :func:`boundary_disturbance`.
        rotation: (..., 3, 3).
        boundary_point: (..., 3).
        boundary_normal: (..., 3).
        thrust: (...).
        rotor_radius: (...).
        drag: (..., 3) linear drag coefficients c in N·s/m; only the last one is used.
        exponent: k, 1 to 2.
        mode: ``documented`` or ``normal_only``.

    Raises:
        ParameterError: a mode or an exponent that is none.
    """
    force = boundary_disturbance(
        position,
        rotation,
        boundary_point,
        boundary_normal,
        thrust,
        rotor_radius,
        exponent,
        mode=mode,
    )
    return force / drag[..., 2:3]


def boundary_forces(
    vehicle: Vehicle, state: State, environment: Environment, thrust: Array
) -> Array:
    """Return the forces of the scene's surfaces on each thruster (..., n, 3), N, map."""
    scene = _scene_in_reach(vehicle, state, environment)
    if scene is None:
        return _no_forces(vehicle, state)
    return _forces(scene, vehicle, state, environment, thrust)


def _no_forces(vehicle: Vehicle, state: State) -> Array:
    xp = namespace(state.position)
    return xp.zeros_like(state.position[..., None, :] + constant(xp, vehicle.thrusters.position))


def _forces(
    scene: Scene, vehicle: Vehicle, state: State, environment: Environment, thrust: Array
) -> Array:
    """Return the forces (..., n, 3) of some of the scene's surfaces on each thruster, N, map."""
    thrusters, xp = vehicle.thrusters, namespace(state.position)
    total = _no_forces(vehicle, state)
    radius = constant(xp, thrusters.rotor_radius)
    points = in_map(state.position, state.orientation, constant(xp, thrusters.position))
    body_to_map = xp.matrix_transpose(rotation_matrix(state.orientation))
    jet = -thrust[..., None] * (constant(xp, thrusters.axis) @ body_to_map)
    if len(scene):
        reach = thrusters.lever_arm + FADE_END * xp.max(radius)
        total = total + _solid_forces(scene, state.position, reach, points, jet, radius)
    if scene.water_surface:
        depth = environment.elevation(points) - points[..., 2]
        down = xp.zeros_like(points) + constant(xp, _DOWN)
        total = total + _jet_disturbance(depth, down, jet, radius, scene.jets)
    return total


def _scene_in_reach(vehicle: Vehicle, state: State, environment: Environment) -> Scene | None:
    """Return a scene of the surfaces within reach of a jet; None: no jet feels any."""
    scene, thrusters = environment.scene, vehicle.thrusters
    if scene is None or not len(thrusters):
        return None
    if scene.jets.mode != 'documented':
        scene = scene.part(scene.surfaces_near(state.position, _jet_reach(vehicle)))
    return scene if len(scene) or scene.water_surface else None


def _jet_reach(vehicle: Vehicle) -> float:
    """Distance from ``base_link`` beyond which no jet feels a surface, m."""
    return vehicle.thrusters.lever_arm + FADE_END * vehicle.thrusters.jet_radius


def _solid_forces(
    scene: Scene, position: Array, reach: Array, points: Array, jet: Array, radius: Array
) -> Array:
    """Return forces of surfaces on jets J (..., n, 3) of thrusters at points (..., n, 3), N, map.

    Compiled programs of one vehicle skip it if no surface is within reach (m), or no jet is there.
    """
    xp, documented = namespace(points), scene.jets.mode == 'documented'

    def sum_disturbances(points: Array, jet: Array, radius: Array) -> Array:
        max_range = xp.inf if documented else FADE_END * xp.max(radius)
        distance, normal = scene.surfaces(points, max_range)
        surface_forces = _jet_disturbance(
            distance, normal, jet[..., None, :, :], radius, scene.jets
        )
        return _merge_parallel_surfaces(surface_forces, normal)

    single_vehicle = is_traced(xp) and position.ndim == 1
    if not single_vehicle or documented:
        return sum_disturbances(points, jet, radius)
    return cond(
        xp,
        scene.may_be_near(position, reach) & xp.any(jet != 0),
        sum_disturbances,
        lambda *arrays: xp.zeros_like(arrays[0]),
        points,
        jet,
        radius,
    )


def _merge_parallel_surfaces(forces: Array, normal: Array) -> Array:
    """Return the sum (..., m, 3) of surface forces (..., k, m, 3), parallel ones counted once.

    Σᵢ wᵢ Fᵢ with wᵢ = fᵢ⁸/Σⱼ sᵢⱼ fⱼ⁸, fᵢ = |Fᵢ|, and s from 0 for normals 45° apart to 1 for
    those within 15°: so of parallel surfaces only the strongest counts, floor and wall both count,
    and the transition is smooth.
    """
    if forces.shape[-3] == 1:
        return forces[..., 0, :, :]
    xp = namespace(forces)
    strength = xp.vecdot(forces, forces) ** 4
    ones, zeros = xp.ones_like(strength), xp.zeros_like(strength)
    cosine = xp.vecdot(normal[..., :, None, :, :], normal[..., None, :, :, :])
    similarity = xp.clip(
        (cosine - _SEPARATE_COSINE) / (_PARALLEL_COSINE - _SEPARATE_COSINE), 0.0, 1.0
    )
    similarity = similarity * similarity * (3 - 2 * similarity)
    similar_strength = xp.sum(similarity * strength[..., None, :, :], axis=-2)
    weight = xp.where(
        strength > 0, strength / xp.where(strength > 0, similar_strength, ones), zeros
    )
    return xp.sum(weight[..., None] * forces, axis=-3)


def boundary_wrench(
    vehicle: Vehicle, state: State, environment: Environment, thrust: Array
) -> Wrench:
    """Return Σᵢ [Rᵀ Fᵢ; rᵢ × Rᵀ Fᵢ] (..., 6) of all thrusters i and surfaces of the scene.

    The force of each jet acts at its thruster.

    Args:
        vehicle: its ``thrusters`` give positions, axes and rotor radii.
        state: state of the body.
        environment: its ``scene`` gives the surfaces and the law of the jets; without one the
            wrench is zero.
        thrust: (..., n) of the same instant, N along the thrusters' axes.
    """
    xp = namespace(state.position)
    if is_numeric(thrust) and not thrust.any():  # no jet
        return xp.zeros_like(state.velocity)
    scene = _scene_in_reach(vehicle, state, environment)
    if scene is None:
        return xp.zeros_like(state.velocity)
    force = _forces(scene, vehicle, state, environment, thrust)
    in_body = force @ rotation_matrix(state.orientation)
    flat = xp.reshape(in_body, (*in_body.shape[:-2], -1))
    return matvec(constant(xp, vehicle.thrusters.levers), flat)


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Any,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Any]:
    del dt
    return boundary_wrench(vehicle, state, environment, inputs.thrust), memory


def _may_act(vehicle: Vehicle, state: State, environment: Environment, step: float) -> Array:
    """Return whether a jet may feel a surface."""
    del step
    scene = environment.scene
    if scene is None or scene.water_surface or scene.jets.mode == 'documented':
        return np.bool_(scene is not None)
    return scene.may_be_near(state.position, _jet_reach(vehicle))


BOUNDARY = ForceModel(
    'boundary',
    _step,
    applies=has_scene,
    needs=('thrust',),
    label='Boundary',
    colour='#33b3b3',
    executable='boundary',
    may_act=_may_act,
)
