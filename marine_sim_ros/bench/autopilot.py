# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of runs that ArduSub steers in lockstep at 400 Hz."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.firmware import Firmware, FirmwareSettings, find_firmware
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.lockstep import AutopilotExchange, AutopilotLink
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import DEFAULT_STEP, Simulation

__all__ = ['autopilot_rows']

VEHICLE, RATE = 'bluerov2', 400.0
START = state_at_rest((0.0, 0.0, -5.0))
BOOT = 3.0
"""s of simulated time before the measurement, in which it starts its estimators."""
FRAME_TIMEOUT = 20.0
"""s of wall time for a frame."""
NOBODY = '127.0.0.1:9'
ORIGIN = Environment().origin

Tick = Callable[[np.ndarray], State]
"""Returns the state after a tick, of pulse widths in µs."""


def times_real_time(program: str, vehicle: Vehicle, tick: Tick, seconds: float) -> float:
    """Return simulated over wall time of a loop of firmware, its sensors and a tick, no ROS.

    Args:
        program: path of the firmware.
        tick: computes the motion.
        seconds: simulated time, s.

    Raises:
        MarineSimError: the firmware is silent.
    """
    channels, environment, step = channel_map(vehicle), Environment(), round(DEFAULT_STEP * 1e9)
    link = AutopilotLink('127.0.0.1', 0, lambda text: None)
    instruments = Instruments(vehicle)
    exchange = AutopilotExchange(link, instruments, RATE)
    home = (ORIGIN.latitude, ORIGIN.longitude)
    firmware = Firmware(
        program,
        FirmwareSettings(channels.frame, '127.0.0.1', link.port, 0, home, NOBODY, NOBODY, RATE),
    )
    state, since = START, time.perf_counter()
    try:
        for k in range(round((BOOT + seconds) / DEFAULT_STEP)):
            if k == round(BOOT / DEFAULT_STEP):
                since = time.perf_counter()
            instruments.sense(k * step, state, environment)
            pwm = exchange.tick(k * step, state, environment, patience=FRAME_TIMEOUT)
            if pwm is None:
                raise MarineSimError(f'{program} is silent: {firmware.failure or firmware.log}')
            state = tick(np.asarray(channels.pulse_widths(pwm), float))
        return seconds / (time.perf_counter() - since)
    finally:
        firmware.stop()
        link.close()


def _numpy_tick(vehicle: Vehicle) -> Tick:
    simulation = Simulation(vehicle, initial=START)

    def tick(pwm: np.ndarray) -> State:
        simulation.tick(pwm)
        return simulation.state

    return tick


def _compiled_tick(vehicle: Vehicle) -> Tick:
    from marine_sim_ros.engine.stepper import Stepper, states_in_memory

    stepper = Stepper(vehicle, size=1, ticks=1, dt=DEFAULT_STEP)
    memory = [stepper.at_rest(START.position[None], START.orientation[None])]

    def tick(pwm: np.ndarray) -> State:
        memory[0] = stepper.step(memory[0], pwm[None])
        return State(*(x[0] for x in states_in_memory(memory[0])))

    return tick


def autopilot_rows(
    add: Callable[[str, str, float], None],
    seconds: float,
    ticks_per_second: Callable[..., tuple[float, float]],
) -> None:
    """Measure runs that ArduSub steers; nothing where it is not on PATH.

    Args:
        add: takes name, format and value of a measurement.
        seconds: simulated time of each measurement, s.
        ticks_per_second: measures a graph.
    """
    program = find_firmware('')
    if program is None:
        return
    vehicle = load_vehicle(VEHICLE)
    told = 'ArduSub at 400 Hz, {}: times real time{}'
    loop = times_real_time(program, vehicle, _numpy_tick(vehicle), seconds)
    add(told.format('one process without ROS', ''), '.1f', loop)
    if importlib.util.find_spec('jax') is not None:
        loop = times_real_time(program, vehicle, _compiled_tick(vehicle), seconds)
        add(told.format('the same, compiled tick', ' (goal 5)'), '.1f', loop)
    for name, composed, goal in (('composed nodes', True, ' (goal 2)'), ('separate', False, '')):
        rate, _ = ticks_per_second(seconds, composed=composed, scenario='', autopilot='ardusub')
        add(told.format(name, goal), '.1f', rate * DEFAULT_STEP)
