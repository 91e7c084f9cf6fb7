# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A profile of Fast DDS for the processes of a run: config/dds/graph.xml."""

from __future__ import annotations

import os
from pathlib import Path

from marine_sim_ros.core.resources import resource_folder

__all__ = ['dds_profile']

_VARIABLES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
"""Of Fast DDS 2 and 3."""
_LOCAL = 'DEFAULT_FASTRTPS_PROFILES.xml'
"""A file that Fast DDS reads in the folder where a process starts."""


def dds_profile() -> dict[str, str]:
    """Return the environment for nodes to find each other soon, and to send few heartbeats.

    Empty where the user has profiles of their own. Other middleware does not read it.
    """
    if any(os.environ.get(name) for name in _VARIABLES) or Path(_LOCAL).exists():
        return {}
    return dict.fromkeys(_VARIABLES, str(resource_folder('config') / 'dds/graph.xml'))
