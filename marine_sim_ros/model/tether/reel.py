# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reels at the anchor of a tether, and winches in ``config/reels`` with what their makers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.model.xml import Reader

__all__ = ['REEL', 'REELS', 'Reel', 'Winch', 'read_reel']

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
