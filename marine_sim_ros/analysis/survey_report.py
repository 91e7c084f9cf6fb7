# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers and pictures of a recorded survey: lines, coverage, overlap, target list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bathymetry import recorded_cloud, write_bathymetry, write_waterfalls
from marine_sim_ros.analysis.survey_coverage import SurveyTrack, coverage_of, draw_coverage
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

__all__ = ['survey_line', 'write_survey_report', 'write_surveys']

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
