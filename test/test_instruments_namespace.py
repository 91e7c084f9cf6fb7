# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rehearsal of hardware in the loop: drivers in a network of their own, joined by one cable."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from processor import PATIENCE

pytestmark = pytest.mark.ros

ADDRESS = '192.168.2.95'
"""Of the DVL on a BlueROV2's tether."""
SCRIPT = """
set -e
ip link set lo up
unshare --net sleep 3600 & driver=$!
trap 'kill $driver $simulator 2>/dev/null || true' EXIT
own=$(readlink /proc/self/ns/net)
until [ "$(readlink /proc/$driver/ns/net)" != "$own" ]; do sleep 0.05; done
ip link add vehicle type veth peer name tether netns $driver
ip address add {address}/24 dev vehicle
ip link set vehicle up
inside="nsenter --net --target $driver"
$inside ip link set lo up
$inside ip address add 192.168.2.1/24 dev tether
$inside ip link set tether up
{run} >&2 & simulator=$!
$inside {python} -c "$DRIVER" {address}
"""
DRIVER = """
import errno, json, os, socket, sys, time
import brping

host, found = sys.argv[1], {}
found['devices'] = sorted(
    name for _, name in socket.if_nameindex())

def connected(port):
    with socket.socket() as one:
        one.settimeout(5)
        return one.connect_ex((host, port)) == 0

while not connected(16171):
    time.sleep(0.1)
with socket.create_connection((host, 16171), timeout=300) as one:
    lines = one.makefile()
    reports = [json.loads(lines.readline()) for _ in range(6)]
found['dvl'] = [r['type'] for r in reports], reports[0]['altitude'], reports[0]['velocity_valid']
sonar = brping.Ping1D(brping.definitions.payload_dict_ping1d)
sonar.connect_udp(host, 9090)
while not sonar.initialize():
    pass
distance = None
while distance is None:
    distance = sonar.get_distance()
found['distance'] = distance['distance']
found['open'] = [port for port in range(1, 65536) if connected(port)]
print(json.dumps(found))
"""


def has_namespaces():
    """Return whether this user may have networks of his own."""
    if not all(shutil.which(name) for name in ('unshare', 'nsenter', 'ip', 'bash')):
        return False
    command = [
        'unshare',
        '--map-root-user',
        '--net',
        'ip',
        'link',
        'add',
        'name',
        'one',
        'type',
        'veth',
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_drivers_in_a_network_of_their_own_see_the_ports_of_the_vehicle_alone(ros_environment):
    pytest.importorskip('brping')
    if not has_namespaces():
        pytest.skip('no network namespaces for this user, or no iproute2')
    run = (
        f'{sys.executable} -m marine_sim_ros.tools.main run bluerov2 --composed --dt 0.02 '
        '--set dvl:=true --set altimeter:=true --environment shallow_sand --initial-position '
        f'0 0 -6 --protocol dvl=water_linked@{ADDRESS}:16171 altimeter=ping1d@{ADDRESS}:9090'
    )
    environment = {
        **os.environ,
        **ros_environment,
        'DRIVER': DRIVER,
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }
    script = SCRIPT.format(address=ADDRESS, run=run, python=sys.executable)
    found = subprocess.run(
        ['unshare', '--map-root-user', '--net', 'bash', '-c', script],
        capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    seen = json.loads(found.stdout.splitlines()[-1])
    assert seen['devices'] == ['lo', 'tether']
    types, altitude, valid = seen['dvl']
    assert types == ['velocity', 'position_local'] * 3
    assert valid
    assert abs(seen['distance'] / 1000 - altitude) < 2.0
    assert seen['open'] == [16171]
