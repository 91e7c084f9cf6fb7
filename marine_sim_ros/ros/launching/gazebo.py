# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Launch actions of Gazebo: its server, ros_gz_bridge, and the files that both read."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from launch.actions import ExecuteProcess, LogInfo
from launch_ros.actions import Node

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.ros_distribution import ros_packages
from marine_sim_ros.gazebo.bridge_file import control_service
from marine_sim_ros.gazebo.delivery import COMPILED, STOCK, chosen_delivery
from marine_sim_ros.gazebo.run_files import bridge_parameters, write_run
from marine_sim_ros.gazebo.server import WORKING_FOLDER, server_command, server_paths
from marine_sim_ros.ros.launching.required import required
from marine_sim_ros.sim.options import RunOptions

__all__ = ['gazebo_actions']


def _server(folder: Path, *, gui: bool, delivery: str) -> ExecuteProcess:
    if shutil.which('gz') is None:
        raise ParameterError(
            'backend:=gazebo: no command gz; expected Gazebo '
            f'(apt install {ros_packages("ros_gz")}) and its setup file sourced'
        )
    return ExecuteProcess(
        # The stock one starts with the first wrench.
        cmd=server_command(folder / 'world.sdf', gui=gui, run=delivery != STOCK),
        cwd=WORKING_FOLDER,
        output='screen',
        on_exit=required,
        additional_env=server_paths(compiled=delivery == COMPILED),
    )


def gazebo_actions(
    options: RunOptions, *, world: str = '', delivery: str = 'auto', gui: bool = False
) -> tuple[RunOptions, list[Any]]:
    """Return the options with which the suite follows Gazebo, and the actions that start it.

    Raises:
        MarineSimError: no Gazebo, or a world or a vehicle that cannot be used.
    """
    transport, why = chosen_delivery(delivery)
    if gui and not any(map(os.environ.get, ('DISPLAY', 'WAYLAND_DISPLAY'))):
        raise ParameterError(
            'gui:=true: no display (DISPLAY, WAYLAND_DISPLAY); expected gui:=false'
        )
    options = replace(options, gazebo={'delivery': transport})
    if transport == COMPILED:
        options = replace(options, engine='jax')
    folder = Path(tempfile.mkdtemp(prefix='marine_sim_gazebo_'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = write_run(options, folder, world=world, delivery=transport)
    bridge = Node(
        package='ros_gz_bridge',
        executable='parameter_bridge',
        name='ros_gz_bridge',
        parameters=[{'config_file': str(folder / 'ros_gz_bridge.yaml')}],
        arguments=[control_service(made.name)],
        output='screen',
        on_exit=required,
    )
    told = [LogInfo(msg=f'Gazebo: wrenches are delivered {transport}: {why}')]
    told += [LogInfo(msg=f'WARNING: {warning}') for warning in made.warnings]
    return (
        replace(options, gazebo=bridge_parameters(made, options.dt, delivery=transport)),
        [*told, _server(folder, gui=gui, delivery=transport), bridge],
    )
