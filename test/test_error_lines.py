# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What ends a verb is said in one line, and by the exit code."""

import errno
import types

import numpy as np
import psutil
import pytest
from conftest import marine_sim

from marine_sim_ros.analysis.report.plotly_charts import decimate_min_max
from marine_sim_ros.core.errors import (
    ParameterError,
    RecordingError,
    RunError,
    exit_code,
    no_such_name,
)
from marine_sim_ros.core.state import ticks_of
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.step import TICK_BYTES
from marine_sim_ros.tools import identify, simulate
from marine_sim_ros.tools import list as list_verb
from marine_sim_ros.tools.main import main


def ended(monkeypatch, capsys, error, module=list_verb, arguments=('list', 'vehicles')):
    """Return exit code and lines of a verb that ends with an error."""

    def execute(options):
        raise error

    monkeypatch.setattr(module, 'execute', execute)
    with pytest.raises(SystemExit) as done:
        main(list(arguments))
    return done.value.code, capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ('error', 'code', 'line'),
    [
        (ParameterError('a\nb'), 2, 'ERROR: a b'),
        (RecordingError('bag: cannot be read:\n\n'), 2, 'ERROR: bag: cannot be read:'),
        (RecordingError(''), 2, 'ERROR: RecordingError'),
        (RunError('\n'), 1, 'ERROR: RunError'),
        (OSError(28, 'No space left on device', 'out/x'), 1,
         'ERROR: out/x: No space left on device'),
        (OSError(), 1, 'ERROR: OSError'),
        (MemoryError('Unable to allocate 800 GiB'), 1, 'ERROR: Unable to allocate 800 GiB'),
        (MemoryError(), 1, 'ERROR: MemoryError'),
    ],
)  # fmt: skip
def test_an_error_is_one_line_that_is_not_empty(monkeypatch, capsys, error, code, line):
    monkeypatch.setattr('marine_sim_ros.tools.main.discard_output', lambda: None)
    assert ended(monkeypatch, capsys, error) == (code, [line])


@pytest.mark.parametrize(
    ('module', 'arguments', 'kept'),
    [
        (simulate, ('simulate', 'simple_rov'), 'nothing was kept'),
        (identify, ('identify', 'bag'), 'its result is not complete'),
    ],
)
def test_ctrl_c_is_not_done(monkeypatch, capsys, module, arguments, kept):
    code, lines = ended(monkeypatch, capsys, KeyboardInterrupt(), module, arguments)
    assert (code, lines) == (130, [f'ERROR: {arguments[0]}: interrupted; {kept}'])


def unwritten(number):
    """Return what a verb raises of a file that the system refuses to write."""
    try:
        try:
            raise OSError(number, 'reason')
        except OSError as error:
            raise RecordingError(f'out/x: cannot be written: {error.strerror}') from None
    except RecordingError as error:
        return error


@pytest.mark.parametrize(
    ('number', 'code'),
    [(errno.ENOSPC, 1), (errno.EDQUOT, 1), (errno.EIO, 1), (errno.EACCES, 2), (errno.ENOENT, 2)],
)
def test_a_disk_that_fails_is_no_bad_input(number, code):
    assert exit_code(unwritten(number)) == code


@pytest.mark.parametrize('count', [1, 2999, 3001, 100_000])
def test_thinned_curves_keep_their_peaks(count):
    values = np.sin(np.arange(count) / 50.0)
    values[count // 3], values[count // 2] = 7.0, -7.0
    values[count // 4] = np.nan if count > 3000 else values[count // 4]
    shown = decimate_min_max(values, 3000)
    assert len(shown) <= 3001
    assert shown[-1] == count - 1
    assert np.all(np.diff(shown) > 0)
    assert np.nanmax(values[shown]) == np.nanmax(values)
    assert np.nanmin(values[shown]) == np.nanmin(values)


@pytest.mark.parametrize('share', [1.5, 0.5])
def test_a_duration_that_needs_the_memory_is_refused_or_warned_of(monkeypatch, capsys, share):
    ticks = 200 * 36000 + 1
    available = ticks * TICK_BYTES * share
    memory = types.SimpleNamespace(available=available)
    monkeypatch.setattr(psutil, 'virtual_memory', lambda: memory)
    settings = RunOptions(engine='jax')
    if share > 1:
        simulate._check_room(settings, 36000.0)
        assert capsys.readouterr().err.startswith('WARNING: simulate: 7.2e+06 ticks need about')
        simulate._check_room(settings, 3600.0)
        assert capsys.readouterr().err == ''
    else:
        with pytest.raises(ParameterError, match='GB are free; expected a shorter --duration'):
            simulate._check_room(settings, 36000.0)


@pytest.mark.parametrize('step', [0.004, 0.03, 0.5])
def test_a_duration_shorter_than_a_step_is_an_error(step):
    for duration in (1e-3, 0.25 * step, 0.999 * step):
        words = 'simulate', 'simple_rov', '--scenario', 'dive', '--dt', step
        code, said = marine_sim(*words, '--duration', duration)
        assert code == 2
        *before, line = said.splitlines()
        assert f'shorter than one step; expected at least {step:g} s' in line
        assert all(told.startswith('WARNING: dt is') for told in before)
    # A step fits in itself once, and in a duration as often as it fits: both ends count.
    assert [ticks_of(step, step), ticks_of(2.5 * step, step)] == [2, 3]


def test_a_path_is_compared_with_files_of_its_kind_and_then_with_shipped_names(tmp_path):
    for name in ('dives.yaml', 'dive.txt', 'harbour.yml'):
        (tmp_path / name).touch()
    (tmp_path / 'urdf').mkdir()

    def reason(word, suffixes=('.yaml', '.yml')):
        return no_such_name('scenario', word, ['dive', 'urdfs'], tmp_path / word, suffixes)

    listed = ' expected a path or a name of `marine_sim list scenarios`'
    assert reason('./dvies.yaml').endswith(
        f'is no file; did you mean {tmp_path}/dives.yaml?{listed}'
    )
    assert reason('dove.yaml').endswith(f'is no file; did you mean {tmp_path}/dives.yaml?{listed}')
    assert reason('./dvie.txt').endswith(f'is no file; did you mean {tmp_path}/dive.txt?{listed}')
    assert reason('dvie').endswith(f"a shipped scenario; did you mean 'dive'?{listed}")
    # A folder is not proposed for a file, nor one file for another of the same suffix alone.
    assert reason('./foo.yaml') == f"scenario './foo.yaml' is no file;{listed}"
    assert reason('./urd.urdf', ('.urdf',)).endswith(f"is no file; did you mean 'urdfs'?{listed}")
    assert reason('urdf').startswith("scenario 'urdf' is neither a file nor")


@pytest.mark.parametrize(
    ('arguments', 'told'),
    [
        (['sweep', 'dive', '--workers', '0'], "--workers: '0'; expected 1 to 1024"),
        (['sweep', 'dive', '--workers', '1.5'], "--workers: '1.5'; expected 1 to 1024"),
        (['dataset', 'wreck', '--frames', '0'], "--frames: '0'; expected 1 to"),
        (['identify', 'b', '--current', '0', 'nan', '0'], "--current: 'nan'; expected -100"),
        (['identify', 'b', '--voltage', '0'], "--voltage: '0'; expected 0.1 to"),
        (['import', 'f', '--max-thrust', '0'], "--max-thrust: '0'; expected 0.001 to"),
        (['analyze', 'b', '--area', '0,0', '1,1'], 'has 2 corners and 0 m²; expected three'),
        (['analyze', 'b', '--area', '0,0', '1,1', '3,3'], 'has 3 corners and 0 m²; expected'),
        (['export-map', 'shallow_sand', '-o', '{}', '--area', '2', '1', '0', '1'],
         'x from 2 to 1 m and y from 0 to 1 m; expected XMIN below XMAX'),
    ],
)  # fmt: skip
def test_a_number_without_a_meaning_is_not_taken_for_none(tmp_path, capsys, arguments, told):
    with pytest.raises(SystemExit) as done:
        main([text.format(tmp_path / 'new') for text in arguments])
    assert done.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / 'new').exists()


FALLS, RUNS_AWAY = 'it displaces no water, so it falls', 'nothing damps its surge, sway, heave'


@pytest.mark.parametrize(
    ('tags', 'told'),
    [
        ('', [FALLS, RUNS_AWAY]),
        ('<hydrodynamics><quadratic_damping>9 9 9 1 1 1</quadratic_damping></hydrodynamics>',
         [FALLS]),
        ('<buoyancy><volume>0.02</volume></buoyancy>', [RUNS_AWAY]),
        ('<buoyancy><volume>0.02</volume></buoyancy><hydrodynamics><linear_damping>0 5 5 0 0 0'
         '</linear_damping></hydrodynamics>', ['nothing damps its surge, so']),
        ('<buoyancy><volume>0.02</volume></buoyancy><hydrodynamics><linear_damping>5 5 5 0 0 0'
         '</linear_damping></hydrodynamics>', []),
    ],
)  # fmt: skip
def test_a_run_warns_of_a_vehicle_that_is_no_body_in_water(tmp_path, capsys, tags, told):
    body = tmp_path / 'body.urdf'
    body.write_text(
        '<robot name="body"><link name="b"><inertial><mass value="20"/><inertia ixx="1" ixy="0" '
        f'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>{tags}</robot>'
    )
    scenario = tmp_path / 'rest.yaml'
    scenario.write_text('duration: 0.05\nsegments:\n- {at: 0, pwm: []}\n')
    with pytest.raises(SystemExit) as done:
        main(['simulate', str(body), '--scenario', str(scenario)])
    assert not done.value.code
    lines = [line for line in capsys.readouterr().err.splitlines() if 'WARNING: body' in line]
    assert len(lines) == len(told)
    assert all(text in line for text, line in zip(told, lines, strict=True))
