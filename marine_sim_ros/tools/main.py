# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK

"""The ``marine_sim`` command: parses and dispatches."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from marine_sim_ros import __version__
from marine_sim_ros.core.errors import MarineSimError, RunError
from marine_sim_ros.tools.completion import complete, wanted

__all__ = ['main']

VERBS = ('run', 'simulate', 'sweep', 'console', 'teleop', 'experiment', 'doctor', 'validate',
         'analyze', 'identify', 'export-sdf', 'bench', 'list')  # fmt: skip
"""Each is a module of this package."""


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the verb that is asked for, or of all: some take a second to import."""
    result = argparse.ArgumentParser(
        prog='marine_sim', description='Underwater vehicles for ROS 2, in lockstep.'
    )
    result.add_argument('--version', action='version', version=f'marine_sim {__version__}')
    verbs = result.add_subparsers(dest='verb', metavar='VERB', required=True)
    asked = [name for name in VERBS if name in arguments[:1]]
    for name in asked or VERBS:
        module = import_module(f'marine_sim_ros.tools.{name.replace("-", "_")}')
        text = (module.__doc__ or '').strip().splitlines()[0]
        verb = verbs.add_parser(name, help=text, description=text)
        module.add_arguments(verb)
        verb.set_defaults(execute=module.execute)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit codes: 0 done, 1 the run or check failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else arguments
    if wanted():
        complete(parser)
    try:
        options = parser(given).parse_args(given)
        code = options.execute(options)
    except MarineSimError as error:
        print(f'ERROR: {error}', file=sys.stderr)
        code = 1 if isinstance(error, RunError) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


if __name__ == '__main__':
    main()
