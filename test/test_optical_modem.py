# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Optical modems: power by distance, angle and water, errors of bits, and fleets with them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate
from test_acoustic_partners import BODY, fleet_file
from test_modem import report

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.environment.environment import Environment, WaterOptics
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.model.sensors import read_preset
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.optical_modem import (
    OPTICAL_MODEM,
    OpticalModem,
    light_attenuation,
    optical_link,
    optical_probability,
)
from marine_sim_ros.sensors.packet_network import Participant
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions

CLEAR = Environment(optics=WaterOptics(water_type='I'))


def of(position, axis=(1, 0, 0), **changes):
    direction = np.array(axis, float)
    spec = OpticalModem(**changes)
    unit = direction / np.linalg.norm(direction)
    return Participant(spec, 'modem', 0, np.array(position, float), unit, True)


def power(sender, receiver, water=CLEAR):
    """Return the power at the receiver, W."""
    return 1e-3 * 10 ** (optical_link(sender, receiver, water).level / 10)


def facing(distance, depth=20.0, **changes):
    return of((0, 0, -depth), **changes), of((distance, 0, -depth), (-1, 0, 0), **changes)


def test_the_budget_by_hand():
    """60° wide: m = −ln 2/ln cos 30° = 4.82; 1 W over 10 m, 1 cm², c = 0.018/m at 475 nm."""
    order = -math.log(2) / math.log(math.cos(math.radians(30)))
    expected = (order + 1) / (2 * math.pi * 100) * 1e-4 * math.exp(-0.18)
    assert power(*facing(10.0)) == pytest.approx(expected, rel=1e-9)
    green = power(*facing(10.0, wavelength=525.0))
    assert green / expected == pytest.approx(math.exp(-10 * (0.043 - 0.018)))


def test_all_light_goes_somewhere():
    """The intensity integrates to the power over the half space, and is half at half the width."""
    clear = Environment(optics=WaterOptics(water_type='pure'))

    def intensity(angle):
        end = np.array([math.cos(angle), math.sin(angle), 0.0])
        sender = of((0, 0, -20.0), power=2.0, beam_width=80.0)
        receiver = of(np.array([0, 0, -20.0]) + end, -end, field_of_view=10.0)
        return power(sender, receiver, clear) / 1e-4 * math.exp(0.0114)

    total, _ = integrate.quad(lambda a: 2 * math.pi * math.sin(a) * intensity(a), 0, 1.57)
    assert total == pytest.approx(2.0, rel=1e-3)
    assert intensity(math.radians(40)) == pytest.approx(0.5 * intensity(0.0))


def test_a_receiver_must_look_at_the_light():
    sender = of((0, 0, -20.0))
    for angle, share in ((0.0, 1.0), (40.0, math.cos(math.radians(40))), (61.0, 0.0)):
        axis = (-math.cos(math.radians(angle)), math.sin(math.radians(angle)), 0.0)
        found = power(sender, of((8.0, 0, -20.0), axis)) / power(
            sender, of((8, 0, -20), (-1, 0, 0))
        )
        assert found == pytest.approx(share, abs=1e-9)
    assert power(of((0, 0, -20.0), (-1, 0, 0)), of((8, 0, -20), (-1, 0, 0))) == 0.0  # turned away


def test_turbidity_daylight_and_walls():
    murky = Environment(optics=WaterOptics(water_type='I', turbidity=0.5))
    assert light_attenuation(murky, np.zeros(3), 475.0) == pytest.approx(0.518)
    ratio = power(*facing(6.0), murky) / power(*facing(6.0))
    assert ratio == pytest.approx(math.exp(-3.0))
    layers = parse_environment(
        'water: {profile: [{depth: 0, temperature: 10, salinity: 35, turbidity: 0.0}, '
        '{depth: 40, temperature: 10, salinity: 35, turbidity: 0.4}]}', 'water.yaml',
    )  # fmt: skip
    assert light_attenuation(layers, np.array([0, 0, -20.0]), 475.0) == pytest.approx(0.062 + 0.2)
    noise = [
        optical_link(*facing(6.0, depth, noise=1.0, daylight_noise=30.0), CLEAR).noise
        for depth in (0.001, 100.0, 500.0)
    ]
    level = 1e6 * 10 ** (np.array(noise) / 10)  # nW
    expected = np.sqrt(1 + 900 * np.exp(-0.018 * np.array([0.001, 100.0, 500.0])))
    assert level == pytest.approx(expected)
    wall = Obstacle('wall', 'box', [0.1, 4.0, 4.0], [3.0, 0.0, -20.0], material='concrete')
    walled = replace(CLEAR, scene=Scene((), None, (wall,)))
    assert optical_link(*facing(6.0), walled).level == -math.inf


def test_bits_err_as_those_of_two_levels_in_gaussian_noise():
    """On and off bits drawn and compared with the half way: ½ erfc(q/√2)."""
    modem, draw = OpticalModem(header=0.0, bit_rate=1.0), np.random.default_rng(1)
    for ratio in (0.5, 1.0, 2.0):
        bits = draw.integers(0, 2, 400_000)
        received = 2 * ratio * bits + draw.standard_normal(len(bits))
        wrong = np.mean((received > ratio) != bits)
        chance = 1 - optical_probability(modem, 10 * math.log10(ratio), 1.0)
        assert wrong == pytest.approx(chance, abs=4 * math.sqrt(chance / len(bits)))


def test_the_preset_reaches_as_far_as_its_paper_says():
    """1.2 Mbit/s over 30 m of clear water; at 3 m of visibility (c = ln 50/3 m) 9 m, not 12."""
    spec = read_preset('aquaoptical', SENSORS['optical_modem'])
    numbers = {k: v for k, v in spec.items() if k not in ('rate', 'latency')}
    murky = Environment(optics=WaterOptics(water_type='I', turbidity=math.log(50) / 3 - 0.018))

    def chance(distance, water):
        sender, receiver = facing(distance, depth=5.0, **numbers)
        link = optical_link(sender, receiver, water)
        modem = sender.modem
        return optical_probability(modem, link.level - link.noise, modem.duration(100))

    assert chance(30.0, CLEAR) > 0.99
    assert chance(9.0, murky) > 0.9
    assert chance(12.0, murky) < 0.01


OPTICAL = (
    '<sensor type="optical_modem"><report>0.8</report>'
    '<field_of_view>180</field_of_view>{}</sensor>'
)


def test_two_vehicles_tell_each_other_by_light(tmp_path):
    wide = '<beam_width>170</beam_width><origin rpy="0 0 {}"/>'
    path = fleet_file(tmp_path, OPTICAL.format(wide.format(1.5)))
    boat = BODY.replace('</robot>', OPTICAL.format(wide.format(-1.0)) + '</robot>')
    (tmp_path / 'boat.urdf').write_text(boat)
    found = simulate_fleet(fleet_runs(FLEETS.load(str(path)), RunOptions()))
    told = {}
    for own in ('scout', 'boat'):
        series = found[f'/{own}'].sensors['optical_modem']
        rows = (report(series, i) for i in range(len(series.stamp)))
        told[own] = [r for r in rows if r is not None]
    heard = told['scout'] + told['boat']
    assert heard
    for name, position, arrival in heard:
        row = int(np.searchsorted(found[f'/{name}'].stamp, round(arrival * 1e9)))
        np.testing.assert_allclose(position, found[f'/{name}'].position[row], atol=0.05)


def test_a_vehicle_has_one_modem(tmp_path):
    path = fleet_file(tmp_path, OPTICAL.format('') + '<sensor type="modem"/>')
    with pytest.raises(MarineSimError, match='it has 2 modems; expected one'):
        fleet_node_specs(fleet_runs(FLEETS.load(str(path)), RunOptions()))
    assert OPTICAL_MODEM.needs == ('outbox',)
