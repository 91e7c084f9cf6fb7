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

from marine_sim_ros.control.policy import PULSE_WIDTH_SPAN
from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_of_angles
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.engine.stepper import LastForces, VehicleMotion, states_in_memory
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.devices import dropout_mask
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.gym.randomization import (
    MAX_DELAY,
    Randomization,
    RandomPlan,
    Variation,
    load_randomization,
)
from marine_sim_ros.gym.task_model import Episode, Task, next_goals
from marine_sim_ros.gym.tasks import TASKS
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import Readings, SensorInputs
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sensors.series import disturb_readings, ideal_readings

__all__ = ['Episodes', 'Sensing']


# Sensor readings for a policy: each sensor's newest reading, history until the next.


class _SensorHistory:
    """Delay delay_line of a sensor of N vehicles: readings taken, and not yet received.

    Attributes:
        shapes: shape of each quantity of a vehicle's reading.
        delay_line: readings (N, k), the received one first, the newest last.
    """

    def __init__(self, sensor: Sensor, period: int, readings: Readings) -> None:
        self.sensor = sensor
        self.shapes = {name: np.shape(value)[1:] for name, value in readings.items()}
        delay = math.ceil(sensor.latency / period)
        zeros = np.zeros_like(_flatten_readings(readings))
        self.delay_line = deque([zeros] * (delay + 1), maxlen=delay + 1)

    def received_reading(self) -> Readings:
        """Quantities (N, ...) of the reading that is received by now."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = np.split(self.delay_line[0], ends[:-1], axis=1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(part), *shape) for (name, shape), part in named}


class Sensing:
    """Sensors of N vehicles, each at a time of its own.

    Attributes:
        size: numbers in the readings of a vehicle, in the order of its sensors.
    """

    def __init__(
        self, vehicle: Vehicle, count: int, period: float, environment: Environment
    ) -> None:
        """Begin with readings of 0.

        Args:
            count: N.
            period: s between observations.
            environment: surroundings that the sensors measure, without the current of an episode.

        Raises:
            ParameterError: the vehicle has no sensors.
        """
        if not vehicle.sensors:
            raise ParameterError(f'{vehicle.name} has no sensors; expected observe: state')
        check_partners(vehicle.sensors, '', {})
        self._environment = environment
        self._period = round(period * NANOSECONDS)
        self._seeds, self._start_stamps = np.zeros((2, count), np.int64)
        self._variations: list[Variation | None] = [None] * count
        self._no_forces = LastForces(
            np.zeros((count, 6)), np.zeros((count, len(vehicle.thrusters)))
        )
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        origin = State(np.zeros((count, 3)), upright, np.zeros((count, 6)))
        stamps = np.zeros(count, np.int64)
        self._histories = [
            _SensorHistory(s, self._period, self._read(s, origin, self._no_forces, stamps))
            for s in vehicle.sensors
        ]
        self.size = sum(history.delay_line[0].shape[1] for history in self._histories)

    def vary(self, row: int, variation: Variation) -> None:
        """Give the vehicle of a row other numbers and faults of its sensors."""
        self._variations[row] = variation

    def begin(
        self, rows: np.ndarray, state: State, stamps: np.ndarray, seeds: Sequence[int]
    ) -> None:
        """Start the episodes of the vehicles with the indices ``rows``, at stamps (N,) in ns.

        A vehicle's noise, its constant bias and drift included, is drawn by its episode's seed.
        """
        self._seeds[rows] = seeds
        self._start_stamps[rows] = stamps[rows]
        for history in self._histories:
            values = _flatten_readings(self._read(history.sensor, state, self._no_forces, stamps))
            values = np.where(np.isnan(values), 0.0, values)
            history.delay_line = deque(
                (_replace_rows(old, rows, values) for old in history.delay_line),
                maxlen=history.delay_line.maxlen,
            )

    def step(self, state: State, forces: LastForces, stamps: np.ndarray) -> None:
        """Advance by a period, at whose end the vehicles have a state, at stamps (N,) in ns."""
        previous = stamps - self._period
        for history in self._histories:
            sensor, last = history.sensor, history.delay_line[-1]
            readings = self._read(sensor, state, forces, stamps)
            first = np.reshape(next(iter(readings.values())), (len(last), -1))
            new = ~np.isnan(first).any(axis=1)  # NaN in the first quantity: no reading
            if sensor.period:
                new &= stamps // sensor.period != previous // sensor.period
            values = _flatten_readings(readings)
            history.delay_line.append(np.where(new[:, None] & ~np.isnan(values), values, last))

    def pictures(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Columns of a sensor's picture in :meth:`observe`, and its shape, by its name."""
        result, column = {}, 0
        for history in self._histories:
            for name, shape in history.shapes.items():
                width = math.prod(shape)
                if name == 'image':
                    result[history.sensor.name] = (slice(column, column + width), shape)
                column += width
        return result

    def observe(self) -> np.ndarray:
        """Newest received readings (N, size); a range without an echo is 0."""
        values = np.concatenate([history.delay_line[0] for history in self._histories], axis=1)
        return np.where(np.isfinite(values), values, 0.0)

    def readings(self) -> dict[str, Readings]:
        """Quantities (N, ...) by sensor that are received by now; ±∞ without an echo."""
        return {history.sensor.name: history.received_reading() for history in self._histories}

    def _read(
        self, sensor: Sensor, state: State, forces: LastForces, stamps: np.ndarray
    ) -> Readings:
        """Take a reading (N, ...) of a sensor."""
        unknown = np.full(len(stamps), np.nan)
        supply = np.stack([forces.power.sum(axis=1), unknown, unknown], axis=1)
        inputs = SensorInputs(stamps / NANOSECONDS, forces.acceleration, supply)
        ideal = ideal_readings(sensor, self._environment, stamps, state, inputs, at_once=True)
        ages = (stamps - self._start_stamps).tolist()  # a random walk begins with its episode
        disturbed = []
        for i, (age, seed) in enumerate(zip(ages, self._seeds.tolist(), strict=True)):
            own, faults = _varied_sensor(sensor, self._variations[i])
            reading = {name: value[i] for name, value in ideal.items()}
            one = disturb_readings(own, reading, age, seed, faults)
            if faults and dropout_mask(faults, sensor, age, seed):
                one = {name: np.full_like(value, np.nan) for name, value in one.items()}
            disturbed.append(one)
        return {name: np.stack([one[name] for one in disturbed]) for name in disturbed[0]}


def _varied_sensor(sensor: Sensor, variation: Variation | None) -> tuple[Sensor, Sequence[Fault]]:
    """Return a sensor with the numbers of a variation, and its faults."""
    if variation is None:
        return sensor, ()
    numbers = variation.specs.get(sensor.name)
    own = replace(sensor, spec=replace(sensor.spec, **numbers)) if numbers else sensor
    return own, variation.faults


def _flatten_readings(readings: Readings) -> np.ndarray:
    """Readings as (N, k), all quantities one after the other."""
    parts = [np.reshape(value, (len(value), -1)) for value in readings.values()]
    return np.concatenate(parts, axis=1)


def _replace_rows(values: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    result = values.copy()
    result[rows] = new[rows]
    return result


# Vehicles with a task, shared by single and vector environments.

PERIOD, TICK, HULL_TICK = 0.1, 0.01, 0.005
"""Period of actions, integration step, and that of vehicles with a hull, s."""
OBSERVATIONS = ('state', 'sensors', 'pictures')
MAX_START_TIME = 10**6
"""s; an episode starts at a random time below it, which selects its waves and noise."""
_DELAYED_ACTIONS = round(MAX_DELAY / PERIOD) + 2
"""Actions that are kept where they are delayed."""
MAX_STARTS = 16
"""Vehicles that one call of the compiled start positions."""


class StepResult(NamedTuple):
    """Result of a step: observation (N, m), reward (N,), terminated and truncated (N,)."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class Episodes:
    """N vehicles, each in an episode of a task.

    Attributes:
        thrusters: number of the vehicle's thrusters.
        pictures: columns of observations that are the picture of a sensor, and its shape, by the
            sensor's name; empty unless they are observed apart.
        stamps: (N,) simulated time, ns; 0 always where neither water nor sensors depend on it.
        steps: (N,) steps since the start of each episode.
    """

    def __init__(
        self,
        task: str,
        vehicle: str | Vehicle,
        size: int,
        observe: str = 'state',
        environment: str | Environment = '',
        contact: bool = True,
        randomization: str | RandomPlan = '',
    ) -> None:
        """Compile the step of a task of ``TASKS`` for a vehicle.

        Args:
            vehicle: vehicle, its shipped name or a path; its actuators besides thrusters rest.
            size: N.
            observe: ``state``: the task's observation; ``sensors``: readings of the vehicle's
                sensors, and the next goal (3,) in map; ``pictures``: the same, with the pictures
                of cameras and imaging sonars apart.
            environment: environment, its shipped name or a path; empty: still water. Each
                episode's current takes the position of its steady one.
            contact: whether vehicles collide with the scene, as in ``simulate``. Without, which is
                faster, they pass through it; an episode ends once ``base_link`` is inside.
            randomization: numbers to draw for each episode, a shipped name or a path; empty: none.

        Raises:
            MarineSimError: no such task, vehicle, environment or randomisation, or a task that is
                not possible in the environment.
        """
        if observe not in OBSERVATIONS:
            raise ParameterError(
                f'observe is {observe!r}; expected one of: {", ".join(OBSERVATIONS)}'
            )
        if task not in TASKS:
            raise ParameterError(f'task is {task!r}; expected one of: {", ".join(TASKS)}')
        model = load_vehicle(vehicle) if isinstance(vehicle, str) else vehicle
        surroundings = (
            run_environment(environment) if isinstance(environment, str) else environment
        )
        self.task: Task = TASKS[task](surroundings)
        self.thrusters = len(model.thrusters)
        if not self.thrusters:
            raise ParameterError(
                f'{model.name} has no thrusters; expected at least one to act with'
            )
        self._environment, self._size = surroundings, size
        self._sensing = None
        self.pictures: dict[str, tuple[slice, tuple[int, ...]]] = {}
        if observe != 'state':
            self._sensing = Sensing(model, size, PERIOD, surroundings)
        if self._sensing is not None and observe == 'pictures':
            self.pictures = self._sensing.pictures()
            if not self.pictures:
                raise ParameterError(
                    f'{model.name} has no camera and no imaging sonar; expected observe: sensors'
                )
        tick = TICK if model.hull is None else HULL_TICK
        water = surroundings
        if not contact:
            water = replace(water, scene=None, free_bodies=(), body_joints=())
        self.randomization = None
        variations: list[Variation] = []
        if randomization:
            plan = (
                load_randomization(randomization)
                if isinstance(randomization, str)
                else randomization
            )
            self.randomization = Randomization(plan, model, water)
            variations = self.randomization.extremes()
        self._motion = VehicleMotion(
            model,
            water,
            ticks=round(PERIOD / tick),
            dt=tick,
            variations=[v.setting for v in variations],
        )
        self._varied = np.zeros((self._motion.varied, size))
        self._shares: list[list[np.ndarray]] = [[] for _ in range(size)]
        self._rngs: list[np.random.Generator] = [np.random.default_rng() for _ in range(size)]
        self._delays, self._offsets = np.zeros(size), np.zeros((size, 3))
        goals = self.task.begin(np.random.default_rng(0))[2].goals
        self._goal_shape = goals.shape
        self._episode_size = 3 + goals.size + 1
        delayed = self.randomization is not None and self.randomization.delays
        self._last_actions = np.zeros((_DELAYED_ACTIONS if delayed else 0, self.thrusters, size))
        widths = [self._motion.size, self._episode_size, 1, 1, self._motion.varied, self.thrusters]
        widths += [self.thrusters, 1] if delayed else []
        self._step = self._motion.columns(self._trace_step, widths, size)
        self._begin = self._motion.columns(
            lambda one, *start: (self._motion.initial_row(*start),),
            [self._motion.varied, 3, 4, 3, 1],
            min(size, MAX_STARTS),
        )
        self._rest_memory: np.ndarray | None = None
        self.memory = np.zeros((self._motion.size, size))
        self._numbers = np.zeros((self._episode_size, size))
        self.stamps = np.zeros(size, np.int64)
        self.steps = np.zeros(size, int)

    @property
    def state(self) -> State:
        """States (N, 3), (N, 4), (N, 6) of the vehicles."""
        return states_in_memory(self.memory)

    @property
    def episode(self) -> Episode:
        """Episode of each vehicle, (N, ...)."""
        return self._episode(self._numbers.T)

    def _episode(self, numbers: Any) -> Episode:
        goals = numbers[..., 3:-1].reshape(*numbers.shape[:-1], *self._goal_shape)
        return Episode(numbers[..., :3], goals, numbers[..., -1])

    def begin(
        self,
        rngs: Sequence[np.random.Generator],
        offsets: np.ndarray | None = None,
        current: np.ndarray | None = None,
    ) -> None:
        """Start all episodes.

        Args:
            rngs: N random generators.
            offsets: (N, 3) by which starts and goals are moved, m, map; None: not.
            current: (3,) of all, m/s, map; None: each has its own.
        """
        self._offsets = np.zeros((self._size, 3)) if offsets is None else offsets
        self.begin_some(np.ones(self._size, bool), rngs)
        if current is not None:
            self._numbers[:3] = current[:, None]

    def begin_some(self, rows: np.ndarray, rngs: Sequence[np.random.Generator]) -> None:
        """Restart the episodes that a mask (N,) selects."""
        indices = np.flatnonzero(rows)
        if not indices.size:
            return
        steady = self._environment.is_steady and self._sensing is None
        starts = [
            self._draw_starts(rngs[int(i)], self._offsets[i], steady=steady) for i in indices
        ]
        currents = self._draw_variations(indices, rngs)
        positions, yaws, numbers, times = (np.array(x) for x in zip(*starts, strict=True))
        orientations = np.asarray(quaternion_of_angles(np.outer([0.0, 0.0, 1.0], yaws))).T
        stamps = times * NANOSECONDS
        for i, current in enumerate(currents):
            if current is not None:
                numbers[i, :3] = current
        self._last_actions[:, :, indices] = 0.0
        self.memory[:, indices] = self._at_rest(
            positions, orientations, numbers[:, :3], stamps, self._varied[:, indices]
        )
        self._numbers[:, indices] = numbers.T
        self.stamps[indices] = stamps
        self.steps[indices] = 0
        if self._sensing is not None:
            seeds = [int(rngs[int(i)].integers(2**63)) for i in indices]
            self._sensing.begin(indices, self.state, self.stamps, seeds)

    def copy_from(self, other: Episodes, row: int) -> None:
        """Put all vehicles into the state and the episode of one of the same task and vehicle."""
        self.memory = np.repeat(other.memory[:, [row]], self._size, axis=1)
        self._numbers = np.repeat(other._numbers[:, [row]], self._size, axis=1)
        self.stamps, self.steps = (
            np.repeat(x[[row]], self._size) for x in (other.stamps, other.steps)
        )

    def _draw_variations(
        self, indices: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> list[np.ndarray | None]:
        """Draw the variations of vehicles; return the current (3,) of each, where it has one."""
        if self.randomization is None:
            return [None] * len(indices)
        for i in map(int, indices):
            self._rngs[i] = np.random.default_rng(int(rngs[i].integers(2**63)))
            self._shares[i] = self.randomization.draw(self._rngs[i])
        return self._vary(indices)

    def _vary(self, indices: np.ndarray) -> list[np.ndarray | None]:
        """Give vehicles the variations of their shares; return their currents."""
        assert self.randomization is not None
        variations = [self.randomization.variation(self._shares[i]) for i in indices]
        self._varied[:, indices] = self._motion.numbers_of([v.setting for v in variations])
        self._delays[indices] = [v.delay for v in variations]
        if self._sensing is not None:
            for i, variation in zip(indices, variations, strict=True):
                self._sensing.vary(int(i), variation)
        return [v.current for v in variations]

    def _redraw(self) -> None:
        """Draw anew what is drawn for each step."""
        if self.randomization is None or not self.randomization.stepwise:
            return
        for i, rng in enumerate(self._rngs):
            self._shares[i] = self.randomization.redraw(self._shares[i], rng)
        for i, current in enumerate(self._vary(np.arange(self._size))):
            if current is not None:
                self._numbers[:3, i] = current

    def variation(self, row: int) -> Variation | None:
        """Return what was drawn for a vehicle; None without randomisation."""
        if self.randomization is None:
            return None
        return self.randomization.variation(self._shares[row])

    def _draw_starts(
        self, rng: np.random.Generator, offset: np.ndarray, *, steady: bool
    ) -> tuple[np.ndarray, float, np.ndarray, int]:
        """Draw position, yaw, the numbers of an episode and its start time, s."""
        position, yaw, episode = self.task.begin(rng)
        position, goals = position + offset, episode.goals + offset
        time = 0 if steady else int(rng.integers(MAX_START_TIME))
        if self.task.afloat:
            height = self._environment.at(float(time)).elevation(position)
            position = position + np.array([0.0, 0.0, height])
        numbers = np.concatenate([episode.current, goals.reshape(-1), [episode.next]])
        return position, yaw, numbers, time

    def _at_rest(
        self,
        positions: np.ndarray,
        orientations: np.ndarray,
        current: np.ndarray,
        stamps: np.ndarray,
        varied: np.ndarray,
    ) -> np.ndarray:
        """Memory (k, n) of n vehicles at rest."""
        start = (varied, positions.T, orientations.T, current.T, stamps[None] / NANOSECONDS)
        if not self._motion.rests_alike:
            return self._begin(*start)[0]
        if self._rest_memory is None:
            self._rest_memory = self._begin(*(x[:, :1] for x in start))[0]
        memory = np.repeat(self._rest_memory, len(positions), axis=1)
        memory[:3], memory[3:7] = start[1:3]
        return memory

    @property
    def limits(self) -> np.ndarray:
        """(m,) largest magnitude of each observed number."""
        if self._sensing is None:
            return self.task.limits
        return np.full(self._sensing.size + 3, np.inf)

    def observe(self, rows: Any = slice(None)) -> np.ndarray:
        """Observations (N, m), or those of some vehicles."""
        episode = self._episode(self._numbers[:, rows].T)
        if self._sensing is not None:
            readings = self._sensing.observe()[rows]
            return np.concatenate([readings, next_goals(episode)], axis=1).astype(np.float32)
        observed = self.task.observe(states_in_memory(self.memory[:, rows]), episode)
        return np.clip(observed, -self.task.limits, self.task.limits).astype(np.float32)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Newest quantities (N, ...) of each sensor; empty with observations ``state``."""
        return {} if self._sensing is None else self._sensing.readings()

    def _trace_step(
        self,
        one: Any,
        memory: Any,
        numbers: Any,
        time: Any,
        elapsed: Any,
        varied: Any,
        actions: Any,
        earlier: Any = None,
        switch: Any = None,
    ) -> tuple[Any, ...]:
        """Trace a step: vehicle, observation and reward in one compiled program.

        Delayed, the thrusters follow ``earlier`` actions until the time ``switch`` of the step.

        Returns columns: memory; reward, end, and next goal; observation; forces for sensors.
        """
        motion, batch, xp = self._motion, memory.shape[1:], namespace(memory)
        goals = numbers[3:-1].reshape(*self._goal_shape, *batch)
        episode = Episode(
            motion.to_program(numbers[:3]),
            motion.to_program(goals, 2),
            motion.to_program(numbers[-1], 0),
        )
        before = State(*(motion.to_program(memory[a:b]) for a, b in ((0, 3), (3, 7), (7, 13))))
        action = motion.to_program(xp.clip(actions, -1.0, 1.0))

        def pulses(age: Any) -> Any:
            followed = action
            if earlier is not None:
                before = age < motion.to_program(switch)[0] - 1e-9
                old = motion.to_program(xp.clip(earlier, -1.0, 1.0))
                followed = namespace(action).where(before, old, action)
            return PWM_NEUTRAL + PULSE_WIDTH_SPAN * followed

        after, forces, state = motion.step(
            memory, pulses, numbers[:3], time, one, numbers=varied, elapsed=elapsed
        )
        judged = self.task.judge(before, state, action, episode)
        observed = motion.to_arrays(judged.observation, batch)
        diverged = ~xp.all(xp.isfinite(observed), axis=0)
        limits = self.task.limits.reshape(-1, *(1,) * len(batch))
        observed = xp.where(xp.isnan(observed), 0.0, observed)
        observed = xp.clip(observed, -limits, limits).astype(np.float32)
        reward = xp.where(diverged, 0.0, motion.to_arrays(judged.reward, batch))
        ended = diverged | (motion.to_arrays(judged.terminated, batch) > 0.5)
        next_goal = motion.to_arrays(judged.episode.next, batch)
        outputs = [xp.stack([reward, ended.astype(float), next_goal]), observed]
        if self._sensing is not None:
            outputs += [motion.to_arrays(x, batch) for x in forces]
        return (after, *outputs)

    def step(self, actions: np.ndarray) -> StepResult:
        """Advance all by a step with actions (N, n).

        A vehicle whose motion is no longer finite ends its episode with a reward of 0.
        """
        self._redraw()
        time, elapsed = self.stamps[None] / NANOSECONDS, self.steps[None] * PERIOD
        commands = self._delayed_actions(np.asarray(actions, float).T)
        self.memory, outcome, observed, *forces = self._step(
            self.memory, self._numbers, time, elapsed, self._varied, *commands
        )
        reward, ended, next_goal = outcome
        terminated = ended > 0.5
        self._numbers[-1] = next_goal
        self.steps += 1
        if self._sensing is not None or not self._environment.is_steady:
            self.stamps = self.stamps + round(PERIOD * NANOSECONDS)
        if self._environment.scene is not None:
            distance, _ = self._environment.scene.surfaces(np.nan_to_num(self.state.position), 1.0)
            terminated = terminated | np.any(distance < 0, axis=0)
        observation = observed.T
        if self._sensing is not None:
            self._sensing.step(self.state, LastForces(*(x.T for x in forces)), self.stamps)
            observation = self.observe()
        return StepResult(observation, reward, terminated, self.steps >= self.task.steps)

    def _delayed_actions(self, actions: np.ndarray) -> list[np.ndarray]:
        """Return the actions (n, N) of a step, those followed before and until when, s.

        An action is followed from its delay on: q whole steps and the rest r of one later.
        """
        if not len(self._last_actions):
            return [actions]
        self._last_actions = np.concatenate([actions[None], self._last_actions[:-1]])
        whole = np.floor(self._delays / PERIOD + 1e-9).astype(int)
        rows = np.arange(self._size)
        current, earlier = (self._last_actions[whole + k, :, rows].T for k in (0, 1))
        return [current, earlier, (self._delays - whole * PERIOD)[None]]
