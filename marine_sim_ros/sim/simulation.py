# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of a vehicle in one process without ROS, with the functions of the nodes."""

from __future__ import annotations

import logging
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import replace
from typing import Any

import numpy as np

from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES, ControllerSettings
from marine_sim_ros.core.errors import ParameterError, RunError, expected_one_of
from marine_sim_ros.core.progress import PROGRESS_INTERVAL, ReportProgress, no_progress
from marine_sim_ros.core.random import stamp_words
from marine_sim_ros.core.state import (
    LIMITS,
    NANOSECONDS,
    State,
    is_physical,
    state_at_rest,
    step_nanoseconds,
    ticks_of,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault, with_gusts
from marine_sim_ros.faults.tables import fault_tables
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.body_joints import SOLE_VEHICLE
from marine_sim_ros.model.tether import CableState
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces, actuators_of
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.physics.rigid_body import INTEGRATOR_CHOICES
from marine_sim_ros.physics.silt import SiltClouds
from marine_sim_ros.sensors import SensorInputs, needs_of
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sensors.series import SensorRecord, SeriesMemory
from marine_sim_ros.sim.body_simulation import (
    BodySimulation,
    body_records,
    cable_columns,
    joint_columns,
)
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.scenario import Scenario
from marine_sim_ros.sim.step import (
    ACTUATED,
    COMMANDED,
    WRENCHES,
    PreparedStep,
    StepCommands,
    StepOutput,
    Stepping,
    TickRecord,
    begin,
    columns_below,
    finish_step,
    prepare_step,
    state_blocks,
    tick_blocks,
)
from marine_sim_ros.sim.trajectory import Outcome, Trajectory, TrajectoryHash

__all__ = [
    'DEFAULT_STEP',
    'Simulation',
    'collect_trajectory',
    'divergence_error',
    'scenario_ticks',
    'scripted_ticks',
    'simulate',
    'simulate_blocks',
    'simulate_outcome',
]

_LOG = logging.getLogger(__name__)
DEFAULT_STEP = 0.005
"""Default step, s: stable for all shipped vehicles at top speed, turning and afloat."""

CommandFunction = Callable[[float, State], np.ndarray]
"""Pulse widths (n,) in µs for a time (s) and a state."""

Schedule = Callable[[float], Any]
"""Function of time (s)."""


def divergence_error(vehicle: Vehicle, time: float) -> RunError:
    """Return the error of a state that is no longer physical after a time (s)."""
    return RunError(
        f'{vehicle.name}: the state is not physical after {time:g} s: expected {LIMITS}; '
        'try a smaller step, and marine_sim doctor for what it lacks'
    )


class Simulation:
    """Simulation of one vehicle, one tick at a time.

    Attributes:
        step: time from a tick to the next, ns.
        stamp: of the next tick, ns.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        environment: Environment | None = None,
        initial: State | None = None,
        dt: float = DEFAULT_STEP,
        integrator: str = 'auto',
        implicit_drag: bool = True,
        faults: Sequence[Fault] = (),
        seed: int = 0,
        shown: Collection[str] = (),
        name: str = SOLE_VEHICLE,
    ) -> None:
        """Set up at time 0, with the free bodies of the environment.

        Where vehicles collide, their world is the caller's: see :meth:`begin_tick`.

        Args:
            vehicle: the vehicle to simulate.
            environment: default: still water of the vehicle's own density.
            initial: state; default: at rest at the origin.
            dt: step, s.
            integrator: ``auto``, ``semi_implicit``, ``rk4`` or ``conserving``.
            implicit_drag: treat the drag as linearly implicit (not with ``rk4``).
            faults: faults to inject.
            seed: random seed of the faults.
            shown: further outputs of each tick, for cameras of other vehicles: ``tether``.
            name: name of the vehicle among the bodies of the environment.

        Raises:
            ParameterError: a step or an integrator that does not exist.
        """
        if integrator not in INTEGRATOR_CHOICES:
            raise ParameterError(
                f'integrator is {integrator!r}; {expected_one_of(integrator, INTEGRATOR_CHOICES)}'
            )
        self.vehicle = vehicle
        self.environment = with_gusts(
            (environment or Environment()).with_jaws(vehicle, name), faults
        )
        self._faults = fault_tables(faults, vehicle.thrusters.names, seed)
        self.stamp = 0
        self.step = step_nanoseconds(dt)
        self._memory = begin(vehicle, self.environment, initial or state_at_rest())
        self._since_last = 0.0
        self._needs = needs_of(vehicle) | set(shown)
        self._sizes = {a.name: len(a.names(vehicle)) for a in actuators_of(vehicle)}
        self.gripping = Gripping(vehicle, self.environment)
        self.body_simulation: BodySimulation | None = None
        if self.environment.free_bodies and not self.environment.collisions:
            self.body_simulation = BodySimulation(self.environment, self.step / NANOSECONDS)
        has_world = self.body_simulation is not None or self.environment.collisions
        self._deferred = ('contact',) if has_world else ()
        self._prepared: PreparedStep | None = None
        self._silt = None
        if self.environment.sediment is not None and 'silt' in self._needs:
            self._silt = SiltClouds(vehicle)
        self._stepping = Stepping(self.step / NANOSECONDS, integrator, implicit_drag)

    @property
    def state(self) -> State:
        """State at the present stamp."""
        return self._memory.state

    @property
    def tether(self) -> CableState | None:
        """Cable of the tether at the tick that last began; None before, or without a tether."""
        memory = self._memory if self._prepared is None else self._prepared.memory
        cable: CableState | None = memory.forces.get('tether')
        return cable

    def tick(
        self,
        pwm: np.ndarray,
        actuators: Mapping[str, np.ndarray] = NO_COMMANDS,
        *,
        anchor: State | None = None,
        precomputed: Mapping[str, Any] = NO_COMMANDS,
    ) -> StepOutput:
        """Apply commands at the present stamp, integrate one step, return the output of the tick.

        Args:
            pwm: pulse widths (n,), µs.
            actuators: commands (k,) by the name of the actuator; missing: at rest, a gripper as
                before.
            anchor: state of the vehicle at the other end of the tether, or None.
            precomputed: wrenches (6,) of forces that are computed for several bodies at once, by
                name.

        Raises:
            ParameterError: commands that do not fit the vehicle.
        """
        world = self.body_simulation
        contact_body = self.begin_tick(
            pwm,
            actuators,
            anchor=anchor,
            precomputed=precomputed,
            bodies={} if world is None else world.states,
        )
        wrench = None
        if world is not None:
            assert self._prepared is not None
            wrenches = world.tick(
                self.stamp, self._prepared.environment, {SOLE_VEHICLE: contact_body}
            )
            wrench = wrenches[SOLE_VEHICLE]
        return self.end_tick(wrench, world)

    def begin_tick(
        self,
        pwm: np.ndarray,
        actuators: Mapping[str, np.ndarray] = NO_COMMANDS,
        *,
        anchor: State | None = None,
        precomputed: Mapping[str, Any] = NO_COMMANDS,
        bodies: Mapping[str, State] = NO_COMMANDS,
        holders: Mapping[str, str] = NO_COMMANDS,
    ) -> ContactBody:
        """Compute all forces of a tick but the contact of a world; return what may touch there.

        Arguments as of :meth:`tick`, which :meth:`end_tick` completes, and of the tick before
        ``bodies``: states of the free bodies, by name, and ``holders``: other vehicles whose
        grippers hold bodies, by the name of the body.
        """
        time = self.stamp / NANOSECONDS
        faults = None
        self._check_commands(actuators)
        if holders and (text := self.gripping.yield_to(holders, time)):
            _LOG.warning(text)
        if (jaws := actuators.get(GRIPPER)) is not None:
            self._grip(bool(jaws[0] > 0.5), time, bodies, holders)
        if self._faults is not None:
            faults = self._faults.at(np, time, stamp_words(np.array(self.stamp)))
        self._prepared = prepare_step(
            self.vehicle,
            self.environment.at(time),
            self._memory,
            StepCommands(
                pwm, actuators, faults, self.gripping.load, anchor=anchor, precomputed=precomputed
            ),
            self._stepping,
            since=self._since_last,
            deferred=self._deferred,
        )
        arm, joints = self._prepared.body.manipulator, self._prepared.memory.joints
        links = None  # as contact alone asks for them, and they take a tenth of a tick
        if self._deferred and arm is not None and joints is not None:
            links = link_poses(arm, joints.position)
            links = links._replace(load=self.gripping.load, rate=joints.rate)
        return ContactBody(
            self._prepared.body,
            self.state,
            self._stepping.integrator,
            links=links,
            closing=self.gripping.closed,
        )

    def end_tick(self, contact: np.ndarray | None, world: BodySimulation | None) -> StepOutput:
        """Integrate one step with the wrench (6,) of a world's contact; return the tick's output.

        Args:
            contact: wrench, body frame; None where no world computes it.
            world: the world, whose bodies the output has, or None.
        """
        assert self._prepared is not None
        deferred = NO_COMMANDS if contact is None else {'contact': contact}
        environment = self._prepared.environment
        output, self._memory = finish_step(self._prepared, deferred)
        self._prepared = None
        output = output._replace(stamp=self.stamp)
        if world is not None and world.states:
            output = output._replace(**world.output())
        if self.gripping.is_possible:
            output.actuators[GRIPPER] = np.array([self.gripping.number])
        if (cable := self.tether) is not None:
            output = output._replace(cable=cable.position, tension=cable.tension)
        if self._silt is not None:
            clouds = self._silt.advance(
                self.stamp, output.state, environment, output.thrusters.thrust
            )
            output = output._replace(silt=clouds)
        self.stamp += self.step
        self._since_last = self._stepping.dt
        return output

    def _check_commands(self, actuators: Mapping[str, np.ndarray]) -> None:
        """Raise ParameterError for commands that do not fit the vehicle."""
        for name, command in actuators.items():
            expected = self._sizes.get(name)
            if np.shape(command) != (expected,):
                known = ', '.join(f'{n} ({k},)' for n, k in self._sizes.items())
                raise ParameterError(
                    f'{self.vehicle.name}: the command of {name} has the shape '
                    f'{np.shape(command)}; expected some of: {known or "none"}'
                )

    def _grip(
        self, closed: bool, time: float, bodies: Mapping[str, State], holders: Mapping[str, str]
    ) -> None:
        """Close or open the gripper, and log the result."""
        memory = self._memory
        if memory.joints is None:
            return
        succeeded, text = self.gripping.follow(
            closed, memory.state, memory.joints, time, bodies, holders
        )
        if text:
            _LOG.log(logging.INFO if succeeded else logging.WARNING, text)

    def ticks(
        self,
        command: CommandFunction,
        duration: float,
        actuators: Schedule | None = None,
        *,
        anchor: Schedule | None = None,
        precomputed: Schedule | None = None,
    ) -> Iterator[StepOutput]:
        """Yield every tick from now for a duration (s), both ends included.

        Args:
            command: pulse widths of a time and a state.
            duration: s.
            actuators: commands (k,) by the name of the actuator, of a time (s).
            anchor: state of the vehicle at the other end of the tether, of a time (s).
            precomputed: wrenches of forces that are computed for several bodies, of a time (s).

        Raises:
            RunError: the state is no longer finite.
        """
        end = self.stamp + round(duration * NANOSECONDS)
        while self.stamp <= end:
            time = self.stamp / NANOSECONDS
            yield self.tick(
                command(time, self.state),
                NO_COMMANDS if actuators is None else actuators(time),
                anchor=None if anchor is None else anchor(time),
                precomputed=NO_COMMANDS if precomputed is None else precomputed(time),
            )
            if not is_physical(self.state.position, self.state.velocity):
                raise divergence_error(self.vehicle, time)


def scripted_ticks(
    simulation: Simulation, pilot: ScriptedPilot, duration: float, **schedules: Any
) -> Iterator[StepOutput]:
    """Yield every tick of a scenario; see :meth:`Simulation.ticks`.

    Args:
        simulation: the vehicle, at time 0.
        pilot: player of the scenario.
        duration: s.
        **more: schedules that are no part of a scenario.

    Raises:
        RunError: the state is no longer finite.
    """
    return simulation.ticks(pilot.command, duration, lambda _: pilot.actuators, **schedules)


def collect_trajectory(
    simulation: Simulation,
    pilot: ScriptedPilot,
    scenario: Scenario,
    columns: Mapping[str, np.ndarray],
    seed: int,
    *,
    digest: TrajectoryHash | None = None,
    sensor_memories: MutableMapping[str, SeriesMemory] | None = None,
) -> Trajectory:
    """Return the trajectory of the ticks of a scenario, with its set-points.

    Args:
        simulation: the vehicle.
        pilot: player of the scenario.
        columns: columns of all ticks, or of a part of them; see :class:`TickRecord`.
        seed: random seed of noise and faults.
        digest: hash of the previous parts, which is continued; None: this is the first part.
        sensor_memories: memories of the sensors from the previous parts; see
            :class:`SensorRecord`.
    """
    vehicle, environment = simulation.vehicle, simulation.environment
    digest = digest or TrajectoryHash()
    stamps, actuators = columns['stamp'], columns_below(ACTUATED, columns)
    states = State(columns['position'], columns['orientation'], columns['velocity'])
    inputs = SensorInputs(
        stamps / NANOSECONDS,
        columns['acceleration'],
        columns['supply'],
        actuators.get('joints'),
        *(columns.get(name) for name in ('cable', 'rotors', 'silt')),
    )
    targets = np.empty((len(stamps), len(SETPOINT_QUANTITIES)))
    for i, time in enumerate((stamps / NANOSECONDS).tolist()):
        targets[i] = pilot.setpoints(time)
    digest.add_ticks(stamps, states)
    body_tracks = body_records(environment, stamps, columns.get('bodies'))
    return Trajectory(
        stamp=stamps,
        position=states.position,
        orientation=states.orientation,
        velocity=states.velocity,
        pwm=columns['pwm'],
        thrust=columns['thrust'],
        power=columns['power'],
        wrench=columns['total'],
        sources=columns_below(WRENCHES, columns),
        actuators=actuators,
        commands=columns_below(COMMANDED, columns),
        targets=targets,
        sensors=SensorRecord(
            vehicle,
            environment,
            stamps,
            states,
            inputs,
            seed=seed,
            faults=scenario.faults,
            before=sensor_memories,
            others=body_tracks,
        ),
        cable=columns.get('cable'),
        tension=columns.get('tension'),
        bodies={name: record.states for name, record in body_tracks.items()},
        body_joints=joint_columns(environment.body_joints, columns.get('body_joints')),
        body_cables=cable_columns(environment, columns.get('body_cables')),
        reports=tuple(
            (stamp, target)
            for stamp in (stamps.tolist() if scenario.reports else ())
            for target in scenario.reports_at(stamp, stamp - simulation.step)
        ),
        sha256=digest.hexdigest(),
    )


def scenario_ticks(
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
    odometry: EstimatedOdometry | None = None,
    progress: ReportProgress = no_progress,
) -> tuple[Simulation, ScriptedPilot, Iterator[StepOutput]]:
    """Return a simulation, its scenario player, and the iterator of all ticks.

    Arguments as in :func:`simulate`. ``progress`` is called regularly with the completed fraction.

    Raises:
        MarineSimError: an argument out of range.
    """
    check_partners(vehicle.sensors, '', {})
    scenario = scenario.located(environment)
    pilot = ScriptedPilot(
        scenario, vehicle, controller, odometry=odometry, environment=environment
    )
    start = (environment or Environment()).at(0.0)
    for force in acting_forces(vehicle, start):
        if force.check is not None:
            force.check(vehicle, scenario.initial_state(), start)
    simulation = Simulation(
        vehicle,
        environment=environment,
        initial=scenario.initial_state(),
        dt=dt,
        integrator=integrator,
        implicit_drag=implicit_drag,
        faults=scenario.faults,
        seed=seed,
    )
    span = scenario.duration if duration is None else duration
    ticks = scripted_ticks(simulation, pilot, span)
    return simulation, pilot, _with_progress(ticks, ticks_of(span, dt), progress)


def _with_progress(
    ticks: Iterable[StepOutput], count: int, progress: ReportProgress
) -> Iterator[StepOutput]:
    """Yield ticks, and report the fraction of ``count`` that is done."""
    for i, tick in enumerate(ticks):
        if i % PROGRESS_INTERVAL == 0:
            progress(i / count)
        yield tick


def simulate_outcome(vehicle: Vehicle, scenario: Scenario, **settings: Any) -> Outcome:
    """Run a scenario as :func:`simulate`, and return its outcome only.

    Raises:
        MarineSimError: an argument out of range.
        RunError: a state that is no longer finite.
    """
    outcome = Outcome(scenario, settings.get('environment'))
    _, _, ticks = scenario_ticks(vehicle, scenario, **settings)
    for stamps, states in state_blocks(_suppress_warnings(ticks)):
        outcome.add(stamps, states)
    return outcome


def simulate_blocks(
    vehicle: Vehicle, scenario: Scenario, *, seed: int = 0, **settings: Any
) -> Iterator[Trajectory]:
    """Run a scenario as :func:`simulate`, and yield its trajectory in parts.

    The parts have the numbers of the complete trajectory, and ``targets`` in all parts or in none.
    Read the sensors of a part before you request the next one.

    Raises:
        MarineSimError: an argument out of range.
        RunError: a state that is no longer finite; the parts before it are yielded first.
    """
    scenario = scenario.located(settings.get('environment'))
    simulation, pilot, ticks = scenario_ticks(vehicle, scenario, seed=seed, **settings)
    duration = settings.get('duration')
    has_setpoints = _has_setpoints(scenario, scenario.duration if duration is None else duration)
    digest, sensor_memories = TrajectoryHash(), dict[str, SeriesMemory]()
    for columns in tick_blocks(_suppress_warnings(ticks)):
        part = collect_trajectory(
            simulation,
            pilot,
            scenario,
            columns,
            seed,
            digest=digest,
            sensor_memories=sensor_memories,
        )
        yield part if has_setpoints else replace(part, targets=None)


def _has_setpoints(scenario: Scenario, duration: float) -> bool:
    """Return whether any segment that begins within a duration (s) has set-points."""
    started = [s for i, s in enumerate(scenario.segments) if not i or s.start <= duration]
    return any(s.control is not None and not np.isnan(s.control).all() for s in started)


def _suppress_warnings(ticks: Iterable[StepOutput]) -> Iterator[StepOutput]:
    """Yield ticks without warnings of NumPy about states that are no longer finite."""
    iterator = iter(ticks)
    while True:
        with np.errstate(over='ignore', invalid='ignore'):
            tick = next(iterator, None)
        if tick is None:
            return
        yield tick


def simulate(
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
    odometry: EstimatedOdometry | None = None,
    partly: bool = False,
    progress: ReportProgress = no_progress,
) -> Trajectory:
    """Run a scenario and return its trajectory.

    Args:
        vehicle: the vehicle, from :func:`marine_sim_ros.load_vehicle`.
        scenario: the scenario, from :func:`marine_sim_ros.sim.scenario.load_scenario`.
        environment: default: still water of the vehicle's own density.
        dt: step, s.
        integrator: ``auto``, ``semi_implicit``, ``rk4`` or ``conserving``.
        implicit_drag: treat the drag as linearly implicit (not with ``rk4``).
        seed: random seed of noise, sea and faults.
        duration: s; default: the scenario's.
        controller: instead of the one that the scenario names.
        odometry: estimate over which the controller closes its loop; None: the true state.
        partly: return the ticks before a state that is no longer finite, instead of raising.
        progress: function that is called regularly with the completed fraction.

    Raises:
        MarineSimError: an argument out of range.
        RunError: a state that is no longer finite.
    """
    simulation, pilot, ticks = scenario_ticks(
        vehicle,
        scenario,
        environment=environment,
        dt=dt,
        integrator=integrator,
        implicit_drag=implicit_drag,
        seed=seed,
        duration=duration,
        controller=controller,
        odometry=odometry,
        progress=progress,
    )
    record = TickRecord()
    try:
        for tick in _suppress_warnings(ticks):
            record.add(tick)
    except RunError:
        if not partly:
            raise
    return collect_trajectory(simulation, pilot, scenario, record.columns(), seed)
