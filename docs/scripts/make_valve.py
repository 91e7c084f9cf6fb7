# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw the pictures of vehicles that move bodies: valves, a trolley, a pontoon.

Run with the package installed, with its extra `camera`; names of pictures (default: all), each
with the recording of its run if there is one:

    python docs/scripts/make_valve.py [PICTURE[=RECORDING] ...]
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from PIL import Image

from marine_sim_ros.analysis.film import FilmCamera
from marine_sim_ros.tools import render

PICTURES = Path(__file__).parents[1] / 'pictures'
JAWS = ('--set', 'arm:=true', '--set', 'gripper:=jaws', '--dt', '0.01')


class Shot(NamedTuple):
    """A moment of a run.

    Attributes:
        run: arguments of the command, without the recording.
        time: s.
        eye: place of a camera that stands still, map, m; None: it follows the vehicle.
        target: point that it looks at, map, m.
    """

    run: tuple[str, ...]
    time: float
    eye: tuple[float, float, float] | None = None
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pose of the camera that stands still."""
        eye = np.array(self.eye)
        ahead = (np.array(self.target) - eye) / np.linalg.norm(np.array(self.target) - eye)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return eye, np.column_stack([right, np.cross(ahead, right), ahead])


def _simulated(vehicle: str, environment: str, scenario: str, *more: str) -> tuple[str, ...]:
    return (
        *('simulate', vehicle, '--environment', environment, '--scenario', scenario),
        *(*more, '--record'),
    )


SHOTS = {
    'valve_and_stab': Shot(('mission', 'valve_and_stab', '--dt', '0.01', '--record'), 13.0),
    'jaws_on_valve': Shot(
        _simulated('bluerov2_heavy', 'valve_panel', 'turn_valve', *JAWS), 15.5,
        (1.25, -1.05, -3.45), (1.9, 0.05, -3.8),
    ),
    'trolley': Shot(
        _simulated('bluerov2', 'rails', 'push_trolley', '--dt', '0.02'), 8.0,
        (1.2, -2.4, -2.9), (1.9, 0.0, -3.7),
    ),
    'berth': Shot(
        _simulated('otter', 'harbour', 'berth', '--dt', '0.02'), 30.0,
        (1.0, -7.0, 2.6), (7.0, 0.0, 0.1),
    ),
}  # fmt: skip


def draw(shot: Shot, recorded: str, picture: Path) -> None:
    """Draw a moment of a run that is recorded, or of one that is run here."""
    with TemporaryDirectory() as folder:
        if not recorded:
            recorded = str(Path(folder, 'run'))
            command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *shot.run, recorded]
            subprocess.run(command, check=True)
        frames = Path(folder, 'frames')
        moment = ('--start', f'{shot.time}', '--end', f'{shot.time + 0.1}', '--fps', '5')
        view = ('--camera', 'chase', '--size', '960x540', '--frames', str(frames))
        parser = ArgumentParser()
        render.add_arguments(parser)
        following = FilmCamera.pose
        if shot.eye is not None:
            setattr(FilmCamera, 'pose', lambda *_: shot.pose())  # noqa: B010
        render.execute(parser.parse_args([recorded, *moment, *view]))
        setattr(FilmCamera, 'pose', following)  # noqa: B010
        first = min(frames.glob('*.png'))
        Image.open(first).convert('RGB').quantize(128).save(picture, optimize=True)


def main(*wanted: str) -> None:
    """Draw the pictures by their names, or all."""
    for text in wanted or tuple(SHOTS):
        name, _, recorded = text.partition('=')
        draw(SHOTS[name], recorded, PICTURES / f'{name}.png')


if __name__ == '__main__':
    main(*sys.argv[1:])
