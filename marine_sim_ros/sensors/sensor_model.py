# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Model of a sensor: pure functions of the motion, parameters and topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor

__all__ = [
    'ReadingComparison',
    'Readings',
    'SensorChart',
    'SensorInputs',
    'SensorModel',
    'SensorTopic',
    'against_ideal',
    'diagonal',
    'one_at_a_time',
    'one_state_at_a_time',
    'quaternion_fields',
    'unknown_rates',
    'vector_fields',
]

Readings: TypeAlias = Mapping[str, np.ndarray]
"""Arrays (..., k) or (...) by quantity; the first is NaN throughout: there is no reading. A
quantity ``delay`` (...), s, is added to the latency."""


class SensorInputs(NamedTuple):
    """Inputs that only some sensors need, of the same tick.

    Attributes:
        time: (...) s.
        acceleration: (..., 6) rate of change of ``state.velocity``, m/s² and rad/s² (``needs``
            acceleration): it is known one step later.
        supply: (..., 3) of the thrusters (``needs`` supply): electrical power, W; voltage, V, and
            charge drawn, A h, which are NaN without a battery among the faults.
        joints: (..., k) positions of the arm's joints, rad or m (``needs`` joints); None: 0.
        tether: (..., n, 3) places along the tether, map, m (``needs`` tether), or None.
        rotors: (..., n) speeds of the thrusters' rotors, rad/s (``needs`` rotors); None: 0.
        silt: (..., k, 5) clouds of sediment that the vehicle has stirred up (``needs`` silt), rows
            as of physics/silt.py; None: none.
        outbox: destinations (str) and bytes that a modem is to send (``needs`` outbox), of one
            tick; None: nothing.
    """

    time: np.ndarray
    acceleration: np.ndarray
    supply: np.ndarray
    joints: np.ndarray | None = None
    tether: np.ndarray | None = None
    rotors: np.ndarray | None = None
    silt: np.ndarray | None = None
    outbox: Any = None

    def at(self, rows: Any) -> SensorInputs:
        """Return the inputs of one tick of many, or of some."""
        arrays = {name: x[rows] for name, x in self._asdict().items() if x is not None}
        return SensorInputs(**arrays)

    @classmethod
    def none(cls, time: float = 0.0) -> SensorInputs:
        """Return the inputs of a vehicle that moves steadily with its thrusters off."""
        return cls(np.asarray(time), np.zeros(6), np.array([0.0, np.nan, np.nan]))


Measure = Callable[[Sensor, State, Environment, SensorInputs], Readings]
Disturb = Callable[[Sensor, Readings, int | np.ndarray, int, Sequence[Fault]], Readings]
Follow = Callable[[Sensor, Any, int, Readings], tuple[Readings, Any]]
Exchange = Callable[
    [Sensor, Any, int, State, Environment, SensorInputs, int], tuple[Readings, Any]
]


def _no_disturbance(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del sensor, stamps, seed, faults
    return readings


def one_at_a_time(disturb: Disturb) -> Disturb:
    """Return a function of many stamps, of one that takes the readings of a single stamp."""

    @wraps(disturb)
    def disturb_each(
        sensor: Sensor,
        readings: Readings,
        stamps: int | np.ndarray,
        seed: int,
        faults: Sequence[Fault],
    ) -> Readings:
        if not np.ndim(stamps):
            return disturb(sensor, readings, stamps, seed, faults)
        rows = [
            disturb(sensor, {k: v[i] for k, v in readings.items()}, int(stamp), seed, faults)
            for i, stamp in enumerate(np.asarray(stamps).tolist())
        ]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    return disturb_each


def one_state_at_a_time(measure: Measure) -> Measure:
    """Return a function of many states, of one that takes a single state."""

    @wraps(measure)
    def measure_each(
        sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
    ) -> Readings:
        if state.position.ndim == 1:
            return measure(sensor, state, environment, inputs)
        rows = [
            measure_each(sensor, State(*(x[i] for x in state)), environment, inputs.at(i))
            for i in range(len(state.position))
        ]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    return measure_each


@dataclass(frozen=True, eq=False)
class SensorTopic:
    """One topic of a sensor.

    Attributes:
        name: below the sensor's own name.
        type: type of its messages, as ``sensor_msgs/msg/FluidPressure``; with a header, if any.
        fields: function of a sensor and one reading: the message's other fields by name,
            nested ones as mappings; None where there is nothing to send.
        when: whether a sensor has this topic; None: each has.
        frame: frame of the messages, or a function of the sensor that returns it; empty: that of
            the sensor.
        odometry: whether the messages (nav_msgs/Odometry) are in the frame ``<name>_odom``, which
            lies level where the sensor was at its first reading; x is then its heading.
        unit: unit of messages that are one number (std_msgs), for people.
        on_demand: whether its messages are made only while somebody subscribes.
    """

    name: str
    type: str
    fields: Callable[[Sensor, Readings], Mapping[str, Any] | None]
    when: Callable[[Sensor], bool] | None = None
    frame: str | Callable[[Sensor], str] = ''
    odometry: bool = False
    unit: str = ''
    on_demand: bool = False

    def frame_of(self, sensor: Sensor, prefix: str = '') -> str:
        """Return the frame of the messages of a sensor, whose own frames have a prefix."""
        named = self.frame(sensor) if callable(self.frame) else self.frame
        return named or prefix + (f'{sensor.name}_odom' if self.odometry else sensor.frame)


class ReadingComparison(NamedTuple):
    """Charted values (m, k) of m messages.

    Attributes:
        reading: what the messages say.
        truth: what they would say without noise.
        deviation: standard deviation of the noise; NaN or 0 where none is known.
    """

    reading: np.ndarray
    truth: np.ndarray
    deviation: np.ndarray


Compare = Callable[[Sensor, np.ndarray, Readings, State], ReadingComparison]


def against_ideal(quantity: str, scale: float = 1.0) -> Compare:
    """Return a comparison of the numbers of messages with an ideal quantity.

    Args:
        quantity: (m, k) or (m,) of the ideal readings; the numbers of the messages are its values
            (m, k) and, where the messages have them, their variances.
        scale: factor from the unit of the readings to that of the chart.
    """

    def compare(
        sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
    ) -> ReadingComparison:
        del sensor, state
        truth = ideal[quantity].reshape(len(numbers), -1)
        reading, variance = np.split(numbers, [truth.shape[1]], axis=1)
        deviation = np.sqrt(variance) if variance.size else np.full_like(truth, np.nan)
        return ReadingComparison(scale * reading, scale * truth, scale * deviation)

    return compare


@dataclass(frozen=True, eq=False)
class SensorChart:
    """A quantity of a sensor that reports draw over its true value.

    Attributes:
        topic: name of the topic that has it.
        label: display label.
        unit: unit of the charted values; empty: none.
        numbers: function of a message of the topic: the numbers (r,) that ``compare`` takes.
        compare: function of a sensor, the numbers (m, r) of messages, the ideal readings (m, ...)
            of the true states at their stamps, and these states: the charted values.
        parts: names of the k values; one without a name where the quantity is a number.
        period: what a turn is in the unit, for angles; 0: it is no angle.
    """

    topic: str
    label: str
    unit: str
    numbers: Callable[[Any], Sequence[float]]
    compare: Compare
    _: KW_ONLY
    parts: tuple[str, ...] = ('',)
    period: float = 0.0


@dataclass(frozen=True, eq=False)
class SensorModel:
    """One kind of sensor.

    Every reading is a function of (state, inputs, environment, stamp, seed) only, and of the
    readings before where there is ``follow``, so that it is the same in the node graph, in
    ``simulate`` and after a compiled run.

    Attributes:
        name: name of the sensor kind: the ``type`` of its <sensor>.
        measure: the ideal readings of a sensor, a state, an environment and
            :class:`SensorInputs`; functions broadcast over leading axes.
        disturb: the readings with noise, of a sensor, ideal readings, their stamps (...) in ns, a
            seed and the faults of the run; faults of any sensor are added to them.
        follow: adds what depends on earlier readings that were sent, of a sensor, what this
            function returned of the last one (None: there is none), a stamp in ns and one reading.
        exchange: reads in place of ``measure`` what depends on all ticks before, sent or not, of a
            sensor, what this function returned of the last one (None: there is none), a stamp in
            ns, a state, an environment, inputs and a seed.
        spec: dataclass of its parameters, fields of :func:`~marine_sim_ros.core.schema.number`:
            elements below <sensor>, and keys of presets.
        read: makes ``sensor.spec`` in place of that, of the element's
            :class:`~marine_sim_ros.model.xml.Reader` and a
            :class:`~marine_sim_ros.model.sensors.Mounting`.
        element: URDF element at robot level beside <sensor type="">, or empty.
        topics: what its node publishes for each reading, with the stamp of the measurement.
        charts: what reports on recordings draw of it.
        needs: required inputs: names of fields of :class:`SensorInputs`, ``time`` aside.
        sees: whether its rays meet other vehicles.
        rate: readings per second where the description gives none; 0: one in every tick.
        slowest: least rate; more than 0 where the noise depends on the rate.
        label: display label.
        exact: why none of its errors last for a run, in a few words; empty: some do, parameters
            that end in ``bias``, ``scale_error``, ``drift``, ``wander`` or ``misalignment``.
        quiet: why a sensor in order may send nothing, in a few words; empty: it always sends.
        executable: executable that runs it; default: the node ``sensors``, one for all sensors of
            a vehicle; ``sensor``: a node of its own, for one that takes long.
        video: reading (h, w, 3) uint8 that can be sent as video; empty: none.
        optical: whether its frame is an optical one (REP 103), ``<name>_optical_frame``: z along
            the x axis of its link or <origin>, x to the right, y down.
        looks: axis of its frame along which it looks, ``x`` or ``z``; empty: none.
        down: whether it is for the ground below the vehicle.
    """

    name: str
    measure: Measure
    _: KW_ONLY
    disturb: Disturb = _no_disturbance
    follow: Follow | None = None
    exchange: Exchange | None = None
    spec: type | None = None
    read: Callable[[Any, Any], Any] | None = None
    element: str = ''
    topics: tuple[SensorTopic, ...] = ()
    charts: tuple[SensorChart, ...] = ()
    needs: tuple[str, ...] = ()
    sees: bool = False
    rate: float = 0.0
    slowest: float = 0.0
    label: str = ''
    exact: str = ''
    quiet: str = ''
    executable: str = 'sensors'
    video: str = ''
    optical: bool = False
    looks: str = ''
    down: bool = False

    def topics_of(self, sensor: Sensor) -> tuple[SensorTopic, ...]:
        """Return the topics that a sensor of this kind has."""
        return tuple(t for t in self.topics if t.when is None or t.when(sensor))


def vector_fields(values: np.ndarray) -> dict[str, float]:
    """Return the fields of a geometry_msgs/Vector3 or Point."""
    return dict(zip('xyz', np.asarray(values).tolist(), strict=True))


def unknown_rates(count: int) -> dict[str, np.ndarray]:
    """Return velocity and effort of a sensor_msgs/JointState that has positions only: NaN.

    Empty arrays at the end of a message get bytes behind them by Fast CDR, for which rosbags does
    not read it.
    """
    return {'velocity': np.full(count, np.nan), 'effort': np.full(count, np.nan)}


def quaternion_fields(values: np.ndarray) -> dict[str, float]:
    """Return the fields of a geometry_msgs/Quaternion."""
    return dict(zip('xyzw', np.asarray(values).tolist(), strict=True))


def diagonal(*variances: float) -> np.ndarray:
    """Return a 3 × 3 covariance (9,), row by row, of one variance or of three."""
    return np.diag(np.broadcast_to(np.array(variances, float), 3)).ravel()
