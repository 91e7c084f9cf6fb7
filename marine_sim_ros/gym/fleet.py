# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles with a task: what a single environment and a vector of them have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.engine.stepper import Bodies, Stepper
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.gym.sensing import Sensing
from marine_sim_ros.gym.tasks import TASKS, Episode, Judged, next_goals
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.sensors import Readings

__all__ = ['Fleet']

SPAN = 400.0
"""µs from neutral to full."""
DT, TICKS = 0.01, 10
OBSERVED = ('state', 'sensors')


class Fleet:
    """N vehicles, each in an episode of a task."""

    def __init__(
        self,
        task: str,
        vehicle: str | Vehicle,
        size: int,
        observe: str = 'state',
        environment: str | Environment = '',
    ) -> None:
        """Compile for a task of ``TASKS`` and a vehicle, a shipped name or a path.

        Args:
            task: name of the task.
            vehicle: vehicle, its shipped name or a path.
            size: N.
            observe: ``state``: what the task observes; ``sensors``: what the vehicle's sensors
                tell, and the next goal (3,) in map.
            environment: environment, its shipped name or a path; empty: still water. Its water
                does not move. Sensors see its scene; a vehicle that comes into the ground or an
                obstacle ends its episode.

        Raises:
            MarineSimError: no such task, vehicle or environment, or one that is more than a few
                numbers.
        """
        if observe not in OBSERVED:
            raise ParameterError(f'observe is {observe!r}; expected one of: {", ".join(OBSERVED)}')
        if task not in TASKS:
            raise ParameterError(f'task is {task!r}; expected one of: {", ".join(TASKS)}')
        self.task = TASKS[task]
        body = load_vehicle(vehicle) if isinstance(vehicle, str) else vehicle
        self.thrusters = len(body.thrusters)
        by_sensors = observe == 'sensors'
        around = run_environment(environment) if isinstance(environment, str) else environment
        self._scene = around.scene
        self._sensing = Sensing(body, size, TICKS * DT, around) if by_sensors else None
        self._stepper = Stepper(
            body, size=size, ticks=TICKS, dt=DT, environment=replace(around, scene=None),
            with_forces=by_sensors,
        )  # fmt: skip
        self.bodies: Bodies
        self.episode: Episode
        self.steps = np.zeros(size, int)

    def begin(self, rngs: Sequence[np.random.Generator]) -> None:
        """Begin all episodes."""
        self.bodies, self.episode = self._drawn(rngs)
        self.steps = np.zeros(len(rngs), int)
        if self._sensing is not None:
            self._sensing.begin(np.arange(len(rngs)), self.bodies, rngs)

    def begin_some(self, rows: np.ndarray, rngs: Sequence[np.random.Generator]) -> None:
        """Begin the episodes of a mask (N,) anew."""
        if not rows.any():
            return
        some = [rng for rng, here in zip(rngs, rows, strict=True) if here]
        bodies, episode = self._drawn(some)
        for old, new in (
            *zip(self.bodies, bodies, strict=True),
            *zip(self.episode, episode, strict=True),
        ):
            old[rows] = new
        self.steps[rows] = 0
        if self._sensing is not None:
            self._sensing.begin(np.flatnonzero(rows), self.bodies, some)

    def _drawn(self, rngs: Sequence[np.random.Generator]) -> tuple[Bodies, Episode]:
        places, yaws, episodes = zip(*(self.task.begin(rng) for rng in rngs), strict=True)
        turned = np.stack([quaternion_from_rpy(0.0, 0.0, float(yaw)) for yaw in yaws])
        episode = Episode(*(np.stack(x) for x in zip(*episodes, strict=True)))
        return self._stepper.at_rest(np.stack(places), turned), episode

    @property
    def limits(self) -> np.ndarray:
        """(m,) of what is observed, either way."""
        if self._sensing is None:
            return self.task.limits
        return np.full(self._sensing.size + 3, np.inf)

    def observed(self) -> np.ndarray:
        """Return observations (N, m)."""
        if self._sensing is not None:
            told = self._sensing.observed()
            return np.concatenate([told, next_goals(self.episode)], axis=1).astype(np.float32)
        return self._cut(self.task.observe(self.bodies, self.episode))

    @property
    def readings(self) -> Mapping[str, Readings]:
        """What each sensor has told by now: its quantities (N, ...); nothing by ``state``."""
        return {} if self._sensing is None else self._sensing.readings()

    def _cut(self, seen: np.ndarray) -> np.ndarray:
        """Return observations (N, m) within their limits, in single precision."""
        return np.clip(seen, -self.task.limits, self.task.limits).astype(np.float32)

    def step(self, actions: np.ndarray) -> tuple[Judged, np.ndarray]:
        """Move all on by a step with actions (N, n); return what comes of it, and who is cut off.

        A vehicle whose motion is no longer finite ends its episode with a reward of 0.
        """
        given = np.clip(np.asarray(actions, float), -1.0, 1.0)
        after = self._stepper.step(self.bodies, PWM_NEUTRAL + SPAN * given, self.episode.current)
        judged = self.task.judge(self.bodies, after, given, self.episode)
        lost = ~np.isfinite(judged.observation).all(axis=1)
        if self._scene is not None:
            away, _ = self._scene.surfaces(np.nan_to_num(after.position))
            inside = np.any(away < 0, axis=0)
            judged = judged._replace(terminated=judged.terminated | inside)
        judged = Judged(
            self._cut(np.nan_to_num(judged.observation)),
            np.where(lost, 0.0, judged.reward),
            judged.terminated | lost,
            judged.episode,
        )
        self.bodies = Bodies(*(np.array(x) for x in after))
        self.episode = Episode(*(np.array(x) for x in judged.episode))
        self.steps = self.steps + 1
        if self._sensing is not None and self._stepper.forces is not None:
            self._sensing.step(self.bodies, self._stepper.forces)
            judged = judged._replace(observation=self.observed())
        return judged, self.steps >= self.task.steps
