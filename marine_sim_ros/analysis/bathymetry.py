# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bathymetry of a recorded survey and its waterfall pictures.

Points are placed by the true pose of the vehicle, so that errors are those of the sonar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.figure_sheet import figure_sheet
from marine_sim_ros.bags.reading import bag_path, open_bag
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, stamp_ns
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.multibeam import MULTIBEAM
from marine_sim_ros.sensors.side_scan import SIDE_SCAN
from marine_sim_ros.sensors.sonar_messages import points_of

__all__ = [
    'grid_points',
    'read_scan_lines',
    'recorded_cloud',
    'recorded_pings',
    'true_heights',
    'write_bathymetry',
    'write_waterfalls',
]


SPACING = 0.5
"""m, of a grid."""
MAX_POINTS = 2_000_000
"""Soundings of a sonar that are kept; of more, every n-th ping."""
MAX_CELLS = 4_000_000
"""Cells of a grid; where there are more, the spacing doubles."""
ORDERS: Mapping[str, tuple[float, float]] = {
    'exclusive': (0.15, 0.0075),
    'special': (0.25, 0.0075),
    '1a': (0.5, 0.013),
    '2': (1.0, 0.023),
}
"""a (m) and b of the vertical uncertainty √(a² + (b d)²) at the depth d, 95 %: IHO S-44 (2020),
edition 6.0.0, table 1."""
_ODOMETRY = 'nav_msgs/msg/Odometry'


def place_points(
    sensor: Sensor, points: np.ndarray, position: np.ndarray, orientation: np.ndarray
) -> np.ndarray:
    """Return points (n, 3) of a sensor in map, m.

    Args:
        sensor: the sensor, whose place on the vehicle counts.
        points: (n, 3) in its frame, m.
        position: (3,) of the vehicle, map, m.
        orientation: (4,) of the vehicle, x, y, z, w.
    """
    body = sensor.position + points @ sensor.rotation.T
    return np.asarray(position + body @ rotation_matrix(orientation).T)


class RecordedCloud(NamedTuple):
    """Points of a sensor in a bag, placed by the true pose of the vehicle.

    Attributes:
        points: (n, 3) in map, m.
        intensity: (n,) of the messages; NaN where they have none.
        time: (n,) stamps of the messages, s.
        poses: (p, 7) position, m, and orientation of the vehicle at each message with points, map.
    """

    points: np.ndarray
    intensity: np.ndarray
    time: np.ndarray
    poses: np.ndarray


def recorded_pings(
    bag: str, namespace: str, topic: str, kind: str, keep: Callable[[Any], Any] | None = None
) -> tuple[list[tuple[int, Any]], dict[int, tuple[float, ...]]]:
    """Return stamped messages of a topic of a vehicle, and its true poses by stamp, ns.

    Poses are position (m) and orientation x, y, z, w in map. Of more than MAX_POINTS points,
    every n-th message is kept.

    Args:
        bag: path of the bag.
        namespace: of the vehicle in the bag.
        topic: name below the vehicle's.
        kind: type of its messages.
        keep: function of a message that returns what is kept of it, with a length; default: the
            whole message.

    Raises:
        RecordingError: the bag cannot be read.
    """
    numbers = message_numbers(_ODOMETRY, 'position', 'orientation')
    poses: dict[int, tuple[float, ...]] = {}
    pings: list[tuple[int, Any]] = []
    stride, count, stored = 1, 0, 0
    names = {f'{namespace}/odom'.strip('/'): _ODOMETRY, f'{namespace}/{topic}'.strip('/'): kind}
    with open_bag(bag_path(bag), bag) as reader:
        connections = [c for c in reader.connections if names.get(c.topic.strip('/')) == c.msgtype]
        for connection, _, data in reader.messages(connections) if len(connections) > 1 else ():
            is_ping = connection.msgtype == kind
            count += is_ping
            if is_ping and (count - 1) % stride:
                continue
            message = reader.deserialize(data, connection.msgtype)
            stamp = stamp_ns(message.header.stamp)
            if not is_ping:
                poses[stamp] = tuple(numbers(message))
                continue
            kept = message if keep is None else keep(message)
            pings.append((stamp, kept))
            stored += 0 if keep is None else len(kept)
            if stored > MAX_POINTS:
                pings, stride = pings[::2], 2 * stride
                stored = sum(len(ping) for _, ping in pings)
    return pings, poses


def recorded_cloud(bag: str, namespace: str, sensor: Sensor) -> RecordedCloud:
    """Return the points of a sensor of PointCloud2 in a bag.

    Messages without ``odom`` of their stamp are left out.

    Raises:
        RecordingError: the bag cannot be read.
    """

    def points(message: Any) -> np.ndarray:
        found = points_of(message).reshape(-1)
        known = found.dtype.names or ()
        level = found['intensity'] if 'intensity' in known else np.full(len(found), np.nan)
        rows = np.stack([*(found[axis].astype(float) for axis in 'xyz'), level], axis=-1)
        return rows[np.all(np.isfinite(rows[:, :3]), axis=-1)]

    pings, poses = recorded_pings(
        bag, namespace, f'{sensor.name}/points', 'sensor_msgs/msg/PointCloud2', points
    )
    clouds = [(stamp, rows) for stamp, rows in pings if stamp in poses and len(rows)]
    placed = [
        place_points(sensor, rows[:, :3], np.array(poses[stamp][:3]), np.array(poses[stamp][3:]))
        for stamp, rows in clouds
    ]
    if not placed:
        return RecordedCloud(np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros((0, 7)))
    return RecordedCloud(
        np.concatenate(placed),
        np.concatenate([rows[:, 3] for _, rows in clouds]),
        np.concatenate([np.full(len(rows), stamp / NANOSECONDS) for stamp, rows in clouds]),
        np.array([poses[stamp] for stamp, _ in clouds]),
    )


@dataclass(frozen=True, eq=False)
class BathymetricGrid:
    """Mean heights of soundings in square cells.

    Attributes:
        origin: (2,) x and y of the middle of ``heights[0, 0]``, map, m.
        spacing: side of a cell, m.
        heights: (ny, nx) mean z in map, m; NaN without a sounding.
        counts: (ny, nx) soundings.
    """

    origin: np.ndarray
    spacing: float
    heights: np.ndarray
    counts: np.ndarray

    def points(self) -> np.ndarray:
        """Return the middles (m, 3) of the cells that have soundings, with their heights, m."""
        row, column = np.nonzero(self.counts)
        horizontal = self.origin + self.spacing * np.stack([column, row], axis=-1)
        return np.column_stack([horizontal, self.heights[row, column]])


def grid_points(points: np.ndarray, spacing: float = SPACING) -> BathymetricGrid:
    """Return the grid of soundings (n, 3), n at least 1, whose cells are aligned with map.

    Args:
        points: map, m.
        spacing: side of a cell, m; doubled while there are more than MAX_CELLS.
    """
    while True:
        cell = np.floor(points[:, :2] / spacing).astype(np.int64)
        first = cell.min(axis=0)
        columns, rows = (cell.max(axis=0) - first + 1).tolist()
        if rows * columns <= MAX_CELLS:
            break
        spacing *= 2
    index = (cell[:, 1] - first[1]) * columns + cell[:, 0] - first[0]
    counts = np.bincount(index, minlength=rows * columns)
    sums = np.bincount(index, points[:, 2], minlength=rows * columns)
    heights = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    shape = rows, columns
    return BathymetricGrid(
        (first + 0.5) * spacing, spacing, heights.reshape(shape), counts.reshape(shape)
    )


def true_heights(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Return the z (n,) in m of what is highest below the surface at places (n, 2); NaN: nothing.

    Obstacles count: it is what a vertical ray from z = 0 meets.
    """
    down = np.broadcast_to(np.array([0.0, 0.0, -1.0]), (len(points), 3))
    origins = np.column_stack([points, np.zeros(len(points))])
    distance = np.asarray(cast_rays(scene, origins, down, 1.2e4).distance)
    return np.where(np.isfinite(distance), -distance, np.nan)


def bathymetry_metrics(points: np.ndarray, scene: Scene | None) -> dict[str, Any]:
    """Return numbers of soundings (n, 3), and their errors against a scene.

    Bias, RMS and ``percentiles`` (50, 90, 95, 99) of the absolute error, m, are of z of a sounding
    less the true z at its x and y; ``grid_rms`` is that of the grid's cells;
    ``within`` has the fraction of soundings within the vertical uncertainty of each IHO order,
    ``order`` the strictest with 95 % of them.
    """
    result: dict[str, Any] = {'soundings': len(points)}
    if not len(points):
        return result
    grid = grid_points(points)
    result |= {'spacing': grid.spacing, 'cells': int(np.count_nonzero(grid.counts))}
    if scene is None:
        return result
    step = -(-len(points) // 200_000)
    selected = points[::step]
    truth = true_heights(scene, selected[:, :2])
    error, depth = selected[:, 2] - truth, -truth
    finite = np.isfinite(error)
    if not finite.any():
        return result
    error, depth = error[finite], depth[finite]
    cells = grid.points()
    away = cells[:, 2] - true_heights(scene, cells[:, :2])
    within = {
        name: float(np.mean(np.abs(error) <= np.hypot(a, b * depth)))
        for name, (a, b) in ORDERS.items()
    }
    return {
        **result,
        'bias': float(error.mean()),
        'rms': float(np.sqrt(np.mean(error**2))),
        'percentiles': {str(q): float(np.percentile(np.abs(error), q)) for q in (50, 90, 95, 99)},
        'grid_rms': float(np.sqrt(np.nanmean(away**2))),
        'within': within,
        'order': next((name for name, fraction in within.items() if fraction >= 0.95), None),
    }


def write_bathymetry(
    bag: str, namespace: str, vehicle: Vehicle, scene: Scene | None, folder: Path, label: str
) -> tuple[list[Path], dict[str, dict[str, Any]]]:
    """Write ``bathymetry_<label>_<sensor>.png`` and ``.xyz`` for each multibeam that a bag has.

    The file of soundings has x, y and z of the cells of the grid, m, as ``terrain: {file: ...,
    positive: up}`` of an environment reads them.

    Args:
        bag: path of the bag.
        namespace: of the vehicle in the bag.
        vehicle: what carries the sonars.
        scene: what they have surveyed, or None.
        folder: where the files are written.
        label: name of the run.

    Returns:
        The files, and :func:`bathymetry_metrics` by the sensor's name.

    Raises:
        RecordingError: the bag cannot be read, or a file cannot be written.
    """
    files: list[Path] = []
    metrics: dict[str, dict[str, Any]] = {}
    for sensor in vehicle.sensors:
        if sensor.kind != MULTIBEAM.name:
            continue
        points = recorded_cloud(bag, namespace, sensor).points
        metrics[sensor.name] = bathymetry_metrics(points, scene)
        if not len(points):
            continue
        grid = grid_points(points)
        path = folder / f'bathymetry_{label}_{sensor.name}.png'
        _draw(path, f'{sensor.name} of {namespace}', grid)
        table = path.with_suffix('.xyz')
        try:
            np.savetxt(table, grid.points(), fmt='%.3f')
        except OSError as error:
            raise RecordingError(f'{table}: cannot be written: {error.strerror}') from None
        files += [path, table]
    return files, metrics


def _draw(path: Path, title: str, grid: BathymetricGrid) -> None:
    rows, columns = grid.heights.shape
    west, south = grid.origin - 0.5 * grid.spacing
    extent = (west, west + columns * grid.spacing, south, south + rows * grid.spacing)
    with figure_sheet(path, title, 9.0) as figure:
        axes = figure.subplots()
        drawn = axes.imshow(
            grid.heights, cmap='viridis', origin='lower', extent=extent, interpolation='nearest'
        )
        axes.set(xlabel='x east, m', ylabel='y north, m')
        axes.grid(visible=False)
        figure.colorbar(drawn, label='z, m')


MAX_LINES = 4096
"""Lines of a waterfall; of more, every n-th is drawn."""


def read_scan_lines(bag: str, topic: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times (m,) in s and lines (m, k), 0 to 255, of a topic of a bag; of many, every n-th.

    Lines that are not of the first one's length are left out.

    Args:
        bag: path of the bag.
        topic: name of a topic of the type sensor_msgs/Image with one row in each message.

    Raises:
        RecordingError: the bag cannot be read.
    """
    times: list[int] = []
    lines: list[np.ndarray] = []
    stride = count = 0
    with open_bag(bag_path(bag), bag) as reader:
        connections = [
            c
            for c in reader.connections
            if c.topic.strip('/') == topic.strip('/') and c.msgtype == 'sensor_msgs/msg/Image'
        ]
        for connection, _, data in reader.messages(connections) if connections else ():
            stride = stride or 1
            count += 1
            if (count - 1) % stride:
                continue
            message = reader.deserialize(data, connection.msgtype)
            line = np.frombuffer(bytes(message.data), np.uint8)
            if message.height != 1 or (lines and len(line) != len(lines[0])):
                continue
            times.append(stamp_ns(message.header.stamp))
            lines.append(line)
            if len(lines) > MAX_LINES:
                times, lines, stride = times[::2], lines[::2], 2 * stride
    if not lines:
        return np.zeros(0), np.zeros((0, 0), np.uint8)
    return np.array(times) / 1e9, np.stack(lines)


def write_waterfalls(
    bag: str, namespace: str, vehicle: Vehicle, folder: Path, label: str
) -> list[Path]:
    """Write ``waterfall_<label>_<sensor>.png`` for each side-scan sonar that a bag has.

    Args:
        bag: path of the bag.
        namespace: of the vehicle in the bag.
        vehicle: what carries the sonars.
        folder: where the pictures are written.
        label: name of the run.

    Raises:
        RecordingError: the bag cannot be read, or a picture cannot be written.
    """
    written = []
    for sensor in vehicle.sensors:
        if sensor.kind != SIDE_SCAN.name:
            continue
        time, lines = read_scan_lines(bag, f'{namespace}/{sensor.name}/scan')
        if len(lines) < 2:
            continue
        path = folder / f'waterfall_{label}_{sensor.name}.png'
        _draw_waterfall(path, f'{sensor.name} of {namespace}', sensor, time, lines)
        written.append(path)
    return written


def _draw_waterfall(
    path: Path, title: str, sensor: Sensor, time: np.ndarray, lines: np.ndarray
) -> None:
    reach = sensor.spec.max_range
    with figure_sheet(path, title, 9.0) as figure:
        axes = figure.subplots()
        axes.imshow(
            lines,
            cmap='copper',
            vmin=0,
            vmax=255,
            aspect='auto',
            interpolation='antialiased',
            extent=(-reach, reach, time[-1], time[0]),
        )
        axes.set(xlabel='slant range, m: to port (−), to starboard (+)', ylabel='time, s')
        axes.grid(visible=False)
