# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cost of NumPy ticks, solid contact and sensor readings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS, State, state_at_rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics.boundary import boundary_wrench
from marine_sim_ros.physics.contact.contact import contact_wrench
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.series import SensorReader
from marine_sim_ros.sim.simulation import DEFAULT_STEP, Simulation

__all__ = [
    'ALL_SENSORS',
    'BENCH_PWM',
    'IMAGE_SENSOR',
    'NO_SENSORS',
    'ON_THE_DECK',
    'camera_rows',
    'mujoco_microseconds',
    'sensor_cost_rows',
    'solid_milliseconds',
    'step_microseconds',
    'survey_cost_rows',
]


# Cost of a whole tick with NumPy.

BENCH_PWM = 1600.0
"""µs, for every thruster."""


def step_microseconds(vehicle: Vehicle, steps: int) -> float:
    """Return the cost of a tick with NumPy: all forces and the integration."""
    simulation = Simulation(vehicle)
    pwm = np.full(len(vehicle.thrusters), BENCH_PWM)
    for _ in range(max(steps // 20, 1)):
        simulation.tick(pwm)
    start = time.perf_counter()
    for _ in range(steps):
        simulation.tick(pwm)
    return (time.perf_counter() - start) / steps * 1e6


# Cost of contact and boundary, off the ground and on it.

TICKS = 400
THIN_WATER = 100.0
"""kg/m³, in which everything sinks."""


class SolidCosts(NamedTuple):
    """Mean CPU time of one evaluation, ms; NaN where there was none.

    Attributes:
        contact: cost of the contact force in ticks without contact.
        touching: cost of the contact force in ticks with contact.
        boundary: cost of the jets' force, over all ticks.
    """

    contact: float
    touching: float
    boundary: float


ON_THE_DECK = 4.2, -0.55, -11.03
"""Place above the deck of the shipped wreck, m."""


def solid_milliseconds(
    name: str,
    *,
    height: float,
    scene: str = 'deep_rock',
    place: tuple[float, float, float] | None = None,
    still: bool = False,
) -> SolidCosts:
    """Return the cost of a vehicle that falls on something solid in thin water.

    Args:
        name: name of a shipped vehicle.
        height: initial height of its lowest point above the place, m.
        scene: name of a shipped environment.
        place: in map, m; None: on the ground at the origin.
        still: whether its thrusters rest, and what counts is the end, when it has come to rest;
            else they are commanded at random.
    """
    vehicle, around = load_vehicle(name), load_environment(scene)
    assert around.scene is not None
    low = float(np.min(vehicle.contact.position[:, 2]))
    x, y, ground = place or (0.0, 0.0, around.scene.ground(0.0, 0.0))
    around = replace(around, water_density=THIN_WATER)
    simulation = Simulation(
        vehicle, environment=around, initial=state_at_rest((x, y, ground - low + height))
    )
    rng, memory, count = np.random.default_rng(0), None, TICKS * (1 + 2 * still)
    free: list[Callable[[], object]] = []
    touching: list[Callable[[], object]] = []
    jets: list[Callable[[], object]] = []
    for i in range(count):
        if i % 100 == 0:
            drawn = rng.uniform(1300, 1700, len(vehicle.thrusters))
            pwm = np.full(len(drawn), 1500.0) if still else drawn
        tick = simulation.tick(pwm)
        work = partial(
            contact_wrench, vehicle, tick.state, around, memory, dt=DEFAULT_STEP if i else 0.0
        )
        wrench, memory = work()
        if i >= (count - TICKS // 2 if still else 20):
            (touching if np.any(wrench) else free).append(work)
            jets.append(
                partial(boundary_wrench, vehicle, tick.state, around, tick.thrusters.thrust)
            )
    return SolidCosts(*map(_mean, (free, touching, jets)))


def _mean(calls: list[Callable[[], object]]) -> float:
    """Return the mean CPU time of calls, ms: of all at once, for a clock may cost as much."""
    start = time.thread_time()
    for work in calls:
        work()
    return 1e3 * (time.thread_time() - start) / len(calls) if calls else float('nan')


_MUJOCO = """<mujoco><option timestep="0.005"/><asset>
<hfield name="ground" nrow="{rows}" ncol="{rows}" size="{half} {half} {top} 1"/></asset>
<worldbody><geom type="hfield" hfield="ground"/><body pos="0 0 {start}"><freejoint/>
<geom type="box" size="{x} {y} {z}" mass="{mass}"/></body></worldbody></mujoco>"""


def mujoco_microseconds() -> float:
    """Return the CPU time of MuJoCo's step of a BlueROV2's box at rest on the same rock, µs."""
    import mujoco

    vehicle, around = load_vehicle('bluerov2'), load_environment('deep_rock')
    assert around.scene is not None
    assert around.scene.terrain is not None
    terrain = around.scene.terrain
    heights = terrain.heights - terrain.heights.min()
    top, points = float(heights.max()), vehicle.contact.position
    x, y, z = np.ptp(points, axis=0) / 2
    ground = around.scene.ground(0.0, 0.0) - float(terrain.heights.min())
    model = mujoco.MjModel.from_xml_string(
        _MUJOCO.format(
            rows=len(heights),
            half=terrain.spacing * (len(heights) - 1) / 2,
            top=top,
            start=ground + z + 0.2,
            x=x,
            y=y,
            z=z,
            mass=vehicle.inertia.mass,
        )
    )
    model.hfield_data[:] = (heights / top).reshape(-1)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=5 * TICKS)
    start = time.thread_time()
    mujoco.mj_step(model, data, nstep=10 * TICKS)
    return 1e6 * (time.thread_time() - start) / (10 * TICKS)


# Cost of a BlueROV2's sensors: each reading, and all at their rates.

IMAGE_SENSOR = 'imaging_sonar'
NO_SENSORS: dict[str, Any] = {
    'barometer': 'none',
    **dict.fromkeys(('imu', 'magnetometer', 'battery'), 'false'),
}
"""xacro arguments of a BlueROV2 without sensors."""
ALL_SENSORS: dict[str, Any] = {
    'barometer': 'bar30',
    **dict.fromkeys(('leak', 'thermometer', 'usbl', 'dvl', 'altimeter', 'scanning_sonar'), 'true'),
    **({'gps': 'true'} if find_spec('pymap3d') else {}),
}
"""xacro arguments of a BlueROV2 with every sensor but imaging sonar and camera, at real rates."""
READINGS = 60
"""Of each sensor that are measured, after WARM_UP that are not."""
PICTURES = 10
"""The same of cameras."""
WARM_UP = 5
_TICK = 0.005


def reading_seconds(sensor: Sensor, environment: str, count: int) -> float:
    """Return the processor time of a reading and of its messages' fields, s.

    Args:
        environment: name of what is around it.
        count: how many are measured.
    """
    around = load_environment(environment)
    reader, period = SensorReader(sensor, 0), sensor.period or round(_TICK * NANOSECONDS)
    ground = -20.0 if around.scene is None else around.scene.ground(0.0, 0.0)
    turn = np.array([0.05, 0.02, 0.3, 0.95])
    state = State(
        np.array([0.0, 0.0, min(ground + 3.0, -0.5)]),
        turn / np.linalg.norm(turn),
        np.array([0.5, 0.1, 0.0, 0.02, 0.01, 0.1]),
    )

    def read(i: int) -> None:
        stamp = i * period
        inputs = SensorInputs.none(stamp / NANOSECONDS)
        found = reader.read(stamp, state, around.at(stamp / NANOSECONDS), inputs, ())
        if found is not None:
            for topic in reader.model.topics_of(sensor):
                topic.fields(sensor, found[1])

    for i in range(WARM_UP):
        read(i)
    start = time.process_time()
    for i in range(WARM_UP, WARM_UP + count):
        read(i)
    return (time.process_time() - start) / count


CAMERAS = {'320 x 240': (320.0, 240.0), '640 x 480': (640.0, 480.0), '1280 x 720': (1280.0, 720.0)}


def camera_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure the pictures of a camera by their size, in a pool and over sand, JPEG included.

    Args:
        add: takes name, format and value of a measurement.
    """
    vehicle = load_vehicle('bluerov2', camera='true')
    sensor = next(s for s in vehicle.sensors if s.kind == 'camera')
    for name, (width, height) in CAMERAS.items():
        sized = replace(sensor, spec=replace(sensor.spec, width=width, height=height))
        for around in ('pool', 'shallow_sand'):
            cost = reading_seconds(sized, around, PICTURES)
            add(f'camera {name}, {around}: CPU ms a picture', '.0f', 1e3 * cost)


SURVEY_RATES = {
    'multibeam': 10.0,
    'sonar_3d': 10.0,
    'side_scan': 20.0,
    'echo_sounder': 10.0,
    'profiler': 20.0,
}
"""Hz, at which survey sonars are to keep up with real time on one core."""


def survey_cost_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure the survey sonars over sand, and what they take at their rates.

    Args:
        add: takes name, format and value of a measurement.
    """
    arguments: dict[str, Any] = dict.fromkeys(SURVEY_RATES, 'true')
    vehicle = load_vehicle('bluerov2', **arguments)
    for sensor in vehicle.sensors:
        if sensor.name in SURVEY_RATES:
            rate = SURVEY_RATES[sensor.name]
            cost = reading_seconds(sensor, 'shallow_sand', READINGS)
            add(f'sensor {sensor.name}: CPU ms a reading', '.3f', 1e3 * cost)
            add(f'sensor {sensor.name} at {rate:g} Hz: % of a core', '.1f', 100 * rate * cost)


def sensor_cost_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure every sensor over sand, and the imaging sonar over rock too.

    Args:
        add: takes name, format and value of a measurement.
    """
    vehicle = load_vehicle('bluerov2', **{**ALL_SENSORS, IMAGE_SENSOR: 'true'})
    whole = 0.0
    for sensor in vehicle.sensors:
        cost = reading_seconds(sensor, 'shallow_sand', READINGS)
        share = cost / (sensor.period / NANOSECONDS or _TICK)
        add(f'sensor {sensor.name}: CPU ms a reading', '.3f', 1e3 * cost)
        add(f'sensor {sensor.name} at its rate: % of a core', '.2f', 100 * share)
        if sensor.name == IMAGE_SENSOR:
            rock = reading_seconds(sensor, 'deep_rock', READINGS)
            add(f'sensor {sensor.name} over rock: CPU ms a reading', '.1f', 1e3 * rock)
        else:
            whole += share
    add('all these but the imaging sonar: % of a core (goal 33)', '.1f', 100 * whole)
