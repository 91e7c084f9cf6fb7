# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy of imported vehicles: lumped volumes, floating hulls, buoyancy engines.

Source: gz-sim, src/systems/buoyancy_engine: the force is ρ g (V − V_neutral), upwards.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.description import GRAVITY, ImportedLink, Sourced, Volume
from marine_sim_ros.importers.draft import Draft, Plugin, origin_of, read_number, read_text
from marine_sim_ros.importers.geometry import (
    box_around,
    estimate_missing,
    gazebo_volume,
    solid,
    usable_collisions,
)

__all__ = ['add_bladder', 'add_missing_water', 'add_weight_share', 'read_buoyancy_engine']


# Buoyancy engines: bladders with constant volume, as at the start.


def read_buoyancy_engine(plugin: Plugin, draft: Draft) -> None:
    """Take gz::sim::systems::BuoyancyEngine at its <default_volume>, else its <min_volume>."""
    reader = plugin.reader
    link = draft.known_link(reader, read_text(reader, 'link_name').replace('::', '/'))
    # Only differences from the neutral volume act, so that volumes may be negative.
    low, high = (
        read_number(reader, f'{end}_volume', usual, -1e3, 1e3)
        for end, usual in (('min', 3e-5), ('max', 9.9e-4))
    )
    start = read_number(reader, 'default_volume', low.value, -1e3, 1e3)
    neutral = read_number(reader, 'neutral_volume', 3e-4, -1e3, 1e3)
    density = read_number(reader, 'fluid_density', 1000.0, 1.0, 2e4)
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


# Buoyancy from collisions: lumped volumes, or a floating hull.

_FLOATS = 1.15
"""A vehicle that could displace more than this times its mass floats at the surface."""
_LIGHT = 40.0
"""Displaced mass over mass above which a vehicle is lighter than any hull, which is an error."""
_DRY = ('MJCF', 'USD')
"""Formats of simulators without buoyancy, whose shapes are those of contacts."""
_LIGHTEST, _HEAVIEST = 1e-4, 25.0
_NEUTRAL = 1000.0
_OVER = np.array([0.0, 0.0, 0.02])


def add_weight_share(
    draft: Draft,
    link: str,
    factor: Sourced[float],
    center: Sourced[np.ndarray],
    height: Sourced[float],
    force: float = 0.0,
) -> None:
    """Add the volume of a link whose source gives buoyancy as a fraction of its weight.

    ρ V = c m + F/g; only weight and buoyancy are compared, so any density will do where none is
    known.

    Args:
        factor: c.
        center: (3,) of the volume in the link, m.
        height: over which it is lost at the surface, m.
        force: F, N.
    """
    if draft.water_density is None:
        rule = f'{factor.origin}: buoyancy is a share of the weight'
        draft.water_density = Sourced(_NEUTRAL, rule)
    mass = draft.links[link].mass
    volume = (factor.value * mass + force / GRAVITY) / draft.water_density.value
    origin = f'{factor.origin} · {mass:g} kg of the link'
    draft.volumes.append(Volume(link, Sourced(volume, origin), center, height))


def add_missing_water(draft: Draft) -> None:
    """Add what the source does not say: density, volumes, drag and added mass."""
    if draft.mass <= 0:
        raise ModelError(
            f'{draft.file}: no link of {draft.name!r} has a mass; expected <inertial> with '
            '<mass>, or parts with a material'
        )
    if draft.water_density is None and draft.mentioned_density is not None:
        draft.water_density = draft.mentioned_density
        draft.assume(
            f'water of {draft.water_density.value:g} kg/m³, of {draft.water_density.origin}'
        )
    if draft.water_density is None:
        draft.water_density = Sourced(_NEUTRAL, 'no density in the source', True)
        draft.assume(f'water of {_NEUTRAL:g} kg/m³: no density in the source')
    if draft.hydrodynamics is not None:
        draft.hydrodynamics = replace(draft.hydrodynamics, water_density=draft.water_density)
    if draft.format == 'Stonefish' and _too_large(draft):
        draft.volumes.clear()
        _hull(draft)
    elif draft.notes.get('hull'):
        _hull(draft)
    elif not draft.volumes and draft.format != 'Stonefish':
        _take_collision_volumes(draft)
    fill_bladders(draft)
    if draft.panel_drag is None:
        estimate_missing(draft)


def _too_large(draft: Draft) -> bool:
    """Return whether the lumped volumes could carry much more than the vehicle."""
    assert draft.water_density is not None
    water = sum(v.volume.value for v in draft.volumes) * draft.water_density.value
    if water <= _FLOATS * draft.mass:
        return False
    draft.assume(
        f'the parts displace {water:.4g} kg of water and the vehicle weighs {draft.mass:.4g} kg: '
        'it floats by their shape'
    )
    return True


def _collision_volumes(draft: Draft) -> dict[str, float]:
    """Return the volume (m³) of the collisions of every link that has any."""
    result = {}
    for name, link in list(draft.links.items()):
        told: list[str] = []
        usable = [(s, made) for s, made in usable_collisions(draft, link, told) if s.displaces]
        for text in told:
            draft.assume(f'link {name!r}: {text}')
        draft.links[name] = replace(link, collisions=tuple(shape for shape, _ in usable))
        volume = sum(abs(made.volume) for _, made in usable)
        if volume > 0:
            result[name] = volume
    return result


def _take_collision_volumes(draft: Draft) -> None:
    """Take the volumes of the collisions, as gz::sim::systems::Buoyancy does."""
    volumes = {n: _gazebo_link_volume(draft, draft.links[n]) for n in _collision_volumes(draft)}
    volumes = _enabled_volumes(draft, volumes)
    assert draft.water_density is not None
    # A bladder that starts heavy, as one of a negative volume, may sink what the hull would float.
    bladders = sum(mass for _, mass, _, _ in draft.notes.get('bladders', []))
    total = sum(volumes.values()) * draft.water_density.value + bladders
    if not volumes:
        _assume_neutral(draft)
        return
    if draft.format in _DRY and _FLOATS < total / draft.mass <= _LIGHT:
        draft.assume(
            f'{draft.format} has no buoyancy: the {total:.4g} kg of water that its shapes would '
            f'displace do not carry its {draft.mass:.4g} kg'
        )
        _assume_neutral(draft)
        return
    if draft.notes.get('float_by_collisions') or total > _FLOATS * draft.mass:
        draft.assume(
            f'the collisions displace {total - bladders:.4g} kg of water and the vehicle weighs '
            f'{draft.mass:.4g} kg: it floats by their shape'
        )
        _hull(draft)
        return
    draft.assume('buoyancy: of the collisions, as the Buoyancy system of Gazebo counts them')
    for name in volumes:
        _lump_volume(draft, draft.links[name])


def _enabled_volumes(draft: Draft, volumes: dict[str, float]) -> dict[str, float]:
    """Return the volumes on which the Buoyancy system acts, by its <enable>."""
    where, enabled = draft.notes.get('enabled', ('', ['']))
    if {draft.name, ''} & set(enabled):
        return volumes
    chosen = {n: v for n, v in volumes.items() if any(e.endswith(n) for e in enabled)}
    if volumes and not chosen:
        draft.drop(
            f'{where}: its <enable> names {", ".join(enabled[:4])}: it does not act on '
            f'{draft.name!r}, which has no buoyancy in Gazebo'
        )
    return chosen


def _gazebo_link_volume(draft: Draft, link: ImportedLink) -> float:
    """Return the volume (m³) of a link's collisions as Gazebo counts them."""
    scaled = [s for s in link.collisions if s.kind == 'mesh' and set(s.size) != {1.0}]
    if scaled:
        draft.assume(
            f'{scaled[0].origin}: Gazebo counts the volume of a mesh without its <scale>, and so '
            'does the import'
        )
    return sum(gazebo_volume(s, draft.folder, [])[0] for s in link.collisions)


def _lump_volume(draft: Draft, link: ImportedLink) -> None:
    parts = [gazebo_volume(s, draft.folder, []) for s in link.collisions]
    volume = sum(v for v, _ in parts)
    center = sum(v * c for v, c in parts) / volume
    low, high = box_around([solid(s, draft.folder, []) for s in link.collisions])
    first = link.collisions[0].origin
    draft.volumes.append(
        Volume(
            link.name,
            Sourced(float(volume), f'{first}: volume of {len(parts)} collision(s)'),
            Sourced(np.asarray(center), f'{first}: their origins'),
            Sourced(float(high[2] - low[2]), 'height of the collisions'),
        )
    )


def _assume_neutral(draft: Draft) -> None:
    """Assume that a vehicle without any volume is neutral, with its centres at one height."""
    assert draft.water_density is not None
    total = draft.mass
    rule = 'no volume in the source: neutral, m/ρ, its centre 0.02 m over that of mass'
    draft.assume(rule)
    volume = total / draft.water_density.value
    edge = float(f'{volume ** (1 / 3):.3g}')
    draft.volumes.append(
        Volume(
            draft.base,
            Sourced(volume, rule, True),
            Sourced(draft.center_of_mass() + _OVER, rule, True),
            Sourced(edge, 'edge of a cube of the volume', True),
        )
    )


def _hull(draft: Draft) -> None:
    """Let the collisions float: each link has a material as dense as its mass in their volume."""
    assert draft.water_density is not None
    for name, volume in _collision_volumes(draft).items():
        link = draft.links[name]
        density = link.mass / (draft.water_density.value * volume)
        if not _LIGHTEST <= density <= _HEAVIEST:
            draft.drop(
                f'collisions of link {name!r}: {link.mass:.3g} kg in {volume:.3g} m³ cannot float'
            )
            draft.links[name] = replace(link, collisions=())
            continue
        material = f'{name.replace("/", "_")}_displacement'
        draft.materials[material] = Sourced(density, f'm/(ρ V) of link {name!r}')
        draft.links[name] = replace(
            link, collisions=tuple(replace(s, material=material) for s in link.collisions)
        )
