# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Optional packages of features, and the ROS 2 distribution of this environment.

Without extras the package needs NumPy, PyYAML, lxml, rich, xacro and urdf_parser_py.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from marine_sim_ros.core.errors import MissingPackageError, ParameterError

__all__ = [
    'PACKAGE_SOURCES',
    'check_middleware',
    'missing_package',
    'require',
    'require_all',
    'ros_packages',
]


# Import of optional packages, with a message on how to install a missing one.


class PackageSource(NamedTuple):
    """Sources of a package; empty where there is none.

    Attributes:
        pip: name on PyPI, with the versions that setup.cfg asks for.
        apt: package of Ubuntu 24.04.
        rosdep: key.
        extra: extra that brings it, and the others of its feature.
        oldest: first version, as numbers, that works.
    """

    pip: str
    apt: str = ''
    rosdep: str = ''
    extra: str = ''
    oldest: tuple[int, ...] = ()


def _same_source(name: str, pip: str = '', extra: str = '') -> PackageSource:
    return PackageSource(pip or name, f'python3-{name}', f'python3-{name}', extra)


PACKAGE_SOURCES = {
    'aiohttp': _same_source('aiohttp', extra='ardusub'),
    'aioice': PackageSource('aioice', 'python3-aioice'),  # which aiortc brings
    'aiortc': PackageSource('aiortc', 'python3-aiortc', extra='webrtc'),
    'av': PackageSource('av', 'python3-av', extra='video'),
    'collada': _same_source('collada', 'pycollada', 'hulls'),
    'contourpy': _same_source('matplotlib'),  # which brings it
    'cv2': PackageSource('opencv-python-headless', 'python3-opencv', 'python3-opencv'),
    'distributed': PackageSource('distributed', 'python3-distributed', extra='sweep'),
    'gsw': PackageSource('gsw', 'python3-gsw', extra='sensors'),
    'gymnasium': PackageSource('gymnasium', extra='rl'),
    'jax': PackageSource('jax>=0.6.2', extra='batch', oldest=(0, 6, 2)),
    'laspy': PackageSource('laspy', extra='survey'),
    'manifold3d': PackageSource('manifold3d', extra='hulls'),
    'matplotlib': _same_source('matplotlib'),
    'moderngl': PackageSource('moderngl', 'python3-moderngl', extra='camera'),
    'mujoco': PackageSource('mujoco', extra='mjcf'),
    'netCDF4': PackageSource('netCDF4', 'python3-netcdf4', 'python3-netcdf4', extra='geo'),
    'networkx': _same_source('networkx', extra='hulls'),
    'numba': PackageSource('numba', extra='hulls'),
    'nicegui': PackageSource('nicegui==3.18.0', extra='console'),
    'PIL': PackageSource('pillow', 'python3-pil', 'python3-pil'),
    'plotly': PackageSource('plotly', 'python3-plotly'),
    'psutil': _same_source('psutil'),
    'pxr': PackageSource('usd-core', extra='usd'),
    'pyarrow': PackageSource('pyarrow'),
    'pyproj': PackageSource('pyproj', 'python3-pyproj', extra='geo'),
    'pyxtf': PackageSource('pyxtf', extra='survey'),
    'rasterio': PackageSource('rasterio', 'python3-rasterio', extra='geo'),
    'pygame': PackageSource('pygame-ce', 'python3-pygame', extra='gamepad'),
    'pygeomag': PackageSource('pygeomag', extra='sensors'),
    'pymap3d': PackageSource('pymap3d', extra='sensors'),
    'pymavlink': PackageSource('pymavlink', extra='ardusub'),
    'rosbags': PackageSource('rosbags', rosdep='python3-rosbags-pip'),
    'scipy': _same_source('scipy'),
    'utide': PackageSource('utide', extra='tides'),
    'trimesh': PackageSource('trimesh', rosdep='python3-trimesh-pip', extra='hulls'),
}
"""Sources of packages by import name."""
_READ_SETTINGS = ('matplotlib', 'numba')
"""Packages that read a file of settings in the working folder when they are imported."""


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
        imported = _import_apart(module)
    except ModuleNotFoundError as error:  # any other ImportError: it is there, and broken
        raise missing_package((error.name or module).split('.')[0], feature) from None
    name = module.split('.')[0]
    source = PACKAGE_SOURCES.get(name)
    if source and source.oldest:
        version = importlib.import_module(name).__version__
        if tuple(map(int, re.findall(r'\d+', version)[:3])) < source.oldest:
            raise MissingPackageError(
                f'{feature}: the Python package {name} is of version {version}; '
                f'expected: pip install {shlex.quote(source.pip)}'
            )
    return imported


def _import_apart(module: str) -> Any:
    """Import a module without settings that somebody left in the working folder."""
    name = module.split('.')[0]
    if name not in _READ_SETTINGS or name in sys.modules:
        return importlib.import_module(module)
    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        folder = os.sep
    os.chdir(os.sep)
    try:
        return importlib.import_module(module)
    finally:
        os.chdir(folder)


def require_all(modules: Sequence[str], feature: str, extra: str) -> None:
    """Import all modules that a feature needs, so that one error names all that are missing.

    Args:
        modules: such as ``pyarrow``.
        feature: feature that needs them, for the message.
        extra: extra that brings them.

    Raises:
        MissingPackageError: some are not installed, or in a version that does not work.
    """
    missing = []
    for module in modules:
        try:
            require(module, feature)
        except MissingPackageError as error:
            missing.append((module, error))
    if len(missing) == 1:
        raise missing[0][1]
    if missing:
        names = ', '.join(name for name, _ in missing)
        wheels = shlex.join(PACKAGE_SOURCES[name].pip for name, _ in missing)
        raise MissingPackageError(
            f'{feature}: the Python packages {names} are not installed; expected: pip install '
            f'{wheels}; the extra [{extra}] brings all of them'
        )


def missing_package(name: str, feature: str) -> MissingPackageError:
    """Return the error for a feature that lacks a package, given by its import name."""
    source = PACKAGE_SOURCES.get(name, PackageSource(name))
    ways = [
        f'apt install {source.apt}' if source.apt else '',
        f'rosdep key {source.rosdep}' if source.rosdep else '',
        f'pip install {shlex.quote(source.pip)}',
    ]
    package = re.split('[<>=]', source.pip)[0]
    return MissingPackageError(
        f'{feature}: the Python package {package} is not installed; '
        f'expected: {", or ".join(command for command in ways if command)}'
        + (f'; the extra [{source.extra}] brings all of it' if source.extra else '')
    )


# ROS 2 distribution of this environment: names of its packages, and its middleware.

_DEFAULT = 'jazzy'
"""ROS distribution where no workspace is sourced."""


def ros_packages(*names: str) -> str:
    """Return the names that apt has for packages of ROS, such as ros-jazzy-ros2bag."""
    distribution = os.environ.get('ROS_DISTRO', '')
    if not re.fullmatch('[a-z]+', distribution):
        distribution = _DEFAULT
    return ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in names)


def check_middleware(what: str) -> None:
    """Raise ParameterError where RMW_IMPLEMENTATION names a middleware that is not installed.

    Args:
        what: command or option that needs ROS.
    """
    selected = os.environ.get('RMW_IMPLEMENTATION', '')
    installed = sorted(_installed_middleware())
    if selected and installed and selected not in installed:
        remedy = f'apt install {ros_packages(selected)}'
        if _ros_from_wheels():
            remedy = f'a workspace with {selected} (docs/start/ros2.md): PyPI has no wheel of it'
        raise ParameterError(
            f'{what}: RMW_IMPLEMENTATION is {selected}, which is not installed; expected one of: '
            f'{", ".join(installed)}; or {remedy}'
        )


def _ros_from_wheels() -> bool:
    """Return whether this Python's ROS is wheels, which cannot load packages of apt."""
    from importlib import metadata  # 15 ms that no node needs

    try:
        metadata.version('ros-wheels-bootstrapper')
    except metadata.PackageNotFoundError:
        return False
    return True


def _installed_middleware() -> set[str]:
    """Return the names that packages of middleware leave in the ament index."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    folders = (Path(p, 'share/ament_index/resource_index/rmw_typesupport') for p in prefixes if p)
    names = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return names - {'rmw_implementation'}  # which loads one of the others
