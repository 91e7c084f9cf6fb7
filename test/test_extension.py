# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A package of others, examples/net_drag: its force, sensor and vehicle, everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, has
from graph import manifest, numbers, recorded

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.physics.force import ForceInputs, guarded_force
from marine_sim_ros.sim.scenario import load_scenario

EXAMPLE = ROOT / 'examples' / 'net_drag'


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """The folder that pip has installed the package into."""
    folder = tmp_path_factory.mktemp('site')
    source = tmp_path_factory.mktemp('source') / 'net_drag'
    subprocess.run(['cp', '-r', EXAMPLE, source], check=True)
    command = [
        sys.executable,
        '-m',
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--no-build-isolation',
        '--target',
        folder,
        source,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def environment(installed, monkeypatch):
    path = [str(installed), str(ROOT), os.environ.get('PYTHONPATH', '')]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(filter(None, path)))
    return dict(os.environ)


def python(code, environment):
    command = [sys.executable, '-c', code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done


def marine_sim(*arguments, environment, codes=(0,)):
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode in codes, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_its_entries_are_listed_and_its_vehicle_is_sound(environment):
    for kind, name in (('forces', 'net'), ('sensors', 'speed_log'), ('vehicles', 'net_rov')):
        assert name in json.loads(
            marine_sim('list', kind, '--json', environment=environment).stdout
        )
    found = json.loads(marine_sim('doctor', 'net_rov', '--json', environment=environment).stdout)
    assert not [f for f in found['findings'] if f['severity'] != 'hint']


def test_the_net_follows_its_closed_form(environment):
    """From rest with a constant velocity u the net's velocity is u (1 − (1 + h/τ)⁻ⁿ)."""
    python(
        """
import numpy as np
from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.physics import FORCES, ForceInputs, acting_forces
vehicle, water, force = load_vehicle('net_rov'), Environment(), FORCES['net']
state = state_at_rest()._replace(velocity=np.array([0.8, 0, 0, 0, 0, 0]))
memory, inputs = force.begin(vehicle, state), ForceInputs.idle(vehicle, state)
for n in range(1, 101):
    wrench, memory = force.step(vehicle, state, water, inputs, memory, dt=0.01)
    speed = 0.8 * (1 - (1 + 0.01 / 0.6) ** -n)
    np.testing.assert_allclose(memory, [speed, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(wrench[0], -0.5 * 1000 * 1.2 * 0.06 * speed**2, rtol=1e-12)
assert [f.name for f in acting_forces(vehicle, water)][-1] == 'net'
assert 'net' not in [f.name for f in acting_forces(load_vehicle('bluerov2'), water)]
""",
        environment,
    )


def test_engines_agree(environment):
    if not has('jax'):
        pytest.skip('jax: not installed (extra batch)')
    python(
        """
import numpy as np
from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.engine.compiled import simulate_compiled
vehicle, dive = load_vehicle('net_rov'), load_scenario('dive')
one = simulate(vehicle, dive, duration=10.0)
two, _ = simulate_compiled(vehicle, dive, duration=10.0)
assert np.abs(one.sources['net']).max() > 0.1
np.testing.assert_allclose(two.position, one.position, atol=1e-9)
np.testing.assert_allclose(two.sources['net'], one.sources['net'], atol=1e-8)
log = [t.sensors['speed_log']['velocity'] for t in (one, two)]
np.testing.assert_allclose(log[1], log[0], atol=1e-9)
np.testing.assert_allclose(np.std(log[0][:, 1]), 0.02, rtol=0.05)
""",
        environment,
    )


@pytest.mark.ros
def test_it_takes_part_in_graph_bag_analysis_and_console(environment, ros_environment, tmp_path):
    environment = {
        **environment,
        **{k: ros_environment[k] for k in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')},
    }
    given = ('net_rov', '--scenario', 'dive', '--duration', 3, '--record')
    marine_sim('simulate', *given, tmp_path / 'direct', environment=environment, codes=(0, 1))
    for kind, more in (('separate', ()), ('composed', ('--composed',))):
        marine_sim(
            'run',
            *given,
            tmp_path / kind,
            '--real-time-factor',
            0,
            *more,
            environment=environment,
            codes=(0, 1),
        )
    bags = {kind: recorded(tmp_path / kind) for kind in ('direct', 'separate', 'composed')}
    hashes = {manifest(tmp_path / kind)['trajectory_sha256'] for kind in bags}
    assert len(hashes) == 1
    for topics in bags.values():
        assert len(topics['wrench/net']) == len(topics['speed_log/velocity']) == 601
        for stamp, message in topics['wrench/net'].items():
            assert np.array_equal(numbers(message), numbers(bags['direct']['wrench/net'][stamp]))
        for stamp, message in topics['speed_log/velocity'].items():
            same = bags['direct']['speed_log/velocity'][stamp].vector
            assert (message.vector.x, message.vector.y) == (same.x, same.y)
    report = tmp_path / 'report'
    marine_sim('analyze', tmp_path / 'separate', '-o', report, environment=environment)
    page = next(Path(report).rglob('*.html')).read_text(encoding='utf-8')
    assert '"net' in page or '>net' in page
    python(
        """
from marine_sim_ros.console.telemetry import force_colours
assert force_colours()['net'] == (0x3d / 255, 0x7a / 255, 0x5a / 255)
""",
        environment,
    )


def with_force(environment, folder, module):
    """Let a package with a force be found, whose module has some text."""
    package = folder / 'broken-1.0.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text('Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n')
    (package / 'entry_points.txt').write_text('[marine_sim_ros.forces]\ngale = windy:WIND\n')
    (folder / 'windy.py').write_text(module)
    environment['PYTHONPATH'] += os.pathsep + str(folder)


@pytest.mark.parametrize(
    ('module', 'reason'),
    [
        ('import nowhere', 'ModuleNotFoundError: '),
        ('raise SystemExit(0)', 'SystemExit: 0'),
        ('raise GeneratorExit', 'GeneratorExit: '),
        ('WIND = 5', 'is of type int; expected ForceModel'),
        ('WIND = None', 'is of type NoneType; expected ForceModel'),
    ],
)
def test_a_broken_entry_is_reported_and_left_out(environment, tmp_path, module, reason):
    with_force(environment, tmp_path, module)
    done = python(
        "from marine_sim_ros.physics import FORCES as f; assert 'net' in f and 'gale' not in f",
        environment,
    )
    assert f"entry 'gale' of broken is left out: {reason}" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('place', ["'/nowhere/at/all'", '__file__', "__import__('json')"])
def test_a_folder_of_vehicles_that_is_not_there_is_reported(environment, tmp_path, place):
    """A path of nothing and of a file; a package is a folder, be it without vehicles."""
    with_force(environment, tmp_path, f'FOLDER = {place}')
    entries = tmp_path / 'broken-1.0.dist-info' / 'entry_points.txt'
    entries.write_text('[marine_sim_ros.vehicles]\ngale = windy:FOLDER\n')
    done = python(
        'from marine_sim_ros.model.library import vehicle_names; '
        "assert 'bluerov2' in vehicle_names()",
        environment,
    )
    told = "vehicles: entry 'gale' of broken is left out: "
    assert (told in done.stderr and 'is no folder' in done.stderr) == ('json' not in place)


def test_an_interrupted_import_computes_nothing_and_says_so(environment, tmp_path):
    with_force(environment, tmp_path, 'raise KeyboardInterrupt')
    done = subprocess.run(
        [sys.executable, '-m', 'marine_sim_ros.tools.main', 'simulate', 'simple_rov', '--scenario',
         'dive', '--duration', '0.01'],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "entry 'gale' of broken: its import was interrupted" in done.stderr
    assert done.stderr.count('\n') == 1


FORCE = """
import numpy as np
from marine_sim_ros.physics import ForceModel

def step(vehicle, state, environment, inputs, memory, /, *, dt):
    ticks = memory or 0
    if ticks < 5:
        return np.zeros(6), ticks + 1
    {failure}

WIND = ForceModel('gale', step, label='Wind')
"""


@pytest.mark.parametrize(
    ('failure', 'reason'),
    [
        ("raise ValueError('first\\n\\nsecond')", 'step failed: ValueError: first second;'),
        ('raise SystemExit(0)', 'step failed: SystemExit: 0;'),
        ('return 1 / 0', 'step failed: ZeroDivisionError: division by zero;'),
        ('return None', 'step returned NoneType; expected (wrench, memory)'),
        ('return np.zeros(3), ticks', 'a wrench of shape (3,); expected (6,), N and N·m'),
        ('return np.zeros((2, 6)), ticks', 'a wrench of shape (2, 6); expected (6,), N and N·m'),
        ("return 'drag', ticks", 'a wrench of type str; expected (6,), N and N·m'),
        ('return np.full(6, np.nan), ticks', 'nan nan nan nan nan nan]; expected finite numbers'),
    ],
)
def test_a_force_that_fails_is_an_error_with_its_name(failure, reason):
    names = {}
    exec(FORCE.format(failure=failure), names)
    force = guarded_force(names['WIND'], "forces: entry 'gale' of broken")
    vehicle, still = load_vehicle('simple_rov'), load_scenario('dive').initial_state()
    inputs = ForceInputs.idle(vehicle, still)
    wrench, memory = force.step(vehicle, still, Environment(), inputs, 4, dt=0.005)
    assert np.array_equal(wrench, np.zeros(6))
    with pytest.raises(RunError) as failed:
        force.step(vehicle, still, Environment(), inputs, memory, dt=0.005)
    assert str(failed.value).startswith("forces: entry 'gale' of broken: step ")
    assert reason in str(failed.value)
    assert '\n' not in str(failed.value)


@pytest.mark.ros
def test_a_force_that_fails_ends_the_run_of_its_node(environment, tmp_path, ros_environment):
    environment |= {
        k: ros_environment[k] for k in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    }
    with_force(environment, tmp_path, FORCE.format(failure="raise ValueError('no wind')"))
    done = marine_sim(
        'run', 'simple_rov', '--scenario', 'dive', '--duration', 1, '--real-time-factor', 0,
        '--composed', environment=environment, codes=(1,),
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert "entry 'gale' of broken: step failed: ValueError: no wind" in said
    assert 'Traceback' not in said


def test_a_force_that_fails_ends_a_simulation_with_one_line(environment, tmp_path):
    with_force(environment, tmp_path, FORCE.format(failure='raise SystemExit(0)'))
    given = ('simulate', 'simple_rov', '--scenario', 'dive', '--duration', 0.1)
    done = marine_sim(*given, environment=environment, codes=(1,))
    start = "ERROR: marine_sim_ros.forces: entry 'gale' of broken: step failed: SystemExit: 0;"
    assert done.stderr.startswith(start)
    assert done.stderr.count('\n') == 1
