# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tethers: cable, reel or winch, and the ship at the far end."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np

from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader

__all__ = [
    'CABLES',
    'Cable',
    'FRESH_WATER',
    'REEL',
    'REELS',
    'Reel',
    'Ship',
    'Tether',
    'read_tether',
    'reel_of',
]


# Reels at the anchor of a tether, and winches in ``config/reels`` with what their makers say.

REEL = 'reel'
"""Name of the reel in tether/command and tether/state."""


@dataclass(frozen=True, eq=False)
class Reel:
    """A drum at the anchor that pays the cable out and hauls it in.

    Attributes:
        rate: largest speed of the cable, m/s.
        tension: pull of the cable on the drum above which its clutch slips, N.
        minimum: shortest length off the drum, m.
        maximum: longest length off the drum, which is all of the cable, m.
    """

    rate: float
    tension: float
    minimum: float
    maximum: float
    names: ClassVar[tuple[str, ...]] = (REEL,)


@dataclass(frozen=True)
class Winch:
    """What a maker says of a winch.

    Attributes:
        rate: largest speed of the cable, m/s.
        tension: pull that it holds at that speed, N.
        capacity: longest cable on its drum, m.
    """

    rate: float
    tension: float
    capacity: float


def _read_winch(reader: YamlReader) -> Winch:
    ranges = {'rate': (0.0, 100.0), 'tension': (0.1, 1e12), 'capacity': (0.1, 1e5)}
    reader.mapping({*ranges, 'description'}, set(ranges))
    return Winch(**{name: reader.child(name).number(*ends) for name, ends in ranges.items()})


REELS: ConfigFiles[Winch] = ConfigFiles('reels', _read_winch)
"""Winches; a file of the user's own is named by its path."""


def read_reel(reader: Reader, length: float, maximum: float, shortest: float) -> Reel:
    """Return the reel of an element.

    ``<reel rate="0.5" tension="200" minimum="5" maximum="100"/>``, or ``type="markey_desh5"`` of
    ``config/reels``, whose rate and tension hold where none are given.

    Args:
        reader: reader of the element.
        length: of the cable off the drum at the start, m.
        maximum: all of the cable, m.
        shortest: least length that can be off the drum, m.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    name = reader.attribute('type', '')
    winch = REELS.load(name) if name else Winch(0.0, 1e12, 1e5)
    if not name:
        reader.attribute('rate')
    if maximum > winch.capacity:
        raise reader.error(
            f'maximum is {maximum:g} m; expected at most {winch.capacity:g} m, the capacity of '
            f'{name}'
        )
    minimum = reader.attribute_number('minimum', shortest, shortest, maximum)
    if length < minimum:
        raise reader.error(
            f'the length is {length:g} m; expected at least {minimum:g} m: the minimum, or half a '
            'segment'
        )
    rate = reader.attribute_number('rate', winch.rate, 0.0, 100.0)
    tension = reader.attribute_number('tension', winch.tension, 0.1, 1e12)
    return Reel(rate, tension, minimum, maximum)


# The ship at the far end of a tether: its size in the water, and its course.


@dataclass(frozen=True, eq=False)
class Ship:
    """A ship that follows the waves on a steady course; nothing pulls it off.

    Attributes:
        length: L of its waterplane, m.
        beam: B of its waterplane, m.
        position: (2,) of the waterplane's centre at time 0, map, m.
        course: towards which it points and moves, rad from east to north.
        speed: over ground, m/s.
    """

    length: float
    beam: float
    position: np.ndarray
    course: float = 0.0
    speed: float = 0.0

    @property
    def velocity(self) -> np.ndarray:
        """(2,) of the waterplane's centre, map, m/s."""
        return self.speed * np.array([math.cos(self.course), math.sin(self.course)])


def read_ship(reader: Reader) -> Ship:
    """Return the ship of an element.

    ``<ship length="20" beam="6" position="0 0" course="0" speed="0"/>``; ``beam`` is a third of
    the length unless it is given.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    length = reader.number(0.1, 1e3, reader.attribute('length'))
    return Ship(
        length,
        reader.attribute_number('beam', length / 3, 0.1, 1e3),
        reader.numbers({2}, reader.attribute('position', '0 0')),
        reader.attribute_number('course', 0.0, -100.0, 100.0),
        reader.attribute_number('speed', 0.0, -20.0, 20.0),
    )


# Tethers: a cable of a kind in ``config/tethers``, and where a vehicle's one runs to.

SEGMENT_LENGTH = 3.0
"""m; wanted length of a segment, where a tether does not say how many it has."""
MIN_SEGMENTS, MAX_SEGMENTS = 10, 100
"""Segments then."""
FRESH_WATER = 1000.0
"""kg/m³, to which a datasheet's weight in water belongs."""


@dataclass(frozen=True)
class Cable:
    """What a cable is made of, per metre.

    Attributes:
        diameter: d, m.
        mass: in air, kg/m.
        wet_mass: in fresh water, kg/m: 0 for a neutral cable, below 0 for one that floats.
        axial_stiffness: E A, N.
        axial_damping: C of the tension C dε/dt, N·s.
        bending_stiffness: E I, N·m².
        breaking_load: N.
        normal_drag: C_n of the area d per metre.
        tangential_drag: C_t of the area π d per metre.
        added_mass: C_a across the cable; there is none along it.
        friction: Coulomb's μ on the seabed.
    """

    diameter: float
    mass: float
    wet_mass: float
    axial_stiffness: float
    axial_damping: float
    bending_stiffness: float
    breaking_load: float
    normal_drag: float
    tangential_drag: float
    added_mass: float
    friction: float

    @property
    def displaced(self) -> float:
        """Displaced volume per metre, m²."""
        return (self.mass - self.wet_mass) / FRESH_WATER


_RANGES = {
    'diameter': (1e-4, 1.0),
    'mass': (1e-5, 1e3),
    'wet_mass': (-1e3, 1e3),
    'axial_stiffness': (1.0, 1e12),
    'axial_damping': (0.0, 1e9),
    'bending_stiffness': (0.0, 1e6),
    'breaking_load': (1.0, 1e9),
    'normal_drag': (0.0, 10.0),
    'tangential_drag': (0.0, 10.0),
    'added_mass': (0.0, 10.0),
    'friction': (0.0, 10.0),
}


def _read_cable(reader: YamlReader) -> Cable:
    known = {f.name for f in fields(Cable)}
    values = reader.mapping(known, known)
    cable = Cable(**{name: reader.child(name).number(*_RANGES[name]) for name in values})
    if cable.wet_mass > cable.mass:
        raise reader.error(f': wet_mass is {cable.wet_mass:g}; expected at most the mass')
    return cable


CABLES: ConfigFiles[Cable] = ConfigFiles('tethers', _read_cable)
"""Kinds of cables; a file of the user's own is named by its path."""


@dataclass(frozen=True, eq=False)
class Tether:
    """A cable from a vehicle to an anchor.

    Attributes:
        cable: its kind.
        length: unstretched, m; with a reel that off the drum at the start.
        segments: number of pieces of equal length into which it is divided; with a reel all that
            the drum has is.
        position: (3,) of the vehicle's end, body frame, m.
        anchor: (3,) of the other end, m: in map; above the water's surface where it is afloat;
            ahead, to port and up from the waterplane's centre of a ship; or in the body frame of
            another vehicle.
        afloat: whether the anchor follows the water's surface, as on a small buoy.
        reel: the drum at the anchor, or None: the length stays.
        ship: the ship that carries the anchor, or None.
        vehicle: namespace of the other vehicle that carries it, or empty.
    """

    cable: Cable
    length: float
    segments: int
    position: np.ndarray
    anchor: np.ndarray
    afloat: bool = False
    reel: Reel | None = None
    ship: Ship | None = None
    vehicle: str = ''

    @cached_property
    def piece(self) -> float:
        """Unstretched length of a segment, m."""
        whole = self.length if self.reel is None else self.reel.maximum
        return whole / self.segments


def reel_of(vehicle: Vehicle) -> Reel | None:
    """Return the reel of a vehicle's tether, or None."""
    tether: Tether | None = vehicle.extensions.get('tether')
    return None if tether is None else tether.reel


def read_tether(reader: Reader) -> Tether:
    """Return the tether of an element.

    ``<tether type="fathom" length="50" xyz="-0.2 0 0.1" anchor="0 0 0" afloat="false"
    segments="17"/>``; ``type`` is a name in ``config/tethers`` or the path of such a file. A child
    ``<reel rate="0.5" tension="200" minimum="5" maximum="100"/>`` makes the length change. The
    anchor is on a ship with a child ``<ship>``, and on another vehicle with ``vehicle="its
    namespace"``.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    length = reader.number(0.1, 1e5, reader.attribute('length'))
    reader.children({'reel', 'ship'})
    drum = reader.child('reel')
    whole = length if drum is None else drum.attribute_number('maximum', length, length, 1e5)
    usual = min(max(math.ceil(whole / SEGMENT_LENGTH), MIN_SEGMENTS), MAX_SEGMENTS)
    segments = reader.attribute_number('segments', usual, 3, 1000)
    if segments != int(segments):
        raise reader.error(f'segments is {segments:g}; expected a whole number')
    afloat = reader.attribute('afloat', 'false')
    if afloat not in ('true', 'false'):
        raise reader.error(f'afloat is {afloat!r}; expected true or false')
    ship, vehicle = reader.child('ship'), reader.attribute('vehicle', '').strip('/')
    if (afloat == 'true') + (ship is not None) + bool(vehicle) > 1:
        raise reader.error('has several anchors; expected one of: afloat, vehicle, <ship>')
    return Tether(
        CABLES.load(reader.attribute('type')),
        length,
        int(segments),
        reader.numbers({3}, reader.attribute('xyz', '0 0 0')),
        reader.numbers({3}, reader.attribute('anchor', '0 0 0')),
        afloat == 'true',
        # Less than half a segment at the drum would have no bound to its stiffness.
        None if drum is None else read_reel(drum, length, whole, whole / segments / 2),
        None if ship is None else read_ship(ship),
        vehicle,
    )
