# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a scenario many times with varied parameters; write a dataset and a report."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.sweep.plan import SweepPlan, load_plan
from marine_sim_ros.sweep.results import (
    SweepDataset,
    parse_choice,
    run_alone,
    select_runs,
    write_run_bag,
    write_run_bags,
    write_sweep_report,
)
from marine_sim_ros.sweep.runs import seed_of
from marine_sim_ros.sweep.schedule import run_missing
from marine_sim_ros.tools.command_line import check_folder, progress_bar, show_waiting
from marine_sim_ros.tools.options import add_trust_option, count_argument, prepare_recording_folder

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument('sweep', metavar='SWEEP', help='shipped name or YAML file')
    parser.add_argument(
        '--out',
        default='',
        metavar='DIR',
        help='folder of the dataset and the report (default: out/sweep/NAME)',
    )
    parser.add_argument(
        '--scheduler',
        default='',
        metavar='ADDRESS',
        help='address of a running Dask scheduler, as in tls://HOST:8786 (default: workers of '
        'this machine)',
    )
    parser.add_argument(
        '--workers', type=count_argument(1024), help='worker processes (default: one per core)'
    )
    parser.add_argument(
        '--bags',
        default='',
        metavar='WHICH',
        help='write bags of runs to DIR/bags: all, or for example worst:3',
    )
    parser.add_argument('--run', type=int, default=-1, metavar='N', help='compute run N alone')
    parser.add_argument(
        '--record', default='', metavar='DIR', help='write bag and manifest.json of that run'
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an old recording')
    add_trust_option(parser)


def execute(options: argparse.Namespace) -> int:
    """Run what is missing; 1 when a run did not stay finite."""
    plan = load_plan(options.sweep)
    if options.run >= 0:
        return _run_one(options, plan)
    if options.record:
        raise ParameterError('--record: a recording is of one run; expected --run N with it')
    most = parse_choice(options.bags) if options.bags else 0
    name = Path(options.sweep).stem
    folder = Path(options.out or f'out/sweep/{name}')
    check_folder(folder, '--out')
    dataset = SweepDataset(folder, plan)
    start = time.perf_counter()
    with progress_bar('sweep', quiet=0.0) as told:
        ran = run_missing(
            plan, dataset, scheduler=options.scheduler, workers=options.workers, progress=told
        )
    with show_waiting('reading the runs, drawing the report'):
        columns = dataset.columns()
        write_sweep_report(folder, options.sweep, plan, columns)
    lost = int((~columns['finite']).sum())
    count, missed = len(columns['run']), int((~columns['as_expected']).sum())
    blocks = f'{ran} {"block" if ran == 1 else "blocks"}'
    print(f'{count} runs in {time.perf_counter() - start:.1f} s ({blocks} computed now)')
    print(f'{lost} of {count} runs broke off: their state grew without bound')
    print(f'{missed} of {count} runs missed what the scenario expects')
    print(f'report  {folder / "report.md"}\nruns    {folder / "runs"}')
    if most != 0:
        with progress_bar('bags') as told:
            wrote = write_run_bags(
                folder / 'bags', plan, select_runs(columns, plan.worst, most), told
            )
        print(f'{folder / "bags"}: {wrote} new')
    return 1 if lost else 0


def _run_one(options: argparse.Namespace, plan: SweepPlan) -> int:
    """Run one run of the sweep, and record it if requested; 1 when it broke off."""
    if options.record:
        prepare_recording_folder(options.record, overwrite=options.overwrite)
    case, trajectory = run_alone(plan, options.run)
    if options.record:
        write_run_bag(Path(options.record), plan, options.run, case, trajectory)
    for ok, text in case.scenario.verdicts(trajectory.time, trajectory.position[:, 2]):
        print(('holds:         ' if ok else 'does not hold: ') + text)
    end = ' '.join(f'{x:.6g}' for x in trajectory.position[-1])
    print(f'run {options.run}, seed {seed_of(plan, options.run)}: ends at {end}')
    last = float(trajectory.time[-1])
    if last < case.scenario.duration - plan.dt:
        print(f'the state is not finite after {last:g} s')
        return 1
    return 0
