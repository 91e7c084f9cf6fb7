# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Waterfall pictures of side-scan sonars: the lines of a recording, one below the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marine_sim_ros.analysis.figures import figure_sheet
from marine_sim_ros.bags.reading import bag_path, open_bag
from marine_sim_ros.core.state import stamp_ns
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors.side_scan import SIDE_SCAN

__all__ = ['MOST_LINES', 'read_scan_lines', 'write_waterfalls']

MOST_LINES = 4096
"""Lines of a waterfall; of more, every n-th is drawn."""


def read_scan_lines(text: str, topic: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times (m,) in s and lines (m, k), 0 to 255, of a topic of a bag; of many, every n-th.

    Lines that are not of the first one's length are left out.

    Args:
        text: path of the bag.
        topic: name of a topic of the type sensor_msgs/Image with one row in each message.

    Raises:
        RecordingError: the bag cannot be read.
    """
    times: list[int] = []
    lines: list[np.ndarray] = []
    stride = count = 0
    with open_bag(bag_path(text), text) as reader:
        wanted = [
            c
            for c in reader.connections
            if c.topic.strip('/') == topic.strip('/') and c.msgtype == 'sensor_msgs/msg/Image'
        ]
        for connection, _, data in reader.messages(wanted) if wanted else ():
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
            if len(lines) > MOST_LINES:
                times, lines, stride = times[::2], lines[::2], 2 * stride
    if not lines:
        return np.zeros(0), np.zeros((0, 0), np.uint8)
    return np.array(times) / 1e9, np.stack(lines)


def write_waterfalls(
    text: str, namespace: str, vehicle: Vehicle, folder: Path, label: str
) -> list[Path]:
    """Write ``waterfall_<label>_<sensor>.png`` for each side-scan sonar that a bag has.

    Args:
        text: path of the bag.
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
        time, lines = read_scan_lines(text, f'{namespace}/{sensor.name}/scan')
        if len(lines) < 2:
            continue
        path = folder / f'waterfall_{label}_{sensor.name}.png'
        _draw(path, f'{sensor.name} of {namespace}', sensor, time, lines)
        written.append(path)
    return written


def _draw(path: Path, title: str, sensor: Sensor, time: np.ndarray, lines: np.ndarray) -> None:
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
