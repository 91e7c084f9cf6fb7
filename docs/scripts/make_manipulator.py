# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/pick_up.png: an articulated arm picks a brick up from the sand.

Run with the package installed, with its extra `camera`:

    python docs/scripts/make_manipulator.py
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from marine_sim_ros.analysis.film import Cast, Film, FilmCamera, chase_camera, render_frames
from marine_sim_ros.analysis.film_sources import read_motion
from marine_sim_ros.bags.description import bodies_of, recorded_vehicle
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.appearance import Appearance

PICTURE = Path(__file__).parents[1] / 'pictures' / 'pick_up.png'
TIMES = (11.0, 16.0)
"""Of the pictures, s: before the gripper closes, and with the brick under way."""
RUN = (
    'simulate',
    'bluerov2_heavy',
    '--set',
    'arm:=true',
    '--set',
    'arm_dynamics:=articulated',
    '--environment',
    'brick_on_sand',
    '--scenario',
    'pick_up',
    '--duration',
    '17',
)


class Beside(FilmCamera):
    """A camera that stands on the starboard side of where the vehicle picks up."""

    def pose(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the eye (3,) in map, m, and v_map = R v_camera (3, 3), optical frame."""
        del state
        eye, at = np.array([0.75, -1.35, -4.25]), np.array([0.15, 0.0, -4.45])
        look = (at - eye) / np.linalg.norm(at - eye)
        right = np.cross(look, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return eye, np.column_stack([right, np.cross(look, right), look])


def main(recorded: str = '') -> None:
    """Draw it, of a run that is recorded, or of one that it records."""
    with TemporaryDirectory() as folder:
        if not recorded:
            recorded = str(Path(folder, 'run'))
            command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *RUN]
            done = subprocess.run([*command, '--record', recorded], check=False)
            if done.returncode not in (0, 1):  # 1: it ends before the scenario's last expectation
                sys.exit(f'pick_up failed with exit code {done.returncode}')
        bag, motions = read_motion(recorded, {})
        environment = load_environment('brick_on_sand')
        bodies = bodies_of(environment)
        (name,) = motions.keys() - bodies.keys()
        vehicle = recorded_vehicle(bag, name)
        assert vehicle is not None
        optics = replace(environment.optics, water_type='pure', sun=0.8)
        environment = replace(environment, optics=optics)
        looks = Appearance(vehicle)
        film = Film(
            Beside(*chase_camera(looks.parts(), 400, 450)),
            Cast(motions[name], looks, vehicle.thrusters),
            {n: Cast(motions[n], Appearance(b), b.thrusters) for n, b in bodies.items()},
            environment,
        )
        times = motions[name].stamps[0] + np.array(TIMES)
        pictures = [frame.image for frame in render_frames(film, times)]
    pillow = require('PIL.Image', 'the picture of the arm')
    pillow.fromarray(np.concatenate(pictures, axis=1)).quantize(256).save(PICTURE, optimize=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
