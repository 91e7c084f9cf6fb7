# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imports packages that only some features need; where one is missing, says how to get it.

The core runs with NumPy, PyYAML, lxml, rich, xacro and urdf_parser_py.
"""

from __future__ import annotations

import importlib
import re
import shlex
from typing import Any, NamedTuple

from marine_sim_ros.core.errors import MissingPackageError

__all__ = ['SOURCES', 'Source', 'missing', 'require']


class Source(NamedTuple):
    """Where a package comes from; empty where it is not there.

    Attributes:
        pip: name on PyPI, with the versions that setup.cfg asks for.
        apt: package of Ubuntu 24.04.
        rosdep: key.
        extra: extra that brings it, and the others of its feature.
        below: first version, as numbers, that does not work.
    """

    pip: str
    apt: str = ''
    rosdep: str = ''
    extra: str = ''
    below: tuple[int, ...] = ()


def _everywhere(name: str, pip: str = '', extra: str = '') -> Source:
    return Source(pip or name, f'python3-{name}', f'python3-{name}', extra)


SOURCES = {
    'av': Source('av', 'python3-av', extra='video'),
    'collada': _everywhere('collada', 'pycollada', 'hulls'),
    'cv2': Source('opencv-python-headless', 'python3-opencv', 'python3-opencv'),
    'distributed': Source('distributed', 'python3-distributed', extra='sweep'),
    'gymnasium': Source('gymnasium', extra='rl'),
    'jax': Source('jax>=0.6.2,<0.7', extra='batch', below=(0, 7)),
    'manifold3d': Source('manifold3d', extra='hulls'),
    'matplotlib': _everywhere('matplotlib'),
    'moderngl': Source('moderngl', 'python3-moderngl', extra='camera'),
    'mujoco': Source('mujoco', extra='mjcf'),
    'networkx': _everywhere('networkx', extra='hulls'),
    'nicegui': Source('nicegui==3.18.0', extra='console'),
    'PIL': Source('pillow', 'python3-pil', 'python3-pil'),
    'plotly': Source('plotly', 'python3-plotly'),
    'psutil': _everywhere('psutil'),
    'pxr': Source('usd-core', extra='usd'),
    'pyarrow': Source('pyarrow'),
    'pygeomag': Source('pygeomag', extra='sensors'),
    'pymap3d': Source('pymap3d', extra='sensors'),
    'pymavlink': Source('pymavlink', extra='ardusub'),
    'rosbags': Source('rosbags', rosdep='python3-rosbags-pip'),
    'scipy': _everywhere('scipy'),
    'trimesh': Source('trimesh', rosdep='python3-trimesh-pip', extra='hulls'),
}
"""By the name that is imported."""


def require(module: str, feature: str) -> Any:
    """Import a module that a feature needs.

    Args:
        module: such as ``scipy.optimize``.
        feature: feature that needs it, for the message.

    Raises:
        MissingPackageError: it, or a package that it needs itself, is not installed, or in a
            version that does not work.
    """
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:  # any other ImportError: it is there, and broken
        raise missing((error.name or module).split('.')[0], feature) from None
    name = module.split('.')[0]
    source = SOURCES.get(name)
    if source and source.below:
        version = importlib.import_module(name).__version__
        if tuple(map(int, version.split('.')[:2])) >= source.below:
            raise MissingPackageError(
                f'{feature}: the Python package {name} is of version {version}; '
                f'expected: pip install {shlex.quote(source.pip)}'
            )
    return found


def missing(name: str, feature: str) -> MissingPackageError:
    """Return what to raise where a feature lacks a package, which is known by its import name."""
    source = SOURCES.get(name, Source(name))
    ways = [
        f'apt install {source.apt}' if source.apt else '',
        f'rosdep key {source.rosdep}' if source.rosdep else '',
        f'pip install {shlex.quote(source.pip)}',
    ]
    package = re.split('[<>=]', source.pip)[0]
    return MissingPackageError(
        f'{feature}: the Python package {package} is not installed; '
        f'expected: {", or ".join(way for way in ways if way)}'
        + (f'; the extra [{source.extra}] brings all of it' if source.extra else '')
    )
