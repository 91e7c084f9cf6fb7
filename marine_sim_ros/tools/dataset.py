# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make a data set of labelled camera and sonar pictures by a plan, for COCO, YOLO and a bag."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from marine_sim_ros.dataset.formats import missing_blocks, open_folder, write_bag, write_formats
from marine_sim_ros.dataset.frames import FrameWriter
from marine_sim_ros.dataset.plan import MAX_FRAMES, DatasetPlan, load_dataset_plan, setup_of
from marine_sim_ros.dataset.views import draw_frame
from marine_sim_ros.sweep.schedule import run_blocks
from marine_sim_ros.tools.command_line import check_folder, progress_bar, show_waiting
from marine_sim_ros.tools.options import count_argument

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument('plan', metavar='PLAN', help='shipped name or YAML file')
    parser.add_argument(
        '-o',
        '--out',
        default='',
        metavar='DIR',
        help='folder of the data set (default: out/dataset/NAME); one that is incomplete is '
        'continued',
    )
    parser.add_argument(
        '--frames',
        type=count_argument(MAX_FRAMES),
        metavar='N',
        help="number of frames (default: the plan's)",
    )
    parser.add_argument(
        '--workers', type=count_argument(1024), help='worker processes (default: one per core)'
    )
    parser.add_argument(
        '--bag', action='store_true', help='write DIR/bag too, with a frame each second'
    )


def execute(options: argparse.Namespace) -> int:
    """Write what is missing of the data set."""
    plan, folder = _plan(options), Path(options.out or f'out/dataset/{Path(options.plan).stem}')
    check_folder(folder, '-o')
    with show_waiting('reading vehicle and scene'):
        setup = setup_of(plan)
        draw_frame(plan, setup, 0)  # says before the work begins what is wrong with the plan
    open_folder(folder, plan)
    start, missing = time.perf_counter(), missing_blocks(folder, plan)
    made = _write_frames(plan, folder, missing, options.workers or os.cpu_count() or 1)
    with show_waiting('writing the lists of objects'):
        counts = write_formats(folder, plan, setup)
    if options.bag:
        with show_waiting('writing the bag'):
            write_bag(folder, plan, setup)
    print(f'{plan.frames} frames, {made} of them made in {time.perf_counter() - start:.1f} s')
    for sensor, counted in counts.items():
        found = ', '.join(f'{counted[name]} {name}' for name in setup.categories)
        print(f'{sensor}: {found}')
    for name in setup.categories:
        if not any(counted[name] for counted in counts.values()):
            print(f'no picture shows {name}')
    print(
        f'pictures and labels  {folder}\nto look at           {folder / setup.sensors[0].name}.png'
    )
    return 0


def _plan(options: argparse.Namespace) -> DatasetPlan:
    """Return the plan with the number of frames that the command line has."""
    plan = load_dataset_plan(options.plan)
    return replace(plan, frames=options.frames) if options.frames else plan


def _write_frames(plan: DatasetPlan, folder: Path, blocks: list[int], workers: int) -> int:
    """Let workers write blocks of frames, and return how many frames they wrote."""
    made, shares = 0, dict.fromkeys(blocks, 0.0)
    with progress_bar('frames', quiet=0.0) as told:

        def report(number: int, share: float, stage: str) -> None:
            del stage
            shares[number] = share
            told(sum(shares.values()) / len(blocks))

        job = FrameWriter(plan, folder.absolute())
        with closing(run_blocks(job, blocks, workers, report)) as results:
            for number, count in results:
                made += count
                report(number, 1.0, '')
    return made
