# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleet simulation in one process, without ROS; vehicles interact by tethers, contact, sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.progress import PROGRESS_INTERVAL, ReportProgress, no_progress
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, is_physical, ticks_of
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.physics.tether import check_tether_reach
from marine_sim_ros.physics.towing import towing_wrench, with_tow_tethers
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.run_setup import (
    check_anchor,
    environment_from_options,
    namespace_of,
    parts_seen_by_others,
    run_odometry,
    towing_namespaces,
    with_start_pose,
)
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation, collect_trajectory, divergence_error
from marine_sim_ros.sim.step import TickRecord
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = ['simulate_fleet']


class _Member:
    """Vehicle of the fleet: its simulation and its recorded ticks."""

    def __init__(self, run: RunOptions, environment: Environment) -> None:
        if not run.scenario:
            raise ParameterError(
                f'{run.namespace}: has no scenario; expected --scenario or one in the fleet'
            )
        self.name, self.seed = namespace_of(run), run.seed
        vehicle = vehicle_of(run.named_vehicle())
        check_anchor(vehicle, self.name, run.neighbours)
        check_partners(vehicle.sensors, self.name, run.neighbours)
        self.tether: Tether | None = vehicle.extensions.get('tether')
        self.tether_owners = towing_namespaces(self.name, run.neighbours)
        self.scenario = with_start_pose(load_scenario(run.scenario), run).located(environment)
        self.pilot = ScriptedPilot(
            self.scenario,
            vehicle,
            odometry=run_odometry(run, vehicle, closed=self.scenario.closed_loop),
            environment=environment,
        )
        self.simulation = Simulation(
            with_tow_tethers(vehicle, self.tether_owners),
            environment=environment,
            initial=self.scenario.initial_state(),
            dt=run.dt,
            integrator=run.integrator,
            faults=self.scenario.faults,
            seed=run.seed,
            shown=parts_seen_by_others(run, vehicle),
            name=self.name,
        )
        self.ticks = TickRecord()

    def anchor_state(self, states: Mapping[str, State]) -> State | None:
        """Return the state of the vehicle at the end of its tether, or None."""
        tether = self.tether
        return states['/' + tether.vehicle] if tether is not None and tether.vehicle else None

    def begin_tick(
        self,
        states: Mapping[str, State],
        members: Mapping[str, _Member],
        world: BodySimulation | None,
    ) -> ContactBody:
        """Compute the forces of a tick but for contact; members that tow have begun it.

        Args:
            states: states of all members, by name.
            members: all members, by name.
            world: the world after the tick before, or None.
        """
        simulation = self.simulation
        pwm = self.pilot.command(simulation.stamp / NANOSECONDS, simulation.state)
        return simulation.begin_tick(
            pwm,
            self.pilot.actuators,
            anchor=self.anchor_state(states),
            precomputed=self._towing_wrenches(states, members),
            bodies={} if world is None else world.states,
            holders={
                body: name
                for body, name in ({} if world is None else world.holders).items()
                if name != self.name
            },
        )

    def end_tick(self, contact: Wrench | None, world: BodySimulation | None) -> None:
        """Integrate and record the tick.

        Raises:
            RunError: the state is no longer finite.
        """
        simulation = self.simulation
        self.ticks.add(output := simulation.end_tick(contact, world))
        if not is_physical(simulation.state.position, simulation.state.velocity):
            raise divergence_error(simulation.vehicle, output.stamp / NANOSECONDS)

    def _towing_wrenches(
        self, states: Mapping[str, State], members: Mapping[str, _Member]
    ) -> dict[str, Wrench]:
        pulls = []
        for name in self.tether_owners:
            owner = members[name]
            cable = owner.simulation.tether
            assert owner.tether is not None
            assert cable is not None
            pulls.append(towing_wrench(owner.tether, states[self.name], cable.pull[1]))
        return {'towing': sum(pulls[1:], start=pulls[0])} if pulls else {}

    def trajectory(self) -> Trajectory:
        """Return all ticks so far."""
        return collect_trajectory(
            self.simulation, self.pilot, self.scenario, self.ticks.columns(), self.seed
        )


def _towing_order(members: Mapping[str, _Member]) -> list[_Member]:
    """Return the members in an order in which the owners of tethers precede the towed vehicles.

    Raises:
        ParameterError: a cycle of tethers.
    """
    ordered: dict[str, _Member] = {}
    while len(ordered) < len(members):
        ready = [
            n
            for n, m in members.items()
            if n not in ordered and set(m.tether_owners) <= ordered.keys()
        ]
        if not ready:
            names = ', '.join(n.strip('/') for n in members if n not in ordered)
            raise ParameterError(
                f'tethers of {names} go round in a circle, which only the node graph computes; '
                'expected marine_sim run'
            )
        ordered |= {name: members[name] for name in ready}
    return list(ordered.values())


def _with_partners(trajectories: Mapping[str, Trajectory]) -> dict[str, Trajectory]:
    """Return trajectories whose sensor records contain the other vehicles."""
    records = {name: trajectory.sensors for name, trajectory in trajectories.items()}
    result = {}
    for name, trajectory in trajectories.items():
        others = {n: record for n, record in records.items() if n != name}
        result[name] = replace(trajectory, sensors=trajectory.sensors.with_others(others, name))
    return result


def simulate_fleet(
    runs: Sequence[RunOptions], progress: ReportProgress = no_progress
) -> dict[str, Trajectory]:
    """Return the trajectory of each vehicle of a fleet, by its namespace.

    All vehicles use the states of the same tick: for the pull of tethers anchored at them, and for
    their sensors. The result equals that of the node graph to the bit.

    Args:
        runs: options of the vehicles, from :func:`~marine_sim_ros.sim.fleet.fleet_runs`.
        progress: is called with the share of the ticks that were taken, now and then.

    Raises:
        MarineSimError: a vehicle, scenario or tether that cannot be used.
        RunError: a state that is no longer finite.
    """
    environment = environment_from_options(runs[0])
    members = {m.name: m for m in (_Member(run, environment) for run in runs)}
    ordered = _towing_order(members)
    states: dict[str, State] = {name: m.simulation.state for name, m in members.items()}
    for member in ordered:
        check_tether_reach(
            member.simulation.vehicle,
            states[member.name],
            environment.at(0.0),
            member.anchor_state(states),
        )
    first = next(iter(members.values())).simulation
    world = BodySimulation(first.environment, runs[0].dt) if environment.collisions else None
    span = runs[0].duration or min(m.scenario.duration for m in members.values())
    total, taken = ticks_of(span, runs[0].dt), 0
    with np.errstate(over='ignore', invalid='ignore'):  # a diverged state raises RunError below
        while first.stamp <= round(span * NANOSECONDS):
            if taken % PROGRESS_INTERVAL == 0:
                progress(taken / total)
            taken += 1
            states = {name: m.simulation.state for name, m in members.items()}
            bodies = {m.name: m.begin_tick(states, members, world) for m in ordered}
            contact: dict[str, Wrench] = {}
            if world is not None:
                water = first.environment.at(first.stamp / NANOSECONDS)
                contact = world.tick(first.stamp, water, bodies)
            for member in ordered:
                member.end_tick(contact.get(member.name), world)
    return _with_partners({name: m.trajectory() for name, m in members.items()})
