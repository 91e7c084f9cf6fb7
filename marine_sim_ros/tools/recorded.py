# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion and commands of the vehicles of a bag, for the verbs that compute with them."""

from __future__ import annotations

from collections.abc import Sequence

from marine_sim_ros.analysis.bags.mapping import check_maps, parse_maps
from marine_sim_ros.analysis.bags.reading import Bag, read
from marine_sim_ros.analysis.bags.vehicle import VehicleRecord
from marine_sim_ros.identification.bag import Collector
from marine_sim_ros.tools.progress import bar

__all__ = ['read_collectors']


def read_collectors(path: str, maps: Sequence[str]) -> tuple[Bag, dict[str, Collector]]:
    """Return a bag, read with a progress bar, and a filled collector for each of its vehicles.

    Args:
        path: of a bag or a log.
        maps: words of ``--map``.

    Raises:
        MarineSimError: the bag cannot be read, or a map names no topic of it.
    """
    wanted, collectors = parse_maps(maps), dict[str, Collector]()

    def rows(record: VehicleRecord) -> Collector:
        collectors[record.name] = Collector(record)
        return collectors[record.name]

    with bar('reading') as told:
        bag = read(path, maps=wanted, rows=rows, progress=told)
    check_maps(wanted, {topic for topic, _, _ in bag.topics})
    return bag, {name: collectors[name] for name in bag.vehicles}
