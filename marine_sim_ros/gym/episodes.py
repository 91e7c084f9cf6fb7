# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Episodes of vehicles with a task: compiled step, observations, sensor readings."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_of_angles
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.engine.stepper import LastForces, VehicleMotion, states_in_memory
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.gym.tasks import TASKS, Episode, Task, next_goals
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sensors.series import ideal_readings

__all__ = ['Episodes', 'Sensing']


# Sensor readings for a policy: each sensor's newest reading, held until the next.


class _SensorHistory:
    """A sensor of N vehicles: its reading now, and those on their way."""

    def __init__(self, sensor: Sensor, period: int, readings: Readings) -> None:
        self.sensor = sensor
        self.shapes = {name: np.shape(value)[1:] for name, value in readings.items()}
        late = math.ceil(sensor.latency / period)
        rows = np.zeros_like(_flatten_readings(readings))
        self.line = deque([rows] * (late + 1), maxlen=late + 1)

    def newest_values(self) -> Readings:
        """Return the quantities (N, ...) of the reading that has come by now."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = np.split(self.line[0], ends[:-1], axis=1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(part), *shape) for (name, shape), part in named}


class Sensing:
    """The sensors of N vehicles with a stamp each.

    Attributes:
        size: numbers that the sensors of a vehicle tell, in the order of its sensors.
    """

    def __init__(
        self, vehicle: Vehicle, count: int, period: float, environment: Environment
    ) -> None:
        """Begin with readings of 0.

        Args:
            count: N.
            period: s between observations.
            environment: what the sensors see; not the current of an episode.

        Raises:
            ParameterError: the vehicle has no sensors.
        """
        if not vehicle.sensors:
            raise ParameterError(f'{vehicle.name} has no sensors; expected observe: state')
        check_partners(vehicle.sensors, '', {})
        self._environment = environment
        self._period = round(period * NANOSECONDS)
        self._seeds, self._began = np.zeros((2, count), np.int64)
        self._none = LastForces(np.zeros((count, 6)), np.zeros((count, len(vehicle.thrusters))))
        turned = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        still = State(np.zeros((count, 3)), turned, np.zeros((count, 6)))
        stamps = np.zeros(count, np.int64)
        self._sensors = [
            _SensorHistory(s, self._period, self._read(s, still, self._none, stamps))
            for s in vehicle.sensors
        ]
        self.size = sum(held.line[0].shape[1] for held in self._sensors)

    def begin(
        self, rows: np.ndarray, state: State, stamps: np.ndarray, seeds: Sequence[int]
    ) -> None:
        """Begin the episodes of some vehicles (indices) at rest, at stamps (N,) in ns.

        The noise of each, its constant bias and drift included, is that of its episode's seed.
        """
        self._seeds[rows] = seeds
        self._began[rows] = stamps[rows]
        for held in self._sensors:
            values = _flatten_readings(self._read(held.sensor, state, self._none, stamps))
            values = np.where(np.isnan(values), 0.0, values)
            held.line = deque(
                (_with_rows(old, rows, values) for old in held.line), maxlen=held.line.maxlen
            )

    def step(self, state: State, forces: LastForces, stamps: np.ndarray) -> None:
        """Let a period pass, at whose end the vehicles are there, at stamps (N,) in ns."""
        before = stamps - self._period
        for held in self._sensors:
            sensor, last = held.sensor, held.line[-1]
            readings = self._read(sensor, state, forces, stamps)
            first = np.reshape(next(iter(readings.values())), (len(last), -1))
            new = ~np.isnan(first).any(axis=1)  # only the first quantity tells
            if sensor.period:
                new &= stamps // sensor.period != before // sensor.period
            values = _flatten_readings(readings)
            held.line.append(np.where(new[:, None] & ~np.isnan(values), values, last))

    def observe(self) -> np.ndarray:
        """Return the newest sensor readings (N, size); a range without an echo is 0."""
        told = np.concatenate([held.line[0] for held in self._sensors], axis=1)
        return np.where(np.isfinite(told), told, 0.0)

    def readings(self) -> dict[str, Readings]:
        """Return the quantities (N, ...) by sensor that have come by now; ±∞ without an echo."""
        return {held.sensor.name: held.newest_values() for held in self._sensors}

    def _read(
        self, sensor: Sensor, state: State, forces: LastForces, stamps: np.ndarray
    ) -> Readings:
        """Return a sensor's readings (N, ...)."""
        unknown = np.full(len(stamps), np.nan)
        supply = np.stack([forces.power.sum(axis=1), unknown, unknown], axis=1)
        inputs = SensorInputs(stamps / NANOSECONDS, forces.acceleration, supply)
        ideal = ideal_readings(sensor, self._environment, stamps, state, inputs, at_once=True)
        disturb = SENSORS[sensor.kind].disturb
        since = (stamps - self._began).tolist()  # a random walk begins with its episode
        each = [
            disturb(sensor, {name: value[i] for name, value in ideal.items()}, at, seed, ())
            for i, (at, seed) in enumerate(zip(since, self._seeds.tolist(), strict=True))
        ]
        return {name: np.stack([one[name] for one in each]) for name in each[0]}


def _flatten_readings(readings: Readings) -> np.ndarray:
    """Return readings (N, k), all quantities one after the other."""
    parts = [np.reshape(value, (len(value), -1)) for value in readings.values()]
    return np.concatenate(parts, axis=1)


def _with_rows(values: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    result = values.copy()
    result[rows] = new[rows]
    return result


# Vehicles with a task, shared by single and vector environments.

PULSE_WIDTH_SPAN = 400.0
"""µs from neutral to full."""
PERIOD, TICK, HULL_TICK = 0.1, 0.01, 0.005
"""s of a step, and of a tick; hulls need a shorter one."""
OBSERVATIONS = ('state', 'sensors')
LATEST = 10**6
"""s; episodes begin at a time before it, so that each has noise, and a sea, of its own."""
MAX_STARTS = 16
"""Vehicles whose episodes begin at a time."""


class StepResult(NamedTuple):
    """Result of a step: observation (N, m), reward (N,), terminated and truncated (N,)."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class Episodes:
    """N vehicles, each in an episode of a task.

    Attributes:
        task: the task.
        thrusters: number of the vehicle's thrusters.
        stamps: (N,) time of the water and of the sensors, ns; 0 where both are the same always.
        steps: (N,) since the episodes began.
    """

    def __init__(
        self,
        task: str,
        vehicle: str | Vehicle,
        size: int,
        observe: str = 'state',
        environment: str | Environment = '',
        contact: bool = True,
    ) -> None:
        """Compile for a task of ``TASKS`` and a vehicle, a shipped name or a path.

        Args:
            vehicle: vehicle, its shipped name or a path; its actuators besides thrusters rest.
            size: N.
            observe: ``state``: what the task observes; ``sensors``: what the vehicle's sensors
                tell, and the next goal (3,) in map.
            environment: environment, its shipped name or a path; empty: still water. Each
                episode's current takes the place of its steady one.
            contact: whether vehicles touch what is solid, as in ``simulate``. Without, which is
                faster, they go through it; their episode ends once ``base_link`` is inside.

        Raises:
            MarineSimError: no such task, vehicle or environment, or a task that is not possible
                in the environment.
        """
        if observe not in OBSERVATIONS:
            raise ParameterError(
                f'observe is {observe!r}; expected one of: {", ".join(OBSERVATIONS)}'
            )
        if task not in TASKS:
            raise ParameterError(f'task is {task!r}; expected one of: {", ".join(TASKS)}')
        body = load_vehicle(vehicle) if isinstance(vehicle, str) else vehicle
        around = run_environment(environment) if isinstance(environment, str) else environment
        self.task: Task = TASKS[task](around)
        self.thrusters = len(body.thrusters)
        if not self.thrusters:
            raise ParameterError(
                f'{body.name} has no thrusters; expected at least one to act with'
            )
        self._around, self._size = around, size
        self._sensing = None
        if observe == 'sensors':
            self._sensing = Sensing(body, size, PERIOD, around)
        tick = TICK if body.hull is None else HULL_TICK
        water = around if contact else replace(around, scene=None)
        self._motion = VehicleMotion(body, water, ticks=round(PERIOD / tick), dt=tick)
        goals = self.task.begin(np.random.default_rng(0))[2].goals
        self._goals = goals.shape
        self._of_episode = 3 + goals.size + 1
        widths = [self._motion.size, self._of_episode, 1, self.thrusters]
        self._step = self._motion.columns(self._trace_step, widths, size)
        self._begin = self._motion.columns(
            lambda one, *start: (self._motion.initial_row(*start),),
            [3, 4, 3, 1],
            min(size, MAX_STARTS),
        )
        self._rest: np.ndarray | None = None
        self.memory = np.zeros((self._motion.size, size))
        self._numbers = np.zeros((self._of_episode, size))
        self.stamps = np.zeros(size, np.int64)
        self.steps = np.zeros(size, int)

    @property
    def state(self) -> State:
        """(N, 3), (N, 4), (N, 6) of the vehicles."""
        return states_in_memory(self.memory)

    @property
    def episode(self) -> Episode:
        """Of each vehicle, (N, ...)."""
        return self._episode(self._numbers.T)

    def _episode(self, numbers: Any) -> Episode:
        goals = numbers[..., 3:-1].reshape(*numbers.shape[:-1], *self._goals)
        return Episode(numbers[..., :3], goals, numbers[..., -1])

    def begin(self, rngs: Sequence[np.random.Generator]) -> None:
        """Begin all episodes."""
        self.begin_some(np.ones(self._size, bool), rngs)

    def begin_some(self, rows: np.ndarray, rngs: Sequence[np.random.Generator]) -> None:
        """Begin the episodes of a mask (N,) anew."""
        some = np.flatnonzero(rows)
        if not some.size:
            return
        timeless = self._around.steady and self._sensing is None
        starts = [self._draw_starts(rngs[int(i)], timeless=timeless) for i in some]
        places, yaws, numbers, times = (np.array(x) for x in zip(*starts, strict=True))
        turned = np.asarray(quaternion_of_angles(np.outer([0.0, 0.0, 1.0], yaws))).T
        stamps = times * NANOSECONDS
        self.memory[:, some] = self._at_rest(places, turned, numbers[:, :3], stamps)
        self._numbers[:, some] = numbers.T
        self.stamps[some] = stamps
        self.steps[some] = 0
        if self._sensing is not None:
            seeds = [int(rngs[int(i)].integers(2**63)) for i in some]
            self._sensing.begin(some, self.state, self.stamps, seeds)

    def _draw_starts(
        self, rng: np.random.Generator, *, timeless: bool
    ) -> tuple[np.ndarray, float, np.ndarray, int]:
        """Return position, yaw, numbers of an episode and its first s."""
        place, yaw, episode = self.task.begin(rng)
        time = 0 if timeless else int(rng.integers(LATEST))
        if self.task.afloat:
            height = self._around.at(float(time)).elevation(place)
            place = place + np.array([0.0, 0.0, height])
        numbers = np.concatenate([episode.current, episode.goals.reshape(-1), [episode.next]])
        return place, yaw, numbers, time

    def _at_rest(
        self, places: np.ndarray, turned: np.ndarray, current: np.ndarray, stamps: np.ndarray
    ) -> np.ndarray:
        """Return memories (k, n)."""
        start = (places.T, turned.T, current.T, stamps[None] / NANOSECONDS)
        if not self._motion.rests_alike:
            return self._begin(*start)[0]
        if self._rest is None:
            self._rest = self._begin(*(x[:, :1] for x in start))[0]
        memory = np.repeat(self._rest, len(places), axis=1)
        memory[:3], memory[3:7] = start[:2]
        return memory

    @property
    def limits(self) -> np.ndarray:
        """(m,) of what is observed, either way."""
        if self._sensing is None:
            return self.task.limits
        return np.full(self._sensing.size + 3, np.inf)

    def observe(self, rows: Any = slice(None)) -> np.ndarray:
        """Return observations (N, m), or those of some vehicles."""
        episode = self._episode(self._numbers[:, rows].T)
        if self._sensing is not None:
            told = self._sensing.observe()[rows]
            return np.concatenate([told, next_goals(episode)], axis=1).astype(np.float32)
        seen = self.task.observe(states_in_memory(self.memory[:, rows]), episode)
        return np.clip(seen, -self.task.limits, self.task.limits).astype(np.float32)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Newest quantities (N, ...) of each sensor; empty with observations ``state``."""
        return {} if self._sensing is None else self._sensing.readings()

    def _trace_step(
        self, one: Any, memory: Any, numbers: Any, time: Any, actions: Any
    ) -> tuple[Any, ...]:
        """Return a step's outcome: all that a step needs of a vehicle is one program.

        Columns: memory; reward, end, and next goal; observation; what sensors need.
        """
        motion, batch, xp = self._motion, memory.shape[1:], namespace(memory)
        goals = numbers[3:-1].reshape(*self._goals, *batch)
        episode = Episode(
            motion.to_program(numbers[:3]),
            motion.to_program(goals, 2),
            motion.to_program(numbers[-1], 0),
        )
        before = State(*(motion.to_program(memory[a:b]) for a, b in ((0, 3), (3, 7), (7, 13))))
        given = motion.to_program(xp.clip(actions, -1.0, 1.0))
        after, forces, state = motion.step(
            memory, PWM_NEUTRAL + PULSE_WIDTH_SPAN * given, numbers[:3], time, one
        )
        judged = self.task.judge(before, state, given, episode)
        seen = motion.to_arrays(judged.observation, batch)
        lost = ~xp.all(xp.isfinite(seen), axis=0)
        limits = self.task.limits.reshape(-1, *(1,) * len(batch))
        seen = xp.clip(xp.where(xp.isnan(seen), 0.0, seen), -limits, limits).astype(np.float32)
        reward = xp.where(lost, 0.0, motion.to_arrays(judged.reward, batch))
        ended = lost | (motion.to_arrays(judged.terminated, batch) > 0.5)
        then = motion.to_arrays(judged.episode.next, batch)
        told = [xp.stack([reward, ended.astype(float), then]), seen]
        if self._sensing is not None:
            told += [motion.to_arrays(x, batch) for x in forces]
        return (after, *told)

    def step(self, actions: np.ndarray) -> StepResult:
        """Move all on by a step with actions (N, n).

        A vehicle whose motion is no longer finite ends its episode with a reward of 0.
        """
        time = self.stamps[None] / NANOSECONDS
        given = np.asarray(actions, float).T
        self.memory, told, seen, *forces = self._step(self.memory, self._numbers, time, given)
        terminated = told[1] > 0.5
        self._numbers[-1] = told[2]
        self.steps += 1
        if self._sensing is not None or not self._around.steady:
            self.stamps = self.stamps + round(PERIOD * NANOSECONDS)
        if self._around.scene is not None:
            away, _ = self._around.scene.surfaces(np.nan_to_num(self.state.position), 1.0)
            terminated = terminated | np.any(away < 0, axis=0)
        observation = seen.T
        if self._sensing is not None:
            self._sensing.step(self.state, LastForces(*(x.T for x in forces)), self.stamps)
            observation = self.observe()
        return StepResult(observation, told[0], terminated, self.steps >= self.task.steps)
