# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Find drag, added mass and rotor lag of the vehicle that made a bag, without ROS."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marine_sim_ros.bags.description import (
    described_environment,
    described_vehicle,
    recorded_parameters,
    recorded_voltage,
    shipped_arguments,
)
from marine_sim_ros.bags.reading import bag_path
from marine_sim_ros.bags.vehicle_record import is_body
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.schema import number_at
from marine_sim_ros.core.text import aligned_columns, json_text
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.identification.fit import (
    DEFAULT_STRETCH,
    Estimate,
    Identification,
    fitted_tags,
    fitted_urdf,
    identify_vehicle,
)
from marine_sim_ros.identification.parameters import FITS, OF_RECORDINGS, PARAMETER_KINDS
from marine_sim_ros.identification.recording import (
    MotionCollector,
    MotionRecording,
    read_collectors,
    recording_of_bag,
    samples_of,
)
from marine_sim_ros.identification.table_recordings import (
    COLUMN_MAPS,
    is_table,
    recording_of_table,
)
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.tools.command_line import check_writable, progress_bar, write_file
from marine_sim_ros.tools.options import (
    add_map_argument,
    add_option,
    number_argument,
    parse_set_options,
)

__all__ = ['add_arguments', 'execute', 'print_motion_fit']

if TYPE_CHECKING:
    from marine_sim_ros.identification.motion_fit import MotionFit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        'bags',
        metavar='RECORDING',
        nargs='+',
        help='rosbag2 folder or file, or a folder of --record; with --fit several, '
        'and .npz or .csv files',
    )
    parser.add_argument(
        '--fit',
        default='',
        metavar='FILE',
        help='fit the parameters of a YAML file, or of one of config/identification, to whole '
        'motions; needs JAX',
    )
    parser.add_argument(
        '--columns',
        default='',
        metavar='FILE',
        help='what the columns of .npz and .csv files mean: a YAML file, or one of '
        'config/recordings',
    )
    parser.add_argument(
        '--vehicle',
        default='',
        metavar='URDF',
        help='shipped name or file: masses, centres, thrusters (default: the recorded one)',
    )
    add_option(parser, 'vehicle_arguments')
    parser.add_argument(
        '--voltage',
        type=number_argument(0.1, 1e4, 'V'),
        default=0.0,
        metavar='VOLTS',
        help='supply voltage of the thrusters, V (default: the recorded one)',
    )
    add_map_argument(parser)
    parser.add_argument(
        '--namespace',
        default=None,
        metavar='NAME',
        help='namespace of the vehicle, if the bag has several',
    )
    parser.add_argument(
        '--from',
        dest='begin',
        type=float,
        metavar='S',
        help='begin of the span to use, since the first odom, s',
    )
    parser.add_argument('--to', dest='end', type=float, metavar='S', help='end of that span, s')
    parser.add_argument(
        '--current',
        type=number_argument(-100.0, 100.0, 'm/s'),
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=('E', 'N', 'UP'),
        help='velocity of the water in map, m/s',
    )
    parser.add_argument(
        '--water-density',
        type=number_argument(500.0, 2000.0, 'kg/m³, about 1000 in fresh water, 1025 in the sea'),
        default=0.0,
        metavar='KG_M3',
        help='density of the water of the run, kg/m³ (default: that of the recorded water, '
        'else of the description)',
    )
    parser.add_argument(
        '--stretch',
        type=float,
        default=DEFAULT_STRETCH,
        metavar='S',
        help=f'length of a stretch that is simulated in one piece (default {DEFAULT_STRETCH:g})',
    )
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')
    parser.add_argument(
        '--urdf',
        default='',
        metavar='FILE',
        help='write the whole description with the identified values',
    )
    parser.add_argument(
        '--plot', default='', metavar='FILE', help='write a PNG of measured and fitted velocities'
    )


def execute(options: argparse.Namespace) -> int:
    """Fit and report; 1 where no coefficient is observable."""
    _check(options)
    vehicle = _vehicle(options)
    if options.fit:
        return fit_recordings(options, vehicle, lambda path: _collector(options, path))
    if len(options.bags) > 1:
        raise ParameterError(
            f'{len(options.bags)} recordings; expected one, or --fit with parameters'
        )
    collector = _collector(options, options.bags[0])
    water, current = _recorded_water(options, options.bags[0], collector.record.name)
    with progress_bar('fitting') as told:
        samples = samples_of(
            collector,
            vehicle,
            current=current,
            span=(options.begin, options.end),
            environment=water,
        )
        found = identify_vehicle(vehicle, samples, length=options.stretch, progress=told)
    if options.urdf:
        write_file(Path(options.urdf), fitted_urdf(vehicle, found), '--urdf')
    if options.plot:
        from marine_sim_ros.analysis.run_figures import fit_figure

        title = f'{vehicle.name}: velocity, measured and fitted'
        fit_figure(Path(options.plot), found.time, found.measured, found.fitted, title=title)
    if options.json:
        print(json_text({'vehicle': vehicle.name, **found.to_dict()}, indent=2))
    else:
        _print(vehicle, found)
    return (
        0 if any(e.observable for kind in PARAMETER_KINDS for e in found.estimates_of(kind)) else 1
    )


def _recorded_water(
    options: argparse.Namespace, path: str, namespace: str
) -> tuple[Environment, tuple[float, float, float]]:
    """Return the water of a recording at rest, and its steady current in map, m/s.

    They are those of the recorded environment, or of the options. What is assumed is printed.

    Raises:
        MarineSimError: the manifest's entries are none.
    """
    east, north, up = options.current
    current = east, north, up
    recorded = recorded_parameters(bag_path(path), namespace, alone=True)
    if options.water_density or not recorded:
        return run_environment(water_density=options.water_density), current
    notes = sys.stderr if options.json else sys.stdout
    try:
        environment = described_environment(recorded)
    except RecordingError as error:
        print(f'{path}: {error}; the density is taken for that of the vehicle', file=notes)
        return run_environment(), current
    if not any(current):
        east, north, up = environment.current.tolist()
        current = east, north, up
    if not replace(environment, current=np.zeros(3)).is_still:
        print(f'{path}: {environment.name} moves; it is taken as still', file=notes)
    density = environment.water_density or 0.0
    if density:
        name = environment.name or 'the recording'
        print(f'{path}: density of {name}, {density:.5g} kg/m³', file=notes)
    return run_environment(water_density=density, gravity=environment.gravity), current


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before the recordings are read."""
    if not 0.2 <= options.stretch <= 600:
        raise ParameterError(f'--stretch is {options.stretch:g}; expected 0.2 to 600 s')
    for flag, value in (('--urdf', options.urdf), ('--plot', options.plot)):
        if value and options.fit:
            raise ParameterError(f'{flag}: --fit writes no such file; expected one of the two')
        if value:
            source = Path(options.vehicle) if options.vehicle else None
            check_writable(Path(value), flag, source=source)
    span = {'--from': options.begin, '--to': options.end}
    for flag in (f for f, value in span.items() if value is not None and options.fit):
        raise ParameterError(f'{flag}: --fit takes whole recordings; expected no {flag}')
    if options.columns and not options.fit:
        raise ParameterError('--columns: only --fit reads .npz and .csv; expected --fit FILE')


def _collector(options: argparse.Namespace, path: str) -> MotionCollector:
    """Return the motion of the vehicle of a bag."""
    with progress_bar('reading') as told:
        bag, collectors = read_collectors(path, options.maps, told)
    for note in bag.notes:
        print(f'{bag.label}: {note}', file=sys.stderr if options.json else sys.stdout)
    return _choose_collector(collectors, options.namespace)


def _vehicle(options: argparse.Namespace) -> Vehicle:
    """Return the vehicle that is named, else the recorded one."""
    given = parse_set_options(options.vehicle_arguments)
    with progress_bar('building') as told:
        namespace = (options.namespace or '').strip('/')
        first = options.bags[0]
        path = Path(first) if is_table(first) else bag_path(first)
        settings = recorded_parameters(path, namespace, alone=True)
        if options.voltage:
            settings['voltage'] = options.voltage
        if options.vehicle:
            supply = recorded_voltage(settings)
            return load_vehicle(options.vehicle, progress=told, voltage=supply, **given)
        known = shipped_arguments(settings)
        if known is not None:
            named, supply = settings['vehicle'], recorded_voltage(settings)
            return load_vehicle(named, progress=told, voltage=supply, **{**known, **given})
        if given:
            raise ParameterError('--set: needs --vehicle, for the recorded one is as it was')
        found = None if is_table(first) else described_vehicle(first, namespace, settings)
    if found is None:
        raise ParameterError(
            '--vehicle is missing, and neither the bag nor a manifest beside it says which it is; '
            'expected a shipped name or a URDF, or --namespace for a vehicle of a fleet'
        )
    return found


def _choose_collector(known: dict[str, MotionCollector], wanted: str | None) -> MotionCollector:
    if wanted is not None:
        key = wanted.strip('/')
        if key not in known:
            raise ParameterError(
                f'--namespace {wanted}: the bag has no such vehicle; expected one of '
                + ', '.join(sorted(known))
            )
        return known[key]
    vehicles = {name: c for name, c in known.items() if not is_body(name)} or known
    moving = [c for c in vehicles.values() if c.get('odom') is not None]
    moving = moving or list(vehicles.values())
    if len(moving) > 1:
        raise ParameterError(
            '--namespace is missing; expected one of ' + ', '.join(sorted(vehicles))
        )
    return moving[0]


def _print(vehicle: Vehicle, found: Identification) -> None:
    content = found.to_dict()
    print(f'{vehicle.name}: {content["seconds"]:.0f} s in {content["stretches"]} stretches')
    for note in found.notes:
        print(note)
    for label, terms in (('kept as described', found.kept), ('not in the model', found.omitted)):
        if terms:
            print(f'{label}: {", ".join(terms)}')
    print()
    head = ('parameter', 'axis', 'value', '95 %', 'unit', 'described')
    rows = [head, *(_row(estimate, found.kept) for estimate in found.estimates)]
    print('\n'.join(aligned_columns(rows)))
    _print_unobservable(found)
    print()
    print('axis   measured rms  residual rms  noise    explained')
    for axis in BODY_AXES:
        a = content['axes'][axis]
        if math.isnan(a['rms_measured']):
            print(f'{axis:6} not measured')
            continue
        # Below 0 the model is worse than none, by however much.
        share = '–' if a['explained'] is None else f'{100 * max(0.0, a["explained"]):.1f} %'
        print(
            f'{axis:6} {a["rms_measured"]:<13.4g} {a["rms_residual"]:<13.4g} '
            f'{a["noise"]:<8.3g} {share}'
        )
    for doubt in found.doubts:
        print(f'doubtful: {doubt}')
    print()
    print(fitted_tags(vehicle, found))


def _print_unobservable(found: Identification) -> None:
    """Print a line for each reason, with all parameters that it concerns."""
    reasons: dict[str, list[str]] = {}
    for estimate in found.estimates:
        if not estimate.observable:
            reasons.setdefault(estimate.reason, []).append(estimate.parameter.name)
    for reason, names in reasons.items():
        print(f'not observable: {reason}: {", ".join(names)}')


_DRAG_TERMS = ('drag elements', 'modulus damping', 'drag of the panels of the hull')
"""Terms that damp, beside the coefficients of a table."""


def _row(estimate: Estimate, kept: Sequence[str]) -> tuple[str, ...]:
    p = estimate.parameter
    described = f'{p.described:.4g}'
    beside = [term for term in _DRAG_TERMS if term in kept]
    if p.described == 0 and p.kind in ('linear_damping', 'quadratic_damping') and beside:
        described = f'by {beside[0]}'
    if not estimate.observable:
        return (p.kind, p.axis, 'not observable', '', '', described)
    value, half = estimate.texts()
    return (p.kind, p.axis, value, f'± {half}', p.unit, described)


# ``--fit``: chosen numbers of a vehicle from whole motions of several recordings.


def fit_recordings(
    options: argparse.Namespace, vehicle: Vehicle, collector: Callable[[str], MotionCollector]
) -> int:
    """Fit chosen numbers to several recordings and report; 1 where none is observable.

    Args:
        vehicle: the vehicle that made the recordings.
        collector: function that reads a bag.
    """
    # JAX is loaded with these.
    from marine_sim_ros.identification.motion_fit import fit_motion
    from marine_sim_ros.identification.prediction import stretches_of

    parameters = FITS.load(options.fit)
    for parameter in parameters:
        for path in parameter.paths:
            if path not in OF_RECORDINGS:
                number_at(vehicle, path)
    recordings, waters = [], []
    for path in options.bags:
        recording, environment = _read_recording(options, vehicle, path, collector)
        recordings.append(recording)
        waters.append(environment)
    water = _common_water(options.bags, waters)
    with progress_bar('fitting') as report, precision('float64'):
        stretches = stretches_of(recordings, options.stretch)
        found = fit_motion(vehicle, parameters, stretches, progress=report, environment=water)
    if options.json:
        print(json_text({'vehicle': vehicle.name, **found.to_dict()}, indent=2))
    else:
        print_motion_fit(vehicle, found)
    return 0 if any(not reason for reason in found.reasons) else 1


def _read_recording(
    options: argparse.Namespace,
    vehicle: Vehicle,
    path: str,
    collector: Callable[[str], MotionCollector],
) -> tuple[MotionRecording, Environment]:
    """Return a recording and its water at rest."""
    if not is_table(path):
        rows = collector(path)
        water, current = _recorded_water(options, path, rows.record.name)
        return recording_of_bag(rows, path, current), water
    if not options.columns:
        raise ParameterError(f'{path}: --columns is missing; expected what its columns mean')
    table = recording_of_table(path, COLUMN_MAPS.load(options.columns), vehicle.thrusters)
    return table, run_environment(water_density=options.water_density)


def _common_water(paths: Sequence[str], waters: Sequence[Environment]) -> Environment:
    """Return the water that all recordings have.

    Raises:
        ParameterError: they have different ones.
    """
    first = waters[0]
    for path, water in zip(paths, waters, strict=True):
        if (water.water_density, water.gravity) != (first.water_density, first.gravity):
            densities = [f'{w.water_density or math.nan:.5g}' for w in (first, water)]
            raise ParameterError(
                f'{paths[0]} and {path}: the water has {" and ".join(densities)} kg/m³; expected '
                'recordings of one water, or --water-density'
            )
    return first


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
