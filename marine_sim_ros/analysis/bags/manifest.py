# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the manifest beside a bag says of a vehicle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.files import read_text_file

__all__ = ['recorded_parameters']


def recorded_parameters(bag: Path, namespace: str, *, alone: bool) -> dict[str, Any]:
    """Return the options with which a vehicle was run; empty where no manifest has them.

    Args:
        bag: path of the bag, from :func:`marine_sim_ros.analysis.bags.reading.bag_path`.
        namespace: namespace of the vehicle, without a slash at its ends.
        alone: whether the bag has no other vehicle. A manifest of one vehicle does not tell which
            of several it is: then only its environment counts.

    Raises:
        RecordingError: the manifest is no regular file, or too large to be one.
    """
    for folder in (bag, bag.parent, bag.parent.parent):
        try:
            content = json.loads(read_text_file(folder / 'manifest.json', RecordingError))
            if 'vehicles' in content:  # of a fleet
                return dict(content['vehicles'][f'/{namespace}']['parameters'])
            found = dict(content['parameters'])
        except RecordingError as error:
            if (folder / 'manifest.json').exists():
                raise error from None
            continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        return found if alone else {k: v for k, v in found.items() if k == 'environment'}
    return {}
