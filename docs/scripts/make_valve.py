# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/valve_and_stab.png: the arm of a Heavy turns a valve of a panel, by a push.

Also jaws_on_valve.png: the jaws grip the valve, and the wrist turns it; from beside them.
Run with the package installed, with its extra `camera`:

    python docs/scripts/make_valve.py [RECORDED_MISSION [RECORDED_GRIP]]
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from marine_sim_ros.analysis.film import FilmCamera
from marine_sim_ros.core.state import State
from marine_sim_ros.tools import render

PICTURE = Path(__file__).parents[1] / 'pictures' / 'valve_and_stab.png'
GRIP_PICTURE = PICTURE.with_name('jaws_on_valve.png')
MISSION = ('mission', 'valve_and_stab', '--dt', '0.01', '--record')
GRIP = (
    *('simulate', 'bluerov2_heavy', '--set', 'arm:=true', '--set', 'gripper:=jaws'),
    *('--environment', 'valve_panel', '--scenario', 'turn_valve', '--dt', '0.01', '--record'),
)
GRIP_TIME = 15.5
EYE, TARGET = np.array([1.25, -1.05, -3.45]), np.array([1.9, 0.05, -3.8])
"""Place of the camera beside the panel, and a point that it looks at, map, m."""
TIME = 13.0
"""Of the picture, s: the handle is at 40 degrees."""


def marine_sim(*arguments: str) -> None:
    """Run the command."""
    subprocess.run([sys.executable, '-m', 'marine_sim_ros.tools.main', *arguments], check=True)


def view_from_beside(_: FilmCamera, __: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose of a camera that stands still."""
    ahead = (TARGET - EYE) / np.linalg.norm(TARGET - EYE)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return EYE, np.column_stack([right, np.cross(ahead, right), ahead])


def draw(recorded: str, run: tuple[str, ...], time: float, picture: Path) -> None:
    """Draw a moment (s) of a run that is recorded, or of one that it records."""
    with TemporaryDirectory() as folder:
        if not recorded:
            recorded = str(Path(folder, 'run'))
            marine_sim(*run, recorded)
        frames = Path(folder, 'frames')
        moment = ('--start', f'{time}', '--end', f'{time + 0.1}', '--fps', '5')
        view = ('--camera', 'chase', '--size', '960x540', '--frames', str(frames))
        parser = ArgumentParser()
        render.add_arguments(parser)
        render.execute(parser.parse_args([recorded, *moment, *view]))
        first = min(frames.glob('*.png'))
        Image.open(first).convert('RGB').quantize(128).save(picture, optimize=True)


def main(mission: str = '', grip: str = '') -> None:
    """Draw both."""
    draw(mission, MISSION, TIME, PICTURE)
    setattr(FilmCamera, 'pose', view_from_beside)  # noqa: B010
    draw(grip, GRIP, GRIP_TIME, GRIP_PICTURE)


if __name__ == '__main__':
    main(*sys.argv[1:])
