# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging, for colcon (ament_python) and for pip alike."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = 'marine_sim_ros'
NODES = ('force', 'sensor', 'thrusters', 'buoyancy', 'drag', 'barometer', 'dynamics',
         'gazebo_bridge', 'scenario', 'teleop', 'recorder', 'markers', 'console', 'manipulator',
         'controller', 'boundary', 'contact', 'composed')  # fmt: skip


def data_files() -> list[tuple[str, list[str]]]:
    """Return the resource folders, as they are, below share/<package>."""
    found = {
        'share/ament_index/resource_index/packages': [f'resource/{NAME}'],
        f'share/{NAME}': ['package.xml'],
    }
    for top in ('launch', 'config', 'urdf', 'worlds'):
        for path in sorted(p for p in Path(top).rglob('*') if p.is_file()):
            if '__pycache__' not in path.parts:
                found.setdefault(f'share/{NAME}/{path.parent}', []).append(str(path))
    return list(found.items())


setup(
    name=NAME,
    version='0.1.0',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={
        f'{NAME}.analysis.report': ['*.css', '*.js'],
        f'{NAME}.console.page': ['*.css', '*.js', 'lib/*.js'],
    },
    data_files=data_files(),
    python_requires='>=3.10',
    install_requires=['setuptools'],
    extras_require={
        'test': ['pytest'],  # makes `colcon test` run pytest
        'batch': ['jax'],  # `marine_sim simulate --engine jax`, batches
        'console': ['nicegui==3.18.0'],  # the operator's page
        'sweep': ['dask', 'distributed', 'jax', 'pyarrow'],  # `marine_sim sweep`
        'rl': ['gymnasium', 'jax'],  # `marine_sim_ros.gym`, environments for learning
        'parquet': ['pyarrow'],  # `marine_sim analyze` writes csv without it
    },
    zip_safe=False,
    description='Underwater vehicle simulation for ROS 2, in lockstep',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'marine_sim = marine_sim_ros.tools.main:main',
            *(f'{node} = {NAME}.nodes.{node}:main' for node in NODES),
        ],
    },
)
