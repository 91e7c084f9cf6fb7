# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the files that come with the package, installed by colcon or used from the source."""

from __future__ import annotations

from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError

__all__ = ['resource_folder']


def resource_folder(name: str) -> Path:
    """Return the folder ``urdf``, ``config``, ... of the package.

    Raises:
        MarineSimError: it is neither beside the package nor in the ament index.
    """
    beside = Path(__file__).resolve().parents[2] / name
    if beside.is_dir():
        return beside
    try:
        from ament_index_python.packages import get_package_share_directory

        share = Path(get_package_share_directory('marine_sim_ros')) / name
    except (ImportError, LookupError):
        share = beside
    if share.is_dir():
        return share
    raise MarineSimError(
        f'the folder {name!r} of marine_sim_ros is not installed; expected it at {beside} or in '
        'the ament share directory (source the workspace, or run from a checkout)'
    )
