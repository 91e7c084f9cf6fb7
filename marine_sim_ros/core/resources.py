# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the files that come with the package: from the source, or installed by pip or colcon."""

from __future__ import annotations

from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError

__all__ = ['resource_folder']


def resource_folder(name: str) -> Path:
    """Return the folder ``urdf``, ``config``, ``worlds`` or ``launch``.

    It lies beside the package in the source (a checkout, an editable installation, colcon with
    ``--symlink-install``), in the package where pip installed it, and in the ament index where
    colcon did.

    Raises:
        MarineSimError: it is in none of these places.
    """
    package = Path(__file__).resolve().parents[1]
    beside, within = package.parent, package / 'share'
    # Beside an installed package lie the packages of others, which may have such a name.
    checkout = (beside / 'package.xml').is_file()
    for folder in (within / name, *([beside / name] if checkout else [])):
        if folder.is_dir():
            return folder
    try:
        from ament_index_python.packages import get_package_share_directory

        share = Path(get_package_share_directory('marine_sim_ros')) / name
        if share.is_dir():
            return share
    except (ImportError, LookupError, ValueError, OSError):  # OSError: no AMENT_PREFIX_PATH
        pass
    raise MarineSimError(
        f'the folder {name!r} of marine_sim_ros is not installed; expected it in {within}, in '
        f'{beside} (a checkout), or in the ament index (source the workspace)'
    )
