# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleet simulation in one process, without ROS; vehicles interact by tethers and sensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.progress import PROGRESS_INTERVAL, ReportProgress, no_progress
from marine_sim_ros.core.state import State, Wrench, ticks_of
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.physics.contact.contact import check_bodies
from marine_sim_ros.physics.tether import check_tether_reach
from marine_sim_ros.physics.towing import towing_wrench, with_tow_tethers
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.run_setup import (
    check_anchor,
    environment_from_options,
    namespace_of,
    parts_seen_by_others,
    towing_namespaces,
    with_start_pose,
)
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation, collect_trajectory, scripted_ticks
from marine_sim_ros.sim.step import StepOutput, TickRecord
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
        check_bodies(environment.with_jaws(vehicle), 'a fleet')
        check_anchor(vehicle, self.name, run.neighbours)
        check_partners(vehicle.sensors, self.name, run.neighbours)
        self.tether: Tether | None = vehicle.extensions.get('tether')
        self.tether_owners = towing_namespaces(self.name, run.neighbours)
        self.scenario = with_start_pose(load_scenario(run.scenario), run).located(environment)
        self.pilot = ScriptedPilot(self.scenario, vehicle, None)
        self.simulation = Simulation(
            with_tow_tethers(vehicle, self.tether_owners),
            environment=environment,
            initial=self.scenario.initial_state(),
            dt=run.dt,
            integrator=run.integrator,
            faults=self.scenario.faults,
            seed=run.seed,
            shown=parts_seen_by_others(run, vehicle),
        )
        self.ticks = TickRecord()

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
    check_bodies(environment, 'a fleet')
    members = {m.name: m for m in (_Member(run, environment) for run in runs)}
    states: dict[str, State] = {name: m.simulation.state for name, m in members.items()}

    def anchor_state(member: _Member, time: float) -> State | None:
        del time
        tether = member.tether
        return states['/' + tether.vehicle] if tether is not None and tether.vehicle else None

    def towing_wrenches(member: _Member, time: float) -> dict[str, Wrench]:
        del time
        total = None
        for name in member.tether_owners:
            puller = members[name]
            cable = puller.simulation.tether
            assert puller.tether is not None
            assert cable is not None
            wrench = towing_wrench(puller.tether, states[member.name], cable.pull[1])
            total = wrench if total is None else total + wrench
        return {} if total is None else {'towing': total}

    running: list[tuple[_Member, Iterator[StepOutput]]] = []
    for member in _towing_order(members):
        state = states[member.name]
        check_tether_reach(
            member.simulation.vehicle, state, environment.at(0.0), anchor_state(member, 0.0)
        )
        ticks = scripted_ticks(
            member.simulation,
            member.pilot,
            runs[0].duration,
            anchor=partial(anchor_state, member),
            precomputed=partial(towing_wrenches, member),
        )
        running.append((member, ticks))
    span = min(runs[0].duration or m.scenario.duration for m in members.values())
    total, taken = ticks_of(span, runs[0].dt), 0
    with np.errstate(over='ignore', invalid='ignore'):  # a diverged state raises RunError below
        while True:
            if taken % PROGRESS_INTERVAL == 0:
                progress(taken / total)
            taken += 1
            states.update({name: m.simulation.state for name, m in members.items()})
            for member, ticks in running:
                output = next(ticks, None)
                if output is None:
                    return _with_partners({name: m.trajectory() for name, m in members.items()})
                member.ticks.add(output)
