# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Battery monitor: voltage and current of the supply, by the power that the thrusters draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.propulsion import CURVE_VOLTAGE
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import add_lasting_errors, quantize
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
)

__all__ = ['BATTERY', 'supply_current']

DISCHARGING, GOOD, LITHIUM_ION = 2, 1, 2
"""Constants of sensor_msgs/BatteryState."""


@declaration(frozen=True)
class BatteryMonitor:
    """Parameters of a battery monitor."""

    idle_current: float = number(0.0, 0.0, 1e3, 'A', 'current of everything but the thrusters')
    capacity: float = number(18.0, 0.0, 1e6, 'A h', 'capacity that it reports')
    voltage_noise: float = number(0.0, 0.0, 100.0, 'V', 'standard deviation of the voltage')
    voltage_bias: float = number(
        0.0, 0.0, 100.0, 'V', 'standard deviation of the constant bias of the voltage'
    )
    voltage_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the voltage'
    )
    voltage_resolution: float = number(0.0, 0.0, 100.0, 'V', 'step of the voltage; 0: none')
    current_noise: float = number(0.0, 0.0, 1e3, 'A', 'standard deviation of the current')
    current_bias: float = number(
        0.0, 0.0, 1e3, 'A', 'standard deviation of the constant bias of the current'
    )
    current_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the current'
    )
    current_drift: float = number(
        0.0, 0.0, 1e3, 'A/h', 'standard deviation of the drift of the current'
    )
    current_resolution: float = number(0.0, 0.0, 1e3, 'A', 'step of the current; 0: none')
    current_range: float = number(0.0, 0.0, 1e4, 'A', 'greatest current; 0: no limit')


def supply_voltage(supply: np.ndarray) -> np.ndarray:
    """Return the voltage (...) of a supply (..., 3) of SensorInputs, V."""
    return np.where(np.isnan(supply[..., 1]), CURVE_VOLTAGE, supply[..., 1])


def supply_current(supply: np.ndarray) -> np.ndarray:
    """Return the current (...) that the thrusters draw of a supply (..., 3), A: I = P/U."""
    return np.asarray(supply[..., 0] / supply_voltage(supply))


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return voltage (V), current (A) and used charge (A h), (...) each.

    Without a supply of its own the run has that of the thrust curves; the voltage sags, and the
    charge is known, where it has the fault battery.
    """
    del state, environment
    return {
        'voltage': supply_voltage(inputs.supply),
        'current': supply_current(inputs.supply) + sensor.spec.idle_current,
        'used': inputs.supply[..., 2],
    }


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    spec, result = sensor.spec, dict(readings)
    for name, span in (('voltage', 0.0), ('current', spec.current_range)):
        result[name] = add_lasting_errors(sensor, name, result[name], stamps, seed)
        if deviation := getattr(spec, f'{name}_noise'):
            noise = gaussian(seed, f'{sensor.name}/{name}', stamps)
            result[name] = result[name] + deviation * noise
        result[name] = quantize(result[name], span, getattr(spec, f'{name}_resolution'))
    return result


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    capacity = sensor.spec.capacity
    left = capacity - float(readings['used'])
    return {
        'voltage': float(readings['voltage']),
        'current': -float(readings['current']),  # negative when discharging
        'charge': left,
        'capacity': capacity,
        'design_capacity': capacity,
        'percentage': left / capacity if capacity else math.nan,
        'temperature': math.nan,
        'power_supply_status': DISCHARGING,
        'power_supply_health': GOOD,
        'power_supply_technology': LITHIUM_ION,
        'present': True,
    }


def _comparison(name: str, sign: float) -> Callable[..., ReadingComparison]:
    """Return a comparison of a named quantity, with the sign of the messages."""

    def compare(
        sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
    ) -> ReadingComparison:
        del state
        noise = getattr(sensor.spec, f'{name}_noise')
        step = getattr(sensor.spec, f'{name}_resolution')
        deviation = math.sqrt(noise**2 + step**2 / 12)
        truth = sign * ideal[name][:, None]
        return ReadingComparison(numbers, truth, np.full_like(truth, deviation))

    return compare


BATTERY = SensorModel(
    'battery',
    _measure,
    disturb=_disturb,
    spec=BatteryMonitor,
    topics=(SensorTopic('state', 'sensor_msgs/msg/BatteryState', _fields),),
    charts=(
        SensorChart(
            'state',
            'voltage',
            'V',
            message_numbers('sensor_msgs/msg/BatteryState', 'voltage'),
            _comparison('voltage', 1.0),
        ),
        SensorChart(
            'state',
            'current',
            'A',
            message_numbers('sensor_msgs/msg/BatteryState', 'current'),
            _comparison('current', -1.0),
        ),
    ),
    needs=('supply',),
    rate=10.0,
    label='Battery',
)
