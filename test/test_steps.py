# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The default integrator at a coarse and a fine step, and masses that have no inverse."""

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics.rigid_body import AUTO, CHOICES, INTEGRATORS, integrator_of
from marine_sim_ros.sim.simulation import DEFAULT_STEP


@pytest.mark.long
@pytest.mark.parametrize('name', vehicle_names())
def test_four_times_the_default_step_ends_where_the_default_does(name, tmp_path):
    script = tmp_path / 'turn.yaml'
    script.write_text('duration: 6\nsegments: [{at: 0, axes: {surge: 0.5, yaw: 0.2}}]\n')
    turn = load_scenario(str(script))
    whole, fine = (
        simulate(vehicle_of(name), turn, dt=dt).position for dt in (4 * DEFAULT_STEP, DEFAULT_STEP)
    )
    path = np.sum(np.linalg.norm(np.diff(fine, axis=0), axis=1))
    assert np.linalg.norm(whole[-1] - fine[-1]) < 0.025 * path


def test_hulls_with_panels_and_without_an_arm_get_the_conserving_integrator():
    found = {name: integrator_of(vehicle_of(name)) for name in vehicle_names()}
    assert {n for n, i in found.items() if i == 'conserving'} == {'simple_rov', 'surface_vessel'}
    assert set(CHOICES) == {AUTO, *INTEGRATORS}


@pytest.mark.parametrize(
    ('mass', 'moment', 'axis'),
    [
        ('1e-300', '0.1', 'surge|sway|heave'),
        ('10', '1e-300', 'roll|pitch|yaw'),
        ('1e9', '1e-8', 'roll|pitch|yaw'),
    ],
)
def test_a_mass_matrix_without_an_inverse_is_refused(mass, moment, axis):
    text = f"""<robot name="odd"><link name="base_link"><inertial><mass value="{mass}"/>
      <inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>
      </inertial></link></robot>"""
    with pytest.raises(ModelError, match=f'not positive definite: .*mostly ({axis})'):
        load_vehicle(text)
