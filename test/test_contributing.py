# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The recipes of CONTRIBUTING.md, applied as printed to a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from doc_blocks import blocks_of

PAGE = ROOT / 'CONTRIBUTING.md'
COPIED = ('marine_sim_ros', 'config', 'urdf', 'launch')


@pytest.fixture(scope='module')
def copy(tmp_path_factory):
    """A copy of the package to which every recipe has been applied."""
    folder = tmp_path_factory.mktemp('copy')
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns('__pycache__'))
    shutil.copy(ROOT / 'package.xml', folder)
    (folder / 'worlds').mkdir()
    for path in (ROOT / 'worlds').glob('*.sdf'):
        shutil.copy(path, folder / 'worlds')
    for block in blocks_of(PAGE):
        if name := block.clauses.get('file'):
            assert not (folder / name).exists()
            (folder / name).write_text(block.text, encoding='utf-8')
        elif name := block.clauses.get('line'):
            add_to(folder / 'marine_sim_ros/core/registry.py', name, block.text)
    return folder


def add_to(path, name, line):
    """Add a line at the end of a call that makes a list of the registry."""
    before = path.read_text(encoding='utf-8')
    pattern = rf'^({name} = Registry\(\n(?:  .*\n)*)\)$'
    after, count = re.subn(pattern, rf'\g<1>{line})', before, flags=re.MULTILINE)
    assert count == 1, name
    path.write_text(after, encoding='utf-8')


def test_the_three_kinds_of_actuators_are_one_file_and_one_line_each():
    """The lines of the page are those of the registry, and the files have nothing elsewhere."""
    (block,) = (b for b in blocks_of(PAGE) if b.language == 'diff')
    lines = [row[1:] for row in block.text.splitlines() if re.match(r'\+ ', row)]
    registry = (ROOT / 'marine_sim_ros/core/registry.py').read_text(encoding='utf-8').splitlines()
    modules = [re.search(r"'([\w.]+):", line).group(1) for line in lines]
    assert len(set(modules)) == 3
    users = {'marine_sim_ros.physics.moving_masses': {'control/glide.py'}}
    for line, module in zip(lines, modules, strict=True):
        assert registry.count(line) == 1
        assert sum(module in row for row in registry) == 1
        importers = {
            str(path.relative_to(ROOT / 'marine_sim_ros'))
            for path in (ROOT / 'marine_sim_ros').rglob('*.py')
            if f'from {module} import' in path.read_text(encoding='utf-8')
        }
        shared = {'physics/drop_weights.py'}  # takes the wrench of a volume from the engines
        assert importers - shared == users.get(module, set())


def run(copy, *command):
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(filter(None, (str(copy), os.environ.get('PYTHONPATH', '')))),
    )
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Traceback' not in done.stderr
    return done.stdout


def marine_sim(copy, *arguments):
    return run(copy, sys.executable, '-m', 'marine_sim_ros.tools.main', *arguments)


def test_every_block_of_code_is_tested():
    blocks = blocks_of(PAGE)
    assert [b.clauses.get('line') for b in blocks if 'line' in b.clauses] == [
        'FORCES',
        'ACTUATORS',
        'SENSORS',
    ]
    assert sum('file' in b.clauses for b in blocks) == 4
    unmarked = [b for b in blocks if not b.clauses]
    assert [b.text.split()[0] for b in unmarked] == ['make']  # the set-up
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    for target in re.findall(r'^make (\w+)', unmarked[0].text, re.MULTILINE):
        assert re.search(rf'^{target}:', makefile, re.MULTILINE)


def test_links_lead_somewhere():
    for target in re.findall(r'\]\(([^)#\s]+)\)', PAGE.read_text(encoding='utf-8')):
        assert '://' in target or (ROOT / target).exists(), target


def test_the_entries_are_listed(copy):
    for kind, name in (
        ('forces', 'tether_drag'),
        ('forces', 'lift_bag'),
        ('actuators', 'lift_bag'),
        ('sensors', 'compass'),
        ('vehicles', 'probe'),
    ):
        assert name in json.loads(marine_sim(copy, 'list', kind, '--json'))


def test_the_force_acts_and_has_a_node_and_the_sensor_reads(copy):
    run(
        copy,
        sys.executable,
        '-c',
        """
import math
from pathlib import Path
import numpy as np
import marine_sim_ros
from marine_sim_ros import Environment, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.physics import FORCES
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

assert Path(marine_sim_ros.__file__).parent.parent == Path.cwd()
probe = load_vehicle('probe')
run = simulate(probe, load_scenario('dive'), duration=3.0)
force, surge = run.sources['tether_drag'], run.velocity[:, 0]
assert len(run.sensors['compass']['heading']) == 31  # 10 Hz
np.testing.assert_allclose(force[:, 0], -5 * abs(surge) * surge, rtol=1e-9, atol=1e-12)
assert not force[:, 1:].any()
moving = state_at_rest((0, 0, -5))._replace(velocity=np.array([0.8, 0.1, 0, 0, 0, 0.2]))
np.testing.assert_allclose(
    FORCES['tether_drag'].wrench(probe, moving, Environment()), [-5 * 0.64, 0, 0, 0, 0, 0]
)
compass, = probe.sensors
for yaw, heading in ((0, 90), (90, 0), (-45, 135)):  # east, north, south-east
    state = state_at_rest()._replace(orientation=quaternion_from_rpy(0.0, 0.0, math.radians(yaw)))
    read = SENSORS['compass'].measure(compass, state, Environment(), SensorInputs.none())
    np.testing.assert_allclose(np.degrees(read['heading']), heading, atol=1e-9)
specs = node_specs(RunOptions(vehicle='probe'))
nodes = [n for n in specs if n.executable in ('force', 'sensors')]
assert [n.name for n in nodes] == ['tether_drag', 'sensors']
""",
    )


LIFTED = """
from pathlib import Path
import numpy as np
from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.bags.reading import open_bag
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

text = Path('urdf/probe.urdf').read_text()
element = '<lift_bag volume="0.0005" rate="0.0002"/></robot>'
lifted = load_vehicle(text.replace('</robot>', element))
scenario = parse_scenario('''
duration: 4
initial: {position: [0, 0, -20]}
segments:
  - {at: 0.0, axes: {}}
  - {at: 1.0, axes: {}, lift_bag: {bag: 0.0003}}
''', 'rise')
run = simulate(lifted, scenario, dt=0.01)
volume = np.clip(2e-4 * (run.time - 1.0 + 0.01), 0, 3e-4)  # the compressor's rate
np.testing.assert_allclose(run.actuators['lift_bag'][:, 0], volume, atol=1e-12)
wrench = run.sources['lift_bag']
lift = 1000 * Environment().gravity * volume
np.testing.assert_allclose(np.linalg.norm(wrench[:, :3], axis=1), lift, rtol=1e-9)
still = simulate(lifted, parse_scenario('duration: 4\\ninitial: {position: [0, 0, -20]}\\n'
                                        'segments: [{at: 0, axes: {}}]', 'still'), dt=0.01)
assert run.z[-1] - still.z[-1] > 0.1
write_recording(Path('hoist'), lifted, RunOptions(vehicle='probe', dt=0.01), run)
with open_bag(Path('hoist/bag'), 'hoist') as bag:
    chosen = [c for c in bag.connections if c.topic.endswith('/lift_bag/state')]
    rows = [bag.deserialize(data, c.msgtype) for c, _, data in bag.messages(chosen)]
assert rows[-1].name == ['bag'] and rows[-1].position[0] == volume[-1]
"""

CHARTED = """
from marine_sim_ros.analysis.report.plotly_charts import ChartRun
from marine_sim_ros.analysis.report.sensors import actuator_charts
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.console.replay import Replay

record = read_bag('hoist').vehicles['probe']
found, = actuator_charts('v0', [ChartRun('hoist', record, 0, record.start)])
assert found['title'] == 'Lift bag' and found['note'] == 'Volume of a bag, m³.'
assert found['layout']['yaxis']['title']['text'] == 'bag [m³]', found['layout']['yaxis']
line, = found['data']
assert max(line['y']) == 3e-4
replay = Replay('hoist')
for time, text in ((0.5, '0 m³'), (4.0, '0.0003 m³')):
    part, = replay.telemetry_frame(time)['actuators']
    assert (part['label'], part['text']) == ('bag', text), part
assert [p['label'] for p in replay.scenery['look']['actuators']] == ['bag']
"""

COMPILED = """
from marine_sim_ros.engine.compiled import simulate_compiled

found, _ = simulate_compiled(lifted, scenario, dt=0.01)
np.testing.assert_allclose(found.z, run.z, atol=1e-9)
for name, states in run.actuators.items():
    np.testing.assert_allclose(found.actuators[name], states, atol=1e-12)
"""


def test_a_command_of_the_actuator_moves_the_vehicle_and_is_recorded_and_charted(copy):
    run(copy, sys.executable, '-c', LIFTED + CHARTED)


@pytest.mark.long
def test_the_compiled_engine_moves_the_actuator(copy):
    pytest.importorskip('jax')
    run(copy, sys.executable, '-c', LIFTED.replace("'hoist", "'again") + COMPILED)


RISE = """
duration: 1
initial: {position: [0, 0, -20]}
segments: [{at: 0.2, axes: {}, lift_bag: {bag: 0.0003}}]
"""


@pytest.mark.ros
def test_the_graph_with_the_actuator_is_the_simulation(copy, ros_environment, monkeypatch):
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, ros_environment[name])
    text = (copy / 'urdf/probe.urdf').read_text(encoding='utf-8')
    element = '<lift_bag rate="0.0002"/></robot>'
    (copy / 'lifted.urdf').write_text(text.replace('</robot>', element), encoding='utf-8')
    (copy / 'rise.yaml').write_text(RISE)
    play = ('lifted.urdf', '--scenario', 'rise.yaml', '--duration', '1', '--dt', '0.02')
    graph = ('--composed', '--real-time-factor', '0', '--record', 'graph')
    hashes = [
        re.search(r'trajectory_sha256 (\w+)', marine_sim(copy, verb, *play, *more))[1]
        for verb, more in (('simulate', ()), ('run', graph))
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.long
def test_the_vehicle_is_sound_and_dives(copy):
    (block,) = (b for b in blocks_of(PAGE) if 'run' in b.clauses)
    for line in block.text.splitlines():
        marine_sim(copy, *line.split()[1:])
