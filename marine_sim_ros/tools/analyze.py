# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Analyse bags, without ROS: an HTML report, metrics and tables; several are compared."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.alignment import ALIGNMENT_METHODS, align, differences
from marine_sim_ros.analysis.nautical_chart import write_nautical_chart
from marine_sim_ros.analysis.report.motion import position_targets, run_path
from marine_sim_ros.analysis.report.page import VehicleSection, plotly_script, report_page
from marine_sim_ros.analysis.report.plotly_charts import ChartRun
from marine_sim_ros.analysis.sensor_errors import SensorComparison, compare_sensors
from marine_sim_ros.analysis.survey_files import (
    CLOUD_FORMATS,
    SurveyFormats,
    check_survey_packages,
)
from marine_sim_ros.analysis.survey_report import survey_line, write_surveys
from marine_sim_ros.analysis.tables import TableFiles, TopicTables, table_format
from marine_sim_ros.bags.ardupilot_events import LogEvent
from marine_sim_ros.bags.description import (
    recorded_environment,
    recorded_neighbours,
    recorded_parameters,
    recorded_vehicle,
)
from marine_sim_ros.bags.metrics import bag_metrics, stamp_notes, vehicle_metrics
from marine_sim_ros.bags.reading import Bag, bag_path, read_bag
from marine_sim_ros.bags.storage import recording_parts
from marine_sim_ros.bags.vehicle_record import VehicleRecord, check_maps, parse_maps
from marine_sim_ros.core.errors import MarineSimError, ParameterError, RecordingError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import json_text
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.drawing import chart_window
from marine_sim_ros.sim.survey_lines import check_polygon
from marine_sim_ros.tools.command_line import (
    check_folder,
    print_error,
    progress_bar,
    show_waiting,
    write_file,
)
from marine_sim_ros.tools.options import (
    accept_negative_pairs,
    add_map_argument,
    add_trust_option,
    corner_argument,
    number_argument,
)

__all__ = ['add_arguments', 'execute']

MAX_PARTS = 12
"""Parts of one bag that a report compares."""
_FILES = ('report.html', 'metrics.json', 'tables')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    accept_negative_pairs(parser)
    parser.add_argument(
        'bags',
        metavar='BAG',
        nargs='+',
        help='rosbag2 folder or file, a folder of --record, or .BIN or .tlog of ArduSub',
    )
    parser.add_argument(
        '-o',
        '--output',
        default='',
        metavar='DIR',
        help='write DIR/report.html, metrics.json and tables (default: BAG_report, beside the '
        'first bag)',
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an old report')
    add_map_argument(parser)
    parser.add_argument(
        '--vehicle',
        default='',
        metavar='URDF',
        help='shipped name or file of the vehicle, for its sensors (default: what the recording '
        'says) and the pose of its barometer',
    )
    add_trust_option(parser)
    parser.add_argument(
        '--environment',
        default='',
        metavar='NAME',
        help='shipped name or file of the environment that its sensors were in (default: what the '
        'recording says, or still water)',
    )
    parser.add_argument(
        '--table',
        default='auto',
        choices=('auto', 'csv', 'parquet', 'none'),
        help='default: parquet where pyarrow is installed, else csv',
    )
    parser.add_argument(
        '--align',
        default='auto',
        choices=ALIGNMENT_METHODS,
        help='alignment of a second bag with the first in time',
    )
    survey = parser.add_argument_group('files of a recorded survey, beside the report')
    survey.add_argument(
        '--grid', action='store_true', help='grid of each multibeam as GeoTIFF (extra geo)'
    )
    survey.add_argument(
        '--mosaic',
        action='store_true',
        help='mosaic of each side-scan sonar as GeoTIFF and PNG (extra geo)',
    )
    survey.add_argument(
        '--xtf', action='store_true', help='lines of each side-scan sonar as XTF (extra survey)'
    )
    survey.add_argument(
        '--kmall', action='store_true', help='soundings of each multibeam as Kongsberg KMALL'
    )
    survey.add_argument(
        '--cloud',
        default='',
        choices=CLOUD_FORMATS,
        help='points of each multibeam, 3D sonar and lidar in map, as LAS (extra survey) or PLY',
    )
    survey.add_argument(
        '--area',
        nargs='+',
        default=[],
        type=corner_argument,
        metavar='X,Y',
        help='corners in map, m, of the area whose coverage is told (default: what the lines of '
        'the survey run over)',
    )
    survey.add_argument(
        '--spacing',
        type=number_argument(0.01, 1e3, 'm'),
        default=0.0,
        metavar='M',
        help='cells of grids and mosaics, m, 0.01 to 1000 (default: 0.5 and 0.1)',
    )


def execute(options: argparse.Namespace) -> int:
    """Read the bags one after the other and write the report."""
    maps = parse_maps(options.maps)
    kind = table_format(options.table)
    plotly_script()
    formats = SurveyFormats(
        options.grid, options.mosaic, options.xtf, options.kmall, options.cloud, options.spacing
    )
    check_survey_packages(formats)
    area = np.array(options.area) if options.area else None
    if area is not None:
        check_polygon(area)
    folder = Path(options.output) if options.output else _report_folder(bag_path(options.bags[0]))
    new = not folder.exists()
    tables = TableFiles(folder / 'tables')
    _make_room(folder, tables, overwrite=options.overwrite)
    try:
        vehicle = _vehicle(options.vehicle)
        environment = run_environment(options.environment) if options.environment else None
        labels = _labels(options.bags)
        bags = [
            bag
            for path, label in zip(options.bags, labels, strict=True)
            for bag in _read(path, label, maps, tables, kind)
        ]
        check_maps(maps, {topic for bag in bags for topic, _, _ in bag.topics})
        sections = _sections(bags, vehicle, environment, options.align)
    except MarineSimError:
        tables.clear()  # half a table looks like a whole one
        if new and not any(folder.iterdir()):
            folder.rmdir()
        raise
    about = [bag_metrics(b) for b in bags]
    pictures, surveyed, notes = write_surveys(bags, vehicle, environment, folder, formats, area)
    surveys = surveyed.get('survey', {})
    title = ' and '.join(bag.label for bag in bags)
    write_file(folder / 'report.html', report_page(title, about, sections, surveys))
    content = json_text({**_metrics(about, sections), **surveyed}, indent=2)
    write_file(folder / 'metrics.json', content + '\n')
    _print_notes(bags, sections)
    print(f'report    {folder / "report.html"}')
    print(f'metrics   {folder / "metrics.json"}')
    if kind != 'none':
        print(f'tables    {folder / "tables"}')
    for path in pictures:
        print(f'survey    {path}')
    for label, sensors in surveys.items():
        for sensor, found in sensors.items():
            print(f'survey    {label}: {survey_line(sensor, found)}')
    for note in notes:
        print_error(note)
    return int(bool(notes))


def _report_folder(bag: Path) -> Path:
    """Return the folder of the report of a bag, beside it or beside its recording."""
    path = Path(os.path.abspath(bag))
    if path.is_file() and (path.parent / 'metadata.yaml').exists():
        path = path.parent
    if path.name == 'bag':
        path = path.parent
    folder = path.with_name(f'{path.stem if path.is_file() else path.name}_report')
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _print_notes(bags: Sequence[Bag], sections: Sequence[VehicleSection]) -> None:
    for bag in bags:
        for note in bag.notes:
            print(f'{bag.label}: {note}')
    for section in sections:
        for run, metrics in zip(section.runs, section.metrics, strict=True):
            for note in stamp_notes(metrics['channels']):
                print(f'{run.label}: {note}')
        for run in section.runs[1:]:
            if run.alignment is not None:
                print(f'{run.label}: {run.alignment.text()}')


def _make_room(folder: Path, tables: TableFiles, *, overwrite: bool) -> None:
    """Make the folder; of an old report only what a report wrote is removed.

    Raises:
        ParameterError: there is one, and it may not be replaced.
        RecordingError: the folder cannot be written.
    """
    check_folder(folder, '-o')
    old = [name for name in _FILES if os.path.lexists(folder / name)]
    if old and not overwrite:
        raise ParameterError(f'-o {folder}: has {old[0]} already; add --overwrite')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tables.clear()
        own = (
            'waterfall_*.png', 'bathymetry_*.png', 'bathymetry_*.xyz', 'bathymetry_*.tif',
            'survey_*.png', 'mosaic_*.tif', 'mosaic_*.png', 'side_scan_*.xtf', 'cloud_*.las',
            'cloud_*.ply', 'soundings_*.kmall',
        )  # fmt: skip
        survey = [path.name for pattern in own for path in folder.glob(pattern)]
        for name in ('report.html', 'metrics.json', *survey):  # never written through a link
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None


def _vehicle(name: str) -> Vehicle | None:
    if not name:
        return None
    with progress_bar('building') as told:
        return load_vehicle(name, progress=told)


def _labels(paths: Sequence[str]) -> list[str]:
    """Return short names of the bags, no two the same."""
    result: list[str] = []
    for text in paths:
        path = Path(text).resolve()
        name = path.parent.name if path.name == 'bag' else path.stem
        wanted, i = name, 2
        while name in result:
            name, i = f'{wanted}_{i}', i + 1
        result.append(name)
    return result


def _read(
    path: str, label: str, maps: Mapping[str, str], files: TableFiles, kind: str
) -> list[Bag]:
    """Return a bag, or each part of one whose clock started again."""
    whole = _read_part(path, label, maps, files, kind, None)
    if later := recording_parts(Path(path)):
        print(
            f'{label}: ends where the run was reset; what followed has recordings of its own: '
            f'{later[0]}{f" to {later[-1].name}" if len(later) > 1 else ""}'
        )
    if whole.parts == 1:
        return [whole]
    if whole.parts > MAX_PARTS:
        print(
            f'{label}: its clock started {whole.parts} times; expected up to {MAX_PARTS}, to '
            'have each as a run of its own: they lie over each other'
        )
        return [whole]
    print(f'{label}: its clock started {whole.parts} times; each part is a run of its own here')
    files.clear(label)
    return [
        _read_part(path, f'{label}_part_{i + 1}', maps, files, kind, i) for i in range(whole.parts)
    ]


def _read_part(
    path: str, label: str, maps: Mapping[str, str], files: TableFiles, kind: str, part: int | None
) -> Bag:
    tables: list[TopicTables] = []

    def rows(record: VehicleRecord) -> TopicTables | None:
        if kind == 'none':
            return None
        tables.append(TopicTables(files, label, record.name, kind))
        return tables[-1]

    with progress_bar(f'reading {label}') as told:
        try:
            return read_bag(path, maps=maps, label=label, rows=rows, progress=told, part=part)
        finally:
            for table in tables:
                table.close()


def _sections(
    bags: Sequence[Bag], vehicle: Vehicle | None, environment: Environment | None, method: str
) -> list[VehicleSection]:
    """Return a section for each vehicle; the only vehicles of two bags are taken to be one."""
    alone = all(len(bag.vehicles) == 1 for bag in bags)
    grouped: dict[str, list[tuple[Bag, VehicleRecord]]] = {}
    for bag in bags:
        for name, record in bag.vehicles.items():
            key = next(iter(bags[0].vehicles)) if alone else name
            grouped.setdefault(key, []).append((bag, record))
    return [_section(name, found, vehicle, environment, method) for name, found in grouped.items()]


def _section(
    name: str,
    found: Sequence[tuple[Bag, VehicleRecord]],
    vehicle: Vehicle | None,
    environment: Environment | None,
    method: str,
) -> VehicleSection:
    first = found[0][1]
    sensor = None if vehicle is None else vehicle.barometer
    runs = [
        ChartRun(
            bag.label,
            record,
            i,
            first.start,
            align(first, record, _alignment_method(method, bag, found[0][0])) if i else None,
            sensor,
            *_sensors(bag, record, vehicle, environment),
            _events(bag, record),
        )
        for i, (bag, record) in enumerate(found)
    ]
    compared = [
        differences(first, run.record, run.alignment)
        for run in runs[1:]
        if run.alignment is not None
    ]
    metrics = [{**vehicle_metrics(r.record, vehicle), 'sensors': _errors(r)} for r in runs]
    chart = _chart(name, found[0][0], runs, environment)
    return VehicleSection(name, runs, metrics, compared, chart)


def _chart(
    name: str, bag: Bag, runs: Sequence[ChartRun], environment: Environment | None
) -> bytes | None:
    """Return the chart of the paths and set-points of a vehicle, PNG; None without ground."""
    try:
        around = environment or recorded_environment(bag, name)
    except MarineSimError:  # the report says that the environment is not known
        return None
    tracks = {run.label: path for run in runs if len(path := run_path(run))}
    if not tracks or chart_window(around.scene) is None:
        return None
    waypoints, are_waypoints = position_targets(runs[0])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'chart.png'
        title = f'{name or "vehicle"} in {around.name}'
        shown = list(waypoints) if are_waypoints else []
        write_nautical_chart(file, around, title, tracks, shown)
        return file.read_bytes()


def _alignment_method(method: str, *bags: Bag) -> str:
    """Return a method: that of the first stamps for a replay, which begins with its source."""
    if method != 'auto':
        return method
    manifests = (recorded_parameters(bag_path(bag.path), '', alone=True) for bag in bags)
    return 'start' if any(settings.get('replay_of') for settings in manifests) else method


def _events(bag: Bag, record: VehicleRecord) -> tuple[LogEvent, ...]:
    """Return the events of a bag, or those at the time of its part."""
    odom = record.channels.get('odom')
    if bag.part is None or odom is None:
        return bag.events
    timing = odom.timing
    end = timing.first + timing.duration * NANOSECONDS
    return tuple(e for e in bag.events if timing.first <= e.stamp <= end)


def _sensors(
    bag: Bag, record: VehicleRecord, vehicle: Vehicle | None, environment: Environment | None
) -> tuple[tuple[SensorComparison, ...], str]:
    """Return the sensors beside the truth, and why they are not known."""
    if bag.part is not None:
        return (), 'the sensors are not compared with the truth: the bag has several runs'
    try:
        vehicle = vehicle or recorded_vehicle(bag, record.name)
        if vehicle is None:
            return (), ''
        environment = environment or recorded_environment(bag, record.name)
        others = recorded_neighbours(bag, record.name, environment)
        with show_waiting(f'comparing the sensors of {bag.label}'):
            return compare_sensors(bag.path, record.name, vehicle, environment, others), ''
    except MarineSimError as error:  # the rest of the report does not need them
        return (), f'the sensors are not compared with the truth: {error}'


def _errors(run: ChartRun) -> dict[str, Any]:
    """Return the entries of metrics.json for the sensors."""
    result: dict[str, Any] = {}
    for compared in run.sensors:
        result.setdefault(compared.sensor, {}).update(compared.metrics())
    return result


def _metrics(
    about: Sequence[dict[str, Any]], sections: Sequence[VehicleSection]
) -> dict[str, Any]:
    comparisons = []
    bags = [{**bag, 'vehicles': {}} for bag in about]
    by_label = {bag['label']: bag for bag in bags}
    for section in sections:
        for run, metrics in zip(section.runs, section.metrics, strict=True):
            by_label[run.label]['vehicles'][run.record.name] = metrics
        for run, found in zip(section.runs[1:], section.differences, strict=True):
            if run.alignment is None:
                continue
            comparisons.append(
                {
                    'vehicle': section.name,
                    'first': section.runs[0].label,
                    'other': run.label,
                    'aligned_by': run.alignment.method,
                    'offset_s': run.alignment.offset,
                    'agreement': run.alignment.agreement,
                    'differences': found,
                }
            )
    return {'bags': bags, 'comparisons': comparisons}
