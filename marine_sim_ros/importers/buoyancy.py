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
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_number,
    read_sourced_numbers,
    read_text,
)
from marine_sim_ros.importers.description import GRAVITY, Bladder, ImportedLink, Sourced, Volume
from marine_sim_ros.importers.geometry import (
    box_around,
    estimate_missing,
    gazebo_volume,
    solid,
    usable_collisions,
)
from marine_sim_ros.model.xml import Reader

__all__ = ['add_buoyancy_engine', 'add_classic_buoyancy', 'add_missing_water', 'add_weight_share']


# Buoyancy engines; volumes of the description are those at the start.


def add_buoyancy_engine(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take gz::sim::systems::BuoyancyEngine; it starts at <default_volume> or <min_volume>."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'link_name'))
    # Only differences from the neutral volume act, so that volumes may be negative.
    low, high = (
        read_number(reader, f'{end}_volume', usual, -1e3, 1e3)
        for end, usual in (('min', 3e-5), ('max', 9.9e-4))
    )
    start = read_number(reader, 'default_volume', low.value, -1e3, 1e3)
    neutral = read_number(reader, 'neutral_volume', 3e-4, -1e3, 1e3)
    density = read_number(reader, 'fluid_density', 1000.0, 1.0, 2e4)
    if builder.mentioned_density is None and reader.first('fluid_density') is not None:
        builder.mentioned_density = density
    beyond = [density.value * (v.value - neutral.value) for v in (start, low, high)]
    rate = read_number(reader, 'max_inflation_rate', _INFLATION_RATE, 1e-9, 1e3)
    builder.add_bladder(
        Bladder(
            'bladder',
            link,
            np.zeros(3),
            beyond[0],
            min(beyond),
            max(beyond),
            replace(rate, value=rate.value * density.value),
            origin_of(reader),
        )
    )


_INFLATION_RATE = 3e-6
"""m³/s, default of <max_inflation_rate>."""
_CLASSIC_DENSITY = 999.1026
"""kg/m³, default of BuoyancyPlugin."""


def add_classic_buoyancy(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take BuoyancyPlugin of Gazebo classic: volumes of links, else those of their collisions.

    Source: gazebo-classic, plugins/BuoyancyPlugin.cc.
    """
    reader = plugin.reader
    builder.name_unread(reader, 'fluid_density|link')
    builder.water_density = read_number(reader, 'fluid_density', _CLASSIC_DENSITY, 1.0, 2e4)
    given = {}
    for element in reader.element.findall('link'):
        block = Reader(element, reader.source)
        builder.name_unread(block, 'volume|center_of_volume')
        given[builder.known_link(block, block.attribute('name'))] = block
    for name, link in list(builder.links.items()):
        solids = [made for _, made in usable_collisions(builder, link, [])]
        volume = Sourced(sum(abs(s.volume) for s in solids), f'{origin_of(reader)}: collisions')
        center = Sourced(np.zeros(3), volume.origin)
        if volume.value > 0:
            sums = sum(abs(s.volume) * s.center for s in solids)
            center = replace(center, value=np.asarray(sums / volume.value))
        if name in given:
            volume = read_number(given[name], 'volume', 0.0, 0.0, 1e6)
            center = read_sourced_numbers(given[name], 'center_of_volume', (3,)) or center
        if volume.value > 0:
            edge = Sourced(volume.value ** (1 / 3), 'edge of a cube of the volume', True)
            builder.volumes.append(Volume(name, volume, center, edge))


def fill_bladders(builder: VehicleBuilder) -> None:
    """Add what bladders displace at the start to the volumes of their links.

    A link that displaces too little leaves it to the one that displaces most. A bladder on a link
    that moves against the body stays as it is at the start.
    """
    assert builder.water_density is not None
    for bladder in list(builder.bladders):
        volume = bladder.start / builder.water_density.value
        own: defaultdict[str, float] = defaultdict(float)
        for volume_of_link in builder.volumes:
            own[volume_of_link.link] += volume_of_link.volume.value
        largest = max(own, key=lambda name: own[name], default=bladder.link)
        at = bladder.link if volume + own[bladder.link] > 0 else largest
        where = bladder.origin
        if not builder.is_rigid(bladder.link):
            builder.bladders.remove(bladder)
            builder.drop(f'{where}: range of a buoyancy engine on a link that moves')
        if volume + own[at] <= 0:
            builder.drop(f'{where}: the weight of the buoyancy engine, {-bladder.start:.3g} kg')
            continue
        edge = Sourced(abs(volume) ** (1 / 3), 'edge of a cube of the volume', True)
        place = Sourced(bladder.center if at == bladder.link else np.zeros(3), where)
        builder.volumes.append(Volume(at, Sourced(volume, where), place, edge))


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
    builder: VehicleBuilder,
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
    if builder.water_density is None:
        rule = f'{factor.origin}: buoyancy is a share of the weight'
        builder.water_density = Sourced(_NEUTRAL, rule)
    mass = builder.links[link].mass
    volume = (factor.value * mass + force / GRAVITY) / builder.water_density.value
    origin = f'{factor.origin} · {mass:g} kg of the link'
    builder.volumes.append(Volume(link, Sourced(volume, origin), center, height))


def add_missing_water(builder: VehicleBuilder) -> None:
    """Add what the source does not say: density, volumes, drag and added mass."""
    if builder.mass <= 0:
        raise ModelError(
            f'{builder.file}: no link of {builder.name!r} has a mass; expected <inertial> with '
            '<mass>, or parts with a material'
        )
    if builder.water_density is None and builder.mentioned_density is not None:
        builder.water_density = builder.mentioned_density
        builder.assume(
            f'water of {builder.water_density.value:g} kg/m³, of {builder.water_density.origin}'
        )
    if builder.water_density is None:
        builder.water_density = Sourced(_NEUTRAL, 'no density in the source', True)
        builder.assume(f'water of {_NEUTRAL:g} kg/m³: no density in the source')
    if builder.hydrodynamics is not None:
        builder.hydrodynamics = replace(builder.hydrodynamics, water_density=builder.water_density)
    if builder.format == 'Stonefish' and _too_large(builder):
        builder.volumes.clear()
        _hull(builder)
    elif builder.notes.get('hull'):
        _hull(builder)
    elif not builder.volumes and builder.format != 'Stonefish':
        _take_collision_volumes(builder)
    fill_bladders(builder)
    if builder.panel_drag is None:
        estimate_missing(builder)


def _too_large(builder: VehicleBuilder) -> bool:
    """Return whether the lumped volumes could carry much more than the vehicle."""
    assert builder.water_density is not None
    water = sum(v.volume.value for v in builder.volumes) * builder.water_density.value
    if water <= _FLOATS * builder.mass:
        return False
    builder.assume(
        f'the parts displace {water:.4g} kg of water and the vehicle weighs '
        f'{builder.mass:.4g} kg: it floats by their shape'
    )
    return True


def _collision_volumes(builder: VehicleBuilder) -> dict[str, float]:
    """Return the volume (m³) of the collisions of every link that has any."""
    result = {}
    for name, link in list(builder.links.items()):
        messages: list[str] = []
        usable = [
            (s, made) for s, made in usable_collisions(builder, link, messages) if s.displaces
        ]
        for text in messages:
            builder.assume(f'link {name!r}: {text}')
        builder.links[name] = replace(link, collisions=tuple(shape for shape, _ in usable))
        volume = sum(abs(made.volume) for _, made in usable)
        if volume > 0:
            result[name] = volume
    return result


def _take_collision_volumes(builder: VehicleBuilder) -> None:
    """Take the volumes of the collisions, as gz::sim::systems::Buoyancy does."""
    volumes = {
        n: _gazebo_link_volume(builder, builder.links[n]) for n in _collision_volumes(builder)
    }
    volumes = _enabled_volumes(builder, volumes)
    assert builder.water_density is not None
    # A bladder that starts heavy, as one of a negative volume, may sink what the hull would float.
    bladders = sum(bladder.start for bladder in builder.bladders)
    total = sum(volumes.values()) * builder.water_density.value + bladders
    if not volumes:
        _assume_neutral(builder)
        return
    if builder.format in _DRY and _FLOATS < total / builder.mass <= _LIGHT:
        builder.assume(
            f'{builder.format} has no buoyancy: the {total:.4g} kg of water that its shapes would '
            f'displace do not carry its {builder.mass:.4g} kg'
        )
        _assume_neutral(builder)
        return
    if builder.notes.get('float_by_collisions') or total > _FLOATS * builder.mass:
        builder.assume(
            f'the collisions displace {total - bladders:.4g} kg of water and the vehicle weighs '
            f'{builder.mass:.4g} kg: it floats by their shape'
        )
        _hull(builder)
        return
    builder.assume('buoyancy: of the collisions, as the Buoyancy system of Gazebo counts them')
    for name in volumes:
        _lump_volume(builder, builder.links[name])


def _enabled_volumes(builder: VehicleBuilder, volumes: dict[str, float]) -> dict[str, float]:
    """Return the volumes on which the Buoyancy system acts, by its <enable>."""
    where, enabled = builder.notes.get('enabled', ('', ['']))
    if {builder.name, ''} & set(enabled):
        return volumes
    chosen = {n: v for n, v in volumes.items() if any(e.endswith(n) for e in enabled)}
    if volumes and not chosen:
        builder.drop(
            f'{where}: its <enable> names {", ".join(enabled[:4])}: it does not act on '
            f'{builder.name!r}, which has no buoyancy in Gazebo'
        )
    return chosen


def _gazebo_link_volume(builder: VehicleBuilder, link: ImportedLink) -> float:
    """Return the volume (m³) of a link's collisions as Gazebo counts them."""
    scaled = [s for s in link.collisions if s.kind == 'mesh' and set(s.size) != {1.0}]
    if scaled:
        builder.assume(
            f'{scaled[0].origin}: Gazebo counts the volume of a mesh without its <scale>, and so '
            'does the import'
        )
    return sum(gazebo_volume(s, builder.folder, [])[0] for s in link.collisions)


def _lump_volume(builder: VehicleBuilder, link: ImportedLink) -> None:
    parts = [gazebo_volume(s, builder.folder, []) for s in link.collisions]
    volume = sum(v for v, _ in parts)
    center = sum(v * c for v, c in parts) / volume
    low, high = box_around([solid(s, builder.folder, []) for s in link.collisions])
    first = link.collisions[0].origin
    builder.volumes.append(
        Volume(
            link.name,
            Sourced(float(volume), f'{first}: volume of {len(parts)} collision(s)'),
            Sourced(np.asarray(center), f'{first}: their origins'),
            Sourced(float(high[2] - low[2]), 'height of the collisions'),
        )
    )


def _assume_neutral(builder: VehicleBuilder) -> None:
    """Assume that a vehicle without any volume is neutral, with its centres at one height."""
    assert builder.water_density is not None
    total = builder.mass
    rule = 'no volume in the source: neutral, m/ρ, its centre 0.02 m over that of mass'
    builder.assume(rule)
    volume = total / builder.water_density.value
    edge = float(f'{volume ** (1 / 3):.3g}')
    builder.volumes.append(
        Volume(
            builder.base,
            Sourced(volume, rule, True),
            Sourced(builder.center_of_mass() + _OVER, rule, True),
            Sourced(edge, 'edge of a cube of the volume', True),
        )
    )


def _hull(builder: VehicleBuilder) -> None:
    """Let the collisions float: each link has a material as dense as its mass in their volume."""
    assert builder.water_density is not None
    for name, volume in _collision_volumes(builder).items():
        link = builder.links[name]
        density = link.mass / (builder.water_density.value * volume)
        if not _LIGHTEST <= density <= _HEAVIEST:
            builder.drop(
                f'collisions of link {name!r}: {link.mass:.3g} kg in {volume:.3g} m³ cannot float'
            )
            builder.links[name] = replace(link, collisions=())
            continue
        material = f'{name.replace("/", "_")}_displacement'
        builder.materials[material] = Sourced(density, f'm/(ρ V) of link {name!r}')
        builder.links[name] = replace(
            link, collisions=tuple(replace(s, material=material) for s in link.collisions)
        )
