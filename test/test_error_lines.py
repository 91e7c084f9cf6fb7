# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What ends a verb is said in one line, and by the exit code."""

import pytest

from marine_sim_ros.core.errors import ParameterError, RecordingError, RunError
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
