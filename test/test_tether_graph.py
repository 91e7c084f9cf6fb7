# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A tethered vehicle through real nodes: the same cable, to the bit."""

import numpy as np
import pytest
from graph import ONE_PROCESS, Watcher, by_stamp, numbers, recorded, run_everywhere, ticks

from marine_sim_ros.analysis.report.motion import tether_charts
from marine_sim_ros.analysis.report.plotly_charts import ChartRun
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.console.replay import Replay

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 1.5
initial: {position: [3.0, 1.0, -3.8], rpy: [0.1, -0.1, 0.5]}
segments:
  - {at: 0.0, pwm: [1300, 1300, 1700, 1700, 1650, 1650]}
"""
TETHER = [
    '--set',
    'tether:=fathom',
    '--set',
    'tether_length:=5.2',
    '--set',
    'tether_anchor:=0 0 0',
    '--set',
    'tether_afloat:=true',
]


def cable_numbers(message):
    """Return the coordinates of a shape, or the tensions."""
    if hasattr(message, 'effort'):
        return list(message.effort)
    return [getattr(pose.pose.position, axis) for pose in message.poses for axis in 'xyz']


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / 'pull.yaml'
    path.write_text(SCENARIO)
    return path


def test_the_graph_is_the_simulation_of_a_tethered_vehicle(processes, tmp_path, scenario):
    common = ['bluerov2', '--scenario', scenario, '--environment', 'regular_waves', *TETHER]
    run_everywhere(processes, tmp_path, *common)
    topics = recorded(tmp_path / 'composed')
    pulls = np.array([numbers(m) for _, m in sorted(topics['wrench/tether'].items())])
    assert len(pulls) == len(topics['odom'])
    assert np.abs(pulls[-1]).max() > 0.1
    shapes, tensions = (
        by_stamp(topics[f'tether/{name}'].values()) for name in ('shape', 'tension')
    )
    assert set(shapes) == set(tensions)
    assert 14 <= len(shapes) <= 16  # 10 Hz
    for stamp, shape in shapes.items():
        assert shape.header.frame_id == 'map'
        points = np.array([[getattr(p.pose.position, a) for a in 'xyz'] for p in shape.poses])
        assert points.shape == (11, 3)
        body = topics['odom'][stamp].pose.pose.position
        assert np.linalg.norm(points[0] - [body.x, body.y, body.z]) == pytest.approx(
            np.hypot(0.2, 0.08), abs=1e-9
        )
        assert tensions[stamp].name == ['vehicle', 'anchor']
        force = numbers(topics['wrench/tether'][stamp])[:3]
        assert tensions[stamp].effort[0] == pytest.approx(np.linalg.norm(force), rel=1e-9)
    for way in ('simulate', 'separate'):
        other = recorded(tmp_path / way)
        for name in ('shape', 'tension'):
            messages = by_stamp(other[f'tether/{name}'].values())
            assert messages.keys() == shapes.keys()
            expected = shapes if name == 'shape' else tensions
            assert all(cable_numbers(messages[t]) == cable_numbers(expected[t]) for t in messages)
    replay = Replay(str(tmp_path / 'composed' / 'bag'))
    shown = replay.telemetry_frame(replay.duration)['tether']
    last = max(shapes)
    places = [[getattr(p.pose.position, a) for a in 'xyz'] for p in shapes[last].poses]
    assert np.allclose(shown['shape'], places, atol=5.1e-4)  # m; a page draws no finer
    assert shown['tension'] == list(tensions[last].effort)
    replay.close()
    run = read_bag(str(tmp_path / 'composed' / 'bag')).vehicles['bluerov2']
    assert run.channels['tether/tension'].labels == ('vehicle_N', 'anchor_N')
    (chart,) = tether_charts('a', [ChartRun('a', run, 0, 0.0)])
    assert [trace['name'] for trace in chart['data']] == ['vehicle', 'anchor']


def test_a_tether_that_is_too_short_is_one_line(processes, scenario):
    short = ['--set', 'tether:=fathom', '--set', 'tether_length:=2']
    process = processes.marine_sim('run', 'bluerov2', '--scenario', scenario, *short)
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert 'tether: the vehicle starts 4.8 m from the anchor; expected at most 2.1 m' in output
    assert 'Traceback' not in output


REEL = [
    '--set',
    'tether_reel_rate:=0.5',
    '--set',
    'tether_reel_tension:=20',
    '--set',
    'tether_maximum:=20',
]
TURNED = (
    SCENARIO.replace('1650]}', '1650], tether: {rate: 0.3}}')
    + '  - {at: 0.8, tether: {rate: -0.5}}\n'
)


def test_the_graph_is_the_simulation_of_a_reel(processes, tmp_path):
    path = tmp_path / 'reel.yaml'
    path.write_text(TURNED)
    common = ['bluerov2', '--scenario', path, '--environment', 'regular_waves', *TETHER, *REEL]
    run_everywhere(processes, tmp_path, *common)
    found = {
        way: [
            [*m.name, *m.position, *m.velocity, *m.effort]
            for _, m in sorted(recorded(tmp_path / way)['tether/state'].items())
        ]
        for way in ('simulate', 'separate', 'composed')
    }
    assert found['separate'] == found['composed'] == found['simulate']
    name, length, rate, pull = zip(*found['simulate'], strict=True)
    assert set(name) == {'reel'}
    assert len(length) == ticks(1.5)
    assert length[ticks(0.5) - 1] == pytest.approx(5.2 + 0.5 * 0.3, abs=0.2)
    assert max(pull) > 10
    assert max(length) > length[-1]
    assert min(rate) < 0 < max(rate)


def test_the_compiled_graph_turns_the_reel_too(processes, tmp_path):
    pytest.importorskip('jax')
    path = tmp_path / 'reel.yaml'
    path.write_text(TURNED)
    common = ['bluerov2', '--scenario', path, '--duration', 0.5, *TETHER, *REEL]
    process = processes.marine_sim(
        'run', *common, '--engine', 'jax', '--real-time-factor', 0, '--record', tmp_path / 'jax'
    )
    output, _ = process.communicate()
    assert process.returncode in (0, 1), output
    lengths = [
        m.position[0] for _, m in sorted(recorded(tmp_path / 'jax')['tether/state'].items())
    ]
    assert lengths[0] == 5.2
    assert lengths[20] == pytest.approx(5.2 + 0.1 * 0.3, abs=1e-9)


def test_a_reel_follows_its_command_for_a_second_and_ignores_nonsense(processes):
    from sensor_msgs.msg import JointState

    pilot = Watcher()
    try:
        pilot.listen('tether/state', JointState)
        reel = ('tether:=fathom', 'tether_length:=20', 'tether_reel_rate:=0.5')
        sets = [word for each in (*reel, 'tether_maximum:=50') for word in ('--set', each)]
        processes.marine_sim('run', 'bluerov2', *sets, *ONE_PROCESS)
        publisher = pilot.node.create_publisher(JointState, 'tether/command', 10)
        pilot.until(lambda: publisher.get_subscription_count() and pilot.seen['tether/state'])

        def send(name, rate):
            publisher.publish(JointState(name=[name], velocity=[rate]))
            return True

        def rate():
            return pilot.seen['tether/state'][-1].velocity[0]

        pilot.until(lambda: send('reel', 3.0) and abs(rate() - 0.5) < 1e-6)
        send('winch', -0.2)
        send('reel', float('nan'))
        pilot.until(lambda: rate() == 0.0)
        told = np.array([[*m.position, *m.velocity] for m in pilot.seen['tether/state']])
        assert np.all(told[:, 1] >= 0)
        assert told[-1, 0] > 20.4
    finally:
        pilot.close()


def test_a_node_that_ends_a_composed_run_ends_it_at_once(processes):
    """Others go no further than the tick in which it failed, though they are in one process."""
    away = ('--set', 'tether:=fathom', '--initial-position', 1000, 0, -5)
    process = processes.marine_sim('run', 'bluerov2', *away, *ONE_PROCESS, '--real-time-factor', 0)
    output, _ = process.communicate(timeout=60)  # a million deliveries more take minutes
    assert process.returncode == 2
    assert 'starts 999.8 m from the anchor' in output
