# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Internal waves: modes beside closed forms, the linear equations, what floats in them, files."""

import math

import numpy as np
import pytest
from conftest import ROOT

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.internal_waves import internal_mode
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('gsw', reason='gsw: not installed (extra sensors)')

WATER = """
water:
  profile:
    - {{depth: 0.0, temperature: 14.0, salinity: 30.0}}
    - {{depth: 28.0, temperature: 13.9, salinity: 30.1}}
    - {{depth: 32.0, temperature: 8.0, salinity: 34.0}}
    - {{depth: 100.0, temperature: 7.9, salinity: 34.1}}
  functions: [{{type: internal_waves, amplitude: 3.0, wavelength: 600.0, depth: 100.0{}}}]
"""


def waves(more='', text=WATER):
    return parse_environment(text.format(more), str(ROOT / 'waves.yaml'))


@pytest.mark.parametrize('number', [1, 2, 3])
@pytest.mark.parametrize('wavelength', [50.0, 500.0, 20_000.0])
def test_modes_of_evenly_stratified_water_are_sines(wavelength, number):
    """ω² = N² k²/(k² + (n π/H)²): Gill (1982), equation 6.10.8."""
    buoyancy, depth, k = 0.01, 100.0, 2 * math.pi / wavelength
    mode = internal_mode(np.full(401, buoyancy**2), depth, k, number)
    vertical = number * math.pi / depth
    assert mode.frequency == pytest.approx(buoyancy * k / math.hypot(k, vertical), rel=1e-4)
    wanted = np.sin(-vertical * mode.height)
    sign = np.sign(wanted[20] * mode.shape[20])
    np.testing.assert_allclose(sign * mode.shape, wanted, atol=1e-3)
    slope = -vertical * np.cos(vertical * mode.height)
    np.testing.assert_allclose(sign * mode.slope, slope, atol=0.02 * vertical)


@pytest.mark.parametrize('wavelength', [100.0, 1000.0, 10_000.0])
def test_two_layers_have_the_speed_of_their_interface(wavelength):
    """ω² = g' k/(coth k h₁ + coth k h₂), for a jump of density of one in a thousand."""
    upper, depth, k = 30.0, 100.0, 2 * math.pi / wavelength
    z = np.linspace(0.0, depth, 401)
    jump = np.exp(-(((z - upper) / 1.0) ** 2))
    jump *= 1e-3 * 9.81 / (jump.sum() * z[1])
    mode = internal_mode(jump, depth, k, 1)
    coth = sum(1 / math.tanh(k * h) for h in (upper, depth - upper))
    assert mode.frequency == pytest.approx(math.sqrt(9.81e-3 * k / coth), rel=0.02 + 2 * k)


def test_the_water_moves_with_its_displacement_and_keeps_its_volume():
    fields = waves(', direction: 35').fields
    points = np.random.default_rng(1).uniform((-900, -900, -98), (900, 900, -2), (300, 3))
    time, h = 500.0, 1e-3
    moved = (fields.displacement(points, time + h) - fields.displacement(points, time - h)) / (
        2 * h
    )
    np.testing.assert_allclose(fields.velocity(points, time)[:, 2], moved, atol=1e-7)

    def slope(axis, step):
        offset = step * np.eye(3)[axis]
        ends = [fields.velocity(points + s * offset, time)[:, axis] for s in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    divergence = slope(0, 1.0) + slope(1, 1.0) + slope(2, 0.25)
    assert np.abs(divergence).max() < 0.03 * np.abs(slope(2, 0.25)).max()


def test_the_pressure_pushes_the_water_along_the_wave():
    """ρ ∂u/∂t = −∂p/∂x of the linear equations."""
    environment = waves()
    fields, points = environment.fields, np.array([[40.0, 7.0, -d] for d in (5, 25, 31, 60, 90)])
    step = np.array([1.0, 0.0, 0.0])
    pressure = [environment.at(70.0).hydrostatic_pressure(points + s * step, 0.0) for s in (1, -1)]
    speed = [fields.velocity(points, 70.0 + s)[:, 0] for s in (1, -1)]
    force = -(pressure[0] - pressure[1]) * 9.81 / environment.gravity / 2.0
    wanted = fields.density(points, 70.0) * (speed[0] - speed[1]) / 2.0
    np.testing.assert_allclose(force, wanted, rtol=2e-3)


def test_water_keeps_its_temperature_and_becomes_lighter_where_it_falls():
    still, moving = waves(text=WATER.split('  functions')[0]).fields, waves().fields
    crest = np.array([0.0, 0.0, -31.0])
    rise = float(moving.displacement(crest, 0.0))
    assert 2.5 < rise <= 3.0
    source = crest - [0.0, 0.0, rise]
    for name in ('temperature', 'salinity'):
        assert moving.value(name, crest, 0.0) == pytest.approx(still.value(name, source, 0.0))
    # Less the compression ρ g/c² of the way, 4.5 g/m³ for each metre.
    wanted = float(still.density(source, 0.0)) - 4.5e-3 * rise
    assert float(moving.density(crest, 0.0)) == pytest.approx(wanted, abs=1e-9)


def test_a_float_of_the_pycnocline_rides_on_the_wave():
    element = """<robot name="float"><link name="base_link"><inertial><mass value="{}"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <buoyancy><volume>0.02</volume><center_of_volume>0 0 0.05</center_of_volume>
        <height>0.2</height></buoyancy>
      <hydrodynamics><linear_damping>{}</linear_damping></hydrodynamics></robot>"""
    water = waves()
    start = np.array(
        [0.0, 0.0, -30.0 + float(water.fields.displacement(np.array([0, 0, -30.0]), 0))]
    )
    mass = 0.02 * float(water.fields.density(start, 0.0))
    damping = ' '.join(str(20.0 * (i == j)) for i in range(6) for j in range(6))
    vehicle = load_vehicle(element.format(mass, damping))
    period = 2 * math.pi / water.fields.mode.frequency
    scenario = (
        f'duration: {period:.0f}\ninitial: {{position: {start.tolist()}}}\n'
        'segments: [{at: 0, axes: {}}]'
    )
    run = simulate(vehicle, parse_scenario(scenario, 'ride'), environment=water, dt=0.2)
    ride = np.ptp(run.position[:, 2])
    assert ride == pytest.approx(2 * 3.0, rel=0.1)
    # It stays with its density, so with its water.
    heights = [
        z - float(water.fields.displacement(p, t))
        for t, p, z in zip(
            run.time[::100], run.position[::100], run.position[::100, 2], strict=True
        )
    ]
    assert np.ptp(heights) < 0.4


def test_compiled_fields_are_the_same():
    jnp = pytest.importorskip('jax.numpy', reason='jax: not installed (extra batch)')
    import jax

    text = WATER.replace('amplitude: 3.0', 'amplitude: 1.0')
    fields = waves(', direction: 120, mode: 2, phase: 40', text).fields
    points = np.random.default_rng(3).uniform((-900, -900, -110), (900, 900, 3), (200, 3))
    with jax.enable_x64(True) if hasattr(jax, 'enable_x64') else jax.experimental.enable_x64():
        for function in (fields.density, fields.velocity, fields.mass_above, fields.sound_speed):
            compiled = jax.jit(function)(jnp.asarray(points), jnp.asarray(1234.0))
            np.testing.assert_allclose(compiled, function(points, 1234.0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('water: {functions: [{type: internal_waves, amplitude: 1, wavelength: 9, depth: 9}]}',
         'expected a profile or data'),
        (WATER.format('').replace('amplitude: 3.0', 'amplitude: 90'), 'the wave overturns'),
        (WATER.format('').replace('internal_waves', 'tides'), 'expected one of: internal_waves'),
        (WATER.format('').replace(', depth: 100.0', ''), 'depth'),
        ('water: {profile: [{depth: 0, temperature: 5, salinity: 30}], functions: '
         '[{type: internal_waves, amplitude: 1, wavelength: 90, depth: 50}]}',
         'density hardly increases with depth'),
    ],
)  # fmt: skip
def test_a_wave_of_no_use_is_refused_in_one_line(text, said):
    with pytest.raises(ParameterError) as caught:
        parse_environment(text, 'waves.yaml')
    assert said in str(caught.value)
    assert '\n' not in str(caught.value)
