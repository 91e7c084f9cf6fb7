# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tethers: a cable of a kind in ``config/tethers``, and where a vehicle's one runs to."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.model.tether.reel import REEL, Reel, read_reel
from marine_sim_ros.model.tether.ship import Ship, read_ship
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader

__all__ = ['CABLES', 'FRESH_WATER', 'REEL', 'Cable', 'Reel', 'Tether', 'read_tether', 'reel_of']

SEGMENT = 3.0
"""m; wanted length of a segment, where a tether does not say how many it has."""
FEWEST, MOST = 10, 100
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
    usual = min(max(math.ceil(whole / SEGMENT), FEWEST), MOST)
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
