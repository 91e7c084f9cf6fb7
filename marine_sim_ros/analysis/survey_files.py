# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded survey as files for hydrographic software: GeoTIFF, XTF, KMALL, LAS and PLY.

Everything is placed by the true pose of the vehicle, so that errors are those of the sonar.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.bathymetry import (
    SPACING,
    grid_points,
    recorded_cloud,
    recorded_pings,
    true_heights,
)
from marine_sim_ros.analysis.figure_sheet import figure_sheet
from marine_sim_ros.analysis.kmall import write_kmall
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import KNOT, Origin
from marine_sim_ros.core.spatial import in_map, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.multibeam import MULTIBEAM
from marine_sim_ros.sensors.side_scan import SIDE_SCAN, bin_ranges

__all__ = ['CLOUD_FORMATS', 'SurveyFormats', 'check_survey_packages', 'write_survey_files']

CLOUD_FORMATS = ('las', 'ply')
MOSAIC_SPACING = 0.1
"""m, of a mosaic."""
MAX_MOSAIC_CELLS = 50_000_000
"""Cells of a mosaic; where there are more, the spacing doubles."""
_MAX_BETWEEN = 32
"""Lines that are interpolated from one ping to the next, at most."""


@dataclass(frozen=True)
class SurveyFormats:
    """Files that a report writes of surveys.

    Attributes:
        grid: whether to write the grid of each multibeam as GeoTIFF.
        mosaic: whether to write the mosaic of each side-scan sonar as GeoTIFF and picture.
        xtf: whether to write the lines of each side-scan sonar as XTF.
        kmall: whether to write the soundings of each multibeam as KMALL.
        cloud: ``las`` or ``ply``, of all points of sensors of PointCloud2; empty: none.
        spacing: side of a cell of grids and mosaics, m; 0: 0.5 and 0.1.
    """

    grid: bool = False
    mosaic: bool = False
    xtf: bool = False
    kmall: bool = False
    cloud: str = ''
    spacing: float = 0.0


def check_survey_packages(formats: SurveyFormats) -> None:
    """Check, before the work, that the packages of formats are installed.

    Raises:
        MissingPackageError: one is not.
    """
    if formats.grid or formats.mosaic:
        require('rasterio', 'analyze --grid and --mosaic')
    if formats.xtf:
        require('pyxtf', 'analyze --xtf')
    if formats.cloud == 'las':
        require('laspy', 'analyze --cloud las')


def write_survey_files(
    bag: str,
    namespace: str,
    vehicle: Vehicle,
    environment: Environment,
    folder: Path,
    label: str,
    formats: SurveyFormats,
) -> list[Path]:
    """Write the wanted files of each sonar that a bag has, and return their paths.

    Args:
        bag: path of the bag.
        namespace: of the vehicle in the bag.
        vehicle: what carries the sensors.
        environment: with the ground and the origin of map.
        folder: where the files are written.
        label: name of the run.
        formats: which files.

    Raises:
        RecordingError: the bag cannot be read, or a file cannot be written.
    """
    written: list[Path] = []
    try:
        for sensor in vehicle.sensors:
            end = f'{label}_{sensor.name}'
            if formats.cloud and _has_cloud(sensor):
                path = folder / f'cloud_{end}.{formats.cloud}'
                written += _write_cloud(path, bag, namespace, sensor)
            if formats.grid and sensor.kind == MULTIBEAM.name:
                points = recorded_cloud(bag, namespace, sensor).points
                path = folder / f'bathymetry_{end}.tif'
                written += _write_grid(path, points, environment, formats.spacing or SPACING)
            if formats.kmall and sensor.kind == MULTIBEAM.name:
                path = folder / f'soundings_{end}.kmall'
                written += write_kmall(path, bag, namespace, sensor, environment) * [path]
            if (formats.mosaic or formats.xtf) and sensor.kind == SIDE_SCAN.name:
                pings = side_scan_pings(bag, namespace, sensor, environment)
                written += _write_pings(folder, end, sensor, pings, environment, formats)
    except OSError as error:
        raise RecordingError(f'{folder}: a survey file cannot be written: {error}') from None
    return written


def _write_pings(
    folder: Path,
    end: str,
    sensor: Sensor,
    pings: SideScanPings,
    environment: Environment,
    formats: SurveyFormats,
) -> list[Path]:
    """Write XTF and mosaic of the lines of a side-scan sonar."""
    written: list[Path] = []
    if formats.xtf and len(pings.stamps):
        written.append(folder / f'side_scan_{end}.xtf')
        write_xtf(written[-1], sensor, pings, environment)
    if formats.mosaic and len(pings.stamps) > 1:
        mosaic = make_mosaic(sensor, pings, formats.spacing or MOSAIC_SPACING)
        if not mosaic.pixels.any():  # no ground is known
            return written
        path = folder / f'mosaic_{end}.tif'
        _write_geotiff(path, mosaic.pixels[None], mosaic, environment, 0, ('echo',))
        _draw_mosaic(path.with_suffix('.png'), f'{sensor.name} in {environment.name}', mosaic)
        written += [path, path.with_suffix('.png')]
    return written


# Point clouds.


def _has_cloud(sensor: Sensor) -> bool:
    topics = SENSORS[sensor.kind].topics
    return any(t.type == 'sensor_msgs/msg/PointCloud2' and t.name == 'points' for t in topics)


def _write_cloud(path: Path, bag: str, namespace: str, sensor: Sensor) -> list[Path]:
    """Write all points of a sensor in map, with intensity and time; none: no file."""
    cloud = recorded_cloud(bag, namespace, sensor)
    if not len(cloud.points):
        return []
    if path.suffix == '.ply':
        _write_ply(path, cloud.points, cloud.intensity, cloud.time)
        return [path]
    laspy = require('laspy', 'analyze --cloud las')
    header = laspy.LasHeader(point_format=6, version='1.4')
    header.scales = np.full(3, 0.001)
    header.offsets = np.floor(cloud.points.min(axis=0))
    header.add_extra_dim(laspy.ExtraBytesParams('level', 'f4', 'intensity of the message'))
    las = laspy.LasData(header)
    las.x, las.y, las.z = cloud.points.T
    las.gps_time = cloud.time
    las.level = cloud.intensity
    las.return_number = las.number_of_returns = np.ones(len(cloud.points), np.uint8)
    las.write(str(path))
    return [path]


def _write_ply(path: Path, points: np.ndarray, intensity: np.ndarray, time: np.ndarray) -> None:
    """Write a binary PLY of x, y and z in m, intensity, and time in s, all of doubles."""
    names = ('x', 'y', 'z', 'intensity', 'time')
    lines = [
        'ply',
        'format binary_little_endian 1.0',
        'comment map of marine_sim_ros: m, z up',
        f'element vertex {len(points)}',
        *(f'property double {name}' for name in names),
        'end_header\n',
    ]
    table = np.column_stack([points, intensity, time]).astype('<f8')
    path.write_bytes('\n'.join(lines).encode() + table.tobytes())


# GeoTIFF.


class Raster(NamedTuple):
    """Cells that are aligned with map.

    Attributes:
        origin: (2,) x and y of the middle of ``pixels[0, 0]``, m: the south-west corner.
        spacing: side of a cell, m.
        pixels: (ny, nx).
    """

    origin: np.ndarray
    spacing: float
    pixels: np.ndarray


def _write_grid(
    path: Path, points: np.ndarray, environment: Environment, spacing: float
) -> list[Path]:
    """Write heights, soundings and, where the ground is known, errors; none: no file."""
    if not len(points):
        return []
    grid = grid_points(points, spacing)
    bands = [grid.heights, np.where(grid.counts > 0, grid.counts, np.nan)]
    names = ['height above mean sea level, m', 'soundings']
    if environment.scene is not None:
        row, column = np.nonzero(grid.counts)
        cells = grid.points()
        error = np.full(grid.heights.shape, np.nan)
        error[row, column] = cells[:, 2] - true_heights(environment.scene, cells[:, :2])
        bands.append(error)
        names.append('height less the true height, m')
    raster, content = Raster(grid.origin, grid.spacing, grid.heights), np.stack(bands)
    _write_geotiff(path, content.astype('f4'), raster, environment, math.nan, tuple(names))
    return [path]


def map_projection(origin: Origin) -> str:
    """Return the coordinate reference system of a GeoTIFF with an origin, as PROJ names it.

    A transverse Mercator projection about the origin, which every GIS has: 10 km away it differs
    from the tangent plane of map by 8 mm.
    """
    return (
        f'+proj=tmerc +lat_0={origin.latitude!r} +lon_0={origin.longitude!r} +k=1 +x_0=0 +y_0=0 '
        '+datum=WGS84 +units=m +no_defs'
    )


def _write_geotiff(
    path: Path,
    bands: np.ndarray,
    raster: Raster,
    environment: Environment,
    nodata: float,
    names: tuple[str, ...],
) -> None:
    """Write bands (k, ny, nx), first row south, north up where map is."""
    rasterio = require('rasterio', 'analyze --grid and --mosaic')
    count, rows, columns = bands.shape
    step, (west, south) = raster.spacing, raster.origin - 0.5 * raster.spacing
    transform = rasterio.Affine(step, 0.0, west, 0.0, -step, south + rows * step)
    crs = None
    if environment.has_origin:
        crs = map_projection(environment.origin)
        transform = rasterio.Affine.rotation(-environment.origin.heading) * transform
    with rasterio.open(
        str(path), 'w', driver='GTiff', count=count, height=rows, width=columns,
        dtype=bands.dtype, crs=crs, transform=transform, nodata=nodata, compress='deflate',
    ) as file:  # fmt: skip
        file.write(bands[:, ::-1])
        file.descriptions = names


# Side-scan sonar: pings, mosaic and XTF.


class SideScanPings(NamedTuple):
    """Lines of a side-scan sonar and where they were taken, m of them.

    Attributes:
        stamps: (m,) ns.
        lines: (m, 2 bins) 0 to 255: far to port, near, far to starboard.
        position: (m, 3) of the sonar in map, m.
        orientation: (m, 4) of the vehicle.
        rotation: (m, 3, 3) from its axes to map.
        altitude: (m,) height of the sonar above the ground, m; NaN where there is none.
    """

    stamps: np.ndarray
    lines: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    rotation: np.ndarray
    altitude: np.ndarray


def side_scan_pings(
    bag: str, namespace: str, sensor: Sensor, environment: Environment
) -> SideScanPings:
    """Return the lines of a side-scan sonar in a bag; those without ``odom`` are left out.

    Raises:
        RecordingError: the bag cannot be read.
    """
    width = 2 * int(sensor.spec.bins)
    stamps, lines, poses = [], [], []
    found, by_stamp = recorded_pings(
        bag, namespace, f'{sensor.name}/scan', 'sensor_msgs/msg/Image'
    )
    for stamp, message in found:
        line = np.frombuffer(bytes(message.data), np.uint8)
        if message.height == 1 and len(line) == width and stamp in by_stamp:
            stamps.append(stamp)
            lines.append(line)
            poses.append(by_stamp[stamp])
    pose = np.array(poses).reshape(-1, 7)
    if not len(pose):
        lines_of_none, places = np.zeros((0, width), np.uint8), np.zeros((0, 3))
        turns = np.zeros((0, 4)), np.zeros((0, 3, 3))
        return SideScanPings(np.zeros(0, np.int64), lines_of_none, places, *turns, np.zeros(0))
    position = in_map(pose[:, :3], pose[:, 3:], sensor.position[None, :])[:, 0]
    altitude = np.full(len(pose), np.nan)
    if environment.scene is not None:
        altitude = position[:, 2] - true_heights(environment.scene, position[:, :2])
    return SideScanPings(
        np.array(stamps, np.int64),
        np.array(lines, np.uint8).reshape(-1, width),
        position,
        pose[:, 3:],
        rotation_matrix(pose[:, 3:]) @ sensor.rotation,
        altitude,
    )


def ground_positions(sensor: Sensor, pings: SideScanPings) -> np.ndarray:
    """Return x and y (m, 2 bins, 2) in map of the pixels of lines, on a level bottom.

    In the plane of the beams, p = r (y sin θ + z cos θ) with the axes y and z of the sonar in map,
    and p_z = −h at the altitude h: y_z sin θ + z_z cos θ = −h/r. NaN above the bottom, r < h.
    """
    ranges = bin_ranges(sensor.spec)
    across, down = pings.rotation[..., 1], pings.rotation[..., 2]
    size = np.hypot(across[:, 2], down[:, 2])[:, None]
    middle = np.arctan2(across[:, 2], down[:, 2])[:, None]
    ratio = -pings.altitude[:, None] / (ranges * np.maximum(size, 1e-9))
    with np.errstate(invalid='ignore'):
        half = np.arccos(np.where(np.abs(ratio) <= 1, ratio, np.nan))
    angle = np.concatenate([(middle + half)[:, ::-1], middle - half], axis=1)
    reach = np.concatenate([ranges[::-1], ranges])
    offset = (
        np.sin(angle)[..., None] * across[:, None, :2]
        + np.cos(angle)[..., None] * down[:, None, :2]
    )
    return np.asarray(pings.position[:, None, :2] + reach[:, None] * offset)


def _even_lines(
    places: np.ndarray, values: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return places (m, n, 2) and values (m, n) of one side, evenly spaced on the bottom.

    The pixels of a line lie on a straight line of a level bottom.

    Args:
        places: (m, bins, 2) from near to far, m; NaN above the bottom.
        values: (m, bins).
        step: greatest distance of two places, m.
    """
    known = np.isfinite(places[..., 0])
    row, near = np.arange(len(places)), np.argmax(known, axis=1)
    first, last = places[row, near], places[:, -1]
    length = np.linalg.norm(last - first, axis=-1)
    longest = float(np.nanmax(length)) if np.isfinite(length).any() else 0.0
    part = np.linspace(0.0, 1.0, max(math.ceil(longest / step), 1) + 1)
    away = np.linalg.norm(places - first[:, None], axis=-1)
    even = [
        np.interp(part * length[i], away[i, near[i] :], values[i, near[i] :])
        if known[i].any()
        else np.full(len(part), np.nan)
        for i in row
    ]
    return first[:, None] + part[:, None] * (last - first)[:, None], np.array(even)


def make_mosaic(sensor: Sensor, pings: SideScanPings, spacing: float = MOSAIC_SPACING) -> Raster:
    """Return the mosaic of lines, uint8: means of pixels in cells, 0 where there is none.

    Slant ranges become ground ranges on a level bottom at the altitude of each ping; between two
    pings pixels are interpolated along the track.

    Args:
        spacing: side of a cell, m; doubled while there are more than MAX_MOSAIC_CELLS.
    """
    places, bins = ground_positions(sensor, pings), int(sensor.spec.bins)
    if not np.isfinite(places).any():
        return Raster(np.zeros(2), spacing, np.zeros((1, 1), np.uint8))
    low, high = np.nanmin(places, axis=(0, 1)), np.nanmax(places, axis=(0, 1))
    while True:
        first = np.floor(low / spacing).astype(np.int64)
        columns, rows = (np.floor(high / spacing).astype(np.int64) - first + 1).tolist()
        if rows * columns <= MAX_MOSAIC_CELLS:
            break
        spacing *= 2
    total, count = np.zeros(rows * columns), np.zeros(rows * columns)
    times = np.diff(pings.stamps)
    step = min(spacing, (sensor.spec.max_range - sensor.spec.min_range) / bins)
    port, starboard = np.s_[:, bins - 1 :: -1], np.s_[:, bins:]
    for side in (port, starboard):
        even, values = _even_lines(places[side], pings.lines[side].astype(float), step)
        for i in range(len(even)):
            following = min(i + 1, len(even) - 1)
            is_next = following > i and times[i] <= 2 * np.median(times)
            along = np.linalg.norm(even[following] - even[i], axis=-1) if is_next else np.zeros(1)
            parts = int(np.clip(np.ceil(np.nan_to_num(along.max()) / spacing), 1, _MAX_BETWEEN))
            for part in np.arange(parts) / parts:
                where = (1 - part) * even[i] + part * even[following]
                value = (1 - part) * values[i] + part * values[following]
                valid = np.isfinite(value) & np.isfinite(where[:, 0])
                cell = np.floor(where[valid] / spacing).astype(np.int64) - first
                index = np.clip(cell[:, 1] * columns + cell[:, 0], 0, total.size - 1)
                np.add.at(total, index, value[valid])
                np.add.at(count, index, 1.0)
    mean = total / np.maximum(count, 1.0)
    pixels = np.where(count > 0, np.clip(np.round(mean), 1, 255), 0).astype(np.uint8)
    return Raster((first + 0.5) * spacing, spacing, pixels.reshape(rows, columns))


def _draw_mosaic(path: Path, title: str, mosaic: Raster) -> None:
    rows, columns = mosaic.pixels.shape
    west, south = mosaic.origin - 0.5 * mosaic.spacing
    extent = (west, west + columns * mosaic.spacing, south, south + rows * mosaic.spacing)
    with figure_sheet(path, title, 9.0) as figure:
        axes = figure.subplots()
        shown = np.ma.masked_equal(mosaic.pixels, 0)
        axes.imshow(
            shown, cmap='copper', vmin=0, vmax=255, origin='lower', extent=extent,
            interpolation='antialiased',
        )  # fmt: skip
        axes.set(xlabel='x east, m', ylabel='y north, m')
        axes.grid(visible=False)


def write_xtf(path: Path, sensor: Sensor, pings: SideScanPings, environment: Environment) -> None:
    """Write lines as eXtended Triton Format, two channels of 8 bits in each ping.

    Triton Imaging (2013), "eXtended Triton Format (XTF)", rev. 35. Samples of port are from far to
    near. Coordinates are longitude and latitude where the environment has an origin, else metres
    in map. Times count from 1970-01-01, when a simulation starts at 0.

    Raises:
        MissingPackageError: pyxtf is not installed.
    """
    pyxtf = require('pyxtf', 'analyze --xtf')
    spec = sensor.spec
    header = pyxtf.XTFFileHeader()
    header.RecordingProgramName, header.SonarName = b'marinsim', sensor.name.encode()[:16]
    units = pyxtf.XTFNavUnits
    header.NavUnits = (units.latlon if environment.has_origin else units.meters).value
    header.NumberOfSonarChannels = 2
    sides = (pyxtf.XTFChannelType.port, pyxtf.XTFChannelType.stbd)
    for i, (side, name) in enumerate(zip(sides, (b'port', b'starboard'), strict=True)):
        channel = header.ChanInfo[i]
        channel.TypeOfChannel, channel.SubChannelNumber, channel.ChannelName = side.value, i, name
        channel.BytesPerSample, channel.UniPolar = 1, 1
        channel.SampleFormat = pyxtf.XTFSampleFormat.byte.value
        channel.Frequency, channel.TiltAngle = spec.frequency, spec.depression
        channel.HorizBeamAngle, channel.BeamWidth = spec.beam_along, spec.beam_height
    sites = pings.position
    if environment.has_origin:
        latitude, longitude = environment.origin.coordinates(pings.position)
        sites = np.stack([longitude, latitude], axis=-1)
    roll, pitch, yaw = np.degrees(rpy_from_quaternion(pings.orientation)).T
    speed = _speeds(pings)
    periods = np.gradient(pings.stamps / NANOSECONDS) if len(speed) > 1 else np.zeros(1)
    with path.open('wb') as file:
        file.write(header.to_bytes())
        for i, stamp in enumerate(pings.stamps.tolist()):
            ping = pyxtf.XTFPingHeader()
            ping.NumChansToFollow, ping.PingNumber = 2, i
            for field, value in _ping_time(stamp).items():
                setattr(ping, field, value)
            ping.SoundVelocity = ping.ComputedSoundVelocity = SOUND_SPEED
            ping.SensorXcoordinate = ping.ShipXcoordinate = sites[i, 0]
            ping.SensorYcoordinate = ping.ShipYcoordinate = sites[i, 1]
            ping.SensorDepth = -pings.position[i, 2]
            if math.isfinite(pings.altitude[i]):
                ping.SensorPrimaryAltitude = pings.altitude[i]
            ping.SensorRoll, ping.SensorPitch = roll[i], -pitch[i]  # to starboard, nose up
            ping.SensorHeading = ping.ShipGyro = environment.origin.compass(math.radians(yaw[i]))
            ping.SensorSpeed = ping.ShipSpeed = speed[i]
            ping.data = np.split(pings.lines[i], 2)
            ping.ping_chan_headers = [_channel(pyxtf, spec, k, periods[i]) for k in range(2)]
            size = len(ping.to_bytes())
            ping.NumBytesThisRecord = -(-size // _XTF_BLOCK) * _XTF_BLOCK
            file.write(ping.to_bytes().ljust(ping.NumBytesThisRecord, b'\0'))


_XTF_BLOCK = 64
"""Bytes that the length of an XTF record is a multiple of."""
_EPOCH = datetime.datetime(1970, 1, 1)


def _ping_time(stamp: int) -> dict[str, int]:
    """Return the fields of the time of a ping: to 0.01 s, and to 1 ms of the day."""
    time = _EPOCH + datetime.timedelta(microseconds=stamp // 1000)
    hundredths = time.microsecond // 10_000
    since = (time.hour * 60 + time.minute) * 60 + time.second
    milliseconds = 1000 * since + time.microsecond // 1000
    return {
        'Year': time.year,
        'Month': time.month,
        'Day': time.day,
        'JulianDay': time.timetuple().tm_yday,
        'Hour': time.hour,
        'Minute': time.minute,
        'Second': time.second,
        'HSeconds': hundredths,
        'FixTimeHour': time.hour,
        'FixTimeMinute': time.minute,
        'FixTimeSecond': time.second,
        'FixTimeHsecond': hundredths,
        'AttitudeTimeTag': milliseconds,
        'NavFixMilliseconds': milliseconds,
    }


def _speeds(pings: SideScanPings) -> np.ndarray:
    """Return the speeds over ground (m,) in knots, as XTF has them."""
    if len(pings.stamps) < 2:
        return np.zeros(len(pings.stamps))
    velocity = np.gradient(pings.position[:, :2], pings.stamps / NANOSECONDS, axis=0)
    return np.asarray(np.linalg.norm(velocity, axis=1) / KNOT)


def _channel(pyxtf: Any, spec: Any, number: int, period: float) -> Any:
    """Return the header of one side of a ping."""
    channel = pyxtf.XTFPingChanHeader()
    channel.ChannelNumber, channel.NumSamples = number, int(spec.bins)
    channel.SlantRange, channel.SecondsPerPing = spec.max_range, period
    channel.TimeDelay = 2 * spec.min_range / SOUND_SPEED
    channel.TimeDuration = 2 * (spec.max_range - spec.min_range) / SOUND_SPEED
    channel.Frequency = min(round(spec.frequency), 0xFFFF)
    return channel
