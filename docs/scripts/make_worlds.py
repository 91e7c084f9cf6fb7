# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes worlds/ and its meshes from config/environments: ``make worlds``, or run it.

The meshes, 5 MB each, are not committed; set-up and ``colcon build`` run this.
"""

from __future__ import annotations

import sys
from pathlib import Path

from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sdf.world import sdf_world

HERE = Path(__file__).resolve().parents[2] / 'worlds'
WORLDS = {'sand': 'shallow_sand', 'rock': 'deep_rock', 'pool': 'pool', 'grid': 'test_grid'}


def main(folder: Path = HERE) -> None:
    """Write all worlds and their meshes into a folder."""
    for name, environment in WORLDS.items():
        comment = (
            f'Written by docs/scripts/make_worlds.py from config/environments/{environment}.yaml.'
        )
        world = sdf_world(name, load_environment(environment), comment)
        for file, text in {f'{name}.sdf': world.text, **world.meshes}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_text(encoding='utf-8') != text:
                path.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(*map(Path, sys.argv[1:]))
