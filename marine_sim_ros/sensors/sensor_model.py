# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a sensor is: pure functions of the motion, and what the rest of the suite must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['Readings', 'SensorModel', 'SensorTopic']

Readings: TypeAlias = Mapping[str, Array]
"""Arrays (..., k) or (...) by quantity; NaN: there is no reading."""

Measure = Callable[[Sensor, State, Array, Environment], Readings]
Disturb = Callable[[Sensor, Readings, int | np.ndarray, int, Sequence[Fault]], Readings]


def _nothing(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del sensor, stamps, seed, faults
    return readings


@dataclass(frozen=True, eq=False)
class SensorTopic:
    """One topic of a sensor.

    Attributes:
        name: below the sensor's own name.
        type: type of its messages, as ``sensor_msgs/msg/FluidPressure``; they have a header.
        fields: function of a sensor and one tick's readings: the message's other fields by name,
            nested ones as mappings; None where there is nothing to send.
    """

    name: str
    type: str
    fields: Callable[[Sensor, Readings], Mapping[str, Any] | None]


@dataclass(frozen=True, eq=False)
class SensorModel:
    """One kind of sensor.

    Every reading is a function of (state, acceleration, environment, stamp, seed) only, so that it
    is the same in the node graph, in ``simulate`` and in the compiled engine.

    Attributes:
        name: name of the sensor kind.
        element: URDF element at robot level; a vehicle may have several.
        read: what describes one sensor, of that element's
            :class:`~marine_sim_ros.model.xml.Reader` and a
            :class:`~marine_sim_ros.model.sensors.Mounting`; it has the attribute ``frame``.
        measure: the ideal readings of a sensor, a state, its acceleration (..., 6) (the rate of
            change of ``state.velocity``, m/s² and rad/s²) and an environment; any array library.
        disturb: the readings with noise and faults, of a sensor, ideal readings, their stamps
            (...) in ns, a seed and the faults of the run; NumPy.
        topics: what its node publishes for every odom, with the stamp of that odom.
        needs: ``acceleration`` where ``measure`` uses it: it is known one step later.
        label: display label.
        executable: executable that runs it; default: the node class shared by all that need none
            of their own.
    """

    name: str
    element: str
    read: Callable[[Any, Any], Any]
    measure: Measure
    _: KW_ONLY
    disturb: Disturb = _nothing
    topics: tuple[SensorTopic, ...] = ()
    needs: tuple[str, ...] = ()
    label: str = ''
    executable: str = 'sensor'
