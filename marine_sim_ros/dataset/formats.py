# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of a whole data set: COCO, YOLO, a sheet of pictures with boxes, a bag, a description.

COCO: https://cocodataset.org/#format-data; masks are run lengths, as pycocotools reads them. YOLO:
a text file for each picture, and ``data.yaml`` with the names of the classes.
"""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from marine_sim_ros.bags.trajectory_writer import write_views
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.core.text import markdown_row
from marine_sim_ros.dataset.frames import FRAMES_PER_BLOCK, frame_file, write_whole
from marine_sim_ros.dataset.plan import AREAS, DatasetPlan, Setup
from marine_sim_ros.sensors.sensor_model import Readings

__all__ = ['SPLITS', 'missing_blocks', 'open_folder', 'write_bag', 'write_formats']

SPLITS = ('train', 'val', 'test')
_SHEET = (4, 3)
"""Columns and rows of the sheet of pictures."""
_CELL = 320
"""Width of a picture of the sheet, pixels."""
_BOX_COLOURS = ('#e69f00', '#56b4e9', '#009e73', '#f0e442', '#cc79a7', '#d55e00', '#ffffff')
"""Colours that the colour-blind tell apart (Okabe and Ito 2008), and white for dark blue."""


def open_folder(folder: Path, plan: DatasetPlan) -> None:
    """Make the folder of a data set, or open the one that has this plan, of any number of frames.

    Raises:
        ParameterError: it holds another data set, or other files.
        RecordingError: it cannot be written.
    """
    note = folder / 'plan.json'
    try:
        if note.is_file():
            before = {**json.loads(note.read_text(encoding='utf-8')), 'frames': plan.frames}
            if before != json.loads(plan.to_json()):
                raise ParameterError(
                    f'{folder}: holds another data set (see plan.json); expected a new folder'
                )
        elif folder.exists() and any(folder.iterdir()):
            raise ParameterError(f'{folder}: has other files; expected a new folder')
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, 'strerror', None) or 'plan.json is damaged'
        raise RecordingError(f'{folder}: cannot be read: {reason}') from None
    write_whole(note, plan.to_json().encode())


def missing_blocks(folder: Path, plan: DatasetPlan) -> list[int]:
    """Return the numbers of the blocks that lack a frame."""
    lacking = (n for n in range(plan.frames) if not frame_file(folder, n).is_file())
    return sorted({number // FRAMES_PER_BLOCK for number in lacking})


def _frames(folder: Path, plan: DatasetPlan) -> Iterator[dict[str, Any]]:
    """Yield what the files of the frames say, in order."""
    for number in range(plan.frames):
        content: dict[str, Any] = json.loads(frame_file(folder, number).read_text('utf-8'))
        yield content


def write_formats(folder: Path, plan: DatasetPlan, setup: Setup) -> dict[str, Counter[str]]:
    """Write the files of all frames together.

    Returns:
        By sensor, the number of objects of each class.

    Raises:
        RecordingError: a file that cannot be written.
    """
    frames = list(_frames(folder, plan))
    counts = {}
    for sensor in setup.sensors:
        name = sensor.name
        for split in SPLITS:
            chosen = [f for f in frames if f['split'] == split]
            content = json.dumps(_coco(plan, setup, name, chosen))
            write_whole(folder / name / f'coco_{split}.json', content.encode())
            lines = ''.join(f'images/{Path(f["pictures"][name]["file"]).name}\n' for f in chosen)
            write_whole(folder / name / f'{split}.txt', lines.encode())
        names = dict(enumerate(setup.categories))
        data = {**{split: f'{split}.txt' for split in SPLITS}, 'names': names}
        write_whole(folder / name / 'data.yaml', yaml.safe_dump(data, sort_keys=False).encode())
        write_whole(folder / f'{name}.png', _sheet(folder, setup, name, frames))
        counts[name] = Counter(o['class'] for f in frames for o in f['pictures'][name]['objects'])
    write_whole(folder / 'README.md', _description(plan, setup, frames, counts).encode())
    return counts


def _coco(
    plan: DatasetPlan, setup: Setup, sensor: str, frames: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the pictures, classes and objects of a sensor as COCO has them."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for frame in frames:
        picture = frame['pictures'][sensor]
        size = [picture['height'], picture['width']]
        images.append(
            {
                'id': frame['frame'],
                'file_name': f'images/{Path(picture["file"]).name}',
                'height': size[0],
                'width': size[1],
            }
        )
        for found in picture['objects']:
            annotations.append(
                {
                    'id': len(annotations) + 1,
                    'image_id': frame['frame'],
                    'category_id': setup.number(found['class']),
                    'bbox': found['box'],
                    'area': found['area'],
                    'iscrowd': 0,
                    'segmentation': {'size': size, 'counts': found['mask']},
                    'instance': found['name'],
                    'range': found['range'],
                    'truncated': found['truncated'],
                }
            )
    categories = [
        {'id': setup.number(name), 'name': name, 'supercategory': 'object'}
        for name in setup.categories
    ]
    return {
        'info': {'description': plan.description, 'version': '1', 'contributor': 'marine_sim_ros'},
        'licenses': [],
        'images': images,
        'categories': categories,
        'annotations': annotations,
    }


def _sheet(folder: Path, setup: Setup, sensor: str, frames: list[dict[str, Any]]) -> bytes:
    """Return a sheet of pictures, evenly chosen, with their boxes, as PNG."""
    image, draw = (require(f'PIL.{m}', 'sheet of a data set') for m in ('Image', 'ImageDraw'))
    columns, rows = _SHEET
    count = min(columns * rows, len(frames))
    chosen = [frames[i * len(frames) // count] for i in range(count)]
    first = chosen[0]['pictures'][sensor]
    scale = _CELL / first['width']
    height = round(scale * first['height'])
    across, down = min(columns, count), -(-count // columns)
    sheet = image.new('RGB', (across * _CELL, down * height))
    for i, frame in enumerate(chosen):
        picture = frame['pictures'][sensor]
        with image.open(folder / picture['file']) as file:
            shown = file.convert('RGB').resize((_CELL, height))
        pen = draw.Draw(shown)
        for found in picture['objects']:
            left, top, width, tall = (scale * x for x in found['box'])
            colour = _BOX_COLOURS[(setup.number(found['class']) - 1) % len(_BOX_COLOURS)]
            pen.rectangle([left, top, left + width, top + tall], outline=colour, width=2)
            text_top = top + tall - 14 if top < 14 else top - 12
            pen.text((left + 3, text_top), found['class'], fill=colour)
        sheet.paste(shown, (i % columns * _CELL, i // columns * height))
    output = io.BytesIO()
    sheet.save(output, 'PNG')
    return output.getvalue()


def _description(
    plan: DatasetPlan,
    setup: Setup,
    frames: list[dict[str, Any]],
    counts: Mapping[str, Counter[str]],
) -> str:
    """Return the text of the data set's README."""
    splits = Counter(frame['split'] for frame in frames)
    lines = [
        f'# {plan.description or "Data set of labelled pictures"}',
        '',
        f'{plan.frames} frames of {plan.vehicle} in {plan.environment}, seed {plan.seed}: '
        + ', '.join(f'{splits[split]} {split}' for split in SPLITS)
        + '. Made by `marine_sim dataset`; `plan.json` is its plan.',
        '',
        '| file | content |',
        '|---|---|',
        '| `frames/NNNNNN.json` | pose of the vehicle, numbers that vary, calibration, objects '
        'with box, mask and pose in the frame of the sensor (REP 103) |',
        '| `SENSOR/images` | pictures |',
        '| `SENSOR/objects` | 16-bit number of the object that a pixel sees, as in `frames` |',
        '| `SENSOR/classes` | number of the class that a pixel sees, below |',
        '| `SENSOR/depth` | of a camera: depth along its axis, mm; 0: nothing within 65.535 m |',
        '| `SENSOR/beams` | of a sonar: levels of its beams (rows) over range (columns) |',
        '| `SENSOR/labels`, `SENSOR/data.yaml` | boxes for YOLO; its classes count from 0 |',
        '| `SENSOR/coco_SPLIT.json` | objects for COCO, masks as run lengths |',
        '',
        '## Classes',
        '',
        markdown_row(['number', 'class', *(f'objects in {name}' for name in counts)]),
        markdown_row(['---'] * (2 + len(counts))),
    ]
    for name in setup.categories:
        cells = [str(setup.number(name)), name, *(str(c[name]) for c in counts.values())]
        lines.append(markdown_row(cells))
    for name in AREAS:
        lines.append(markdown_row([str(setup.number(name)), name, *('–' for _ in counts)]))
    return '\n'.join([*lines, '', 'Number 0 is water, sky, or what is too faint to be seen.', ''])


# Bag of a data set: a second for each frame.


def write_bag(folder: Path, plan: DatasetPlan, setup: Setup) -> None:
    """Write ``bag``: odometry and the topics of the sensors, of a frame each second.

    Raises:
        RecordingError: it cannot be written, or pictures are JPEG, which are not what sensors
            publish.
    """
    if plan.pictures != 'png':
        raise RecordingError('data set: a bag has the pictures themselves; expected pictures: png')
    if (folder / 'bag').exists():
        shutil.rmtree(folder / 'bag')
    views = (
        (
            frame['frame'] * NANOSECONDS,
            State(np.array(frame['position']), np.array(frame['orientation']), np.zeros(6)),
            {sensor.name: _readings(folder, sensor.name, frame) for sensor in setup.sensors},
        )
        for frame in _frames(folder, plan)
    )
    write_views(folder, setup.vehicle, setup.sensors, views)


def _readings(folder: Path, sensor: str, frame: Mapping[str, Any]) -> Readings:
    """Return the readings of a picture from its files."""
    image = require('PIL.Image', 'bag of a data set')

    def values(part: str) -> np.ndarray:
        with image.open(folder / sensor / part / f'{frame["frame"]:06d}.png') as file:
            return np.asarray(file)

    if (folder / sensor / 'beams').is_dir():
        return {'image': values('beams')}
    depth = values('depth') / np.float32(1000.0)
    right = {'right': values('right')} if (folder / sensor / 'right').is_dir() else {}
    return {
        **right,
        'image': values('images'),
        'depth': np.where(depth > 0, depth, np.float32(np.inf)),
        'segmentation': values('objects').astype(np.uint16),
    }
