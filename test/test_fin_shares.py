# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins in the allocation: moments by the fins' own wrench, and a controller that holds by them."""

from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import simulate
from marine_sim_ros.control import allocator
from marine_sim_ros.control.allocator import Allocation, allocate_in_stages, unreachable_axes
from marine_sim_ros.control.glide import make_fin_allocation
from marine_sim_ros.core.errors import RunError, ScenarioError
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.fins import fin_wrench, fins_of
from marine_sim_ros.sim.scenario import parse_scenario

AUV = vehicle_of('torpedo_auv')
FINS = make_fin_allocation(AUV)
AT_CENTER = transport(-AUV.inertia.center_of_mass).T

RUN = """
duration: {}
initial: {{position: [0, 0, -10]}}
segments:
  - {{at: 0, control: {{surge: 1.5, z: -12, yaw: 0}}}}
  - {{at: {}, control: {{surge: 1.5, z: -10, yaw: 1.57}}}}
"""


@pytest.mark.parametrize('speed', [0.2, 1.5, 3.0, -1.0])
def test_the_effect_is_the_slope_of_the_fins_wrench(speed):
    state = state_at_rest()._replace(velocity=np.array([speed, 0, 0, 0, 0, 0]))

    def wrench(angles):
        return AT_CENTER @ fin_wrench(AUV, state, Environment(), angles, np.zeros(1))

    slopes = [(wrench(d) - wrench(-d)) / 2e-5 for d in 1e-5 * np.eye(4)]
    pressure = 0.5 * 1000 * speed * abs(speed)
    np.testing.assert_allclose(FINS.effect.T * pressure, slopes, rtol=1e-6, atol=1e-6)


@given(
    st.tuples(st.floats(-0.5, 0.5), st.floats(-3, 3), st.floats(-3, 3)),
    st.floats(1.0, 4.0),
    st.sampled_from([1, -1]),
)
def test_a_moment_that_fits_is_made(moment, speed, sense):
    wanted = np.array([0, 0, 0, *moment])
    angles, made = FINS.allocate(wanted, np.float64(sense * speed))
    if np.all(np.abs(angles) < 0.35):
        np.testing.assert_allclose(made[3:], moment, atol=1e-9)
    assert np.all(np.abs(angles) <= 0.35)


def test_fins_let_go_when_it_stands():
    wanted = np.array([0, 0, 0, 0.0, 1.0, -1.0])
    for speed in (0.0, 1e-9):
        angles, made = FINS.allocate(wanted, np.float64(speed))
        np.testing.assert_allclose([*angles, *made], 0, atol=1e-12)
    _, made = FINS.allocate(0.01 * wanted, np.float64(0.15))
    np.testing.assert_allclose(made[4:], 0.01 * wanted[4:] * (0.15 / 0.3) ** 4)


def test_fins_of_one_axis_leave_the_others_alone():
    pair = [0, 1]
    fins = fins_of(AUV)
    rudders = replace(
        fins,
        names=fins.names[:2],
        **{
            field.name: getattr(fins, field.name)[pair]
            for field in fields(fins)
            if field.name != 'names'
        },
    )
    boat = replace(AUV, extensions={'fins': rudders})
    assert unreachable_axes(AUV) == ('sway', 'heave')
    assert unreachable_axes(boat) == ('sway', 'heave', 'pitch')
    assert not make_fin_allocation(boat).dives


def test_thrusters_get_the_rest():
    asked = []

    def allocate(wrench):
        asked.append(wrench)
        return NO_THRUST

    none = np.zeros(6)
    NO_THRUST = Allocation(none[:1], none[:1], none, none[:1], none, False, none)
    wrench = np.array([5, 0, 0, 0, 0.5, 40.0])
    found = allocate_in_stages({'fins': FINS}, allocate, wrench, np.float64(1.0))
    np.testing.assert_allclose(asked[0] + found.achieved, wrench)
    assert np.abs(found.actuators['fins'][:2]).max() == pytest.approx(0.35)
    np.testing.assert_array_equal(found.unachieved, [1, 0, 0, 0, 0, 1])


@pytest.mark.parametrize('stage', ['nowhere:make', 'math:nothing', 'math:sqrt'])
def test_a_stage_that_cannot_be_made_is_told_in_one_line(stage, monkeypatch):
    sail = Actuator('sail', lambda _: ('jib',), text='', unit='rad', stage=stage)
    monkeypatch.setattr(allocator, 'actuators_of', lambda _: (sail,))
    with pytest.raises(RunError) as told:
        allocator.allocation_stages(AUV)
    assert str(told.value).startswith(f"actuator 'sail': stage '{stage}' failed: ")
    assert '\n' not in str(told.value)


class Half:
    """A stage that takes half of every wrench, with the surge as its command."""

    def allocate(self, wrench, speed):
        return wrench[:1], 0.5 * wrench


def test_each_stage_shares_what_those_before_it_leave():
    asked = []

    def allocate(wrench):
        asked.append(wrench)
        return Allocation(
            np.zeros(1), np.zeros(1), wrench, np.zeros(1), np.zeros(6), False, wrench
        )

    wrench = np.array([8, 0, 0, 0, 0, -4.0])
    found = allocate_in_stages({'one': Half(), 'two': Half()}, allocate, wrench, np.float64(1.0))
    np.testing.assert_allclose(asked, [wrench / 4])
    np.testing.assert_allclose(found.achieved, wrench)
    assert found.shortfall == ()
    assert {name: float(command[0]) for name, command in found.actuators.items()} == {
        'one': 8.0,
        'two': 4.0,
    }


@pytest.mark.long
def test_the_shipped_controller_holds_depth_and_heading_by_fins():
    run = simulate(AUV, parse_scenario(RUN.format(80, 40), 'hold'), dt=0.02)
    yaw = 2 * np.arctan2(run.orientation[:, 2], run.orientation[:, 3])
    for end, depth, heading in ((40, -12, 0.0), (80, -10, 1.57)):
        last = (run.time > end - 8) & (run.time < end)
        np.testing.assert_allclose(run.position[last, 2], depth, atol=0.05)
        np.testing.assert_allclose(yaw[last], heading, atol=0.02)
        np.testing.assert_allclose(run.velocity[last, 0], 1.5, atol=0.02)


@pytest.mark.long
def test_the_compiled_engine_is_the_same():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    scenario = parse_scenario(RUN.format(8, 5), 'hold')
    expected = simulate(AUV, scenario, dt=0.01)
    found, _ = simulate_compiled(AUV, scenario, dt=0.01)
    for name in ('position', 'velocity', 'pwm'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-6, err_msg=name
        )
    fins = expected.actuators['fins']
    np.testing.assert_allclose(found.actuators['fins'], fins, rtol=1e-6, atol=1e-6)
    assert np.ptp(fins, axis=0).min() > 0.02


def test_fins_are_the_controllers_where_it_holds():
    text = RUN.format(8, 5).replace('at: 5,', 'at: 5, fins: {keel: 0.1},')
    with pytest.raises(ScenarioError, match=r'control and fins, which the controller commands'):
        parse_scenario(text, 'both')
