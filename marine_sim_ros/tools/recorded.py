# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion and commands of the vehicles of a bag, for the verbs that compute with them."""

from __future__ import annotations

from collections.abc import Sequence

from marine_sim_ros.bags.reading import Bag, read_bag
from marine_sim_ros.bags.vehicle_record import VehicleRecord, check_maps, parse_maps
from marine_sim_ros.identification.recording import MotionCollector
from marine_sim_ros.tools.progress import progress_bar

__all__ = ['read_collectors']


def read_collectors(path: str, maps: Sequence[str]) -> tuple[Bag, dict[str, MotionCollector]]:
    """Return a bag, read with a progress bar, and a filled collector for each of its vehicles.

    Args:
        path: of a bag or a log.
        maps: words of ``--map``.

    Raises:
        MarineSimError: the bag cannot be read, or a map names no topic of it.
    """
    wanted, collectors = parse_maps(maps), dict[str, MotionCollector]()

    def rows(record: VehicleRecord) -> MotionCollector:
        collectors[record.name] = MotionCollector(record)
        return collectors[record.name]

    with progress_bar('reading') as told:
        bag = read_bag(path, maps=wanted, rows=rows, progress=told)
    check_maps(wanted, {topic for topic, _, _ in bag.topics})
    return bag, {name: collectors[name] for name in bag.vehicles}
