# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""USD read in a process of its own: files that break usd-core, or never end, end only that."""

from __future__ import annotations

from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.processes import Limits, answer_request, call_isolated
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.usd import read_stage
from marine_sim_ros.importers.usd_shapes import pxr

__all__ = ['USD_SUFFIXES', 'read_usd']

USD_SUFFIXES = ('.usd', '.usda', '.usdc', '.usdz')
_LIMITS = Limits(seconds=60, address_space=8 << 30)
"""A scene of composed references may need any amount."""


def read_usd(path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of a USD file.

    Args:
        options: what to take; ``model`` names the vehicle or one of its bodies.

    Raises:
        ModelError: it cannot be read, or has no such vehicle.
        MissingPackageError: usd-core is not installed.
    """
    pxr('Tf')
    answer = call_isolated(__name__, (path, options), f'{path}: usd-core', _LIMITS, ModelError)
    assert isinstance(answer, VehicleBuilder)
    return answer


if __name__ == '__main__':
    answer_request(read_stage, ModelError)
