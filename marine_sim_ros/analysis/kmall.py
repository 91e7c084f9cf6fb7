# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kongsberg's KMALL of the soundings of a multibeam echo sounder.

Kongsberg Maritime, "EM datagrams on *.kmall format", doc. 410224: little-endian datagrams, each
between two copies of its length. The layouts were read in the open readers kmall
(valschmidt/kmall, CC0) and MB-System (mbsys_kmbes.h). MRZ has version 2, SVP 1, SKM and SPO 0.
The reference point is base_link; x is ahead of it, y to starboard, z down, all level. Poses are
the true ones, so that errors are those of the sonar.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from marine_sim_ros.analysis.bathymetry import recorded_pings
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import absorption, equivalent_width
from marine_sim_ros.sensors.multibeam import beam_angles
from marine_sim_ros.sensors.sonar_messages import points_of

__all__ = ['write_kmall']

_ECHO_SOUNDER = 2040
"""Model that the file names, EM 2040: readers know models by number, and none stands for ours."""
_START = 946_684_800 * NANOSECONDS
"""ns from 1970 to 2000-01-01, when a run begins: readers take no time of the first day of 1970."""
_NO_SPEED, _NO_COURSE = -1.0, -4.0
"""m/s and degrees that mean: not available."""
_SOUNDING = np.dtype(
    [
        ('soundingIndex', '<u2'), ('txSectorNumb', 'u1'), ('detectionType', 'u1'),
        ('detectionMethod', 'u1'), ('rejectionInfo1', 'u1'), ('rejectionInfo2', 'u1'),
        ('postProcessingInfo', 'u1'), ('detectionClass', 'u1'),
        ('detectionConfidenceLevel', 'u1'), ('padding', '<u2'), ('rangeFactor', '<f4'),
        ('qualityFactor', '<f4'), ('detectionUncertaintyVer_m', '<f4'),
        ('detectionUncertaintyHor_m', '<f4'), ('detectionWindowLength_sec', '<f4'),
        ('echoLength_sec', '<f4'), ('WCBeamNumb', '<u2'), ('WCrange_samples', '<u2'),
        ('WCNomBeamAngleAcross_deg', '<f4'), ('meanAbsCoeff_dBPerkm', '<f4'),
        ('reflectivity1_dB', '<f4'), ('reflectivity2_dB', '<f4'),
        ('receiverSensitivityApplied_dB', '<f4'), ('sourceLevelApplied_dB', '<f4'),
        ('BScalibration_dB', '<f4'), ('TVG_dB', '<f4'), ('beamAngleReRx_deg', '<f4'),
        ('beamAngleCorrection_deg', '<f4'), ('twoWayTravelTime_sec', '<f4'),
        ('twoWayTravelTimeCorrection_sec', '<f4'), ('deltaLatitude_deg', '<f4'),
        ('deltaLongitude_deg', '<f4'), ('z_reRefPoint_m', '<f4'), ('y_reRefPoint_m', '<f4'),
        ('x_reRefPoint_m', '<f4'), ('beamIncAngleAdj_deg', '<f4'),
        ('realTimeCleanInfo', '<u2'), ('SIstartRange_samples', '<u2'),
        ('SIcentreSample', '<u2'), ('SInumSamples', '<u2'),
    ]
)  # fmt: skip
"""One sounding of an MRZ, 120 bytes, with the names of the format."""


class _Pose(NamedTuple):
    """Pose of the vehicle at a ping.

    Attributes:
        position: (3,) map, m.
        rotation: (3, 3) from the frame of the vehicle to map.
        level: (3, 3) from map to x ahead, y to starboard, z down, all level.
        angles: roll, pitch (bow up) and heading from true north, degrees.
        latitude: degrees.
        longitude: degrees.
        height: m above the ellipsoid.
    """

    position: np.ndarray
    rotation: np.ndarray
    level: np.ndarray
    angles: tuple[float, float, float]
    latitude: float
    longitude: float
    height: float


def write_kmall(
    path: Path, bag: str, namespace: str, sensor: Sensor, environment: Environment
) -> bool:
    """Write the pings of a multibeam of a recording as KMALL; return whether it has any.

    The file has an installation (#IIP), runtime parameters (#IOP), a sound speed profile (#SVP),
    and for each ping attitude (#SKM), position (#SPO) and soundings (#MRZ). Travel times follow
    from ranges by the 1500 m/s that the sensor assumes, and so does the profile. Times count from
    2000-01-01. Without an origin of the environment, latitude and longitude are about its default
    one.

    Raises:
        RecordingError: the bag cannot be read.
        OSError: the file cannot be written.
    """
    pings, poses = recorded_pings(
        bag, namespace, f'{sensor.name}/points', 'sensor_msgs/msg/PointCloud2'
    )
    placed = [
        (_START + stamp, points_of(cloud), poses[stamp])
        for stamp, cloud in pings
        if stamp in poses
    ]
    if not placed:
        return False
    stamps = np.array([stamp for stamp, _, _ in placed])
    rate = NANOSECONDS / float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    with path.open('wb') as file:
        file_start = placed[0][0]
        for kind, text in ((b'#IIP', _installation(sensor)), (b'#IOP', 'marine_sim_ros,\n')):
            body = text.encode() + b'\0' * (-(len(text.encode()) + 6) % 4)
            content = struct.pack('<3H', 6 + len(body), 0, 0) + body
            _write_datagram(file, kind, 0, file_start, content)
        first = _pose(placed[0][2], environment)
        _write_datagram(file, b'#SVP', 1, file_start, _profile(first, file_start))
        for number, (stamp, points, row) in enumerate(placed):
            pose = _pose(row, environment)
            _write_datagram(file, b'#SKM', 0, stamp, _attitude(stamp, pose))
            _write_datagram(file, b'#SPO', 0, stamp, _position(stamp, pose))
            soundings = _soundings(sensor, points.reshape(-1), pose, environment)
            content = _ranges_and_depths(sensor, number, rate, soundings, pose)
            _write_datagram(file, b'#MRZ', 2, stamp, content)
    return True


def _write_datagram(file: BinaryIO, kind: bytes, version: int, stamp: int, content: bytes) -> None:
    """Write the general header, a content and the length again."""
    size = 20 + len(content) + 4
    header = struct.pack(
        '<I4s2BH2I', size, kind, version, 0, _ECHO_SOUNDER, *divmod(stamp, NANOSECONDS)
    )
    file.write(header + content + struct.pack('<I', size))


def _pose(row: Any, environment: Environment) -> _Pose:
    """Return the pose of position (m) and orientation (x, y, z, w) in map."""
    position, orientation = np.array(row[:3]), np.array(row[3:7])
    roll, pitch, yaw = rpy_from_quaternion(orientation)
    cos, sin = math.cos(yaw), math.sin(yaw)
    level = np.array([[cos, sin, 0.0], [sin, -cos, 0.0], [0.0, 0.0, -1.0]])
    latitude, longitude = environment.origin.coordinates(position)
    return _Pose(
        position,
        rotation_matrix(orientation),
        level,
        (math.degrees(roll), -math.degrees(pitch), environment.origin.compass(float(yaw)) % 360.0),
        float(latitude),
        float(longitude),
        environment.origin.altitude + float(position[2]),
    )


def _installation(sensor: Sensor) -> str:
    """Return the text of #IIP: the place of the sonar on the vehicle; sensors of the pose at 0."""
    x, y, z = sensor.position * (1.0, -1.0, -1.0) + 0.0  # no -0.000
    forward = np.diag([1.0, -1.0, -1.0]) @ sensor.rotation  # x ahead, y to starboard, z down
    roll = math.degrees(math.atan2(forward[2, 1], forward[2, 2]))
    pitch = math.degrees(math.asin(max(-1.0, min(1.0, -float(forward[2, 0])))))
    turn = math.degrees(math.atan2(forward[1, 0], forward[0, 0])) % 360.0
    place = f'X={x:.3f};Y={y:.3f};Z={z:.3f};R={roll:.3f};P={pitch:.3f};H={turn:.3f}'
    zero = 'X=0.000;Y=0.000;Z=0.000;D=0.000'
    spec = sensor.spec
    lines = (
        'OSCV:marine_sim_ros',
        f'EMXV:EM{_ECHO_SOUNDER}',
        'PU_0',
        'SN=1',
        'IP=127.0.0.1:0xffffff00',
        'UDP=1997',
        'TYPE=simulated',
        'VERSIONS:',
        'CPU:marine_sim_ros',
        'VERSIONS-END',
        'SERIALno:',
        'TX:1',
        'RX:1',
        'SERIALno-END',
        'DCL:0',
        'KMALL:Rev I',
        f'SYSTEM:EM {_ECHO_SOUNDER} - Single Tx single Rx',
        f'TRAI_TX1:N=1;{place};S={spec.beam_along:.1f}',
        f'TRAI_RX1:N=1;{place};G=0.00',
        f'POSI_1:{zero};G=WGS84;T=Datagram;C=On;F=GGA;Q=Off;I=simulated;U=ACTIVE',
        f'ATTI_1:{zero};R=0.000;P=0.000;H=0.000;M=Rotation;F=KM Binary;I=simulated;U=ACTIVE',
        'EMXI:SWLZ=0.000',
    )
    return ',\n'.join(lines) + ',\n'


def _profile(pose: _Pose, stamp: int) -> bytes:
    """Return an #SVP of the sound speed that the sensor assumes, from 0 m to 12,000 m."""
    head = struct.pack('<2H4sI2d', 28, 2, b'S00\0', stamp // NANOSECONDS, pose.latitude,
                       pose.longitude)  # fmt: skip
    rows = (struct.pack('<2fI2f', depth, SOUND_SPEED, 0, 0.0, 0.0) for depth in (0.0, 12e3))
    return head + b''.join(rows)


def _attitude(stamp: int, pose: _Pose) -> bytes:
    """Return an #SKM of one sample: position and attitude; rates, errors and accelerations 0."""
    size = 132
    seconds, rest = divmod(stamp, NANOSECONDS)
    information = struct.pack('<H2B4H', 12, 0, 1, 1, 1, size, 0b111)
    not_given = 0b1111000  # heave, acceleration, errors, delayed heave
    sample = struct.pack('<4s2H3I2d', b'#KMB', size, 0, seconds, rest, not_given, pose.latitude,
                         pose.longitude)  # fmt: skip
    numbers = (pose.height, *pose.angles, *[0.0] * 17)
    return information + sample + struct.pack('<21f2If', *numbers, seconds, rest, 0.0)


def _position(stamp: int, pose: _Pose) -> bytes:
    """Return an #SPO without the text of an instrument."""
    common = struct.pack('<4H', 8, 0, 1, 0)
    seconds, rest = divmod(stamp, NANOSECONDS)
    block = struct.pack('<2If2d3f', seconds, rest, 0.0, pose.latitude, pose.longitude,
                        _NO_SPEED, _NO_COURSE, pose.height)  # fmt: skip
    return common + block


def _soundings(
    sensor: Sensor, points: np.ndarray, pose: _Pose, environment: Environment
) -> np.ndarray:
    """Return the soundings (b,) of a ping, of its points in the frame of the sensor."""
    spec = sensor.spec
    own = np.stack([points[axis].astype(float) for axis in 'xyz'], axis=-1)
    valid = np.isfinite(own).all(axis=-1)
    own[~valid] = 0.0
    distance = np.linalg.norm(own, axis=-1)
    from_reference = (sensor.position + own @ sensor.rotation.T) @ pose.rotation.T
    place = from_reference @ pose.level.T
    latitude, longitude = environment.origin.coordinates(pose.position + from_reference)
    loss = float(absorption(spec.frequency))
    far = np.where(valid, distance, 1.0)
    gain = np.where(valid, 40.0 * np.log10(far) + 2.0 * loss * far, 0.0)
    area = _insonified_area(spec, far, own @ sensor.rotation.T @ pose.rotation.T)
    strength = points['intensity'] - spec.source_level + gain - 10.0 * np.log10(area)
    strength = np.where(valid, strength, 0.0)
    deviation = np.where(valid, points['deviation'], 0.0)
    table: dict[str, Any] = {
        'soundingIndex': np.arange(len(own)),
        'detectionType': np.where(valid, 0, 2),
        'detectionMethod': np.where(valid, 1, 0),
        'rangeFactor': 100.0,
        'qualityFactor': 100.0 * deviation / np.maximum(np.abs(place[:, 2]), 1e-3) * valid,
        'detectionUncertaintyVer_m': deviation * np.abs(own[:, 2]) / far,
        'detectionUncertaintyHor_m': deviation * np.abs(own[:, 1]) / far,
        'detectionWindowLength_sec': 1e-6 * spec.pulse_length,
        'echoLength_sec': 1e-6 * spec.pulse_length,
        'meanAbsCoeff_dBPerkm': 1e3 * loss,
        'reflectivity1_dB': strength,
        'reflectivity2_dB': strength,
        'sourceLevelApplied_dB': spec.source_level,
        'TVG_dB': gain,
        'beamAngleReRx_deg': -np.degrees(beam_angles(spec)),  # positive to port
        'twoWayTravelTime_sec': 2.0 * distance / SOUND_SPEED,
        'deltaLatitude_deg': valid * (latitude - pose.latitude),
        'deltaLongitude_deg': valid * (longitude - pose.longitude),
        'x_reRefPoint_m': valid * place[:, 0],
        'y_reRefPoint_m': valid * place[:, 1],
        'z_reRefPoint_m': valid * place[:, 2],
    }
    result = np.zeros(len(own), _SOUNDING)
    for name, values in table.items():
        result[name] = values
    return result


def _insonified_area(spec: Any, distance: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the area (b,) of a level bottom that gives an echo at one time, m².

    A = r ψ min(r φ / cos θ, c τ / (2 sin θ)), with the equivalent widths ψ along and φ across the
    track of both beams, and the angle θ from the vertical: the shorter of beam and pulse.

    Args:
        spec: parameters of the sonar.
        distance: (b,) r, m.
        offset: (b, 3) from the sonar to the bottom, map, m.
    """
    cos = np.clip(-offset[:, 2] / distance, 1e-3, 1.0)
    along, across = (
        equivalent_width(math.radians(width)) for width in (spec.beam_along, spec.beam_across)
    )
    of_beam = distance * across / cos
    of_pulse = 0.5e-6 * SOUND_SPEED * spec.pulse_length / np.sqrt(np.maximum(1 - cos**2, 1e-12))
    return np.asarray(distance * along * np.minimum(of_beam, of_pulse))


def _ranges_and_depths(
    sensor: Sensor, number: int, rate: float, soundings: np.ndarray, pose: _Pose
) -> bytes:
    """Return an #MRZ of one swath, one sector and one fan."""
    spec = sensor.spec
    partition, body = struct.pack('<2H', 1, 1), struct.pack('<2H8B', 12, number % 65536, 1, 0, 1,
                                                            0, 0, 0, 1, 0)  # fmt: skip
    sonar = (sensor.position @ pose.rotation.T) @ pose.level.T
    ping = _ping(spec, rate, pose, -float(pose.position[2]) + float(sonar[2]), soundings)
    pulse = 1e-6 * spec.pulse_length
    sector = struct.pack(
        '<4B7f2BH3f', 0, 0, 0, 0, 0.0, 0.0, spec.source_level, 0.0, 1e3 * spec.frequency,
        1.0 / pulse, pulse, 0, 0, 0, 0.0, 0.0, pulse,
    )  # fmt: skip
    valid = int((soundings['detectionType'] == 0).sum())
    sample_rate = SOUND_SPEED / (2.0 * max(spec.sample, 1e-3))
    receiver = struct.pack(
        '<4H4f4H', 32, len(soundings), valid, _SOUNDING.itemsize, sample_rate, 0.0, 0.0, 0.0, 0, 0,
        0, 4,
    )  # fmt: skip
    return partition + body + ping + sector + receiver + soundings.tobytes()


def _ping(spec: Any, rate: float, pose: _Pose, depth: float, soundings: np.ndarray) -> bytes:
    """Return the information on a ping, 152 bytes, with the depth (m) of the transducer."""
    valid = soundings[soundings['detectionType'] == 0]
    across = valid['y_reRefPoint_m'] if len(valid) else np.zeros(1, np.float32)
    down = valid['z_reRefPoint_m'] if len(valid) else np.ones(1, np.float32)
    angle = np.degrees(np.arctan2(across, down))
    pulse, frequency = 1e-6 * spec.pulse_length, 1e3 * spec.frequency
    half = 0.5 * spec.swath
    first = struct.pack(
        '<2Hf6BH11f2h2BHI3f2Hf2H6f4B',
        152, 0, rate, 1, 0, 0, 0, 0, 0, 0, frequency, frequency, frequency, pulse, pulse,
        1.0 / pulse, 1e3 * float(absorption(spec.frequency)), half, -half,
        -float(angle.min()), -float(angle.max()),
        math.floor(-float(across.min())), math.floor(-float(across.max())),
        0, 0, 0, 0, spec.beam_along, spec.beam_across, 0.0, 0, 0, 0.0, 1, 48, pose.angles[2],
        SOUND_SPEED, depth, float(pose.position[2]), 0.0, 0.0, 1, 0, 0, 0,
    )  # fmt: skip
    return first + struct.pack(
        '<2d2f2BH', pose.latitude, pose.longitude, pose.height, 0.0, 0, 0, 0
    )
