# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The files of a run in Gazebo: its world with the vehicle, and what ros_gz_bridge reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.stamps import step_nanoseconds
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.gazebo.bridge_file import bridge_text
from marine_sim_ros.gazebo.delivery import COMPILED
from marine_sim_ros.gazebo.world import GazeboWorld, absolute_uris, run_world
from marine_sim_ros.model.library import vehicle_of, vehicle_path
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sdf.poses import Pose
from marine_sim_ros.sdf.world import sdf_world
from marine_sim_ros.sim.graph import describe
from marine_sim_ros.sim.options import RunOptions

__all__ = ['bridge_parameters', 'start_of', 'write_run']

START = {'initial_position': [0.0, 0.0, -0.5], 'initial_rpy': [0.0, 0.0, 0.0]}
"""Where gazebo_bridge takes a vehicle to begin that nobody placed."""


def start_of(options: RunOptions) -> State:
    """Return the state in which the vehicle of a run begins, at rest."""
    start = {**START, **describe(options)[-1].parameters}
    turn = quaternion_from_rpy(*start['initial_rpy'])
    return State(np.array(start['initial_position'], float), turn, np.zeros(6))


def _world_text(options: RunOptions, file: str, folder: Path) -> tuple[str, str]:
    """Return the text of the world and where it is from; meshes go to a folder."""
    if file:
        path = expand_home(file)
        try:
            return absolute_uris(path.read_text(encoding='utf-8'), path), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(f'world:={file}: cannot be read: {error}') from None
    made = sdf_world('marine_sim', run_environment(options.environment), step=options.dt)
    for name, text in made.meshes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    return made.text, options.environment or 'still water'


def write_run(options: RunOptions, folder: Path, *, world: str, delivery: str) -> GazeboWorld:
    """Write world.sdf, its meshes and ros_gz_bridge.yaml into a folder.

    Args:
        options: options of the run.
        folder: existing folder.
        world: SDF file to put the vehicle into; empty: one made from the environment.
        delivery: ``in_server``, ``stock`` or ``compiled``.

    Raises:
        MarineSimError: a world or a vehicle that cannot be used.
    """
    vehicle = vehicle_of(options.named_vehicle())
    path = vehicle_path(options.vehicle)
    model = sdf_model(vehicle, source=str(path), base=path.parent, meshes='copy', fixed=True)
    model.meshes.copy_to(folder)
    text, source = _world_text(options, world, folder)
    place = start_of(options)
    run = folder / 'run.json' if delivery == COMPILED else None
    if run is not None:
        run.write_text(options.to_json(), encoding='utf-8')
    made = run_world(
        text,
        model.text,
        source=source,
        delivery=delivery,
        lockstep=options.lockstep,
        pose=Pose(place.position, place.orientation),
        step=step_nanoseconds(options.dt),
        gravity=run_environment(options.environment).gravity,
        real_time_factor=options.real_time_factor,
        run=run,
    )
    (folder / 'world.sdf').write_text(made.text, encoding='utf-8')
    namespace = describe(options)[-1].namespace
    bridge = bridge_text(delivery, namespace=namespace, model=made.model, world=made.name)
    (folder / 'ros_gz_bridge.yaml').write_text(bridge, encoding='utf-8')
    return made


def bridge_parameters(made: GazeboWorld, dt: float, *, delivery: str) -> dict[str, Any]:
    """Return the parameters of gazebo_bridge for a world of :func:`write_run` and a period, s."""
    return {
        'delivery': delivery,
        'world': made.name,
        'link': f'{made.model}::{made.link}',
        'impulse_ratio': step_nanoseconds(dt) / made.physics_step,
    }
