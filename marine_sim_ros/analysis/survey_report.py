# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers and pictures of a recorded survey: lines, coverage, overlap, target list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.bathymetry import recorded_cloud, write_bathymetry, write_waterfalls
from marine_sim_ros.analysis.figure_sheet import figure_sheet
from marine_sim_ros.analysis.survey_files import (
    SideScanPings,
    SurveyFormats,
    ground_positions,
    side_scan_pings,
    write_survey_files,
)
from marine_sim_ros.analysis.survey_targets import find_targets, match_targets
from marine_sim_ros.bags.description import recorded_environment, recorded_vehicle
from marine_sim_ros.bags.reading import Bag
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.multibeam import MULTIBEAM
from marine_sim_ros.sensors.side_scan import SIDE_SCAN, bin_ranges

__all__ = ['SurveyTrack', 'coverage_of', 'survey_line', 'write_survey_report', 'write_surveys']

_CELL = 1.0
"""Side of a cell of the coverage, m."""
_MAX_CELLS = 4_000_000
"""Cells of the area; where there are more, their side doubles."""
_TURNING = np.radians(5.0)
"""Deviation from the course of a line beyond which a vehicle is turning, rad ..."""
_OTHER = np.radians(30.0)
"""... and deviation from the longest line beyond which a straight leg is a transit."""
_SHORTEST = 0.25
"""Length of the shortest line, as a fraction of the longest."""


class SurveyTrack(NamedTuple):
    """Positions (m, 2) in map, m, of pings, and what each of them covers.

    Attributes:
        position: (m, 2) of the sonar.
        course: (m,) rad from x towards y.
        covered: m arrays (·, 2) of places on the ground, m.
    """

    position: np.ndarray
    course: np.ndarray
    covered: Sequence[np.ndarray]


def line_numbers(track: SurveyTrack) -> np.ndarray:
    """Return the number of the line of each ping (m,), from 0; −1: it is on none.

    A line is a straight way, parallel to the longest one, of at least a quarter of its length.
    """
    numbers = np.full(len(track.course), -1)
    runs = _straight_runs(track.course)
    length = [float(np.linalg.norm(track.position[b - 1] - track.position[a])) for a, b in runs]
    if not runs:
        return numbers
    longest = int(np.argmax(length))
    course = [_mean_angle(track.course[a:b]) for a, b in runs]
    found = 0
    for (a, b), reach, angle in zip(runs, length, course, strict=True):
        # There and back are one direction.
        apart = abs(np.angle(np.exp(2j * (angle - course[longest])))) / 2
        if apart <= _OTHER and reach >= _SHORTEST * length[longest] > 0:
            numbers[a:b] = found
            found += 1
    return numbers


def _mean_angle(angles: np.ndarray) -> float:
    return float(np.angle(np.mean(np.exp(1j * angles))))


def _straight_runs(course: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last + 1 index of runs whose course stays with that of their middle."""
    runs, begin = [], 0
    for i in range(1, len(course) + 1):
        middle = course[(begin + i - 1) // 2]
        if i == len(course) or abs(np.angle(np.exp(1j * (course[i] - middle)))) > _TURNING:
            if i - begin > 2:
                runs.append((begin, i))
            begin = i
    return runs


class _Cells(NamedTuple):
    """Number of lines that cover each cell of an area.

    Attributes:
        origin: (2,) x and y of the south-west corner, m.
        side: of a cell, m.
        lines: (ny, nx) number of lines.
        inside: (ny, nx) whether a cell is in the area.
    """

    origin: np.ndarray
    side: float
    lines: np.ndarray
    inside: np.ndarray


def _count_lines(track: SurveyTrack, numbers: np.ndarray, area: np.ndarray) -> _Cells:
    from matplotlib.path import Path as Outline

    side = _CELL
    low, high = area.min(axis=0), area.max(axis=0)
    while np.prod(np.ceil((high - low) / side) + 1) > _MAX_CELLS:
        side *= 2
    columns, rows = np.maximum(np.ceil((high - low) / side), 1).astype(int).tolist()
    x = low[0] + side * (np.arange(columns) + 0.5)
    y = low[1] + side * (np.arange(rows) + 0.5)
    middles = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    inside = Outline(area).contains_points(middles).reshape(rows, columns)
    lines = np.zeros((rows, columns), int)
    for line in range(numbers.max() + 1):
        pings = np.flatnonzero(numbers == line).tolist()
        places = np.concatenate([track.covered[i] for i in pings])
        cell = np.floor((places[np.isfinite(places[:, 0])] - low) / side).astype(int)
        known = np.all((cell >= 0) & (cell < (columns, rows)), axis=1)
        seen = np.zeros((rows, columns), bool)
        seen[cell[known, 1], cell[known, 0]] = True
        lines += seen
    return _Cells(low, side, lines, inside)


def survey_area(track: SurveyTrack, numbers: np.ndarray) -> np.ndarray:
    """Return the corners (k, 2) of the convex area that the lines run over, m."""
    from scipy.spatial import ConvexHull, QhullError

    places = track.position[numbers >= 0]
    try:
        return np.asarray(places[ConvexHull(places).vertices])
    except QhullError:  # one line, which has no area
        return np.zeros((0, 2))


def coverage_of(
    track: SurveyTrack, area: np.ndarray | None = None
) -> tuple[dict[str, Any], _Cells | None]:
    """Return numbers of a survey's lines and coverage, and the cells that they are counted in.

    ``lines`` is their number and ``line_length`` their length, m; ``area``, m², is that of the
    polygon, or of the convex area that the lines run over; ``coverage`` is the fraction of it that
    a line covers, and ``overlap`` the fraction of what is covered that two or more lines cover.

    Args:
        area: (k, 2) corners of a polygon, m; None: the area that the lines run over.
    """
    numbers = line_numbers(track)
    count = int(numbers.max(initial=-1)) + 1
    lengths = [
        np.sum(np.linalg.norm(np.diff(track.position[numbers == i], axis=0), axis=-1))
        for i in range(count)
    ]
    result: dict[str, Any] = {'lines': count, 'line_length': float(np.sum(lengths))}
    if count and area is None:
        area = survey_area(track, numbers)
    if not count or area is None or len(area) < 3:
        return result, None
    cells = _count_lines(track, numbers, area)
    inside = max(int(cells.inside.sum()), 1)
    covered = int((cells.inside & (cells.lines > 0)).sum())
    twice = int((cells.inside & (cells.lines > 1)).sum())
    return {
        **result,
        'area': inside * cells.side**2,
        'coverage': covered / inside,
        'overlap': twice / max(covered, 1),
    }, cells


def draw_coverage(
    path: Path,
    title: str,
    track: SurveyTrack,
    cells: _Cells,
    targets: Sequence[dict[str, Any]] = (),
) -> None:
    """Draw how many lines cover the ground, the track, and targets with their numbers."""
    rows, columns = cells.lines.shape
    west, south = cells.origin
    extent = (west, west + columns * cells.side, south, south + rows * cells.side)
    shown = np.ma.masked_where(~cells.inside, cells.lines)
    with figure_sheet(path, title, 9.0) as figure:
        axes = figure.subplots()
        most = max(int(cells.lines.max()), 2)
        drawn = axes.imshow(
            shown, cmap='viridis', origin='lower', extent=extent, vmin=0, vmax=most,
            interpolation='nearest',
        )  # fmt: skip
        axes.plot(*track.position.T, color='white', linewidth=1.0)
        for i, target in enumerate(targets, 1):
            axes.plot(target['x'], target['y'], 'o', color='red', fillstyle='none', markersize=10)
            axes.annotate(
                str(i), (target['x'], target['y']), xytext=(7, 7), textcoords='offset points',
                color='red',
            )  # fmt: skip
        axes.set(xlabel='x east, m', ylabel='y north, m')
        axes.grid(visible=False)
        figure.colorbar(drawn, label='lines that cover a place', ticks=range(most + 1))


_PIXELS = 250
"""Pixels of a side that stand for its coverage."""


def write_survey_report(
    bag: str,
    namespace: str,
    vehicle: Vehicle,
    environment: Environment,
    folder: Path,
    label: str,
    area: np.ndarray | None = None,
) -> tuple[list[Path], dict[str, dict[str, Any]]]:
    """Write ``survey_<label>_<sensor>.png`` for each side-scan sonar and multibeam of a bag.

    Args:
        bag: path of the bag.
        namespace: of the vehicle in the bag.
        vehicle: what carries the sonars.
        environment: with the ground, and the obstacles that are looked for.
        folder: where the pictures are written.
        label: name of the run.
        area: (k, 2) corners of the area that was to be surveyed, m; None: what the lines run over.

    Returns:
        The files, and by the sensor's name :func:`.coverage_of` and, of a side-scan sonar,
        ``target_list`` as of :func:`.match_targets`.

    Raises:
        RecordingError: the bag cannot be read, or a file cannot be written.
    """
    files: list[Path] = []
    metrics: dict[str, dict[str, Any]] = {}
    for sensor in vehicle.sensors:
        targets: list[dict[str, float]] = []
        if sensor.kind == SIDE_SCAN.name:
            pings = side_scan_pings(bag, namespace, sensor, environment)
            track = _side_scan_track(sensor, pings)
            targets = find_targets(sensor, pings) if len(track.course) else []
        elif sensor.kind == MULTIBEAM.name:
            track = _multibeam_track(bag, namespace, sensor)
        else:
            continue
        found, cells = coverage_of(track, area)
        if not found['lines']:
            continue
        if sensor.kind == SIDE_SCAN.name:
            seen = _covered_obstacles(environment.scene, track)
            found['target_list'] = match_targets(targets, environment.scene, seen)
        metrics[sensor.name] = found
        if cells is not None:
            path = folder / f'survey_{label}_{sensor.name}.png'
            draw_coverage(path, f'{sensor.name} of {namespace}', track, cells, targets)
            files.append(path)
    return files, metrics


def _side_scan_track(sensor: Sensor, pings: SideScanPings) -> SurveyTrack:
    """Return the track of a side-scan sonar: each ping covers the ground on both sides."""
    if not len(pings.stamps) or not np.isfinite(pings.altitude).any():
        return SurveyTrack(np.zeros((0, 2)), np.zeros(0), [])
    step = max(len(bin_ranges(sensor.spec)) // _PIXELS, 1)
    places = ground_positions(sensor, pings)[:, ::step]
    covered = [ping[np.isfinite(ping[:, 0])] for ping in places]
    return SurveyTrack(
        pings.position[:, :2], rpy_from_quaternion(pings.orientation)[:, 2], covered
    )


def _multibeam_track(bag: str, namespace: str, sensor: Sensor) -> SurveyTrack:
    """Return the track of a multibeam echo sounder: each ping covers its soundings."""
    cloud = recorded_cloud(bag, namespace, sensor)
    times, begin = np.unique(cloud.time, return_index=True)
    covered = np.split(cloud.points[:, :2], begin[1:]) if len(times) else []
    return SurveyTrack(cloud.poses[:, :2], rpy_from_quaternion(cloud.poses[:, 3:])[:, 2], covered)


def _covered_obstacles(scene: Scene | None, track: SurveyTrack) -> np.ndarray | None:
    """Return whether a ping covers the ground within a metre of each obstacle (k,)."""
    if scene is None or not scene.obstacles:
        return None
    from scipy.spatial import KDTree

    ground = KDTree(np.concatenate(track.covered))
    away, _ = ground.query(np.array([o.position[:2] for o in scene.obstacles]))
    return np.asarray(away < 1.0)


def survey_line(sensor: str, found: dict[str, Any]) -> str:
    """Return one line of text about the survey of a sensor."""
    text = f'{sensor}: {found["lines"]} lines of {found["line_length"]:.0f} m'
    if 'coverage' in found:
        text += (
            f', {100 * found["coverage"]:.1f} % of {found["area"]:.0f} m² covered, '
            f'{100 * found["overlap"]:.0f} % of it twice'
        )
    targets = found.get('target_list')
    if targets is None:
        return text
    text += f'; {len(targets["targets"])} targets'
    if targets['false'] is not None:
        error = targets['error']
        text += f' of {targets["found"]} obstacles, {targets["missed"]} missed, '
        text += f'{targets["false"]} false'
        text += '' if error is None else f', mean error {error:.2f} m'
    return text


def write_surveys(
    bags: Sequence[Bag],
    vehicle: Vehicle | None,
    environment: Environment | None,
    folder: Path,
    formats: SurveyFormats,
    area: np.ndarray | None,
) -> tuple[list[Path], dict[str, Any], list[str]]:
    """Write waterfalls, bathymetry and the wanted files of recordings with described vehicles.

    Returns:
        The files, entries of metrics.json (``bathymetry`` and ``survey`` by run and sensor, where
        they are), and a line for each format without a file.
    """
    written: list[Path] = []
    wanted: list[Path] = []
    found: dict[str, Any] = {}
    surveys: dict[str, Any] = {}
    unknown: list[str] = []
    for bag in bags:
        for name in bag.vehicles if bag.part is None else ():
            try:
                own = vehicle or recorded_vehicle(bag, name)
                around = environment or recorded_environment(bag, name)
            except MarineSimError as error:  # the report says that its sensors are not known
                unknown.append(str(error))
                continue
            if own is None:
                continue
            label = f'{bag.label}_{name}' if len(bag.vehicles) > 1 else bag.label
            written += write_waterfalls(bag.path, name, own, folder, label)
            files, metrics = write_bathymetry(bag.path, name, own, around.scene, folder, label)
            written += files
            found |= {label: metrics} if metrics else {}
            maps, surveyed = write_survey_report(bag.path, name, own, around, folder, label, area)
            written += maps
            surveys |= {label: surveyed} if surveyed else {}
            wanted += write_survey_files(bag.path, name, own, around, folder, label, formats)
    notes = [
        f'--{option}: no file: '
        + (unknown or [f'expected a bag with odom, a known vehicle, {_NEEDS[option]}'])[0]
        for option, start in _SURVEY_FILES.items()
        if getattr(formats, option) and not any(p.name.startswith(start) for p in wanted)
    ]
    numbers = {'bathymetry': found, 'survey': surveys}
    return written + wanted, {name: value for name, value in numbers.items() if value}, notes


_SURVEY_FILES = {
    'grid': 'bathymetry_',
    'mosaic': 'mosaic_',
    'xtf': 'side_scan_',
    'kmall': 'soundings_',
    'cloud': 'cloud_',
}
"""Beginnings of the names of the files of each option."""
_NEEDS = {
    'grid': 'and its multibeam',
    'mosaic': 'its side-scan sonar, and ground below it in the environment',
    'xtf': 'and its side-scan sonar',
    'kmall': 'and its multibeam',
    'cloud': 'and its multibeam, 3D sonar or lidar',
}
