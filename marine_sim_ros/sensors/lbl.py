# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""LBL: ranges to transponders that are fixed in the scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import in_map
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import normal_draws
from marine_sim_ros.sensors.hydrophone import is_in_sight
from marine_sim_ros.sensors.noise import add_lasting_errors, random_events
from marine_sim_ros.sensors.partners import sound_way
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
    unknown_rates,
)

__all__ = ['LBL', 'transponder_names']


@declaration(frozen=True)
class Lbl:
    """Parameters of a transceiver that requests answers of all transponders."""

    range_noise: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of a range')
    range_bias: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of their constant bias')
    range_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of their error of scale'
    )
    range_step: float = number(0.0, 0.0, 1e3, 'm', 'step of the ranges; 0: none')
    max_range: float = number(0.0, 0.0, 1e5, 'm', 'greatest range; 0: no limit')
    multipath: float = number(
        0.0, 0.0, 1.0, '', 'probability that the echo of the surface is taken for an answer'
    )
    sound_speed: float = number(1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound in uniform water')
    assumed_sound_speed: float = number(
        1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound that it takes for true'
    )


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return ``range`` (n,) of the transponders, m, NaN for no answer, and the last one's delay.

    ``echo`` (n,) is the range by the surface: that of the transponder's mirror image.
    """
    del inputs
    spec = sensor.spec
    point = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    ranges, echoes, delays, names = [], [], [0.0], []
    for beacon in environment.beacons:
        if beacon.period:
            continue
        place = np.array(beacon.position)
        _, speed = sound_way(environment, point, place, spec.sound_speed)
        surface = float(environment.elevation(0.5 * (point + place)))
        image = place * [1, 1, -1] + [0, 0, 2 * surface]
        distance, echo = (float(np.linalg.norm(point - end)) for end in (place, image))
        heard = bool(speed > 0) and is_in_sight(environment, point, place)
        heard = heard and (not spec.max_range or distance <= spec.max_range)
        scale = spec.assumed_sound_speed / speed
        ranges.append(distance * scale if heard else np.nan)
        echoes.append(echo * scale if heard else np.nan)
        delays += [beacon.turnaround + 2 * distance / speed] if heard else []
        names.append(beacon.name)
    return {
        'range': np.array(ranges),
        'echo': np.array(echoes),
        'delay': np.array(max(delays)),
        'name': _letters(names),
    }


_LENGTH = 64
"""Letters of a transponder's name in a message, at most."""


def _letters(names: list[str]) -> np.ndarray:
    """Return names as numbers (n, 64): readings are numbers."""
    return np.array(names, f'<U{_LENGTH}').view('<u4').reshape(len(names), _LENGTH)


def transponder_names(readings: Readings) -> list[str]:
    """Return the names of the transponders of a reading."""
    letters = np.ascontiguousarray(readings['name'], '<u4')
    return [str(name) for name in letters.view(f'<U{_LENGTH}')[:, 0]] if len(letters) else []


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return ranges with noise, the errors of the run, and echoes in place of answers."""
    del faults
    spec, name, stamp = sensor.spec, sensor.name, int(stamps)
    ranges = readings['range']
    if spec.multipath:
        taken = [
            bool(random_events(seed, f'{name}/multipath{i}', stamp, spec.multipath))
            for i in range(len(ranges))
        ]
        ranges = np.where(taken, readings['echo'], ranges)
    ranges = add_lasting_errors(sensor, 'range', ranges, stamp, seed)
    ranges = ranges + spec.range_noise * normal_draws(seed, name, stamp, ranges.shape)
    if spec.range_step:
        ranges = np.round(ranges / spec.range_step) * spec.range_step
    return {**readings, 'range': ranges}


def _ranges(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the ranges of those that answer, by their names."""
    del sensor
    heard = np.isfinite(readings['range'])
    names = zip(transponder_names(readings), heard.tolist(), strict=True)
    return {
        'name': [name for name, is_heard in names if is_heard],
        'position': readings['range'][heard],
        **unknown_rates(int(heard.sum())),
    }


def _nearest(message: Any) -> tuple[float, float]:
    """Return the nearest range and the number of answers."""
    return min(message.position, default=np.nan), float(len(message.position))


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    spec = sensor.spec
    known = np.isfinite(ideal['range'])
    nearest = np.min(np.where(known, ideal['range'], np.inf), axis=1, initial=np.inf)
    truth = np.stack([nearest, known.sum(axis=1)], axis=-1)
    return ReadingComparison(numbers, truth, np.array([spec.range_noise, np.nan]))


LBL = SensorModel(
    'lbl',
    _measure,
    disturb=_disturb,
    spec=Lbl,
    rate=0.5,
    label='LBL',
    topics=(SensorTopic('ranges', 'sensor_msgs/msg/JointState', _ranges),),
    charts=(
        SensorChart('ranges', 'ranges', '', _nearest, _compare, parts=('nearest, m', 'answers')),
    ),
    quiet='no answer',
)
