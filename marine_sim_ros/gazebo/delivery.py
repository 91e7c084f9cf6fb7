# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The ways a wrench gets to Gazebo, and which of them a machine can go."""

from __future__ import annotations

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.gazebo.installed import has_binding, has_module, plugin_folders

__all__ = [
    'COMPILED',
    'DELIVERIES',
    'IN_SERVER',
    'STOCK',
    'chosen_delivery',
    'missing_for_in_server',
]

IN_SERVER, STOCK, COMPILED = 'in_server', 'stock', 'compiled'
DELIVERIES = ('auto', IN_SERVER, STOCK, COMPILED)

_LOADER = 'libgz-sim-python-system-loader-system.so'
_MODULES = ('gz.sim', 'gz.transport', 'gz.msgs', 'gz.math', 'sdformat')
"""Without the numbers that they have up to Gazebo Ionic."""


def missing_for_in_server() -> list[str]:
    """Return what the in-server transport needs and this machine lacks."""
    found = any((folder / _LOADER).is_file() for folder in plugin_folders())
    missing = [] if found else [f'the system {_LOADER}']
    return missing + [f'the Python module {m}' for m in _MODULES if not has_binding(m)]


def chosen_delivery(asked: str) -> tuple[str, str]:
    """Return ``in_server``, ``stock`` or ``compiled``, and why, in words for the user.

    Args:
        asked: one of ``DELIVERIES``; ``auto`` takes ``in_server`` where all it needs is there.

    Raises:
        ParameterError: another word, or ``compiled`` where something that it needs is missing.
    """
    if asked not in DELIVERIES:
        raise ParameterError(f'delivery:={asked}; expected one of: {", ".join(DELIVERIES)}')
    if asked not in ('auto', COMPILED):
        return asked, 'as requested'
    missing = missing_for_in_server()
    if asked == COMPILED:
        missing += [] if has_module('jax') else ["the Python module jax (extra 'batch')"]
        if missing:
            raise ParameterError(
                f'delivery:=compiled: {", ".join(missing)}: not found; expected them, or '
                'delivery:=auto'
            )
        return asked, 'as requested'
    if missing:
        return STOCK, f'{", ".join(missing)}: not found'
    return IN_SERVER, 'its loader and modules are here'
