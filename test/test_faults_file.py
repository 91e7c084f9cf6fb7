# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults as text: what is read, what is written, and what is refused."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import numbers_of
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.faults.fault_types import (
    FAULT_TYPES,
    Battery,
    Gust,
    SensorFault,
    ThrusterFault,
    fault_text,
    parse_faults,
    unsuited_fault,
)
from marine_sim_ros.sim.simulation import Simulation

DOCS = Path(__file__).resolve().parent.parent / 'docs'
ROV = vehicle_of('bluerov2')
NAMES = ('bow', 'yes', '7', '~', "o'clock: \u00fc#")


@st.composite
def faults(draw, names=NAMES):
    kind = draw(st.sampled_from(list(FAULT_TYPES.values())))
    start = draw(st.floats(0.0, 1e6))
    values = {
        name: draw(st.floats(known.low, known.high)) for name, known in numbers_of(kind).items()
    }
    if issubclass(kind, ThrusterFault):
        values['thruster'] = draw(st.sampled_from(names))
    if issubclass(kind, SensorFault):
        values['sensor'] = draw(st.sampled_from(('imu', 'battery')))
    if hasattr(kind, 'quantity'):
        values['quantity'] = draw(st.sampled_from(('', 'voltage', 'nothing')))
    if kind is not Gust and draw(st.booleans()):
        values['end'] = start + draw(st.floats(1.0, 1e6))
    return kind(start=start, **values)


@given(st.lists(faults(), max_size=4).map(tuple))
def test_what_is_written_is_read_again(some):
    assert parse_faults(fault_text(some)) == some


@settings(max_examples=25)
@given(st.lists(faults(ROV.thrusters.names), max_size=5).map(tuple), st.integers(0, 9))
def test_no_fault_breaks_a_run(some, seed):
    if unsuited_fault(some, ROV):
        some = tuple(f for f in some if not isinstance(f, Battery))
    early = tuple(replace(f, start=f.start % 0.05) for f in some)
    simulation = Simulation(ROV, initial=state_at_rest((0, 0, -5)), faults=early, seed=seed)
    ticks = list(simulation.ticks(lambda time, state: np.full(6, 1500 + 9e3 * time), 0.04))
    assert all(np.isfinite(tick.total).all() for tick in ticks)
    volts = [max(f.voltage, f.empty) / f.nominal for f in early if isinstance(f, Battery)]
    most = 51.485 * max([1.0, *volts]) ** 1.22
    assert max(np.abs(tick.thrusters.thrust).max() for tick in ticks) <= most + 1e-9


@pytest.mark.parametrize('name', FAULT_TYPES)
def test_every_number_has_a_default_within_its_range(name):
    target = ', thruster: bow' if issubclass(FAULT_TYPES[name], ThrusterFault) else ''
    target += ', sensor: imu' if issubclass(FAULT_TYPES[name], SensorFault) else ''
    (fault,) = parse_faults(f'[{{kind: {name}{target}}}]', now=3.0)
    assert type(fault) is FAULT_TYPES[name]
    assert (fault.start, fault.end) == (3.0, float('inf'))
    for number, known in numbers_of(FAULT_TYPES[name]).items():
        value = getattr(fault, number)
        assert value != value or known.low <= value <= known.high
        assert known.help


def test_a_fault_acts_from_its_start_to_before_its_end():
    (fault,) = parse_faults('[{at: 2, until: 3, thruster: bow}]')
    assert [fault.acts(t) for t in (1.99, 2.0, 2.99, 3.0)] == [False, True, True, False]


BAD = {
    '[1]': 'faults[0] is 1; expected a mapping',
    '{thruster: bow}': 'expected a list',
    '[{kind: tired, thruster: bow}]': "faults[0].kind is 'tired'; expected one of: dead, weak",
    '[{kind: [weak]}]': 'faults[0].kind is',
    '[{kind: weak}]': "faults[0]: 'thruster' is missing",
    '[{kind: sensor_freeze}]': "faults[0]: 'sensor' is missing",
    '[{kind: sensor_freeze, sensor: a, quantity: b}]': "unknown key 'quantity'",
    '[{kind: weak, thruster: bow, share: 2}]': 'faults[0].share is 2; expected a number from 0',
    '[{kind: gust, thruster: bow}]': "unknown key 'thruster'",
    '[{kind: gust, until: 9}]': "unknown key 'until'",
    '[{thruster: bow, at: 3, until: 3}]': 'until is 3 and it begins at 3',
    '[{thruster: bow, at: .nan}]': 'faults[0].at is nan',
    '[{thruster: bow, until: null}]': 'faults[0].until is None',
    '[{': 'not valid YAML',
}


@pytest.mark.parametrize('text', BAD)
def test_bad_faults_give_one_line(text):
    with pytest.raises(ParameterError, match=re.escape(BAD[text])) as caught:
        parse_faults(text)
    assert '\n' not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_faults_or_an_error(text):
    with suppress(ParameterError):  # one that is no list, or whose items are no mappings
        assert parse_faults(text) == ()
