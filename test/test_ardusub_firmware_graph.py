# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The real ArduSub on the node graph: a pilot over MAVLink, faults of a battery and an enclosure.

It needs what test_ardusub_firmware.py needs, and ROS. Its pilot speaks by wall time.
"""

import json
import socket
import time

import pytest
from ardusub_rig import ALT_HOLD, PROGRAM
from bags import analyze
from graph import Watcher, recorded
from stand_in_autopilot import free_instance

pytestmark = [pytest.mark.ardusub, pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(600)]


class Pilot:
    """A ground station: hears everything, beats, and holds its sticks."""

    def __init__(self):
        from pymavlink import mavutil

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('127.0.0.1', 0))
            self.address = f'127.0.0.1:{probe.getsockname()[1]}'
        self.link = mavutil.mavlink_connection(
            f'udpin:{self.address}', source_system=255, dialect='ardupilotmega'
        )
        self.last, self.texts, self.sticks, self._next = {}, [], (0, 0, 500, 0), {}

    def until(self, condition, seconds=60):
        """Speak and listen until something holds; return whether it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while (message := self.link.recv_match()) is not None:
                if message.get_srcComponent() != 1:  # the firmware passes the companion's on
                    continue
                self.last[message.get_type()] = message
                if message.get_type() == 'STATUSTEXT':
                    self.texts.append(message.text)
            if condition():
                return True
            if 'HEARTBEAT' in self.last:
                self._speak()
            time.sleep(0.02)
        return False

    def _speak(self):
        now, mav = time.monotonic(), self.link.mav
        for name, period, speak in (
            ('heartbeat', 1.0, lambda: mav.heartbeat_send(6, 8, 0, 0, 0)),
            ('sticks', 0.1, lambda: mav.manual_control_send(self.system, *self.sticks, 0)),
        ):
            if now >= self._next.get(name, 0.0):
                self._next[name] = now + period
                speak()

    @property
    def system(self):
        return self.last['HEARTBEAT'].get_srcSystem()

    @property
    def armed(self):
        return bool(self.last['HEARTBEAT'].base_mode & 128)

    def arm(self):
        for _ in range(20):
            self.link.mav.command_long_send(self.system, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
            if self.until(lambda: self.armed, 3):
                return True
        return False

    def set_parameter(self, name, value):
        self.link.mav.param_set_send(self.system, 1, name.encode(), value, 9)
        assert self.until(lambda: self.last['PARAM_VALUE'].param_id == name, 10)

    def dive(self, depth):
        self.link.mav.set_mode_send(self.system, 1, ALT_HOLD)
        assert self.until(lambda: self.last['HEARTBEAT'].custom_mode == ALT_HOLD, 10)
        self.sticks = (0, 0, 0, 0)
        assert self.until(lambda: self.last['VFR_HUD'].alt < -depth, 60), self.texts
        self.sticks = (0, 0, 500, 0)


@pytest.fixture
def pilot():
    one = Pilot()
    yield one
    one.link.close()


def set_faults(node, text):
    from rcl_interfaces.msg import Parameter
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import get_parameter_value

    watcher = Watcher()
    client = watcher.node.create_client(SetParameters, f'{node}/set_parameters')
    watcher.until(client.service_is_ready)
    wanted = Parameter(name='faults', value=get_parameter_value(text))
    future = client.call_async(SetParameters.Request(parameters=[wanted]))
    watcher.until(future.done)
    watcher.close()
    assert future.result().results[0].successful


def start(processes, pilot, *more):
    process = processes.marine_sim(
        'run', 'bluerov2', '--autopilot', 'ardusub', '--ardusub', PROGRAM,
        '--autopilot-instance', free_instance(), '--ground-station', pilot.address,
        '--environment', 'shallow_sand', '--set', 'leak:=true', *more,
    )  # fmt: skip
    assert pilot.until(lambda: 'HEARTBEAT' in pilot.last, 90)
    # Its estimator has a position after some 50 s of the run.
    assert pilot.until(lambda: any('is using GPS' in t for t in pilot.texts), 180), pilot.texts
    assert pilot.arm(), pilot.texts
    return process


@pytest.mark.parametrize('composed', [['--composed'], []], ids=['composed', 'separate'])
def test_a_sagging_battery_and_a_leak_reach_the_autopilot(processes, pilot, tmp_path, composed):
    process = start(processes, pilot, '--record', tmp_path / 'run', *composed)
    pilot.set_parameter('FS_LEAK_ENABLE', 1)  # warn only
    pilot.set_parameter('BATT_LOW_VOLT', 13.0)
    pilot.set_parameter('BATT_FS_LOW_ACT', 2)  # disarm
    pilot.dive(2.0)
    set_faults('ardusub', '[{kind: sensor_bias, sensor: leak, size: 1.0}]')
    assert pilot.until(lambda: any('eak' in text for text in pilot.texts), 30), pilot.texts
    assert pilot.armed
    set_faults('thrusters', '[{kind: battery, charge: 0.1}]')  # 12.48 V without a load
    assert pilot.until(lambda: pilot.last['SYS_STATUS'].voltage_battery < 12_600, 20)
    assert pilot.until(lambda: not pilot.armed, 40), pilot.texts
    pilot.until(lambda: False, 3)  # the rotors run down
    process.terminate()
    output, _ = process.communicate(timeout=30)
    assert 'Traceback' not in output
    found = recorded(tmp_path / 'run')
    *_, last = found['thrusters/state'].values()
    assert max(map(abs, last.effort)) < 1e-3
    assert [m.data for m in found['autopilot/armed'].values()][-2:] == [True, False]
    assert 'ALT_HOLD' in [m.data for m in found['autopilot/mode'].values()]
    # What its estimator believes is compared with the truth.
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'report', '--table', 'none') == 0
    (vehicle,) = json.loads((tmp_path / 'report' / 'metrics.json').read_text())['bags'][0][
        'vehicles'
    ].values()
    estimate = vehicle['sensors']['autopilot']
    assert estimate['position z']['readings'] > 50
    for part in ('position x', 'position y', 'position z'):
        assert estimate[part]['rms'] < 0.5, part
