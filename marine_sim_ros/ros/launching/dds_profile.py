# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A profile of Fast DDS for the processes of a run: config/dds/fast_dds_*.xml."""

from __future__ import annotations

import os
from pathlib import Path

from marine_sim_ros.core.resources import resource_folder
from marine_sim_ros.ros.launching.middleware import fast_dds_version, uses_fast_dds

__all__ = ['dds_profile']

_VARIABLES = {2: 'FASTRTPS_DEFAULT_PROFILES_FILE', 3: 'FASTDDS_DEFAULT_PROFILES_FILE'}
"""By the major version of Fast DDS, each of which refuses the spelling of the other."""
_LOCAL = ('DEFAULT_FASTRTPS_PROFILES.xml', 'DEFAULT_FASTDDS_PROFILES.xml')
"""Files that Fast DDS reads in the folder where a process starts."""


def dds_profile() -> dict[str, str]:
    """Return the environment for nodes to find each other soon, and to send few heartbeats.

    Empty for other middleware, where no Fast DDS is found, and where the user has profiles.
    """
    own = any(os.environ.get(name) for name in _VARIABLES.values())
    if own or any(Path(name).exists() for name in _LOCAL) or not uses_fast_dds():
        return {}
    version = fast_dds_version()
    if version is None:
        return {}
    return {_VARIABLES[version]: str(resource_folder('config') / f'dds/fast_dds_{version}.xml')}
