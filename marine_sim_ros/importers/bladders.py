# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy engines: bladders that stay at the volume that they start with.

Source: gz-sim, src/systems/buoyancy_engine: the force is ρ g (V − V_neutral), upwards.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from marine_sim_ros.importers.description import GRAVITY, Sourced, Volume
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of

__all__ = ['add_bladder', 'fill_bladders', 'read_buoyancy_engine']


def read_buoyancy_engine(plugin: Plugin, draft: Draft) -> None:
    """Take gz::sim::systems::BuoyancyEngine at its <default_volume>, else its <min_volume>."""
    reader = plugin.reader
    link = draft.known_link(reader, text_of(reader, 'link_name').replace('::', '/'))
    low = number(reader, 'min_volume', 3e-5, 0.0, 1e3)
    high = number(reader, 'max_volume', 9.9e-4, 0.0, 1e3)
    start = number(reader, 'default_volume', low.value, 0.0, 1e3)
    neutral = number(reader, 'neutral_volume', 3e-4, 0.0, 1e3)
    density = number(reader, 'fluid_density', 1000.0, 1.0, 2e4)
    if draft.mentioned_density is None and reader.first('fluid_density') is not None:
        draft.mentioned_density = density
    ends = ' to '.join(
        f'{density.value * GRAVITY * (v.value - neutral.value):+.3g}' for v in (low, high)
    )
    add_bladder(
        draft, link, density.value * (start.value - neutral.value), origin_of(reader), ends
    )


def add_bladder(
    draft: Draft, link: str, mass: float, where: str, ends: str, center: np.ndarray | None = None
) -> None:
    """Note a bladder.

    Args:
        draft: the vehicle.
        link: link that carries it.
        mass: mass of water that it displaces beyond its own, kg; negative where it is heavy.
        where: its place in the source.
        ends: its least and greatest force, N, as text.
        center: (3,) in the link, m; default: its origin.
    """
    draft.drop(
        f'{where}: the buoyancy engine stays at {mass * GRAVITY:+.3g} N; its range of {ends} N '
        'is not simulated'
    )
    place = np.zeros(3) if center is None else center
    draft.notes.setdefault('bladders', []).append((link, mass, where, place))


def fill_bladders(draft: Draft) -> None:
    """Add what bladders displace to the volumes of their links; what they lack is negative.

    A link that displaces too little leaves it to the one that displaces most.
    """
    assert draft.water_density is not None
    for link, mass, where, center in draft.notes.get('bladders', []):
        volume = mass / draft.water_density.value
        own: defaultdict[str, float] = defaultdict(float)
        for known in draft.volumes:
            own[known.link] += known.volume.value
        most = max(own, key=lambda name: own[name], default=link)
        at = link if volume + own[link] > 0 else most
        if volume + own[at] <= 0:
            draft.drop(f'{where}: the weight of the buoyancy engine, {-mass:.3g} kg')
            continue
        edge = Sourced(abs(volume) ** (1 / 3), 'edge of a cube of the volume', True)
        place = Sourced(center if at == link else np.zeros(3), where)
        draft.volumes.append(Volume(at, Sourced(volume, where), place, edge))
