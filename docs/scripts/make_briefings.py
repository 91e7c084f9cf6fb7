# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw the pictures of the briefings, config/missions/*.jpg: the scripted pilot at work.

The outlines of the tasks are drawn over the rendered scene. Run with the package installed, with
its extra `camera`:

    python docs/scripts/make_briefings.py [LESSON ...]
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from marine_sim_ros.analysis.film import FilmCamera
from marine_sim_ros.core.state import State
from marine_sim_ros.sim.mission import load_mission, mission_scenery
from marine_sim_ros.tools import render

FOLDER = Path(__file__).parents[2] / 'config' / 'missions'
WIDTH, HEIGHT = 640, 360


class Shot(NamedTuple):
    """Time of the run, s, and place of the camera: behind, to port and above the vehicle, m."""

    time: float
    behind: float = 2.2
    port: float = 0.9
    above: float = 0.9


SHOTS = {
    'first_flight': Shot(12.0, 2.4, 1.2, 0.7),
    'hold_in_current': Shot(30.0),
    'wreck_inspection': Shot(20.0, 3.0, -1.5, 1.2),
    'pipeline_inspection': Shot(25.0, 2.6, 1.4, 1.2),
    'tether_round_piles': Shot(40.0, 3.0, 1.2, 0.9),
    'dock_in_green_water': Shot(25.0, 1.5, 0.5, 0.4),
    'valve_and_stab': Shot(13.0, 0.9, 0.9, 0.4),
    'thruster_failure': Shot(15.0, 2.6, 1.2, 1.2),
}


def _view(shot: Shot, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the eye (3,) in map, m, and v_map = R v_camera (3, 3), optical frame."""
    x, y, z, w = state.orientation
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    ahead, port = np.array([np.cos(yaw), np.sin(yaw), 0]), np.array([-np.sin(yaw), np.cos(yaw), 0])
    eye = state.position - shot.behind * ahead + shot.port * port + [0.0, 0.0, shot.above]
    eye[2] = min(eye[2], -0.15)
    look = state.position + 0.6 * ahead - eye
    look /= np.linalg.norm(look)
    right = np.cross(look, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return eye, np.column_stack([right, np.cross(look, right), look])


def _draw_outlines(
    picture: Image.Image, lesson: str, eye: np.ndarray, turn: np.ndarray, field: float
) -> None:
    """Draw the outlines of the tasks as a camera sees them; hidden ones too."""
    scale = WIDTH / 2 / np.tan(np.radians(field) / 2)
    brush = ImageDraw.Draw(picture)
    for task in mission_scenery(load_mission(lesson))['tasks']:
        for line in task['lines']:
            points = (np.array(line) - eye) @ turn
            for start, end in pairwise(points):
                if min(start[2], end[2]) > 0.2:
                    ends = [(WIDTH / 2 + scale * x / z, HEIGHT / 2 + scale * y / z)
                            for x, y, z in (start, end)]  # fmt: skip
                    brush.line(ends, fill=(255, 109, 0), width=2)


def draw(lesson: str, folder: str) -> None:
    """Fly the scripted pilot of a lesson, and draw the picture of its briefing."""
    path = FOLDER / f'{lesson}.jpg'
    if not path.exists():  # the mission is not read without it
        path.write_bytes(b'\xff\xd8\xff')
    recorded, frames = Path(folder, lesson), Path(folder, f'{lesson}_frames')
    mission, time = load_mission(lesson), SHOTS[lesson].time
    command = (
        *('simulate', mission.vehicle, '--scenario', mission.scenario, '--dt', '0.01'),
        *('--environment', mission.environment, '--duration', str(time + 0.2)),
        *(word for argument in mission.arguments for word in ('--set', argument)),
        *('--record', str(recorded)),
    )
    subprocess.run([sys.executable, '-m', 'marine_sim_ros.tools.main', *command], check=True)
    seen: list[tuple[np.ndarray, np.ndarray, float]] = []

    def pose(camera: FilmCamera, state: State) -> tuple[np.ndarray, np.ndarray]:
        seen[:] = [(*_view(SHOTS[lesson], state), camera.spec.field_of_view)]
        return seen[0][:2]

    setattr(FilmCamera, 'pose', pose)  # noqa: B010
    parser = ArgumentParser()
    render.add_arguments(parser)
    moment = ('--start', f'{time}', '--end', f'{time + 0.1}', '--fps', '5')
    view = ('--camera', 'chase', '--size', f'{WIDTH}x{HEIGHT}', '--frames', str(frames))
    render.execute(parser.parse_args([str(recorded), *moment, *view]))
    picture = Image.open(min(frames.glob('*.png'))).convert('RGB')
    _draw_outlines(picture, lesson, *seen[0])
    picture.save(path, quality=72, optimize=True)


def main() -> None:
    """Draw the pictures that are named, or all."""
    with TemporaryDirectory() as folder:
        for lesson in sys.argv[1:] or SHOTS:
            draw(lesson, folder)


if __name__ == '__main__':
    main()
