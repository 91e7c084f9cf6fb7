# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging, for pip and for colcon (ament_python) alike."""

from setuptools import setup

setup(
    name='net_drag',
    version='0.1.0',
    description='A towed net, a speed log and a vehicle for marine_sim_ros',
    license='Apache-2.0',
    packages=['net_drag', 'net_drag.vehicles'],
    package_data={'net_drag.vehicles': ['*.urdf']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/net_drag']),
        ('share/net_drag', ['package.xml']),
    ],
    install_requires=['setuptools'],
    zip_safe=False,
    entry_points={
        'marine_sim_ros.forces': ['net = net_drag.net:NET'],
        'marine_sim_ros.sensors': ['speed_log = net_drag.speed_log:SPEED_LOG'],
        'marine_sim_ros.vehicles': ['net_drag = net_drag.vehicles'],
    },
)
