# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a tether ends."""

from __future__ import annotations

from collections.abc import Iterator

from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.model.tether.tether import Tether

__all__ = ['anchor']


def anchor(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A tether ends at a point, a ship, or another vehicle of a fleet, never at its own."""
    vehicle = context.vehicle
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None or not tether.vehicle:
        return
    element = context.root.find('tether')
    if tether.vehicle == vehicle.name:
        yield context.error(
            element,
            f'its anchor is vehicle {tether.vehicle!r}: this one, unless a fleet names it '
            'otherwise',
            'name another vehicle of the fleet',
        )
        return
    yield context.hint(
        element,
        f'its anchor is vehicle {tether.vehicle!r}, which only a fleet can have',
        f'run it with --fleet, and with a vehicle of the name {tether.vehicle} in it',
    )
