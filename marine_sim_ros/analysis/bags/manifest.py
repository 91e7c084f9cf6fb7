# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the manifest beside a bag says of a vehicle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ['recorded_parameters']


def recorded_parameters(bag: Path, namespace: str, *, alone: bool) -> dict[str, Any]:
    """Return the options with which a vehicle was run; empty where no manifest has them.

    Args:
        bag: path of the bag, from :func:`marine_sim_ros.analysis.bags.reading.bag_path`.
        namespace: namespace of the vehicle, without a slash at its ends.
        alone: whether the bag has no other vehicle. A manifest of one vehicle does not tell which
            of several it is: then only its environment counts.
    """
    for folder in (bag, bag.parent, bag.parent.parent):
        try:
            content = json.loads((folder / 'manifest.json').read_text(encoding='utf-8'))
            if 'vehicles' in content:  # of a fleet
                return dict(content['vehicles'][f'/{namespace}']['parameters'])
            found = dict(content['parameters'])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return found if alone else {k: v for k, v in found.items() if k == 'environment'}
    return {}
