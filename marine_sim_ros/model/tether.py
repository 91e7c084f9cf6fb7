# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tethers: cable, reel or winch, and the ship at the far end; state of a cable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, text, truth
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader

__all__ = [
    'CABLES',
    'Cable',
    'CableState',
    'FRESH_WATER',
    'REEL',
    'REELS',
    'Reel',
    'Ship',
    'Tether',
    'TetherElement',
    'read_tether',
    'reel_of',
]


# Reels at the anchor of a tether, and winches of ``config/reels`` by their data sheets.

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


@declaration(frozen=True)
class Winch:
    """Data sheet of a winch."""

    rate: float = number(REQUIRED, 0.0, 100.0, 'm/s', 'largest speed of the cable')
    tension: float = number(REQUIRED, 0.1, 1e12, 'N', 'pull that it holds at that speed')
    capacity: float = number(REQUIRED, 0.1, 1e5, 'm', 'longest cable on its drum')


REELS: ConfigFiles[Winch] = ConfigFiles('reels', lambda reader: reader.read(Winch, 'description'))
"""Winches; a file of the user's own is named by its path."""


@declaration(frozen=True, kw_only=True)
class ReelElement:
    """<reel> of a tether; default rate and tension: those of its winch."""

    reader: Reader
    type: str = text('winch of config/reels, or a path', place='attribute')
    rate: float | None = number(
        None, 0.0, 100.0, 'm/s', 'largest speed of the cable', place='attribute'
    )
    tension: float | None = number(
        None, 0.1, 1e12, 'N', 'pull above which it slips', place='attribute'
    )
    minimum: float | None = number(
        None, 0.0, 1e5, 'm', 'shortest length off the drum', place='attribute'
    )
    maximum: float | None = number(
        None, 0.1, 1e5, 'm', 'all of the cable; by default the length', place='attribute'
    )


def _reel(element: ReelElement, length: float, maximum: float, shortest: float) -> Reel:
    """Return the reel of an element.

    Args:
        length: of the cable off the drum at the start, m.
        maximum: all of the cable, m.
        shortest: least length that can be off the drum, m.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    reader, winch = (
        element.reader,
        REELS.load(element.type) if element.type else Winch(0.0, 1e12, 1e5),
    )
    if not element.type:
        reader.attribute('rate')
    if maximum > winch.capacity:
        raise reader.error(
            f'maximum is {maximum:g} m; expected at most {winch.capacity:g} m, the capacity of '
            f'{element.type}'
        )
    minimum = reader.attribute_number('minimum', shortest, shortest, maximum)
    if length < minimum:
        raise reader.error(
            f'the length is {length:g} m; expected at least {minimum:g} m: the minimum, or half a '
            'segment'
        )
    rate = winch.rate if element.rate is None else element.rate
    return Reel(
        rate, winch.tension if element.tension is None else element.tension, minimum, maximum
    )


# The ship at the far end of a tether: its size in the water, and its course.


@dataclass(frozen=True, eq=False)
class Ship:
    """Ship that follows the waves on a steady course, unaffected by the cable.

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


@declaration(frozen=True, kw_only=True)
class ShipElement:
    """<ship> of a tether."""

    length: float = number(REQUIRED, 0.1, 1e3, 'm', 'L of its waterplane', place='attribute')
    beam: float | None = number(
        None, 0.1, 1e3, 'm', 'B of its waterplane; by default L/3', place='attribute'
    )
    position: np.ndarray = number(
        np.zeros(2), -math.inf, math.inf, 'm', 'at time 0, map', place='attribute'
    )
    course: float = number(
        0.0, -100.0, 100.0, 'rad', 'direction from east to north', place='attribute'
    )
    speed: float = number(0.0, -20.0, 20.0, 'm/s', 'over ground', place='attribute')

    @property
    def ship(self) -> Ship:
        """The ship."""
        beam = self.length / 3 if self.beam is None else self.beam
        return Ship(self.length, beam, self.position, self.course, self.speed)


# Tethers: a cable of a kind in ``config/tethers``, and where a vehicle's one runs to.

SEGMENT_LENGTH = 3.0
"""m; default length of a segment."""
MIN_SEGMENTS, MAX_SEGMENTS = 10, 100
"""Segments then."""
FRESH_WATER = 1000.0
"""kg/m³, to which a datasheet's weight in water belongs."""


@declaration(frozen=True)
class Cable:
    """What a cable is made of, per metre."""

    diameter: float = number(REQUIRED, 1e-4, 1.0, 'm', 'd')
    mass: float = number(REQUIRED, 1e-5, 1e3, 'kg/m', 'in air')
    wet_mass: float = number(
        REQUIRED, -1e3, 1e3, 'kg/m', 'in fresh water: 0 for a neutral cable, below 0 if it floats'
    )
    axial_stiffness: float = number(REQUIRED, 1.0, 1e12, 'N', 'E A')
    axial_damping: float = number(REQUIRED, 0.0, 1e9, 'N·s', 'C of the tension C dε/dt')
    bending_stiffness: float = number(REQUIRED, 0.0, 1e6, 'N·m²', 'E I')
    breaking_load: float = number(REQUIRED, 1.0, 1e9, 'N', 'tension at which it breaks')
    normal_drag: float = number(REQUIRED, 0.0, 10.0, '', 'C_n of the area d per metre')
    tangential_drag: float = number(REQUIRED, 0.0, 10.0, '', 'C_t of the area π d per metre')
    added_mass: float = number(REQUIRED, 0.0, 10.0, '', 'C_a across the cable; none along it')
    friction: float = number(REQUIRED, 0.0, 10.0, '', "Coulomb's μ on the seabed")

    @property
    def displaced_area(self) -> float:
        """Displaced volume per metre, m²."""
        return (self.mass - self.wet_mass) / FRESH_WATER


def _read_cable(reader: YamlReader) -> Cable:
    cable = reader.read(Cable)
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
        max_length = self.length if self.reel is None else self.reel.maximum
        return max_length / self.segments


def reel_of(vehicle: Vehicle) -> Reel | None:
    """Return the reel of a vehicle's tether, or None."""
    tether: Tether | None = vehicle.extensions.get('tether')
    return None if tether is None else tether.reel


@declaration(frozen=True, kw_only=True)
class TetherElement:
    """<tether>."""

    type: str = text('cable of config/tethers, or a path', REQUIRED, place='attribute')
    length: float = number(
        REQUIRED, 0.1, 1e5, 'm', 'unstretched length at the start', place='attribute'
    )
    segments: int = number(
        0, 0, 1000, '', 'pieces, 3 or more; 0: of about 3 m', whole=True, place='attribute'
    )
    xyz: np.ndarray = number(
        np.zeros(3), -math.inf, math.inf, 'm', "vehicle's end, body frame", place='attribute'
    )
    anchor: np.ndarray = number(
        np.zeros(3), -math.inf, math.inf, 'm', 'the other end', place='attribute'
    )
    afloat: bool = truth(
        False, "whether the anchor follows the water's surface", place='attribute'
    )
    vehicle: str = text('namespace of the vehicle that carries the anchor', place='attribute')
    reel: ReelElement | None = nested(ReelElement, 'drum at the anchor; its length changes')
    ship: ShipElement | None = nested(ShipElement, 'ship that carries the anchor')


def read_tether(reader: Reader) -> Tether:
    """Return the tether of an element, such as ``<tether type="fathom" length="50"/>``.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    element = reader.read(TetherElement)
    drum, length = element.reel, element.length
    max_length = length
    if drum is not None:
        max_length = drum.reader.attribute_number('maximum', length, length, 1e5)
    usual = min(max(math.ceil(max_length / SEGMENT_LENGTH), MIN_SEGMENTS), MAX_SEGMENTS)
    if element.segments in (1, 2):
        raise reader.error(f'segments is {element.segments}; expected 0, or 3 or more')
    segments = element.segments or usual
    vehicle = element.vehicle.strip('/')
    if element.afloat + (element.ship is not None) + bool(vehicle) > 1:
        raise reader.error('has several anchors; expected one of: afloat, vehicle, <ship>')
    return Tether(
        CABLES.load(element.type),
        length,
        segments,
        element.xyz,
        element.anchor,
        element.afloat,
        # Less than half a segment at the drum would have no bound to its stiffness.
        None if drum is None else _reel(drum, length, max_length, max_length / segments / 2),
        None if element.ship is None else element.ship.ship,
        vehicle,
    )


class CableState(NamedTuple):
    """A cable at a tick.

    Attributes:
        position: (..., n + 1, 3) of the nodes, from the vehicle's end, map, m.
        velocity: (..., n + 1, 3) of the nodes, m/s.
        pull: (..., 2, 3) force of the cable on the vehicle and on the anchor, map, N.
        attached: (...) 1 until the breaking load was exceeded, then 0.
        length: (...) unstretched length off the drum of a reel, m; None without one.
        rate: (...) rate of change of the length since the tick before, m/s; None without a reel.
        whole_count: (...) number of segments that do not reach the drum; None without a reel.
    """

    position: Array
    velocity: Array
    pull: Array
    attached: Array
    length: Array | None = None
    rate: Array | None = None
    whole_count: Array | None = None

    @property
    def tension(self) -> Array:
        """Pull (..., 2) on the vehicle and on the anchor, N."""
        return namespace(self.pull).sqrt(namespace(self.pull).vecdot(self.pull, self.pull))
