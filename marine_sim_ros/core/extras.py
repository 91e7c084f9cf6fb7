# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imports packages that only some features need; where one is missing, says how to get it.

The core runs with NumPy, PyYAML, lxml, rich, xacro and urdf_parser_py.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from marine_sim_ros.core.errors import MissingPackageError

__all__ = ['SOURCES', 'Source', 'missing', 'require']


class Source(NamedTuple):
    """Where a package comes from; empty where it is not there.

    Attributes:
        pip: name on PyPI.
        apt: package of Ubuntu 24.04.
        rosdep: key.
    """

    pip: str
    apt: str = ''
    rosdep: str = ''


def _everywhere(name: str, pip: str = '') -> Source:
    return Source(pip or name, f'python3-{name}', f'python3-{name}')


SOURCES = {
    'av': Source('av', 'python3-av'),
    'collada': _everywhere('collada', 'pycollada'),
    'cv2': Source('opencv-python-headless', 'python3-opencv', 'python3-opencv'),
    'distributed': Source('distributed', 'python3-distributed'),
    'gymnasium': Source('gymnasium'),
    'jax': Source('jax'),
    'manifold3d': Source('manifold3d'),
    'matplotlib': _everywhere('matplotlib'),
    'moderngl': Source('moderngl', 'python3-moderngl'),
    'networkx': _everywhere('networkx'),
    'nicegui': Source('nicegui==3.18.0'),  # as in setup.cfg
    'PIL': Source('pillow', 'python3-pil', 'python3-pil'),
    'plotly': Source('plotly', 'python3-plotly'),
    'psutil': _everywhere('psutil'),
    'pyarrow': Source('pyarrow'),
    'pygeomag': Source('pygeomag'),
    'pymap3d': Source('pymap3d'),
    'pymavlink': Source('pymavlink'),
    'rosbags': Source('rosbags', rosdep='python3-rosbags-pip'),
    'scipy': _everywhere('scipy'),
    'trimesh': Source('trimesh', rosdep='python3-trimesh-pip'),
}
"""By the name that is imported."""


def require(module: str, feature: str) -> Any:
    """Import a module that a feature needs.

    Args:
        module: such as ``scipy.optimize``.
        feature: feature that needs it, for the message.

    Raises:
        MissingPackageError: it, or a package that it needs itself, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:  # any other ImportError: it is there, and broken
        raise missing((error.name or module).split('.')[0], feature) from None


def missing(name: str, feature: str) -> MissingPackageError:
    """Return what to raise where a feature lacks a package, which is known by its import name."""
    source = SOURCES.get(name, Source(name))
    ways = [
        f'apt install {source.apt}' if source.apt else '',
        f'rosdep key {source.rosdep}' if source.rosdep else '',
        f'pip install {source.pip}',
    ]
    return MissingPackageError(
        f'{feature}: the Python package {source.pip} is not installed; '
        f'expected: {", or ".join(way for way in ways if way)}'
    )
