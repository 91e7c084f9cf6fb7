# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A scenario of one vehicle in a compiled program; its trajectory is that of ``simulate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.control.controller_model import ControllerSettings
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import stamp_words
from marine_sim_ros.core.state import NANOSECONDS, State, is_physical, step_nanoseconds, ticks_of
from marine_sim_ros.engine.loop import (
    LoopSetting,
    Recorder,
    record_everything,
    rollout,
    share_scene,
)
from marine_sim_ros.engine.program import compile_program
from marine_sim_ros.engine.script import make_script
from marine_sim_ros.engine.thrust_tables import with_thruster_curves
from marine_sim_ros.engine.trees import compute_cached_properties, slot_arguments, stack_records
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import with_gusts
from marine_sim_ros.faults.tables import FaultTables, fault_tables
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.arm.manipulator import has_articulated_arm
from marine_sim_ros.physics.rigid_body import INTEGRATOR_CHOICES, check_convergence
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sensors.series import SensorRecord
from marine_sim_ros.sim.scenario import Scenario
from marine_sim_ros.sim.simulation import DEFAULT_STEP, divergence_error
from marine_sim_ros.sim.step import ACTUATED, WRENCHES, Stepping, columns_below, supply_readings
from marine_sim_ros.sim.trajectory import Trajectory, trajectory_hash

__all__ = [
    'ScenarioProgram',
    'is_scalarisable',
    'make_setting',
    'simulate_compiled',
    'make_trajectory',
]


def make_setting(
    vehicle: Vehicle,
    scenario: Scenario,
    environment: Environment | None,
    seed: int = 0,
    controller: ControllerSettings | None = None,
) -> LoopSetting:
    """Return the setting of a program.

    Args:
        vehicle: the vehicle to simulate.
        scenario: the scenario to play.
        environment: None for still water.
        seed: random seed of the faults.
        controller: instead of the one that the scenario names.

    Raises:
        MarineSimError: a scenario that does not fit.
    """
    faults = scenario.faults
    return compute_cached_properties(
        LoopSetting(
            with_thruster_curves(vehicle),
            with_gusts(environment or Environment(), faults),
            make_script(scenario, vehicle, controller),
            fault_tables(faults, vehicle.thrusters.names, seed),
            faults,
        )
    )


def is_scalarisable(
    vehicle: Vehicle, environment: Environment, faults: FaultTables | None
) -> bool:
    """Return whether the physics is small enough to be written out number by number."""
    plain = environment.flat and environment.fluctuation is None
    plain = plain and environment.fields is None
    plain = plain and not has_articulated_arm(vehicle)
    plain = plain and all(f.scalar for f in acting_forces(vehicle, environment))
    if vehicle.hull is not None:
        plain = plain and environment.has_even_current  # it differs from corner to corner
    return plain and (faults is None or faults.scalarisable)


def _map_rollout(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rollout of a batch of hulls: a hull fills a core's cache and vectors alone."""

    def many(arguments: Any, initial: Any, times: jax.Array, stamps: jax.Array) -> Any:
        first = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), (arguments, initial))
        kept = jax.lax.map(lambda own: run(*own, times, stamps), first)
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), kept)

    return many


class ScenarioProgram:
    """One compiled closed loop, to be run with any numbers of the same structure.

    Attributes:
        arguments: numbers that differ among the vehicles, vehicle axis last.
        stamps: stamps of all ticks, ns.
        kept: stamps of the ticks that are kept, ns.
        compile_time: duration of tracing and compiling, s; short where JAX's cache had the
            program.
    """

    def __init__(
        self,
        settings: Sequence[LoopSetting],
        *,
        ticks: int,
        dt: float = DEFAULT_STEP,
        integrator: str = 'auto',
        implicit_drag: bool = True,
        dtype: str = 'float64',
        every: int = 1,
        keep: Recorder = record_everything,
        size: int | None = None,
    ) -> None:
        """Compile for vehicles of one structure.

        Args:
            settings: one for each vehicle.
            ticks: number of ticks; one more than a multiple of ``every``.
            dt: step, s.
            integrator: ``auto``, ``semi_implicit``, ``rk4`` or ``conserving``.
            implicit_drag: treat the drag as linearly implicit (``semi_implicit`` only).
            dtype: ``float64`` or ``float32``.
            every: one tick in so many is kept.
            keep: function that selects the kept quantities.
            size: size of the batch that runs at a time; None: a single vehicle without a batch
                axis.

        Raises:
            ParameterError: an argument out of its range, or vehicles that differ in structure.
        """
        if integrator not in INTEGRATOR_CHOICES:
            raise ParameterError(
                f'integrator is {integrator!r}; expected one of: {", ".join(INTEGRATOR_CHOICES)}'
            )
        self.stamps = np.arange(ticks, dtype=np.int64) * step_nanoseconds(dt)
        self._dtype = dtype
        settings = share_scene(settings)
        self._first = settings[0]
        self._template, self.arguments = stack_records(settings)
        one, control = settings[0], settings[0].script.control
        few = is_scalarisable(one.vehicle, one.environment, one.faults)
        few = few and (control is None or control.scalarisable)
        hull = one.vehicle.hull is not None
        stepping = Stepping(step_nanoseconds(dt) / NANOSECONDS, integrator, implicit_drag)
        run: Callable[..., Any] = partial(
            rollout, self._template, stepping=stepping, every=every, keep=keep, written_out=few
        )
        if size is not None and hull and few:
            run = _map_rollout(run)
        elif size is not None and not few:
            run = jax.vmap(run, in_axes=(-1, -1, None, None), out_axes=-1)
        batch = () if size is None else (size,)
        start = State(*(np.zeros((n, *batch)) for n in (3, 4, 6)))
        shapes = [np.zeros((*a.shape[:-1], *batch)) for a in self.arguments]
        self._program = compile_program(
            run,
            *self._inputs(shapes, start),
            subject=one.vehicle.name,
            dtype=dtype,
            round_each=size is None,
        )
        self.compile_time = self._program.compile_time
        self.kept = self.stamps[::every]

    def _inputs(self, arguments: Sequence[np.ndarray], initial: State) -> tuple[Any, ...]:
        times = self.stamps / NANOSECONDS
        numbers = jax.tree.map(
            partial(np.asarray, dtype=self._dtype), (list(arguments), initial, times)
        )
        return (*numbers, stamp_words(self.stamps))

    def arguments_of(self, settings: Sequence[LoopSetting]) -> list[np.ndarray]:
        """Return the arguments of other vehicles of the same structure.

        Raises:
            ParameterError: they differ where the program has constants.
        """
        return slot_arguments(self._template, share_scene([self._first, *settings])[1:])

    def run(self, initial: State, arguments: Sequence[np.ndarray] = ()) -> dict[str, np.ndarray]:
        """Return the kept arrays, (ticks, ..., *batch) by name.

        Args:
            initial: state, a batch's axis last.
            arguments: the members of ``arguments`` for this batch.
        """
        kept: dict[str, np.ndarray] = self._program(*self._inputs(arguments, initial))
        return kept


def _check_physical(vehicle: Vehicle, kept: dict[str, np.ndarray], stamps: np.ndarray) -> None:
    """Raise MarineSimError where a state is no longer physical."""
    sound = is_physical(kept['position'], kept['velocity'])
    if not sound.all():
        after = stamps[max(int(np.argmin(sound)) - 1, 0)] / NANOSECONDS
        raise divergence_error(vehicle, float(after))


def _sensor_inputs(kept: dict[str, np.ndarray], stamps: np.ndarray) -> SensorInputs:
    """Return the inputs of every tick that only some sensors need."""
    acceleration = kept.get('acceleration', np.zeros((len(stamps), 6)))
    power = kept.get('power', np.zeros((len(stamps), 0)))
    supply = supply_readings(power, kept.get('voltage'), kept.get('used'))
    seen = kept.get(f'{ACTUATED}joints'), None, kept.get('cable'), kept.get('rotors')
    return SensorInputs(stamps / NANOSECONDS, acceleration, supply, *seen)


def make_trajectory(
    setting: LoopSetting, kept: dict[str, np.ndarray], stamps: np.ndarray, seed: int
) -> Trajectory:
    """Return the trajectory of one vehicle of which everything was kept, with noise of a seed."""
    states = State(*(kept[name] for name in State._fields))
    plan = setting.script
    rows = np.searchsorted(plan.start, stamps / NANOSECONDS, side='right') - 1
    return Trajectory(
        stamp=stamps,
        position=states.position,
        orientation=states.orientation,
        velocity=states.velocity,
        pwm=kept['pwm'],
        thrust=kept['thrust'],
        power=kept.get('power'),
        wrench=kept['wrench'],
        sources=columns_below(WRENCHES, kept),
        actuators=columns_below(ACTUATED, kept),
        sensors=SensorRecord(
            setting.vehicle,
            setting.environment,
            stamps,
            states,
            _sensor_inputs(kept, stamps),
            seed=seed,
            faults=setting.readings,
            at_once=True,
        ),
        sha256=trajectory_hash(stamps, states),
        targets=plan.setpoints[rows],
    )


def simulate_compiled(
    vehicle: Vehicle,
    scenario: Scenario,
    *,
    environment: Environment | None = None,
    dt: float = DEFAULT_STEP,
    integrator: str = 'auto',
    implicit_drag: bool = True,
    seed: int = 0,
    duration: float | None = None,
    controller: ControllerSettings | None = None,
    dtype: str = 'float64',
) -> tuple[Trajectory, float]:
    """Run a scenario, and return its trajectory and the s that compiling took.

    The arguments are those of :func:`marine_sim_ros.sim.simulation.simulate`, whose trajectory it
    is but for rounding, and ``dtype``: ``float64`` or ``float32``.

    Raises:
        MarineSimError: an argument out of range, or a state that is no longer finite.
    """
    check_partners(vehicle.sensors, '', {})
    setting = make_setting(vehicle, scenario, environment, seed, controller)
    wanted = scenario.duration if duration is None else duration
    program = ScenarioProgram(
        [setting],
        ticks=ticks_of(wanted, dt),
        dt=dt,
        integrator=integrator,
        implicit_drag=implicit_drag,
        dtype=dtype,
    )
    kept = program.run(scenario.initial_state())
    _check_physical(vehicle, kept, program.kept)
    check_convergence(vehicle, kept['velocity'], program.kept, dt, integrator)
    return make_trajectory(setting, kept, program.kept, seed), program.compile_time
