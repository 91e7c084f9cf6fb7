# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drop weights: parts of a vehicle's mass and volume that leave it once, by command.

The description includes them. From the tick of its release on, mass, centre of mass and inertia
of the vehicle are without the weight, and the buoyancy of its volume is taken off where it was.
Added mass, drag and contact points stay; the weight itself is not simulated after its release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, text
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Inertia, parallel_axis_tensor
from marine_sim_ros.model.kinematics import PlacedElement
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.buoyancy_engines import volume_heights, volume_wrench
from marine_sim_ros.physics.force import ForceInputs, ForceModel, zero_memory

__all__ = ['DROP_WEIGHTS', 'lighten_vehicle']

NAME = 'drop_weights'


@dataclass(frozen=True, eq=False)
class DropWeightSet:
    """The k drop weights of a vehicle, in the order of the URDF.

    Attributes:
        names: k names.
        position: (k, 3) centres, m.
        height: (k,) over which a volume leaves the water, m.
        mass: (k,) kg.
        volume: (k,) m³.
        tensor: (k, 3, 3) inertias about the centres, body axes, kg·m².
    """

    names: tuple[str, ...]
    position: np.ndarray
    height: np.ndarray
    mass: np.ndarray
    volume: np.ndarray
    tensor: np.ndarray


@declaration(frozen=True, kw_only=True)
class DropWeightElement(PlacedElement):
    """<drop_weight>: a box of its size and mass, or a point."""

    reader: Reader
    name: str = text('name', REQUIRED, place='attribute')
    mass: float = number(REQUIRED, 1e-9, 1e6, 'kg', 'its mass', place='attribute')
    volume: float = number(REQUIRED, 0.0, 1e3, 'm³', 'volume that it displaces', place='attribute')
    size: np.ndarray = number(
        np.zeros(3), 0.0, 100.0, 'm', 'edges of its box; default: a point', place='attribute'
    )
    height: float = number(0.1, 1e-3, 100.0, 'm', 'height over which it leaves the water')


@declaration(frozen=True, kw_only=True)
class DropWeightsElement:
    """<drop_weights>."""

    drop_weight: tuple[DropWeightElement, ...] = nested(
        DropWeightElement, 'weights, included in mass and volume of the description', many=True
    )


def read_drop_weights(root: Reader) -> DropWeightSet:
    """Read ``<drop_weights>``.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    weights = root.read(DropWeightsElement).drop_weight
    if not weights:
        raise root.error('has no <drop_weight>; expected one or more, or leave it out')
    names = [weight.name for weight in weights]
    for i, weight in enumerate(weights):
        if weight.name in names[:i]:
            raise weight.reader.error('two drop weights have this name; expected unique names')
    rotation = rotation_matrix(np.stack([weight.origin.quaternion for weight in weights]))
    boxes = np.stack([_box(weight.mass, weight.size) for weight in weights])
    return DropWeightSet(
        names=tuple(names),
        position=np.stack([weight.origin.translation for weight in weights]),
        height=np.array([weight.height for weight in weights]),
        mass=np.array([weight.mass for weight in weights]),
        volume=np.array([weight.volume for weight in weights]),
        tensor=rotation @ boxes @ np.swapaxes(rotation, 1, 2),
    )


def _box(mass: float, size: np.ndarray) -> np.ndarray:
    """Return the inertia (3, 3) of a box about its centre: m (b² + c²)/12 about its axis a."""
    squared = size**2
    return np.diag(mass / 12 * (np.sum(squared) - squared))


def lighten_vehicle(vehicle: Vehicle, released: Array) -> Vehicle:
    """Return a vehicle without its weights that are released (k,), 1 each, others 0."""
    weights: DropWeightSet = vehicle.extensions[NAME]
    xp, whole = namespace(released), vehicle.inertia
    position = constant(xp, weights.position)
    lost = released * constant(xp, weights.mass)
    mass = whole.mass - xp.sum(lost)
    first_moment = whole.mass * constant(xp, whole.center_of_mass) - lost @ position
    center = first_moment / mass
    from_center = constant(xp, whole.center_of_mass) - center
    tensor = constant(xp, whole.tensor) + whole.mass * parallel_axis_tensor(from_center)
    of_weights = released[:, None, None] * constant(xp, weights.tensor)
    of_weights = of_weights + lost[:, None, None] * parallel_axis_tensor(position - center)
    return replace(vehicle, inertia=Inertia(mass, center, tensor - xp.sum(of_weights, axis=0)))


def _names(vehicle: Vehicle) -> tuple[str, ...]:
    weights: DropWeightSet | None = vehicle.extensions.get(NAME)
    return () if weights is None else weights.names


def _applies(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return NAME in vehicle.extensions


def _check(vehicle: Vehicle, state: State, environment: Environment) -> None:
    """Raise ParameterError for weights that the vehicle cannot lose."""
    del state, environment
    weights: DropWeightSet = vehicle.extensions[NAME]
    if vehicle.manipulator is not None and vehicle.manipulator.joint_dynamics is not None:
        raise ParameterError(
            f'drop_weights: {vehicle.name} has an articulated arm, whose equations keep the mass '
            'of the description; expected a kinematic arm, or none'
        )
    light = lighten_vehicle(vehicle, np.ones(len(weights.names))).inertia
    if light.mass <= 0 or np.linalg.eigvalsh(light.tensor)[0] <= 0:
        raise ParameterError(
            f'drop_weights: without {", ".join(weights.names)} {vehicle.name} has a mass of '
            f'{light.mass:g} kg and no positive inertia; expected weights that are part of the '
            "vehicle's mass and inertia"
        )


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return no released weights (..., k)."""
    return zero_memory(state, len(_names(vehicle)))


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
    """Return the wrench (..., 6) of the lost buoyancy, and the released weights (..., k)."""
    del dt
    xp = namespace(memory)
    command = inputs.commands.get(NAME, 0.0 * memory)
    released = xp.where(command > 0.5, xp.ones_like(memory), memory)
    return _wrench(vehicle, state, environment, released, inputs.thrust), released


def _wrench(
    vehicle: Vehicle, state: State, environment: Environment, states: Array, thrust: Array
) -> Wrench:
    """Return the wrench (..., 6) of the buoyancy that released weights (..., k) take along."""
    del thrust
    weights: DropWeightSet = vehicle.extensions[NAME]
    return volume_wrench(
        weights.position,
        weights.height,
        -states * constant(namespace(states), weights.volume),
        volume_heights(weights.position, state, environment),
        state,
        environment,
        vehicle.buoyancy.fluid_density,
    )


DROP_WEIGHTS = Actuator(
    NAME,
    _names,
    text='release of drop weights: 1 releases, once',
    unit='',
    limit=1.0,
    part='drop weight',
    missing='{vehicle} has no drop weight; expected a vehicle with <drop_weights>',
    wrench=_wrench,
    state=lambda memory: memory.forces.get(NAME),
    restore=lambda memory, state: memory._replace(forces={**memory.forces, NAME: state}),
    repeats=True,
    body=lighten_vehicle,
    state_topic=f'{NAME}/state',
    command_topic=f'{NAME}/command',
    force=ForceModel(
        NAME,
        _step,
        begin=_begin,
        applies=_applies,
        check=_check,
        label='Drop weights',
        colour='#8a6d3b',
        element=NAME,
        read=read_drop_weights,
        parts=DropWeightsElement,
    ),
)
