# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Effects of faults: errors and dropouts of sensors, commands and thrust of thrusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.random import gaussian, stamp_words
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import (
    BarometerDrift,
    BarometerDropout,
    BarometerSpikes,
    CamerasDark,
    Fault,
    SensorBias,
    SensorDelay,
    SensorDropout,
    SensorFreeze,
    SensorSpikes,
    fault_key,
    uniform_draws,
)
from marine_sim_ros.faults.tables import ActiveFaults, battery_voltage, fault_tables
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.propulsion import power_factor
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.thrusters import ThrusterOutput, thrusters, turn_azimuths, zero_angles

__all__ = [
    'COMMAND_TIMEOUT',
    'FaultMemory',
    'LiveThrusters',
    'Propulsion',
    'add_errors',
    'added_latency',
    'dropout_mask',
    'fault_free_memory',
    'faulty_thrusters',
    'freeze_mask',
    'pressure_error',
    'propulsion_at_rest',
]


StampArray = int | np.ndarray


def _acting_mask(fault: Fault, stamps: StampArray) -> np.ndarray:
    time = np.asarray(stamps) / NANOSECONDS
    return np.asarray((time >= fault.start) & (time < fault.end))


def _hit_mask(share: float, seed: int, name: str, stamps: StampArray) -> np.ndarray:
    drawn = uniform_draws(np, np.array(fault_key(seed, name)), stamp_words(np.asarray(stamps)))
    return np.asarray(drawn < share)


# Errors that faults add to a barometer's reading.


def _fault_error(fault: Fault, name: str, seed: int, stamps: np.ndarray) -> np.ndarray:
    if isinstance(fault, BarometerDrift):
        return fault.rate * (stamps / NANOSECONDS - fault.start)
    if not isinstance(fault, BarometerSpikes | BarometerDropout):
        return np.zeros(stamps.shape)
    hit = _hit_mask(fault.share, seed, name, stamps)
    if isinstance(fault, BarometerDropout):
        return np.where(hit, np.nan, 0.0)
    return np.where(hit, fault.size * gaussian(seed, name, stamps), 0.0)


def pressure_error(faults: Sequence[Fault], seed: int, stamps: StampArray) -> np.ndarray:
    """Return the error added to readings of stamps (...) in ns, Pa; NaN: no reading.

    Drift is rate (t − t₀); spikes are Bernoulli-Gaussian noise, size N(0, 1) in a share of the
    readings. What is drawn depends on the seed, the stamp, and the place in the list.
    """
    stamp_array = np.asarray(stamps)
    result = np.zeros(stamp_array.shape)
    for i, fault in enumerate(faults):
        error = _fault_error(fault, f'barometer fault {i}', seed, stamp_array)
        result = result + np.where(_acting_mask(fault, stamp_array), error, 0.0)
    return result


# Effects of sensor faults on readings.


def add_errors(
    faults: Sequence[Fault],
    name: str,
    readings: Mapping[str, np.ndarray],
    stamps: StampArray,
    seed: int,
) -> Mapping[str, np.ndarray]:
    """Return the readings of a sensor of a name with biases and spikes.

    Spikes are size N(0, 1) in a share of the readings. What is drawn depends on the seed, the
    stamp, the sensor's name and the fault's place in the list.

    Args:
        readings: arrays (...) or (..., k) by quantity.
        stamps: stamps (...), ns.
    """
    result = dict(readings)
    for i, fault in enumerate(faults):
        if not isinstance(fault, SensorBias | SensorSpikes) or fault.sensor != name:
            continue
        quantity = fault.quantity or next(iter(result))
        if quantity not in result:
            continue
        error = np.asarray(fault.size * _acting_mask(fault, stamps))
        if isinstance(fault, SensorSpikes):
            draw_name = f'{name} fault {i}'
            error = (
                error
                * gaussian(seed, draw_name, stamps)
                * _hit_mask(fault.share, seed, draw_name, stamps)
            )
        value = np.asarray(result[quantity])
        result[quantity] = value + error.reshape(error.shape + (1,) * (value.ndim - error.ndim))
    return result


def dropout_mask(
    faults: Sequence[Fault], sensor: Sensor, stamps: StampArray, seed: int
) -> np.ndarray:
    """Return a mask (...) of the readings of a sensor that are not sent."""
    result = np.zeros(np.shape(stamps), bool)
    for i, fault in enumerate(faults):
        if isinstance(fault, CamerasDark) and sensor.kind == 'camera':
            result = result | _acting_mask(fault, stamps)
        if isinstance(fault, SensorDropout) and fault.sensor == sensor.name:
            hit = _hit_mask(fault.share, seed, f'{sensor.name} fault {i}', stamps)
            result = result | (_acting_mask(fault, stamps) & hit)
    return result


def freeze_mask(faults: Sequence[Fault], name: str, stamps: StampArray) -> np.ndarray:
    """Return a mask (...) of the readings of a sensor that repeat the one before."""
    result = np.zeros(np.shape(stamps), bool)
    for fault in faults:
        if isinstance(fault, SensorFreeze) and fault.sensor == name:
            result = result | _acting_mask(fault, stamps)
    return result


def added_latency(faults: Sequence[Fault], name: str, stamps: StampArray) -> np.ndarray:
    """Return the additional latency of readings (...), ns."""
    result = np.zeros(np.shape(stamps), np.int64)
    for fault in faults:
        if isinstance(fault, SensorDelay) and fault.sensor == name:
            result = result + round(fault.delay * NANOSECONDS) * _acting_mask(fault, stamps)
    return result


# Thrusters with faults: from the sent command to the thrust.

COMMAND_TIMEOUT = 1.0
"""Time-out of commands after which thrusters stop, s."""
_ROUNDING = 1e-6
"""Rounding of a sum of steps, s."""
_MIN_STEP = 1e-9
"""Step in place of 0, shorter than any delay, s."""


class FaultMemory(NamedTuple):
    """Memory of faults from tick to tick.

    Attributes:
        sent: pulse widths (..., n) that arrived last, µs.
        silence: time (...) since, s.
        line: pulse widths (d, ..., n) of this tick and those before, µs; None: none are late.
        told: pulse widths (..., n) of the tick before, as the thrusters took them, µs.
        load: power (...) of the tick before, at the nominal voltage, W.
        current: drawn (...) in the tick before, A.
        used: charge (...) drawn from the battery, A h.
    """

    sent: Array
    silence: Array
    line: Array | None
    told: Array
    load: Array
    current: Array
    used: Array


class Propulsion(NamedTuple):
    """Memory of thrusters.

    Attributes:
        rotors: (..., n) √N.
        faults: of their faults, if any.
        angles: (..., k) of the thrusters that turn, rad.
        rise: (..., n) temperature of motors' windings over the water, K.
    """

    rotors: Array
    faults: FaultMemory | None = None
    angles: Array | None = None
    rise: Array | None = None


def propulsion_at_rest(vehicle: Vehicle, like: Array) -> Propulsion:
    """Return the memory of a start: rotors at rest and angles of 0, batched as (..., 6)."""
    xp = namespace(like)
    rotors = xp.zeros_like(like[..., :1] + constant(xp, np.zeros(len(vehicle.thrusters))))
    propellers = vehicle.thrusters.propellers
    heats = propellers is not None and propellers.any_inertia
    return Propulsion(
        rotors, angles=zero_angles(vehicle, like), rise=0.0 * rotors if heats else None
    )


def fault_free_memory(rotors: Array) -> FaultMemory:
    """Return the initial memory: no command was sent, no charge was drawn."""
    xp = namespace(rotors)
    neutral = xp.full_like(rotors, PWM_NEUTRAL)
    none = xp.sum(xp.zeros_like(rotors), axis=-1)  # also where there is no thruster
    return FaultMemory(neutral, none, None, neutral, none, none, none)


def _received_pulses(
    acting: ActiveFaults, memory: FaultMemory, pwm: Array, dt: float, timeout: float
) -> tuple[Array, FaultMemory]:
    """Return the received pulse widths: of this tick or the last; neutral after the time-out."""
    xp = namespace(pwm)
    if acting.lost is None:
        return pwm, memory._replace(sent=pwm, silence=0.0 * memory.silence)
    sent = xp.where(acting.lost, memory.sent, pwm)
    silence = xp.where(acting.lost, memory.silence + dt, 0.0 * memory.silence)
    over = silence[..., None] > timeout + _ROUNDING
    received = xp.where(over, xp.full_like(sent, PWM_NEUTRAL), sent)
    return received, memory._replace(sent=sent, silence=silence)


def _delayed_pulses(
    acting: ActiveFaults, memory: FaultMemory, pwm: Array, dt: float, period: float
) -> tuple[Array, FaultMemory]:
    """Return the pulse widths of as many ticks ago as each thruster is late.

    The line grows by its oldest entry to where the longest delay reaches.
    """
    if acting.delay is None:
        return pwm, memory._replace(line=None)
    xp = namespace(pwm)
    before = memory.told[None, ...] if memory.line is None else memory.line
    reach = round(acting.longest / NANOSECONDS / period) if period > 0 else 1
    depth = max(reach, 1) + 1
    available = min(depth - 1, before.shape[0])
    oldest = [before[-1:, ...]] * (depth - 1 - available)
    line = xp.concat([pwm[None, ...], before[:available, ...], *oldest])
    age = xp.clip(xp.round(acting.delay / (dt or _MIN_STEP)), 0.0, depth - 1.0)
    row = constant(xp, np.arange(float(depth)).reshape(-1, *(1,) * pwm.ndim))
    late = xp.sum(xp.where(row == age, line, 0.0 * line), axis=0)
    return late, memory._replace(line=line)


def _effective_pulses(
    acting: ActiveFaults, memory: FaultMemory, pwm: Array
) -> tuple[Array, FaultMemory]:
    """Return the effective pulse widths of stuck, reversed and dead thrusters."""
    xp = namespace(pwm)
    if acting.stuck is not None:
        stuck_pulses = xp.where(xp.isnan(acting.stuck_at), memory.told, acting.stuck_at)
        pwm = xp.where(acting.stuck, stuck_pulses, pwm)
    memory = memory._replace(told=pwm)
    if acting.reverse is not None:
        pwm = xp.where(acting.reverse, 2 * PWM_NEUTRAL - pwm, pwm)
    if acting.dead is not None:
        pwm = xp.where(acting.dead, xp.full_like(pwm, PWM_NEUTRAL), pwm)
    return pwm, memory


def _with_supply_voltage(vehicle: Vehicle, output: ThrusterOutput) -> ThrusterOutput:
    """Return the output with the voltage of the run's supply, where it has one and no battery."""
    voltage = vehicle.thrusters.voltage
    if voltage is None or output.voltage is not None:
        return output
    none = namespace(output.power).sum(0 * output.power, axis=-1)
    return output._replace(voltage=none + voltage)


def faulty_thrusters(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: Propulsion,
    acting: ActiveFaults | None,
    *,
    pwm: Array,
    dt: float,
    period: float,
    timeout: float = COMMAND_TIMEOUT,
    commands: Mapping[str, Array] = NO_COMMANDS,
) -> tuple[ThrusterOutput, Propulsion]:
    """Return the outputs of thrusters with faults, and their memory.

    In this order: a command is lost, is late, is not heeded (stuck), is taken the other way
    round, or by a dead thruster not at all; the battery sets how fast the rotors turn
    (:func:`~marine_sim_ros.physics.thrusters.thrusters`), and a weak one makes less of it.

    Args:
        environment: environment at this tick's time.
        memory: memory of the previous tick.
        acting: active faults, or None.
        pwm: pulse widths (..., n) that were sent, µs.
        dt: time since the tick before, s.
        period: time to the next tick, s; 0: unknown.
        timeout: s without a command after which the thrusters stop.
        commands: commands (..., k) of the actuators, by name.
    """
    angles = turn_azimuths(vehicle, memory.angles, commands, dt)
    if acting is None:
        output, rotors = thrusters(
            vehicle, state, environment, memory.rotors, pwm=pwm, dt=dt, angles=angles,
            rise=memory.rise,
        )  # fmt: skip
        return _with_supply_voltage(vehicle, output), Propulsion(
            rotors, memory.faults, angles, output.rise
        )
    fault_memory = fault_free_memory(memory.rotors) if memory.faults is None else memory.faults
    pwm, fault_memory = _received_pulses(acting, fault_memory, pwm, dt, timeout)
    pwm, fault_memory = _delayed_pulses(acting, fault_memory, pwm, dt, period)
    pwm, fault_memory = _effective_pulses(acting, fault_memory, pwm)
    supply = voltage = None
    if acting.battery is not None:
        xp = namespace(pwm)
        drawn = xp.where(
            acting.battery.on, fault_memory.current * (dt / 3600), 0.0 * fault_memory.current
        )
        fault_memory = fault_memory._replace(used=fault_memory.used + drawn)
        voltage = battery_voltage(acting.battery, fault_memory.load, fault_memory.used)
        supply = voltage / acting.battery.nominal
    output, rotors = thrusters(
        vehicle,
        state,
        environment,
        memory.rotors,
        pwm=pwm,
        dt=dt,
        supply=supply,
        thrust_fraction=acting.share,
        angles=angles,
        rise=memory.rise,
    )
    if voltage is not None and supply is not None:
        power = namespace(pwm).sum(output.power, axis=-1)
        fault_memory = fault_memory._replace(
            load=power / power_factor(supply), current=power / voltage
        )
        output = output._replace(voltage=voltage, used=fault_memory.used)
    return _with_supply_voltage(vehicle, output), Propulsion(
        rotors, fault_memory, angles, output.rise
    )


# Thrusters tick by tick, with faults that may change between ticks.


class LiveThrusters:
    """The thrusters of a vehicle and their memory.

    Attributes:
        stamp: stamp of the last tick, ns, or None before the first.
        voltage: voltage of the battery, V, or None without one.
        tables: what is wrong with them, or None.
        memory: rotors, faults and angles between two ticks.
    """

    def __init__(self, vehicle: Vehicle, seed: int) -> None:
        """Start at rest and without faults; the seed is of what is drawn."""
        self._vehicle, self._seed = vehicle, seed
        self.tables = fault_tables((), ())
        self.restart()

    def restart(self) -> None:
        """Come to rest, as in the first tick."""
        self.memory = propulsion_at_rest(self._vehicle, np.zeros(6))
        self.stamp: int | None = None
        self.voltage: float | None = None

    def take(self, faults: Sequence[Fault]) -> None:
        """Replace the faults."""
        self.tables = fault_tables(faults, self._vehicle.thrusters.names, self._seed)

    def _active_faults(self, stamp: int) -> ActiveFaults:
        if self.tables is None:
            return ActiveFaults()  # and not None: past commands are kept for a later fault
        return self.tables.at(np, stamp / NANOSECONDS, stamp_words(np.array(stamp)))

    @property
    def loses_command(self) -> bool:
        """Whether a command that is sent now is lost."""
        loss = self._active_faults(self.stamp or 0).lost
        return loss is not None and bool(loss)

    def step(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        pwm: np.ndarray,
        *,
        per_tick: bool,
        timeout: float,
        commands: Mapping[str, np.ndarray] = NO_COMMANDS,
    ) -> ThrusterOutput:
        """Return the outputs of the thrusters at a stamp, ns.

        Args:
            stamp: not before that of the last tick.
            pwm: pulse widths (n,), µs.
            per_tick: whether they were sent for this tick and may be lost in it.
            timeout: s without a command after which the thrusters stop.
            commands: commands (k,) of the actuators, by name.
        """
        dt = 0.0 if self.stamp is None else (stamp - self.stamp) / NANOSECONDS
        self.stamp, acting = stamp, self._active_faults(stamp)
        if not per_tick:
            acting = acting._replace(lost=None)
        output, self.memory = faulty_thrusters(
            self._vehicle,
            state,
            environment,
            self.memory,
            acting,
            pwm=pwm,
            dt=dt,
            period=dt,
            timeout=timeout,
            commands=commands,
        )
        fault_memory, self.voltage = self.memory.faults, None
        if acting.battery is not None and fault_memory is not None:
            self.voltage = float(
                battery_voltage(acting.battery, fault_memory.load, fault_memory.used)
            )
        return output
