# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""System of ``delivery:=compiled`` inside Gazebo's server, found by its Python loader.

gazebo/compiled_system.py computes the forces; it needs this package and JAX, which are imported
when the system is created, so that one line names what is missing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ['get_system']


def get_system() -> Any:
    """Return the system; the loader calls this."""
    from marine_sim_lockstep import Gazebo, system_of  # beside this file

    def make() -> Any:
        return import_module('marine_sim_ros.gazebo.compiled_system').CompiledSystem(Gazebo())

    version = '.'.join(map(str, sys.version_info[:2]))
    expected = (
        f"marine_sim_ros with the extra 'batch', and Gazebo's bindings, for Python {version}, "
        "which is the server's; or delivery:=in_server"
    )
    return system_of(make, 'marine_sim_compiled', expected)
