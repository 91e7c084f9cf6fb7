# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic modems: delays, levels, loss, collisions, ranges, and fleets with them."""

import math

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from test_acoustic_partners import BODY, fleet_file

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.environment.wind import Wind
from marine_sim_ros.model.sensors import read_preset
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.acoustics import absorption
from marine_sim_ros.sensors.modem import (
    ACOUSTIC,
    Modem,
    arrival_probability,
    link_between,
    noise_density,
)
from marine_sim_ros.sensors.packet_network import ModemNetwork, Participant
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions

WATER = Environment()
LOUD = {'noise_density': 1.0, 'header': 0.5, 'bit_rate': 1000.0}
"""Without noise to speak of: a packet of 0.5 s and 8 ms a byte."""
ALL = ''


class Sea:
    """Modems at places, and a network that goes on from event to event."""

    def __init__(self, places, water=WATER, velocity=(0.0, 0.0, 0.0), **changes):
        self.modem = Modem(**{**LOUD, **changes})
        self.places = {name: np.array(place, float) for name, place in places.items()}
        self.velocity, self.water = np.array(velocity), water
        self.network, self.told = ModemNetwork(ACOUSTIC), []
        self.advance(0.0)

    def advance(self, time, **outbox):
        """Go on to a time; `outbox` has (destination, bytes) by name of the sender."""
        modems = {}
        for name, place in self.places.items():
            moved = place + (time * self.velocity if name == 'boat' else 0.0)
            sends = (outbox[name],) if name in outbox else ()
            axis = np.array([1.0, 0.0, 0.0])
            modems[name] = Participant(self.modem, 'modem', 7, moved, axis, moved[2] < 0, sends)
        new = self.network.advance(time, modems, self.water)
        self.told += new
        return new

    def send(self, time, until, **outbox):
        """Send at a time, and return what is handed over until another in steps of 0.05 s."""
        found = self.advance(time, **outbox)
        for tick in np.arange(time + 0.05, until + 0.025, 0.05):
            found = found + self.advance(float(tick))
        return found


PAIR = {'scout': (0, 0, -10), 'boat': (600, 0, -10)}


# --- Delay ------------------------------------------------------------------------------------


def test_a_packet_takes_distance_over_sound_speed_and_its_own_length():
    ((name, found),) = Sea(PAIR).send(1.0, 3.0, scout=(ALL, b'twelve bytes'))
    assert (name, found.source, found.data) == ('boat', 'scout', b'twelve bytes')
    assert found.time == pytest.approx(1.0 + 600 / 1500 + 0.5 + 12 * 8 / 1000, abs=1e-12)


def test_the_delay_through_3000_m_is_the_quadrature_over_the_profile():
    pytest.importorskip('gsw', reason='gsw: not installed (extra sensors)')
    rows = [(0, 22.0, 36.0), (100, 15.0, 35.6), (1000, 5.0, 34.6), (3000, 2.0, 34.7)]
    points = [f'{{depth: {d}, temperature: {t}, salinity: {s}}}' for d, t, s in rows]
    text = f'water: {{profile: [{", ".join(points)}]}}'
    water = parse_environment(text, str(ROOT / 'deep.yaml'))
    ends = np.array([0.0, 0.0, -5.0]), np.array([2000.0, 0.0, -2500.0])
    length = float(np.linalg.norm(ends[1] - ends[0]))

    def slowness(way):
        point = ends[0] + way / length * (ends[1] - ends[0])
        return 1.0 / float(water.sound_speed(point))

    corners = [length * (depth - 5.0) / 2495.0 for depth in (100.0, 1000.0)]
    delay, _ = integrate.quad(slowness, 0.0, length, points=corners, limit=500, epsabs=1e-9)
    sea = Sea({'scout': ends[0], 'boat': ends[1]}, water)
    ((_, found),) = sea.send(0.05, 4.0, scout=(ALL, b''))
    assert found.time - 0.05 - 0.5 == pytest.approx(delay, abs=1e-4)
    assert abs(delay - length / 1500.0) > 4e-3  # the profile matters


def test_a_packet_meets_a_receiver_that_moves_where_it_is_then():
    """It flees at 3 m/s: t = d/(c − v)."""
    sea = Sea(PAIR, velocity=(3.0, 0.0, 0.0))
    ((_, found),) = sea.send(0.05, 2.0, scout=(ALL, b''))
    assert found.time - 0.55 == pytest.approx((600 + 3 * 0.05) / (1500 - 3), abs=1e-9)


# --- Levels and loss --------------------------------------------------------------------------


def of(position, axis=(1, 0, 0), **changes):
    spec = Modem(**changes)
    return Participant(spec, 'modem', 0, np.array(position, float), np.array(axis, float), True)


def test_the_budget_by_hand():
    """185 dB over 1 km at 25 kHz: 60 dB of spreading, absorption, and noise in 4 kHz."""
    away = {'noise_density': 50.0}
    link = link_between(of((0, 0, -20), **away), of((1000, 0, -20), **away), WATER)
    loss = 1000.0 * absorption(25.0, WATER.temperature, WATER.salinity, 20.0)
    assert link.level == pytest.approx(185.0 - 60.0 - loss, abs=1e-9)
    assert 4.0 < loss < 6.0
    assert link.noise == pytest.approx(50.0 + 36.0206, abs=1e-4)
    wide = link_between(of((0, 0, -20), spreading=1.0), of((1000, 0, -20)), WATER)
    assert wide.level == pytest.approx(185.0 - 30.0 - loss, abs=1e-9)


def test_noise_is_that_of_coates():
    """At 10 kHz, no wind, half shipping: thermal 5 dB, ships 6.0 dB, waves 29.8 − 0.7 dB …"""
    ships = 40 + 26 - 60 * math.log10(10.03)
    waves = 50 + 20 - 40 * math.log10(10.4)
    wanted = 10 * math.log10(sum(10 ** (x / 10) for x in (17 - 30, ships, waves, 5.0)))
    assert noise_density(10.0, 0.0, 0.5) == pytest.approx(wanted, abs=1e-12)
    windy = Environment(wind=Wind(speed=9.0, from_direction=0.0))
    calm, loud = (link_between(of((0, 0, -5)), of((9, 0, -5)), w).noise for w in (WATER, windy))
    assert 15.0 < loud - calm < 22.5  # 7.5 √9 dB of the part by waves


@pytest.mark.parametrize('ratio', [-6.0, -4.0, -2.0])
def test_packets_are_lost_as_often_as_bits_of_fsk_are_wrong(ratio):
    """p = ½ exp(−E_b/(2 N₀)), E_b/N₀ = SNR B/R, for the 100 bits of a packet of 1 s."""
    spec = Modem(bandwidth=2.0, bit_rate=100.0)
    energy = 10 ** (ratio / 10) * 20
    wanted = (1 - 0.5 * math.exp(-energy / 2)) ** 100
    assert arrival_probability(spec, ratio, 1.0) == pytest.approx(wanted, rel=1e-12)
    level = 100.0 + 20 * math.log10(600.0)
    loss = 600 * absorption(25.0, WATER.temperature, WATER.salinity, 10.0)
    noise = 100.0 - loss - 10 * math.log10(2000.0) - ratio
    sea = Sea(PAIR, source_level=level, noise_density=noise, bandwidth=2.0, bit_rate=100.0,
              header=1.0)  # fmt: skip
    for i in range(1500):
        sea.advance(2.0 * i + 2.0, scout=(ALL, b''))
    share = len(sea.told) / 1499
    assert share == pytest.approx(wanted, abs=3 * math.sqrt(wanted * (1 - wanted) / 1499) + 1e-3)
    assert sea.network.lost['noise'] == 1499 - len(sea.told)


def test_a_beam_hears_and_sends_half_at_the_edge_of_its_width():
    width = math.radians(60.0)
    place = 100.0 * np.array([math.cos(width / 2), math.sin(width / 2), 0.0]) - [0, 0, 20]
    round_about = link_between(of((0, 0, -20)), of(place), WATER)
    sent = link_between(of((0, 0, -20), beam_width=60.0), of(place), WATER)
    heard = link_between(of((0, 0, -20)), of(place, axis=(-1, 0, 0), beam_width=60.0), WATER)
    assert sent.level - round_about.level == pytest.approx(-3.0103, abs=1e-4)
    assert heard.level == pytest.approx(sent.level, abs=1e-9)


def test_what_is_solid_and_air_are_in_the_way():
    box = Obstacle('wall', 'box', np.array([2.0, 50, 50]), np.array([300.0, 0, -10]))
    behind = Sea(PAIR, Environment(scene=Scene(obstacles=(box,))))
    assert behind.send(1.0, 3.0, scout=('boat', b'x')) == []
    assert behind.network.lost['blocked'] == 1
    above = Sea({**PAIR, 'boat': (600, 0, 1.0)})
    assert above.send(1.0, 3.0, scout=('boat', b'x')) == []


# --- Sharing the water ------------------------------------------------------------------------

THREE = {'scout': (0, 0, -10), 'boat': (600, 0, -10), 'buoy': (300, 0, -10)}


def test_packets_that_overlap_at_a_receiver_are_lost():
    sea = Sea(THREE)
    assert sea.send(1.0, 3.0, scout=('buoy', b'a'), boat=('buoy', b'b')) == []
    assert sea.network.lost['collision'] == 2
    apart = Sea(THREE, acknowledge=0.0)
    found = apart.send(1.0, 1.55, scout=('buoy', b'a'))
    found += apart.send(1.6, 4.0, boat=('buoy', b'b'))
    assert [d.data for name, d in found if name == 'buoy'] == [b'a', b'b']


def test_the_near_one_is_received_beside_the_far_one():
    """15 m and 600 m: 32 dB, more than the capture ratio."""
    sea = Sea({**THREE, 'buoy': (15, 0, -10)}, acknowledge=0.0)
    ((name, found),) = sea.send(1.0, 3.0, scout=('buoy', b'a'), boat=('buoy', b'b'))
    assert (name, found.data) == ('buoy', b'a')
    assert sea.network.lost['collision'] == 1


def test_who_sends_hears_nothing():
    sea = Sea(PAIR)
    assert sea.send(1.0, 3.0, scout=(ALL, b'a'), boat=(ALL, b'b')) == []
    assert sea.network.lost['sending'] == 2


def test_a_packet_waits_until_its_modem_has_sent_the_one_before():
    sea = Sea(PAIR)
    first, second = sea.send(1.0, 1.1, scout=(ALL, b'')) + sea.send(1.15, 4.0, scout=(ALL, b''))
    assert first[1].time == pytest.approx(1.9, abs=1e-9)
    assert second[1].time == pytest.approx(2.4, abs=1e-9)


def test_packets_without_a_gap_reach_a_vehicle_that_comes_nearer():
    # Each arrives before the end of the one before: 10 m/s towards the sender.
    sea = Sea(PAIR, velocity=(-10.0, 0.0, 0.0))
    found = []
    for k in range(5):
        found += sea.advance(1.0 + 0.05 * k, scout=(ALL, b''))
    found += sea.send(1.3, 6.0)
    times = [delivery.time for _, delivery in found]
    assert len(times) == 5
    assert (np.diff(times) < 0.5).all()


def test_others_do_not_read_what_is_for_one():
    found = Sea({**THREE, 'buoy': (300, 80, -10)}).send(1.0, 2.0, scout=('boat', b'a'))
    assert [name for name, _ in found] == ['boat']


def test_an_acknowledgement_gives_the_range():
    """r = c (t − T − turnaround)/2, in steps of 0.1 m, with the sound that it takes for true."""
    places = {'scout': (0, 0, -10), 'boat': (431.27, 0, -10)}
    exact, coarse = Sea(places), Sea(places, range_step=0.1, assumed_sound_speed=1515.0)
    for sea, wanted in ((exact, 431.27), (coarse, 431.27 * 1.01)):
        found = sea.send(1.0, 4.0, scout=('boat', b'hello'))
        assert [(n, d.source, d.data) for n, d in found] == [
            ('boat', 'scout', b'hello'),
            ('scout', 'boat', None),
        ]
        assert found[1][1].range == pytest.approx(wanted, abs=0.05 if sea is coarse else 1e-9)
    silent = Sea(places, acknowledge=0.0)
    assert len(silent.send(1.0, 4.0, scout=('boat', b'hello'))) == 1


def throughput(senders, load, packets):
    """Return S and the exact one, of senders in a circle around a receiver.

    Each is idle for an exponential time of mean 1/λ, then sends for T. A packet gets through if
    all n − 1 others are idle when it begins and begin nothing for T:
    S = n g (e^(−λT)/(1 + λT))^(n−1), g = λT/(1 + λT).
    """
    g = load / senders
    rate = g / (1 - g)  # λ T
    angle = 2 * math.pi * np.arange(senders) / senders
    places = {
        f's{i}': (500 * math.cos(a), 500 * math.sin(a), -10) for i, a in enumerate(angle.tolist())
    }
    sea = Sea({**places, 'sink': (0, 0, -10)}, header=1.0, acknowledge=0.0, capture=3.0)
    draw = np.random.default_rng(4)
    times = []
    for name in places:
        gaps = draw.exponential(1 / rate, packets // senders) + 1.0
        times += [(t, name) for t in np.cumsum(gaps).tolist()]
    times.sort()
    end = min(max(t for t, n in times if n == name) for name in places)
    for time, name in times:
        if time < end:
            sea.advance(1.0 + time, **{name: ('sink', b'')})
    exact = senders * g * (math.exp(-rate) * (1 - g)) ** (senders - 1)
    return len(sea.told) / end, exact


def test_three_nodes_share_the_water_as_three_nodes_of_aloha():
    found, exact = throughput(3, 0.6, 18_000)
    assert found == pytest.approx(exact, rel=0.03)


def test_many_nodes_have_the_throughput_of_pure_aloha():
    """S = G e^(−2G) (Abramson 1970); of 24 nodes the exact one differs by 1.2 %."""
    found, exact = throughput(24, 0.2, 12_000)
    assert exact == pytest.approx(0.2 * math.exp(-0.4), rel=0.015)
    assert found == pytest.approx(0.2 * math.exp(-0.4), rel=0.03)


# --- In vehicles ------------------------------------------------------------------------------


def report(readings, i):
    """Return source, bytes as float32, and the time of arrival of a reading; None: none."""
    row = readings.at(i)
    if row is None:
        return None
    size = int(row['size'])
    name = bytes(row['source'][np.isfinite(row['source'])].astype(np.uint8)).decode()
    data = row['data'][:size].astype(np.uint8).tobytes()
    return name, np.frombuffer(data, '<f4'), float(row['time'])


def test_two_vehicles_tell_each_other_where_they_are(tmp_path):
    sensor = '<sensor type="modem"><report>0.8</report><header>0.05</header>'
    path = fleet_file(tmp_path, f'{sensor}<bit_rate>1000</bit_rate></sensor>')
    (tmp_path / 'boat.urdf').write_text((tmp_path / 'scout.urdf').read_text())
    found = simulate_fleet(fleet_runs(FLEETS.load(str(path)), RunOptions()))
    for own, other, slot in (('scout', 'boat', 0.0), ('boat', 'scout', 0.4)):
        series = found[f'/{own}'].sensors['modem']
        told = [r for r in (report(series, i) for i in range(len(series.stamp))) if r is not None]
        assert told, own
        name, position, arrival = told[0]
        row = int(np.searchsorted(found[f'/{other}'].stamp, round(slot * 1e9)))
        truth = found[f'/{other}'].position[row]
        assert name == other
        np.testing.assert_allclose(position, truth, rtol=1e-6)
        ahead = np.linalg.norm(truth - found[f'/{own}'].position[row])
        assert arrival - slot == pytest.approx(0.05 + 0.096 + ahead / 1500.0, abs=1e-4)


@pytest.mark.parametrize(
    ('sensors', 'reason'),
    [
        ('<sensor type="modem" rate="40"/>', 'every 0.025 s, and that of boat every 0.05 s'),
        ('<sensor type="modem"/><sensor type="modem" name="b"/>', 'it has 2 modems; expected one'),
    ],
)
def test_modems_that_cannot_be_are_one_line(tmp_path, sensors, reason):
    path = fleet_file(tmp_path, sensors)
    own = BODY.replace('</robot>', '<sensor type="modem"/></robot>')
    (tmp_path / 'boat.urdf').write_text(own)
    with pytest.raises(MarineSimError) as told:
        fleet_node_specs(fleet_runs(FLEETS.load(str(path)), RunOptions()))
    assert reason in str(told.value)
    assert '\n' not in str(told.value)


def test_presets_reach_as_far_as_their_data_sheets_say():
    """At the range of the data sheet nine packets of ten arrive, at ten times it none."""
    for name, reach in (('seatrac_x110', 1000.0), ('s2c_r_18_34', 3500.0)):
        spec = read_preset(name, SENSORS['modem'])
        numbers = {k: v for k, v in spec.items() if k not in ('rate', 'latency')}
        modem, chances = Modem(**numbers), []
        for distance in (reach, 10 * reach):
            ends = (of(p, **numbers) for p in ((0, 0, -20), (distance, 0, -20)))
            link = link_between(*ends, WATER)
            chances.append(arrival_probability(modem, link.level - link.noise, 1.0))
        assert chances[0] > 0.9, name
        assert chances[1] < 0.1, name


@given(
    st.lists(st.tuples(st.text(st.characters(codec='ascii'), max_size=8), st.binary(max_size=20)))
)
def test_an_outbox_is_read_as_it_was_written(rows):
    pytest.importorskip('rclpy')
    from marine_sim_ros.ros.fleet import outbox_message, read_outbox

    assert read_outbox(outbox_message(tuple(rows))) == tuple(rows)


MANY = """
pattern: {shape: grid, spacing: 40.0, position: [0.0, 0.0, -3.0]}
vehicles:
  - {vehicle: PATH/scout.urdf, name: v, count: COUNT, scenario: PATH/push.yaml}
"""


@pytest.mark.ros
@pytest.mark.parametrize(('way', 'count'), [('composed', 10), ('separate', 3)])
def test_many_vehicles_hear_the_same_however_they_run(processes, tmp_path, way, count):
    # Ten vehicles whose nodes are separate are 70 processes, too many for two cores.

    from graph import STEP, manifest, recorded

    sensor = '<sensor type="modem"><report>2</report><header>0.02</header>'
    fleet_file(tmp_path, f'{sensor}<bit_rate>5000</bit_rate></sensor>')
    path = tmp_path / 'many.yaml'
    path.write_text(MANY.replace('PATH', str(tmp_path)).replace('COUNT', str(count)))
    more = ['--dt', STEP, '--real-time-factor', 0, '--seed', 4, '--duration', 3]
    more += ['--composed'] if way == 'composed' else []
    process = processes.marine_sim('run', '--fleet', path, *more, '--record', tmp_path / 'out')
    output, _ = process.communicate()
    assert process.returncode == 0, output
    runs = fleet_runs(FLEETS.load(str(path)), RunOptions(seed=4, dt=STEP, duration=3.0))
    expected = simulate_fleet(runs)
    hashes = manifest(tmp_path / 'out')
    for name, trajectory in expected.items():
        assert trajectory.sha256 in str(hashes), name
        series = trajectory.sensors['modem']
        rows = (report(series, i) for i in range(len(series.stamp)))
        wanted = [(r[0], r[1].tobytes()) for r in rows if r is not None]
        found = [
            (m.layout.dim[0].label, bytes(m.data))
            for _, m in sorted(
                recorded(tmp_path / 'out', name.strip('/') + '/')['modem/received'].items()
            )
        ]
        assert len(wanted) >= count - 1, name
        assert found == wanted[: len(found)]
        assert len(found) >= len(wanted) - 1


def test_the_shipped_fleet_exchanges_positions():
    runs = fleet_runs(FLEETS.load('modems'), RunOptions(duration=4.0, dt=0.02))
    found = simulate_fleet(runs)
    for own, other in (('/scout', 'diver'), ('/diver', 'scout')):
        series = found[own].sensors['modem']
        told = [r for r in (report(series, i) for i in range(len(series.stamp))) if r is not None]
        assert [name for name, *_ in told] == [other]
    assert (ROOT / 'config' / 'fleets' / 'modems.yaml').is_file()
