# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Weights and keywords of the site's search: pages that help come before those that explain.

The search (lunr, in the browser) counts a word in a title 1,000 times as much as in the text, and
one of the keywords 1,000,000 times (fields of the search plugin of mkdocs-material).
"""

from __future__ import annotations

__all__ = ['EXPECTED', 'KEYWORDS', 'WEIGHTS', 'keywords_of', 'weight_of']

WEIGHTS = {
    'reference/api': 0.0005,
    'explanation/decisions': 0.0005,
    'explanation': 0.5,
    'reference': 2.0,
    'how-to': 4.0,
    'start': 4.0,
    'tutorials': 4.0,
    '': 1.0,
}
"""Factor of each folder. A title of the API weighs less than a sentence of a guide."""

KEYWORDS = {
    'start/index.md': 'install setup requirements',
    'start/linux.md': 'ubuntu debian apt',
    'start/python.md': 'pip pypi wheels virtualenv venv activate',
    'start/ros2.md': 'colcon workspace rosdep source jazzy',
    'start/machines.md': 'docker container',
    'tutorials/drive.md': 'first run pwm thruster',
    'tutorials/vehicle.md': 'my own vehicle vehicles robot custom urdf model rov auv boat',
    'tutorials/control.md': 'controller setpoint closed loop step response',
    'tutorials/sweep.md': 'parquet monte carlo uncertainty parameter study',
    'tutorials/bags.md': 'bag rosbag log report',
    'how-to/analyse-bags.md': 'record recording recordings rosbag bag mcap plot report csv '
    'export bin log',
    'how-to/ardusub.md': 'ardupilot px4 mavlink qgroundcontrol mission pixhawk sitl autopilot',
    'how-to/bring-your-stack.md': 'driver drivers hardware protocol dvl ping360 nmea hil',
    'how-to/camera.md': 'film films video movie image picture camera segmentation labels',
    'how-to/check-a-vehicle.md': 'doctor validate mistakes',
    'how-to/console.md': 'browser gui dashboard web replay joystick',
    'how-to/extend.md': 'plugin plugins entry point package',
    'how-to/faults.md': 'failure failures broken thruster fault',
    'how-to/gazebo.md': 'gz sim harmonic',
    'how-to/gripper.md': 'gripper manipulator arm grasp payload',
    'how-to/hulls.md': 'hull cad mesh stl buoyancy',
    'how-to/identify.md': 'drag coefficients added mass system identification fit bin tlog '
    'log logs',
    'how-to/import-a-vehicle.md': 'import convert sdf uuv vrx stonefish mujoco usd',
    'how-to/label-pictures.md': 'dataset datasets data set labels label mask masks box boxes coco '
    'yolo detector annotation synthetic training segmentation',
    'how-to/learning.md': 'reinforcement learning gym gymnasium policy',
    'how-to/localization.md': 'ekf kalman estimator navigation odometry',
    'how-to/many-vehicles.md': 'fleet swarm batch gpu jax multi',
    'how-to/several-machines.md': 'cluster dask distributed network',
    'how-to/terrain.md': 'terrain bathymetry site geotiff gebco soundings xyz tif',
    'how-to/train.md': 'train trainer training lesson lessons pilot dock docking',
    'how-to/missions.md': 'mission missions task score',
    'how-to/teleop.md': 'gamepad gamepads joystick joy keyboard xbox playstation',
    'how-to/tune.md': 'tune tuning gain gains pid bandwidth overshoot oscillation',
    'how-to/write-a-controller.md': 'write own controller controllers control law node',
    'reference/bags.md': 'metrics topics',
    'reference/commands.md': 'cli command exit code',
    'reference/control.md': 'waypoint waypoints path trajectory setpoints station keeping depth',
    'reference/environments.md': 'wave waves current currents obstacle obstacles wreck seabed '
    'pipeline terrain bathymetry pool water wind',
    'reference/fleets.md': 'fleet namespace',
    'reference/messages.md': 'error errors warning message messages traceback help port in use '
    'address',
    'reference/parameters.md': 'options launch arguments parameters voltage',
    'reference/performance.md': 'speed slow real time factor',
    'reference/sensors.md': 'sonar sonars battery imu dvl gps usbl altimeter barometer '
    'magnetometer lidar noise multibeam sidescan adcp ins lbl hydrophone pinger modem xtf '
    'geotiff mosaic',
    'reference/topics.md': 'topic topics service services message',
    'reference/missions.md': 'docking gate inspect penalty',
    'reference/vehicles.md': 'otter remus glider bluerov2 heavy investigator auv wamv boat',
    'explanation/otter.md': 'otter',
    'explanation/tether.md': 'tether cable umbilical reel',
}
"""Words that people search for, by the page that helps; several pages may have the same."""

EXPECTED = {
    'sonar': ('reference/sensors.md',),
    'waypoints': ('reference/control.md',),
    'battery': ('reference/sensors.md',),
    'film': ('how-to/camera.md',),
    'training data': ('how-to/label-pictures.md',),
    'dataset': ('how-to/label-pictures.md',),
    'datasets': ('how-to/label-pictures.md',),
    'segmentation': ('how-to/camera.md',),
    'parquet': ('tutorials/sweep.md',),
    'my own vehicle': ('tutorials/vehicle.md',),
    'gamepad': ('how-to/teleop.md',),
    'waves': ('reference/environments.md',),
    'current': ('reference/environments.md',),
    'record': ('how-to/analyse-bags.md',),
    'obstacle': ('reference/environments.md',),
    'tuning': ('how-to/tune.md',),
    'error': ('reference/messages.md',),
    'port in use': ('reference/messages.md',),
    'bin': ('how-to/identify.md', 'how-to/analyse-bags.md'),
    'docking': ('reference/missions.md', 'how-to/train.md'),
    'terrain': ('how-to/terrain.md', 'reference/environments.md'),
    'lesson': ('how-to/train.md',),
    'otter': ('explanation/otter.md', 'reference/vehicles.md'),
    'own controller': ('how-to/write-a-controller.md',),
}
"""Pages of which one is to come first, by what is searched for."""


def weight_of(path: str) -> float:
    """Return the factor of a page, such as ``how-to/camera.md``: that of its longest folder."""
    folders = [f for f in WEIGHTS if not f or path.startswith(f'{f}/')]
    return WEIGHTS[max(folders, key=len)]


def keywords_of(path: str) -> list[str]:
    """Return the keywords of a page."""
    return KEYWORDS.get(path, '').split()
