# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/valve_and_stab.png: the arm of a Heavy turns a valve of a panel.

Run with the package installed, with its extra `camera`:

    python docs/scripts/make_valve.py [RECORDED_RUN]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

PICTURE = Path(__file__).parents[1] / 'pictures' / 'valve_and_stab.png'
MISSION = ('mission', 'valve_and_stab', '--dt', '0.01', '--record')
TIME = 13.0
"""Of the picture, s: the handle is at 40 degrees."""


def marine_sim(*arguments: str) -> None:
    """Run the command."""
    subprocess.run([sys.executable, '-m', 'marine_sim_ros.tools.main', *arguments], check=True)


def main(recorded: str = '') -> None:
    """Draw it, of a run that is recorded, or of one that it records."""
    with TemporaryDirectory() as folder:
        if not recorded:
            recorded = str(Path(folder, 'run'))
            marine_sim(*MISSION, recorded)
        frames = Path(folder, 'frames')
        moment = ('--start', f'{TIME}', '--end', f'{TIME + 0.1}', '--fps', '5')
        view = ('--camera', 'chase', '--size', '960x540', '--frames', str(frames))
        marine_sim('render', recorded, *moment, *view)
        first = min(frames.glob('*.png'))
        Image.open(first).convert('RGB').quantize(128).save(PICTURE, optimize=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
