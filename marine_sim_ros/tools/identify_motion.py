# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""``identify --fit``: chosen numbers of a vehicle from whole motions of several recordings."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.number_paths import number_at
from marine_sim_ros.core.text import aligned_columns, json_text
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.identification.motion_fit import MotionFit, fit_motion
from marine_sim_ros.identification.parameters import FITS, OF_RECORDINGS
from marine_sim_ros.identification.prediction import stretches_of
from marine_sim_ros.identification.recording import (
    MotionCollector,
    MotionRecording,
    recording_of_bag,
)
from marine_sim_ros.identification.table_recordings import (
    COLUMN_MAPS,
    is_table,
    recording_of_table,
)
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.tools.progress import progress_bar

__all__ = ['fit_recordings', 'print_motion_fit']


def fit_recordings(
    options: argparse.Namespace, vehicle: Vehicle, collector: Callable[[str], MotionCollector]
) -> int:
    """Fit and report; 1 where nothing could be told.

    Args:
        vehicle: the vehicle that made the recordings.
        collector: function that reads a bag.
    """
    parameters = FITS.load(options.fit)
    for parameter in parameters:
        for path in parameter.paths:
            if path not in OF_RECORDINGS:
                number_at(vehicle, path)
    recordings = [_recording(options, vehicle, path, collector) for path in options.bags]
    with progress_bar('fitting') as told, precision('float64'):
        stretches = stretches_of(recordings, options.stretch)
        water = run_environment(water_density=options.water_density)
        found = fit_motion(vehicle, parameters, stretches, progress=told, environment=water)
    if options.json:
        print(json_text({'vehicle': vehicle.name, **found.to_dict()}, indent=2))
    else:
        print_motion_fit(vehicle, found)
    return 0 if any(not reason for reason in found.reasons) else 1


def _recording(
    options: argparse.Namespace,
    vehicle: Vehicle,
    path: str,
    collector: Callable[[str], MotionCollector],
) -> MotionRecording:
    if not is_table(path):
        return recording_of_bag(collector(path), path, tuple(options.current))
    if not options.columns:
        raise ParameterError(f'{path}: --columns is missing; expected what its columns mean')
    return recording_of_table(path, COLUMN_MAPS.load(options.columns), vehicle.thrusters)


def print_motion_fit(vehicle: Vehicle, found: MotionFit) -> None:
    """Print values with intervals, and what the recordings cannot tell."""
    print(f'{vehicle.name}: {found.seconds:.0f} s in {found.stretches} stretches')
    print()
    rows = [('parameter', 'value', '95 %', 'unit', 'before')]
    for p, v, h, reason in zip(
        found.parameters, found.values, found.half, found.reasons, strict=True
    ):
        before = f'{p.prior:.4g} ± {1.96 * p.deviation:.2g}'
        if reason:
            rows.append((p.name, 'not observable', '', '', before))
        else:
            rows.append((p.name, f'{v:.4g}', f'± {h:.2g}', p.unit, before))
    print('\n'.join(aligned_columns(rows)))
    for p, reason in zip(found.parameters, found.reasons, strict=True):
        if reason:
            print(f'not observable: {p.name}: {reason}')
    for text in found.contradictions:
        print(f'doubtful: {text}')
    if not found.settled:
        print('doubtful: the fit had not settled when it ended')
