# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layouts of viewers, shipped for the namespace of the BlueROV2 and written for any other."""

from __future__ import annotations

import tempfile
from pathlib import Path

from marine_sim_ros.core.resources import resource_folder

__all__ = ['LAYOUTS', 'SHIPPED_NAMESPACE', 'layout_for']

LAYOUTS = {
    'rviz': 'rviz/vehicle.rviz',
    'foxglove': 'foxglove/vehicle.json',
    'plotjuggler': 'plotjuggler/vehicle.xml',
}
"""Files below ``config`` by viewer."""
SHIPPED_NAMESPACE = '/bluerov2'


def layout_for(viewer: str, namespace: str) -> Path:
    """Return a viewer's layout for the topics of a namespace (``/bluerov2``).

    It is the shipped file for the shipped namespace, and else a temporary copy of that.
    """
    shipped = resource_folder('config') / LAYOUTS[viewer]
    if namespace == SHIPPED_NAMESPACE:
        return shipped
    text = shipped.read_text(encoding='utf-8')
    text = text.replace(f'{SHIPPED_NAMESPACE}/', f'{namespace}/')
    name = f'{namespace.strip("/").replace("/", "_")}{shipped.suffix}'
    path = Path(tempfile.mkdtemp(prefix='marine_sim_')) / name
    path.write_text(text, encoding='utf-8')
    return path
