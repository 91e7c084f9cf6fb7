# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The whole way: a real Gazebo server, the real ros_gz_bridge, and the nodes."""

import shutil
import signal
import sys
from dataclasses import replace
from queue import SimpleQueue

import numpy as np
import pytest
from gazebo_server import CASES, imbalance, scenario_file
from readings import check_recording, everything

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.gazebo.delivery import bridge_program
from marine_sim_ros.gazebo.run_files import bridge_command, bridge_parameters, write_run
from marine_sim_ros.gazebo.server import ServerConnection, start_server, stop_server
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = [
    pytest.mark.ros,
    pytest.mark.gazebo,
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
    pytest.mark.skipif(bridge_program() is None, reason='ros_gz_bridge: not on this machine'),
]

STEP = 5_000_000


class Listener(ServerConnection):
    """Hears what Gazebo tells and gets, and says nothing."""

    def __init__(self, model):
        super().__init__(model)
        self.wrenches = []
        self.node.subscribe(self._message, f'/model/{model}/seat/wrench', self._hear_wrench)

    def _hear_wrench(self, message):
        stamp, f, t = message.header.stamp, message.force, message.torque
        wrench = np.array([f.x, f.y, f.z, t.x, t.y, t.z])
        self.wrenches.append((stamp.sec * 10**9 + stamp.nsec, wrench))

    def records(self, ticks):
        """Return the account of the first ticks, once all of them are through."""
        states = dict([self.next_state(-1)])
        while len(states) <= ticks:
            states.update([self.next_state(max(states))])
        assert sorted(states) == [i * STEP for i in range(ticks + 1)]
        wrenches = dict(self.wrenches)
        return [
            (stamp, states[stamp], wrenches[stamp], stamp + STEP, states[stamp + STEP])
            for stamp in sorted(states)[:-1]
        ]


class PoseListener:
    """Hears the poses that PosePublisher tells."""

    def __init__(self, model):
        self.heard = SimpleQueue()
        self.node = binding('gz.transport').Node()
        self.node.subscribe(message('Pose'), f'/model/{model}/pose', self._hear)

    def _hear(self, message):
        stamp, p = message.header.stamp, message.position
        self.heard.put((stamp.sec * 10**9 + stamp.nsec, np.array([p.x, p.y, p.z])))

    def records(self, ticks):
        """Return stamps and positions of the first ticks, once all of them are through."""
        found = [self.heard.get(timeout=60.0) for _ in range(ticks)]
        assert [stamp for stamp, _ in found] == [(i + 1) * STEP for i in range(ticks)]
        return found


@pytest.fixture
def fly(processes, gazebo_partition, tmp_path):
    """Return what runs a graph in Gazebo for so many ticks and gives the account of it."""
    servers = []

    def run(options, ticks, *, composed, delivery='in_server'):
        made = write_run(options, tmp_path, world='', delivery=delivery)
        kind = Listener if delivery == 'in_server' else PoseListener
        listener = kind(made.model)
        servers.append(start_server(tmp_path / 'world.sdf', run=delivery == 'in_server'))
        file = tmp_path / 'ros_gz_bridge.yaml'
        processes.start(*bridge_command(bridge_program(), made.name, file))
        own = bridge_parameters(made, options.dt, delivery=delivery)
        wanted = replace(options, gazebo=own, duration=1e5, real_time_factor=0.0)
        if composed:
            processes.start(
                sys.executable, '-m', 'marine_sim_ros.nodes.composed', wanted.to_json()
            )
        else:
            for spec in node_specs(wanted):
                processes.node(spec)
        return listener.records(ticks), listener

    processes.environment |= gazebo_partition
    yield run
    for server in servers:
        stop_server(server)


@pytest.mark.parametrize('case', CASES)
def test_the_nodes_move_gazebo_s_body_as_the_embedded_one(fly, tmp_path, record_property, case):
    name, vehicle = scenario_file(tmp_path, case), load_vehicle('bluerov2')
    embedded = simulate(vehicle, load_scenario(name), duration=20.0)
    records, _ = fly(RunOptions(scenario=name), 4000, composed=True)
    apart = [
        np.linalg.norm(state.position - embedded.position[stamp // STEP])
        for *_, stamp, state in records
    ]
    balance = imbalance(records, vehicle, Environment())
    record_property('measured', f'{max(apart):.2g} m apart, balance {balance:.2g}')
    assert max(apart) < 1e-6
    assert balance < 1e-7


@pytest.mark.parametrize('case', CASES)
def test_the_stock_way_moves_it_as_far_as_poses_alone_can_tell(
    fly, tmp_path, record_property, case
):
    name, vehicle = scenario_file(tmp_path, case), load_vehicle('bluerov2')
    embedded = simulate(vehicle, load_scenario(name), duration=20.0)
    told, _ = fly(RunOptions(scenario=name), 4000, composed=True, delivery='stock')
    apart = [np.linalg.norm(p - embedded.position[stamp // STEP]) for stamp, p in told]
    record_property('measured', f'{max(apart):.2g} m apart')
    assert max(apart) < 1e-5


@pytest.mark.parametrize('delivery', ['in_server', 'stock'])
def test_readings_are_those_of_gazebo_s_states_to_the_bit(fly, processes, tmp_path, delivery):
    options = RunOptions(**everything(tmp_path))
    fly(options, 600, composed=True, delivery=delivery)
    suite = processes.all[-1]
    suite.send_signal(signal.SIGINT)
    said, _ = suite.communicate()
    assert 'Traceback' not in said, said
    counts = check_recording(options)
    assert counts['imu/data_raw'] > 250
    assert counts['barometer/pressure'] > 500


def test_sixty_seconds_of_separate_nodes_lose_no_tick_and_exert_every_wrench_once(
    fly, record_property
):
    vehicle = load_vehicle('bluerov2')
    embedded = simulate(vehicle, load_scenario('dive'), duration=60.0)
    records, listener = fly(RunOptions(scenario='dive'), 12_000, composed=False)
    balance = imbalance(records, vehicle, Environment())
    apart = np.linalg.norm(records[-1][-1].position - embedded.position[-1])
    again = len(listener.wrenches) - len(dict(listener.wrenches))
    record_property('measured', f'{apart:.2g} m apart, balance {balance:.2g}, {again} repeated')
    assert balance < 1e-7
    assert apart < 1e-6
