# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moving masses: joints that a controller trims, in addition to their commanded positions.

The masses are links on prismatic or revolute joints, whose momentum and inertia act on the vehicle
as those of an arm do. This actuator names the joints that a controller takes for roll and pitch.
"""

from __future__ import annotations

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, text
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.actuator import Actuator

__all__ = ['MOVING_MASSES']

NAME = 'moving_masses'


@declaration(frozen=True, kw_only=True)
class MovingMassElement:
    """<moving_mass> on a joint."""

    reader: Reader
    joint: str = text('joint that moves it', REQUIRED, place='attribute')


@declaration(frozen=True, kw_only=True)
class MovingMassesElement:
    """<moving_masses>."""

    moving_mass: tuple[MovingMassElement, ...] = nested(
        MovingMassElement, 'masses by which a controller trims roll and pitch', many=True
    )


def _read(root: Reader) -> tuple[str, ...]:
    """Read the joints of ``<moving_masses>``.

    Raises:
        ModelError: none, or one twice.
    """
    joints = [mass.joint for mass in root.read(MovingMassesElement).moving_mass]
    if not joints or len(set(joints)) < len(joints):
        raise root.error(
            f'has <moving_mass> of the joints {", ".join(joints) or "(none)"}; expected one or '
            'more different ones'
        )
    return tuple(joints)


def _names(vehicle: Vehicle) -> tuple[str, ...]:
    names: tuple[str, ...] = vehicle.extensions.get(NAME, ())
    joints = () if vehicle.manipulator is None else vehicle.manipulator.names
    for name in names:
        if name not in joints:
            raise ParameterError(
                f'moving_masses: joint {name!r} is unknown; expected one that moves of '
                f'{vehicle.name}: {", ".join(joints) or "none"}'
            )
    return names


MOVING_MASSES = Actuator(
    NAME,
    _names,
    text='trim of moving masses by a controller, rad or m, added to the positions of joints',
    unit='rad, m',
    part='moving mass',
    missing='{vehicle} has no moving mass; expected one with <moving_masses>, such as glider',
    steered=True,
    stage='marine_sim_ros.control.glide:make_moving_mass_allocation',
    source='manipulator',
    adds_to='joints',
    command_topic=f'{NAME}/command',
    element=NAME,
    read_element=_read,
    parts=MovingMassesElement,
)
