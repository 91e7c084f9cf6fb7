# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies beside MuJoCo and closed forms: stack, slope, pendulum, chain, spheres."""

from __future__ import annotations

import importlib

import pytest
from conftest import ROOT

TOLERANCES = {
    'falling_stack': {
        'lowest after 0.095 s, m': 3e-3,
        'height of the top at rest, m': 5e-4,
        'creep in the last second, m': 1e-9,
        'largest gain of energy in a step, J': 0.02,
    },
    'sliding_box': {'acceleration in the second second, m/s²': 1e-3},
    'pendulum': {'angle after 10 s, rad': 0.04, 'drift of energy in 10 s, of m g l': 0.02},
    'chain_of_twenty': {
        'x of its end after 1 s, m': 0.02,
        'z of its end after 1 s, m': 4e-3,
        'drift of energy in 1 s, of m g l': 1e-3,
    },
    'colliding_spheres': {
        'speed of the first, m/s': 1e-3,
        'speed of the second, m/s': 1e-3,
        'change of momentum, N·s': 1e-9,
        'energy after the impact less that before, J': 5e-3,
    },
}
"""Largest difference from the expected value."""


@pytest.mark.long
@pytest.mark.parametrize('name', TOLERANCES)
def test_bodies_move_as_closed_forms_and_mujoco_say(name, monkeypatch):
    """MuJoCo's contact is softer: it is held to a tenth, and to 0.03."""
    pytest.importorskip('mujoco')
    monkeypatch.syspath_prepend(ROOT / 'docs' / 'scripts')
    make = importlib.import_module('make_bodies')
    rows = list(getattr(make, name)())
    assert {row.quantity for row in rows} == {*TOLERANCES[name], 'time of a step, µs'}
    for row in rows:
        if (tolerance := TOLERANCES[name].get(row.quantity)) is None:
            continue
        assert row.ours == pytest.approx(row.expected, abs=tolerance), row
        if 'energy' not in row.quantity:
            margin = max(0.03, tolerance) + 0.1 * abs(row.ours)
            assert row.mujoco == pytest.approx(row.ours, abs=margin), row
