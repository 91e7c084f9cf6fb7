# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle that a compiled program moves on tick by tick, with commands from outside."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import stamp_words
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.fault_types import Dead, Delayed, Gust, Stuck, Weak, with_gusts
from marine_sim_ros.faults.tables import ActiveFaults, fault_tables
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.force import ForceModel
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.compiled import simulate_compiled
from marine_sim_ros.engine.compiled_vehicle import CompiledVehicle

STEP = 5_000_000
STEPPING = Stepping(0.005)
START = State(np.array([0, 0, -3.0]), np.array([0, 0, 0, 1.0]), np.zeros(6))
AHEAD = np.array([1500, 1520, 1480, 1500, 1650, 1700.0])
FAULTS = """
duration: 1.5
initial: {position: [0.0, 0.0, -3.0]}
segments: [{at: 0.0, depth: 3.2, axes: {surge: 0.3, yaw: 0.05}}]
faults:
  - {kind: battery, resistance: 0.1, capacity: 0.02}
  - {at: 0.2, kind: weak, thruster: thruster_5, share: 0.5}
  - {at: 0.3, kind: gust, speed: 0.6, direction: 60.0, elevation: 10.0, duration: 0.9}
  - {at: 0.5, until: 1.2, kind: stuck, thruster: thruster_2}
  - {at: 0.7, until: 1.2, kind: reversed, thruster: thruster_3}
  - {at: 1.0, thruster: thruster_4}
"""


@pytest.fixture(scope='module')
def rov():
    return load_vehicle('bluerov2')


def replayed(vehicle, scenario, trajectory, environment, same=np.testing.assert_array_equal):
    """Return the states that a scenario's commands lead to, tick by tick."""
    moved = CompiledVehicle(
        vehicle,
        with_gusts(environment, scenario.faults),
        scenario.initial_state(),
        STEPPING,
        faults=fault_tables(scenario.faults, vehicle.thrusters.names, 0),
    )
    states = [scenario.initial_state()]
    for i, stamp in enumerate(trajectory.stamp.tolist()):
        given = StepCommands(trajectory.pwm[i])
        output, state = moved.tick(stamp, given)
        same(output.total, trajectory.wrench[i])
        states.append(state)
    return states


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'script', 'around'),
    [('bluerov2', 'dive', ''), ('bluerov2', FAULTS, ''), ('bluerov2_heavy', 'position_hold', '')],
    ids=['dive', 'faults', 'controller'],
)
def test_it_moves_to_the_bit_as_in_the_program_of_a_whole_scenario(name, script, around):
    compare_with_whole(name, script, around, np.testing.assert_array_equal)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('name', 'around', 'tolerance'),
    [
        ('bluerov2', 'moderate_sea', 1e-9),
        ('bluerov2', 'shallow_sand', 1e-9),
        ('simple_rov', '', 1e-5),  # it trembles as it falls, which amplifies rounding
    ],
)
def test_waves_scenes_and_hulls_move_it_alike_within_rounding(name, around, tolerance):
    def same(found, wanted):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)

    compare_with_whole(name, 'dive', around, same)


def compare_with_whole(name, script, around, same):
    vehicle, environment = load_vehicle(name), run_environment(around, current=(0, 0, 0))
    scenario = parse_scenario(script, 'faults.yaml') if '\n' in script else load_scenario(script)
    whole, _ = simulate_compiled(vehicle, scenario, environment=environment, duration=1.5)
    states = replayed(vehicle, scenario, whole, environment, same)
    for part in ('position', 'orientation', 'velocity'):
        found = np.array([getattr(s, part) for s in states[:-1]])
        same(found, getattr(whole, part))


class ByNumpy:
    """The same by NumPy: commands, faults, water and wrenches that change from tick to tick."""

    def __init__(self, vehicle, environment):
        self.vehicle, self.environment, self.tables = vehicle, environment, None
        self.memory, self.since = begin(vehicle, environment, START), 0.0

    def change(self, environment, tables):
        self.environment, self.tables = environment, tables

    def tick(self, stamp, commands):
        time, acting = stamp / 1e9, ActiveFaults()
        if self.tables is not None:
            acting = self.tables.at(np, time, stamp_words(np.array(stamp)))
        done, self.memory = advance(
            self.vehicle,
            self.environment.at(time),
            self.memory,
            commands._replace(faults=acting),
            STEPPING,
            since=self.since,
        )
        self.since = STEPPING.dt
        return done, self.memory.state


@pytest.mark.long
def test_faults_water_and_wrenches_that_change_under_way(rov):
    water = run_environment('', current=(0, 0, 0))
    pair = CompiledVehicle(rov, water, START, STEPPING), ByNumpy(rov, water)
    stuck = Stuck(thruster='thruster_5', start=0.2)
    changes = {
        40: (water, [stuck]),  # it keeps the last pulse width, of before the fault was known
        80: (water, []),
        100: (replace(water, current=np.array([0.3, -0.2, 0.0])), []),
        120: (with_gusts(water, [Gust(speed=0.5, start=0.6, duration=0.4)]), [stuck]),
        150: (water, [Delayed(thruster='thruster_6', delay=0.03), stuck]),
        180: (water, [Delayed(thruster='thruster_1', delay=0.1)]),
        210: (water, [Dead(thruster='thruster_6'), Weak(thruster='thruster_5', share=0.4)]),
    }
    for tick in range(260):
        if tick in changes:
            around, faults = changes[tick]
            tables = fault_tables(faults, rov.thrusters.names)
            for moved in pair:
                moved.change(around, tables)
        push = np.array([5.0, 0, 0, 0, 0, 1.0]) if 60 <= tick < 90 else None
        commands = StepCommands(np.roll(AHEAD, tick // 25), external=push)
        (found, state), (expected, wanted) = (m.tick(tick * STEP, commands) for m in pair)
        np.testing.assert_allclose(found.thrusters.thrust, expected.thrusters.thrust, atol=1e-9)
        np.testing.assert_allclose(found.total, expected.total, atol=1e-9)
        np.testing.assert_allclose(state.position, wanted.position, atol=1e-12)
        np.testing.assert_allclose(state.velocity, wanted.velocity, atol=1e-12)
    assert np.linalg.norm(wanted.position - START.position) > 0.03


def test_a_restart_gives_the_same_bits(rov):
    moved = CompiledVehicle(rov, run_environment('', current=(0, 0, 0)), START, STEPPING)
    assert moved.force_memories('drag') == (None, None)  # before the first tick, too
    runs = []
    for _ in range(2):
        runs.append([moved.tick(i * STEP, StepCommands(AHEAD))[1] for i in range(20)])
        moved.restart()
    for first, second in zip(*runs, strict=True):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.long
def test_vehicles_of_one_kind_share_their_programs_until_one_has_another_fault(rov):
    def made(speed=0.1):
        water = run_environment('', current=(speed, 0, 0))
        vehicle = CompiledVehicle(rov, water, START, STEPPING)
        return vehicle, water

    def moved(vehicle, water, ticks, faults=None):
        for stamp in ticks:
            vehicle.change(water, faults)
            _, state = vehicle.tick(stamp * STEP, StepCommands(AHEAD))
        return np.concatenate(state)

    first, other, elsewhere = made(), made(), made(speed=0.2)
    assert other[0].compile_time < 0.1 < elsewhere[0].compile_time
    alone = moved(*first, range(20))
    before = moved(*other, range(10))
    assert not np.array_equal(before, alone)
    failed = fault_tables((Dead(thruster='thruster_5'),), rov.thrusters.names, 0)
    assert not np.array_equal(moved(*other, range(10, 20), failed), alone)
    first[0].restart()
    np.testing.assert_array_equal(moved(*first, range(20)), alone)
    np.testing.assert_array_equal(moved(*made(), range(20)), alone)


def test_what_does_not_trace_is_refused_in_one_line(rov, monkeypatch):
    def step(vehicle, state, environment, inputs, memory, /, *, dt):
        depth = float(state.position[2])  # a number, which a traced position is not
        return np.array([0, 0, -depth, 0, 0, 0]), memory

    known, force = FORCES.of_extensions, ForceModel('by_numpy', step, scalar=True)
    monkeypatch.setattr(FORCES, 'of_extensions', lambda names: (*known(names), force))
    with pytest.raises(ParameterError, match='engine jax: bluerov2 cannot be compiled: ') as error:
        CompiledVehicle(rov, run_environment('', current=(0, 0, 0)), START, STEPPING)
    assert '\n' not in str(error.value)
    assert 'expected --engine numpy' in str(error.value)
