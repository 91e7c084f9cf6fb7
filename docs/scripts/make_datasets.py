# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make docs/pictures/dataset_camera.png and dataset_sonar.png: sheets of data sets that ship."""

import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from marine_sim_ros.dataset.formats import missing_blocks, open_folder, write_formats
from marine_sim_ros.dataset.frames import FrameWriter
from marine_sim_ros.dataset.plan import load_dataset_plan, setup_of

PICTURES = Path(__file__).parents[1] / 'pictures'
FRAMES = 12


def sheet(name: str, sensor: str, colours: int) -> Image.Image:
    """Return the sheet of the first frames of a data set, in few colours."""
    plan = replace(load_dataset_plan(name), frames=FRAMES)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        open_folder(out, plan)
        write = FrameWriter(plan, out)
        for block in missing_blocks(out, plan):
            write(block, lambda share, stage: None)
        write_formats(out, plan, setup_of(plan))
        with Image.open(out / f'{sensor}.png') as file:
            return file.convert('RGB').quantize(colours)


if __name__ == '__main__':
    sheet('wreck', 'camera', 128).save(PICTURES / 'dataset_camera.png', optimize=True)
    sheet('sonar_targets', 'imaging_sonar', 32).save(PICTURES / 'dataset_sonar.png', optimize=True)
