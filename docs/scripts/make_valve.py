# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw the pictures and films of vehicles that move bodies: valves, a trolley, a pontoon.

Run with the package installed, with its extras `camera` and `video`; names of pictures (default:
all), each with the recording of its run if there is one:

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
FILMS = Path(__file__).parents[1] / 'films'
FILES = {
    'lift.yaml': '[{at: 1.0, winches: [{name: hook, rate: 0.3}]},'
    ' {at: 6.1, winches: [{name: hook, rate: 0.0}]},'
    ' {at: 8.0, winches: [{name: hook, rate: -0.2}]},'
    ' {at: 20.0, winches: [{name: hook, rate: 0.0}]}]',
    'meet.yaml': '{duration: 10.0, segments: [{at: 0.0, control: {x: 0.0, y: 0.0, z: -2.0}}]}',
    'head_on.yaml': '{collisions: true, vehicles: ['
    '{vehicle: bluerov2, name: west, scenario: meet.yaml, initial: {position: [-2, 0, -2]}},'
    '{vehicle: bluerov2, name: east, scenario: meet.yaml,'
    ' initial: {position: [2, 0, -2], rpy: [0, 0, 180 deg]}}]}',
}
"""Those that the pages show, which runs name."""
JAWS = ('--set', 'arm:=true', '--set', 'gripper:=jaws', '--dt', '0.01')


class Shot(NamedTuple):
    """Moments of a run, and its film.

    Attributes:
        run: arguments of the command, without the recording.
        times: s; four are in two rows.
        film: start and end of its film, s; none: no film.
        eye: place of a camera that stands still, map, m; None: it follows the vehicle.
        target: point that it looks at, map, m.
    """

    run: tuple[str, ...]
    times: tuple[float, ...]
    film: tuple[float, ...] = ()
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
    'valve_and_stab': Shot(('mission', 'valve_and_stab', '--dt', '0.01', '--record'), (13.0,)),
    'valve_film': Shot(
        _simulated('bluerov2_heavy', 'valve_panel', 'turn_valve', *JAWS), (8.0, 13.0, 17.0, 25.0),
        (6.0, 26.0), (1.0, -1.15, -3.35), (1.85, 0.05, -3.8),
    ),
    'stab_film': Shot(
        _simulated('bluerov2_heavy', 'hot_stab', 'plug_stab', *JAWS), (4.5, 11.0, 13.0, 17.0),
        (2.0, 18.0), (1.25, -1.05, -3.65), (1.75, 0.05, -3.95),
    ),
    'crane_film': Shot(
        _simulated('bluerov2', 'crane', 'lift', '--dt', '0.01', '--changes', 'lift.yaml'),
        (2.0, 7.0, 12.0, 18.0), (0.0, 22.0), (-1.6, -4.0, -3.9), (1.6, 0.0, -4.05),
    ),
    'head_on_film': Shot(
        ('run', '--fleet', 'head_on.yaml', '--composed', '--record'), (3.2, 4.2, 5.2, 9.0),
        (1.0, 10.0), (0.0, -1.9, -1.3), (0.0, 0.0, -1.95),
    ),
    'trolley_film': Shot(
        _simulated('bluerov2', 'rails', 'push_trolley', '--dt', '0.02'), (2.0, 6.0, 10.0, 14.0),
        (0.0, 16.0), (1.3, -3.6, -2.6), (2.3, 0.0, -3.8),
    ),
    'berth': Shot(
        _simulated('otter', 'harbour', 'berth', '--dt', '0.02'), (30.0,),
        (10.0, 40.0), (1.0, -7.0, 2.6), (7.0, 0.0, 0.1),
    ),
}  # fmt: skip


def draw(shot: Shot, recorded: str, name: str) -> None:
    """Draw moments and film of a run that is recorded, or of one that is run here."""
    with TemporaryDirectory() as folder:
        if not recorded:
            recorded = str(Path(folder, 'run'))
            for file, text in FILES.items():
                Path(folder, file).write_text(text)
            command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *shot.run, recorded]
            subprocess.run(command, check=True, cwd=folder)
        following = FilmCamera.pose
        if shot.eye is not None:
            setattr(FilmCamera, 'pose', lambda *_: shot.pose())  # noqa: B010
        stills = [_still(recorded, time, Path(folder, f'{time}')) for time in shot.times]
        if shot.film:
            start, end = shot.film
            _render(
                recorded, start, end, '--fps', '15', '--size', '640x360', '--speed', '2',
                '-o', str(FILMS / f'{name}.mp4'),
            )  # fmt: skip
        setattr(FilmCamera, 'pose', following)  # noqa: B010
        if len(stills) > 1:
            stills = [still.resize((640, 360), Image.Resampling.LANCZOS) for still in stills]
        width, height = stills[0].size
        across = min(len(stills), 2)
        whole = Image.new('RGB', (width * across, height * (len(stills) // across)))
        for i, still in enumerate(stills):
            whole.paste(still, (width * (i % 2), height * (i // 2)))
        whole.quantize(128).save(PICTURES / f'{name}.png', optimize=True)


def _render(recorded: str, start: float, end: float, *more: str) -> None:
    """Render a part of a recording, s, from the camera of a shot."""
    part = ('--start', f'{start}', '--end', f'{end}', '--camera', 'chase')
    parser = ArgumentParser()
    render.add_arguments(parser)
    render.execute(parser.parse_args([recorded, *part, *more]))


def _still(recorded: str, time: float, frames: Path) -> Image.Image:
    """Return the picture of a recording at a time, s, that is drawn into a folder."""
    view = ('--fps', '5', '--size', '960x540', '--frames', str(frames))
    _render(recorded, time, time + 0.1, *view)
    return Image.open(min(frames.glob('*.png'))).convert('RGB')


def main(*wanted: str) -> None:
    """Draw the pictures and films by their names, or all."""
    for text in wanted or tuple(SHOTS):
        name, _, recorded = text.partition('=')
        draw(SHOTS[name], recorded, name)


if __name__ == '__main__':
    main(*sys.argv[1:])
