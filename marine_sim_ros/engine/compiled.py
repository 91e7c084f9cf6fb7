# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled scenario: a whole run of a vehicle in one program, with the result of ``simulate``."""

from __future__ import annotations

import math
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
from marine_sim_ros.engine.bodies import CompiledBodies
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
from marine_sim_ros.sim.body_simulation import body_records, cable_columns, joint_columns
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
    surroundings = (environment or Environment()).with_jaws(vehicle)
    if any(change.changes_water for change in surroundings.changes):
        raise ParameterError('engine jax: the water changes; expected engine numpy')
    return compute_cached_properties(
        LoopSetting(
            with_thruster_curves(vehicle),
            with_gusts(surroundings.changed_at(math.inf), faults),
            make_script(scenario, vehicle, controller),
            fault_tables(faults, vehicle.thrusters.names, seed),
            faults,
        )
    )


def is_scalarisable(
    vehicle: Vehicle,
    environment: Environment,
    faults: FaultTables | None,
    *,
    with_local_forces: bool = False,
) -> bool:
    """Return whether the step can be compiled number by number instead of by arrays.

    See :mod:`~marine_sim_ros.engine.components`.

    Args:
        vehicle: the vehicle to simulate.
        faults: faults of its thrusters, or None.
        with_local_forces: whether forces that act near surfaces only may have arrays
            (engine/array_forces.py).
    """
    scalarisable = environment.is_flat and environment.fluctuation is None
    scalarisable = scalarisable and not environment.free_bodies
    scalarisable = scalarisable and (environment.fields is None or environment.fields.is_profile)
    scalarisable = scalarisable and not has_articulated_arm(vehicle)
    with_local_forces = with_local_forces and vehicle.manipulator is None and vehicle.hull is None
    scalarisable = scalarisable and all(
        force.scalar or (force.may_act is not None and with_local_forces)
        for force in acting_forces(vehicle, environment)
    )
    if vehicle.hull is not None:
        scalarisable = (
            scalarisable and environment.has_even_current
        )  # it differs from corner to corner
    return scalarisable and (faults is None or faults.scalarisable)


def _map_rollout(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rollout that runs the hulls of a batch one after the other.

    The panels of one hull fill a core's cache and vector units already.
    """

    def run_sequentially(arguments: Any, initial: Any, times: jax.Array, stamps: jax.Array) -> Any:
        batch_first = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), (arguments, initial))
        recorded = jax.lax.map(lambda vehicle: run(*vehicle, times, stamps), batch_first)
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), recorded)

    return run_sequentially


class ScenarioProgram:
    """Compiled scenario of vehicles of one structure, run with any of their numbers.

    Attributes:
        arguments: numbers that differ among the vehicles, vehicle axis last.
        stamps: stamps of all ticks, ns.
        kept: stamps of the recorded ticks, ns.
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
        if dtype != 'float64' and self._first.environment.free_bodies:
            raise ParameterError(f'{dtype}: free bodies need float64')
        self._template, self.arguments = stack_records(settings)
        first, control = settings[0], settings[0].script.control
        scalarisable = is_scalarisable(
            first.vehicle, first.environment, first.faults, with_local_forces=size is not None
        )
        scalarisable = scalarisable and (control is None or control.scalarisable)
        has_hull = first.vehicle.hull is not None
        stepping = Stepping(step_nanoseconds(dt) / NANOSECONDS, integrator, implicit_drag)
        self._bodies = CompiledBodies(first.environment, stepping.dt)
        rollout_function: Callable[..., Any] = partial(
            rollout,
            self._template,
            stepping=stepping,
            every=every,
            keep=keep,
            written_out=scalarisable,
            advance=self._bodies.advance,
        )
        if size is not None and has_hull and scalarisable:
            rollout_function = _map_rollout(rollout_function)
        elif size is not None and not scalarisable:
            rollout_function = jax.vmap(
                rollout_function, in_axes=(-1, -1, None, None), out_axes=-1
            )
        batch = () if size is None else (size,)
        start = State(*(np.zeros((n, *batch)) for n in (3, 4, 6)))
        shapes = [np.zeros((*a.shape[:-1], *batch)) for a in self.arguments]
        self._program = compile_program(
            rollout_function,
            *self._inputs(shapes, start),
            subject=first.vehicle.name,
            dtype=dtype,
            round_each=size is None,
        )
        self.compile_time = self._program.compile_time
        self.kept = self.stamps[::every]

    def _inputs(self, arguments: Sequence[np.ndarray], initial: State) -> tuple[Any, ...]:
        times = self.stamps / NANOSECONDS
        arrays = jax.tree.map(
            partial(np.asarray, dtype=self._dtype), (list(arguments), initial, times)
        )
        return (*arrays, stamp_words(self.stamps))

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
        recorded: dict[str, np.ndarray] = self._program(*self._inputs(arguments, initial))
        return recorded

    def check_bodies(self) -> None:
        """Raise RunError if the state of a free body is no longer physical."""
        if self._bodies.failure is not None:
            raise self._bodies.failure


def _check_physical(vehicle: Vehicle, recorded: dict[str, np.ndarray], stamps: np.ndarray) -> None:
    """Raise MarineSimError if the states diverge."""
    physical = is_physical(recorded['position'], recorded['velocity'])
    if not physical.all():
        last_physical_time = stamps[max(int(np.argmin(physical)) - 1, 0)] / NANOSECONDS
        raise divergence_error(vehicle, float(last_physical_time))


def _sensor_inputs(recorded: dict[str, np.ndarray], stamps: np.ndarray) -> SensorInputs:
    """Return the inputs of the optional sensors at every tick."""
    acceleration = recorded.get('acceleration', np.zeros((len(stamps), 6)))
    power = recorded.get('power', np.zeros((len(stamps), 0)))
    supply = supply_readings(power, recorded.get('voltage'), recorded.get('used'))
    partner_inputs = (
        recorded.get(f'{ACTUATED}joints'),
        None,
        recorded.get('cable'),
        recorded.get('rotors'),
    )
    return SensorInputs(stamps / NANOSECONDS, acceleration, supply, *partner_inputs)


def make_trajectory(
    setting: LoopSetting, recorded: dict[str, np.ndarray], stamps: np.ndarray, seed: int
) -> Trajectory:
    """Return the trajectory of a vehicle from all its recorded quantities; seed is the noise's."""
    states = State(*(recorded[name] for name in State._fields))
    script, environment = setting.script, setting.environment
    body_tracks = body_records(environment, stamps, recorded.get('bodies'))
    rows = np.searchsorted(script.start, stamps / NANOSECONDS, side='right') - 1
    return Trajectory(
        stamp=stamps,
        position=states.position,
        orientation=states.orientation,
        velocity=states.velocity,
        pwm=recorded['pwm'],
        thrust=recorded['thrust'],
        power=recorded.get('power'),
        cable=recorded.get('cable'),
        tension=recorded.get('tension'),
        wrench=recorded['wrench'],
        sources=columns_below(WRENCHES, recorded),
        actuators=columns_below(ACTUATED, recorded),
        sensors=SensorRecord(
            setting.vehicle,
            setting.environment,
            stamps,
            states,
            _sensor_inputs(recorded, stamps),
            seed=seed,
            faults=setting.readings,
            at_once=True,
            others=body_tracks,
        ),
        bodies={name: record.states for name, record in body_tracks.items()},
        body_joints=joint_columns(environment.body_joints, recorded.get('body_joints')),
        body_cables=cable_columns(environment, recorded.get('body_cables')),
        sha256=trajectory_hash(stamps, states),
        targets=script.setpoints[rows],
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
    """Run a scenario; return its trajectory and the compile time, s.

    The arguments are those of :func:`marine_sim_ros.sim.simulation.simulate`, with the same
    trajectory except for rounding, and ``dtype``: ``float64`` or ``float32``.

    Raises:
        MarineSimError: an argument out of range, or a state that is no longer finite.
    """
    check_partners(vehicle.sensors, '', {})
    scenario = scenario.located(environment)
    setting = make_setting(vehicle, scenario, environment, seed, controller)
    end_time = scenario.duration if duration is None else duration
    program = ScenarioProgram(
        [setting],
        ticks=ticks_of(end_time, dt),
        dt=dt,
        integrator=integrator,
        implicit_drag=implicit_drag,
        dtype=dtype,
    )
    recorded = program.run(scenario.initial_state())
    program.check_bodies()
    _check_physical(vehicle, recorded, program.kept)
    check_convergence(vehicle, recorded['velocity'], program.kept, dt, integrator)
    return make_trajectory(setting, recorded, program.kept, seed), program.compile_time
