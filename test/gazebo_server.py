# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A real ``gz sim`` server for tests, with an account of what it did with every wrench."""

from pathlib import Path

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import momentum_rate, rotation_matrix
from marine_sim_ros.gazebo.exchange import BodyForces, exerted_wrench, stepped_velocity
from marine_sim_ros.gazebo.run_files import start_state, write_run
from marine_sim_ros.gazebo.server import ServerConnection, start_server, stop_server
from marine_sim_ros.gazebo.system.marine_sim_bindings import message
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin

STEP = 0.005

FALL = 'duration: 20.0\ninitial: {position: [0.0, 0.0, 600.0], rpy: [0.2, 0.1, 0.0]}\n'
FLOAT = 'duration: 20.0\ninitial: {position: [0.0, 0.0, -0.3], rpy: [0.4, -0.2, 0.0]}\n'
STILL = 'segments:\n  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500]}\n'
SPIN = """duration: 20.0
initial: {position: [0.0, 0.0, -3.0], rpy: [0.0, 0.0, 0.0]}
segments:
  - {at: 0.0, pwm: [1550, 1450, 1550, 1450, 1500, 1500]}
"""
CASES = {'fall': FALL + STILL, 'float': FLOAT + STILL, 'dive': 'dive', 'spin': SPIN}


def scenario_file(tmp_path, case):
    """Return the name of a scenario, written where it is none that is shipped."""
    text = CASES[case]
    if '\n' not in text:
        return text
    path = tmp_path / f'{case}.yaml'
    path.write_text(text)
    return str(path)


def imbalance(records, vehicle, environment):
    """Return the largest error of |M ν̇ + C ν − w − τ| of all ticks over the largest |τ| or w.

    DART adds accelerations to velocities in the axes of before, so ν̇ is taken in those: the
    body's turn during a step is no part of it.

    Args:
        records: stamp (ns) and state, wrench (6,), and the next stamp and state, of each tick.
        vehicle: that was pushed.
        environment: with the gravity.
    """
    mass, largest, scale = vehicle.mass_matrix, 0.0, 0.0
    for stamp, state, wrench, after, moved in records:
        turn, turned = (rotation_matrix(s.orientation) for s in (state, moved))
        change = (turn.T @ turned @ moved.velocity.reshape(2, 3).T).T.ravel() - state.velocity
        rate = change / ((after - stamp) * 1e-9)
        rate[:3] -= np.cross(state.velocity[3:], state.velocity[:3])
        down = weight(vehicle, state, environment)
        coriolis = momentum_rate(state.velocity, mass @ state.velocity)
        largest = max(largest, np.abs(mass @ rate + coriolis - down - wrench).max())
        scale = max(scale, np.abs(down).max(), np.abs(wrench).max())
    return largest / scale


class GazeboBodies:
    """One server with free bodies and a vehicle at constant pulse widths."""

    def __init__(self, options, folder):
        self.made = write_run(options, Path(folder), world='', delivery='in_server')
        self.environment, self.start = environment_from_options(options), start_state(options)
        self.vehicle = load_vehicle(options.vehicle)
        names = self.made.model, *self.made.bodies
        self.correspondents = [ServerConnection(name) for name in names]
        self.process = start_server(Path(folder) / 'world.sdf')

    def run(self, ticks, pwm):
        """Return the states (ticks, 13) of the bodies, and of the vehicle as ``vehicle``."""
        forces, memory = BodyForces(self.environment, STEP), None
        memory = begin(self.vehicle, self.environment, self.start)
        commands = StepCommands(np.array(pwm, float), precomputed={'contact': np.zeros(6)})
        result = {name: [] for name in ('vehicle', *forces.names)}
        stamp = -1
        for i in range(ticks):
            stamps, states = zip(*(c.next_state(stamp) for c in self.correspondents), strict=True)
            stamp = stamps[0]
            assert {*stamps} == {i * round(STEP * 1e9)}
            forces.take(stamp, dict(zip(forces.names, states[1:], strict=True)))
            around = self.environment.at(stamp * 1e-9)
            velocity = stepped_velocity(states[0].velocity, STEP)
            state = states[0]._replace(velocity=velocity)
            output, memory = advance(
                self.vehicle,
                around,
                memory._replace(state=state),
                commands,
                Stepping(STEP),
                since=STEP if i else 0.0,
            )
            wrench = exerted_wrench(
                self.vehicle, state, around, output.total, STEP, after=memory.state
            )
            wrenches = [wrench, *forces.wrenches(stamp, around)]
            for correspondent, own in zip(self.correspondents, wrenches, strict=True):
                correspondent.answer(stamp, own)
            for name, own in {'vehicle': state, **forces.states}.items():
                result[name].append(np.concatenate(own))
        return {name: np.array(rows) for name, rows in result.items()}

    def close(self):
        """End it as a launch file does; return its exit code."""
        for correspondent in self.correspondents:
            correspondent.close()
        return stop_server(self.process)


class GazeboServer:
    """One server with one vehicle; ``step`` stands in for that of the embedded dynamics."""

    def __init__(self, options, folder):
        self.made = write_run(options, Path(folder), world='', delivery='in_server')
        self.correspondent = ServerConnection(self.made.model)
        self.records = []
        self.process = start_server(Path(folder) / 'world.sdf')
        self.stamp, self.state = self.correspondent.next_state(-1)
        self.stepped = None

    def exert(self, wrench):
        """Answer the present state with a wrench (6,) and take the next one."""
        before = self.stamp, self.state
        self.correspondent.answer(self.stamp, wrench)
        self.stamp, self.state = self.correspondent.next_state(self.stamp)
        self.records.append((*before, np.array(wrench), self.stamp, self.state))

    def step(self, vehicle, state, environment, wrench, dt, *, inner=None, **options):
        """Do in Gazebo what ``marine_sim_ros.physics.rigid_body.rigid_body_step`` does."""
        assert inner is None  # it would move the pose, which is Gazebo's own
        assert state is self.stepped or self.stamp == 0
        self.exert(exerted_wrench(vehicle, state, environment, wrench, dt, **options))
        velocity = stepped_velocity(self.state.velocity, dt)
        self.stepped = self.state._replace(velocity=velocity)
        return self.stepped

    def reset(self):
        """Put the world back: ask, answer the state that it waits with, and take the first."""
        control = message('WorldControl', 'world_control')
        asked = control()
        asked.reset.all = True
        service = f'/world/{self.made.name}/control'
        self.correspondent.node.request(service, asked, control, message('Boolean'), 1000)
        self.correspondent.answer(self.stamp, np.zeros(6))
        while self.stamp != 0:
            self.stamp, self.state = self.correspondent.next_state(-1)

    def close(self):
        """End it as a launch file does; return its exit code."""
        self.correspondent.close()
        return stop_server(self.process)
