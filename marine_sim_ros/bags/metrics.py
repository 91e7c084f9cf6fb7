# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Metrics of a recorded run, as in metrics.json, and comparison of barometer and odometry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.bags.reading import Bag
from marine_sim_ros.bags.series import (
    MessageTiming,
    Series,
    interpolate_rows,
    latest_rows,
    rising_rows,
)
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES, VehicleRecord
from marine_sim_ros.control.step_response import compute_step_response
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.vehicle import Barometer, Vehicle

__all__ = ['bag_metrics', 'depth_check', 'has_values', 'stamp_notes', 'vehicle_metrics']


# Depth by the barometer compared with the depth of the odometry.

_DEFAULT_PRESSURE, _DEFAULT_DENSITY = 101300.0, 997.0
"""Pa, kg/m³: surface pressure and fluid density of the OrcaBarometerPlugin."""
_MIN_DEPTH_SPAN = 0.5
"""Range of depth, m, for the fit of density and atmospheric pressure."""


@dataclass(frozen=True, eq=False)
class DepthCheck:
    """Depths by barometer and by odometry at the same times.

    Attributes:
        time: (n,) s.
        measured: (n,) by pressure, m.
        true: (n,) of the sensor by odometry, m.
        atmospheric_pressure: atmospheric pressure in the conversion, Pa.
        fluid_density: density in the conversion, kg/m³.
    """

    time: np.ndarray
    measured: np.ndarray
    true: np.ndarray
    atmospheric_pressure: float
    fluid_density: float

    def metrics(self) -> dict[str, Any]:
        """Return bias, standard deviation and RMS of the difference, and a line fit."""
        error = self.measured - self.true
        density = surface = None
        if np.ptp(self.true) > _MIN_DEPTH_SPAN and len(error) > 2:
            slope, offset = np.polyfit(self.true, self.measured, 1)
            weight = self.fluid_density * STANDARD_GRAVITY
            density = float(slope * self.fluid_density)
            surface = float(self.atmospheric_pressure + offset * weight)
        return {
            'used_atmospheric_pressure_Pa': self.atmospheric_pressure,
            'used_density_kg_m3': self.fluid_density,
            'bias_m': float(error.mean()),
            'standard_deviation_m': float(error.std()),
            'rms_m': float(np.sqrt(np.mean(error**2))),
            'fitted_density_kg_m3': density,
            'fitted_atmospheric_pressure_Pa': surface,
        }


def depth_check(record: VehicleRecord, sensor: Barometer | None) -> DepthCheck | None:
    """Return depth (p − p₀)/(ρ g) beside −z of the sensor; None where either is missing.

    Without a description the sensor sits at the vehicle's origin, with p₀ = 101300 Pa and
    ρ = 997 kg/m³ (Orca3 plugin documentation, OrcaBarometerPlugin).
    """
    pressure, odom = record.get('barometer/pressure'), record.get('odom')
    if pressure is None or odom is None:
        return None
    surface = _DEFAULT_PRESSURE if sensor is None else sensor.atmospheric_pressure
    density = _DEFAULT_DENSITY if sensor is None else sensor.fluid_density
    time = pressure.time
    pose = interpolate_rows(odom, time)
    height = pose[:, ODOM_QUANTITIES.index('z')]
    if sensor is not None:
        x, y, z = sensor.position
        roll, pitch = (
            pose[:, ODOM_QUANTITIES.index('roll')],
            pose[:, ODOM_QUANTITIES.index('pitch')],
        )
        # Third row of R = Rz Ry Rx.
        lever_height = (
            -np.sin(pitch) * x
            + np.cos(pitch) * np.sin(roll) * y
            + np.cos(pitch) * np.cos(roll) * z
        )
        height = height + lever_height + sensor.reference_offset
    measured = (pressure.rows[:, 0] - surface) / (density * STANDARD_GRAVITY)
    valid = np.isfinite(height) & np.isfinite(measured)
    if not valid.any():
        return None
    return DepthCheck(time[valid], measured[valid], -height[valid], surface, density)


# Metrics of a recorded run, as in metrics.json.

RESPONSE_WINDOW = 5.0
"""s at the end of a run whose mean is the steady state of the response, at most half of it."""


def bag_metrics(bag: Bag) -> dict[str, Any]:
    """Return the entries of metrics.json for a bag, without its vehicles."""
    return {
        'path': bag.path,
        'label': bag.label,
        'bytes': bag.size,
        'messages': bag.messages,
        'received_from_ns': bag.start,
        'received_to_ns': bag.end,
        'topics': {t: {'type': k, 'messages': n} for t, k, n in bag.topics},
        'notes': list(bag.notes),
        'events': [
            {'stamp_ns': event.stamp, 'kind': event.kind, 'text': event.text}
            for event in bag.events
        ],
    }


def vehicle_metrics(record: VehicleRecord, vehicle: Vehicle | None) -> dict[str, Any]:
    """Return the entries of metrics.json for a vehicle; None where the bag lacks the data.

    Energies and impulses are sums of value times the time to the next message, over all messages.
    ``impulse`` is in the body frame; a ``..._share`` is a source's fraction of the sum of all
    sources' ∫ |F| dt.
    """
    odom = record.channels.get('odom')
    check = depth_check(record, vehicle.barometer if vehicle else None)
    result: dict[str, Any] = {
        'channels': {c.name: _channel(record, c.name) for c in record.channels.values()},
        'motion': None if odom is None else _motion(odom.series, odom.timing, odom.distance),
        'energy': _energy(record),
        'thrusters': _thrusters(record),
        'impulse': _impulses(record),
        'barometer': None if check is None else check.metrics(),
    }
    result['response'], result['response_note'] = _response(record)
    return result


def timing_metrics(timing: MessageTiming) -> dict[str, Any]:
    """Return the entries of metrics.json for stamps."""
    interval = timing.series
    return {
        'duration_s': timing.duration,
        'tick_s': timing.tick,
        'gaps': timing.gaps,
        'lost_ticks': timing.lost,
        'longest_gaps': [{'gap_s': g, 'after_stamp_s': t} for g, t in timing.longest],
        'stamps_backwards': timing.backwards,
        'stamps_repeated': timing.repeated,
        'interval_min_ms': finite_number(interval.minimum[0]),
        'interval_max_ms': finite_number(interval.maximum[0]),
        'wall_times': timing.has_wall_clock,
        'real_time_factor': timing.real_time_factor,
    }


def stamp_notes(channels: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each topic whose stamps go back.

    Args:
        channels: entry ``channels`` of :func:`vehicle_metrics`.
    """
    notes = []
    for channel in channels.values():
        count = channel['stamps_backwards']
        if 2 * count >= channel['messages']:
            notes.append(f'{channel["topic"]}: most stamps go back: the run is reversed')
        elif count:
            notes.append(
                f'{channel["topic"]}: stamps go back {count} time(s): the run loops, or its clock '
                'started again; its parts lie over each other here'
            )
    return notes


def _channel(record: VehicleRecord, name: str) -> dict[str, Any]:
    channel, odom = record.channels[name], record.channels.get('odom')
    return {
        'topic': channel.topic,
        'type': channel.type,
        'messages': channel.count,
        'own_stamps': channel.stamped,
        'left_out': channel.odd,
        'ticks_without': None if odom is None else max(0, odom.count - channel.count),
        'thinned': channel.series.stride,
        **timing_metrics(channel.timing),
    }


def _motion(series: Series, timing: MessageTiming, distance: float | None) -> dict[str, Any]:
    low = dict(zip(ODOM_QUANTITIES, series.minimum.tolist(), strict=True))
    high = dict(zip(ODOM_QUANTITIES, series.maximum.tolist(), strict=True))
    span = timing.duration
    return {
        'ticks': series.count,
        'duration_s': span,
        'distance_m': distance,
        'mean_speed_m_s': distance / span if span > 0 and distance is not None else None,
        'max_speed_m_s': finite_number(high['speed']),
        'max_depth_m': finite_number(-low['z']),
        'min_depth_m': finite_number(-high['z']),
        'max_roll_deg': _largest_degrees(low['roll'], high['roll']),
        'max_pitch_deg': _largest_degrees(low['pitch'], high['pitch']),
        'turned_deg': finite_number(math.degrees(high['yaw'] - low['yaw'])),
    }


def _largest_degrees(low: float, high: float) -> float | None:
    return finite_number(math.degrees(max(abs(low), abs(high))))


def has_values(record: VehicleRecord, topic: str, columns: slice) -> bool:
    """Whether columns of a topic of thrusters have values.

    Power and rotor speed of a vehicle that describes neither are 0 while its thrusters push.
    """
    series, thrust = record.get(topic), record.get('thrusters/state')
    if series is None:
        return False
    half = 0 if thrust is None else thrust.width // 2
    pushes = thrust is not None and _is_nonzero(thrust, slice(half))
    return not pushes or _is_nonzero(series, columns)


def _is_nonzero(series: Series, columns: slice) -> bool:
    return bool(np.any(series.minimum[columns]) or np.any(series.maximum[columns]))


def _energy(record: VehicleRecord) -> dict[str, Any] | None:
    power = record.get('thrusters/power')
    if power is None or not has_values(record, 'thrusters/power', slice(-2)):
        return None
    each = power.integral[:-2]
    span = record.channels['thrusters/power'].timing.duration
    total = float(each.sum())
    return {
        'total_J': total,
        'total_Wh': total / 3600,
        'mean_power_W': total / span if span > 0 else None,
        'max_power_W': finite_number(power.maximum[-2]),
        'thrusters_J': each.tolist(),
    }


def _thrusters(record: VehicleRecord) -> dict[str, Any] | None:
    pwm, thrust = record.get('thrusters/pwm'), record.get('thrusters/state')
    if pwm is None and thrust is None:
        return None
    result: dict[str, Any] = {}
    if pwm is not None:
        result |= {'pwm_min_us': _numbers(pwm.minimum), 'pwm_max_us': _numbers(pwm.maximum)}
    if thrust is not None:
        half = thrust.width // 2
        rpm = 30 / math.pi
        result |= {
            'thrust_min_N': _numbers(thrust.minimum[:half]),
            'thrust_max_N': _numbers(thrust.maximum[:half]),
        }
        if has_values(record, 'thrusters/state', slice(half, None)):
            result |= {
                'rotor_min_rpm': _numbers(thrust.minimum[half:] * rpm),
                'rotor_max_rpm': _numbers(thrust.maximum[half:] * rpm),
            }
    return result


def _impulses(record: VehicleRecord) -> dict[str, Any]:
    sources = record.wrenches
    force = sum(s.integral[6] for s in sources.values())
    torque = sum(s.integral[7] for s in sources.values())
    series_by_name = dict(sources)
    total = record.get('wrench/total')
    if total is not None:
        series_by_name['total'] = total
    result = {}
    for name, series in series_by_name.items():
        is_source = name in sources
        result[name] = {
            'force_N_s': series.integral[:3].tolist(),
            'torque_N_m_s': series.integral[3:6].tolist(),
            'force_size_N_s': float(series.integral[6]),
            'torque_size_N_m_s': float(series.integral[7]),
            'force_share': float(series.integral[6] / force) if is_source and force > 0 else None,
            'torque_share': float(series.integral[7] / torque)
            if is_source and torque > 0
            else None,
            'max_force_N': finite_number(series.maximum[6]),
            'max_torque_N_m': finite_number(series.maximum[7]),
        }
    return result


def _response(record: VehicleRecord) -> tuple[dict[str, Any] | None, str]:
    """Return the response to the set-points, and a note: why it is missing, or its limits."""
    goals, odom = record.get('controller/setpoints'), record.get('odom')
    if goals is None or odom is None:
        return None, 'no set-points in the bag'
    if np.isnan(goals.rows[-1]).all():
        return None, 'all set-points are free at the end'
    time, rows = rising_rows(odom)
    valid = np.isfinite(rows[:, :12]).all(axis=1)
    time, rows = time[valid], rows[valid]
    if not len(time):
        return None, 'no odometry with attitude and velocity'
    velocity = np.column_stack([rows[:, 12:15], rows[:, 9:12]])
    window = min(RESPONSE_WINDOW, 0.5 * float(time[-1] - time[0]))
    try:
        response = compute_step_response(
            time - time[0],
            rows[:, :3],
            rows[:, 3:6],
            latest_rows(goals, time),
            velocity=velocity,
            window=window,
        )
    except ParameterError as error:
        return None, str(error)
    note = '' if odom.stride == 1 else f'judged by every {odom.stride}th odometry'
    return response.to_dict(), note


def finite_number(value: Any) -> float | None:
    """Return a float; None where it is not finite."""
    return float(value) if np.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[float | None]:
    return [finite_number(v) for v in values]
