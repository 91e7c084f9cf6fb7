# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is solid around the vehicles of a batch, and what they touch it with: one for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.engine.kinds import same
from marine_sim_ros.engine.loop import Setting
from marine_sim_ros.engine.records import derived
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['with_one_scene']


def _touching(vehicle: Vehicle, first: Vehicle) -> None:
    """Have a vehicle touch with the points of the first one, which must be its own.

    Raises:
        ParameterError: they are not.
        ModelError: a collision mesh that cannot be used.
    """
    own = first.contact
    if vehicle.find_contact is not first.find_contact and not same(vehicle.contact, own):
        raise ParameterError(
            'batch: the collisions of its vehicles differ; expected the same in all, where there '
            'is something to touch'
        )
    vars(vehicle)['contact'] = own


def with_one_scene(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of a batch with one scene, one table of materials, one set of points.

    A program is made for these; equal ones become one.

    Raises:
        ParameterError: they differ.
        ModelError: a collision mesh that cannot be used.
    """
    first = settings[0]
    solid = first.environment.scene, first.environment.materials
    result = []
    for setting in settings:
        around = setting.environment
        if not same((around.scene, around.materials), solid):
            raise ParameterError(
                f'batch: what is solid in {first.environment.name or "the first environment"} and '
                f'in {around.name or "another"} differs; expected one scene for all'
            )
        if solid[0] is not None and len(solid[0]):
            _touching(setting.vehicle, first.vehicle)
        if around.scene is not solid[0] or around.materials is not solid[1]:
            around = derived(replace(around, scene=solid[0], materials=solid[1]))
            setting = replace(setting, environment=around)
        result.append(setting)
    return result
