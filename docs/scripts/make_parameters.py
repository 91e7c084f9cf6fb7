# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes reference/parameters.md from the options of a run and the parameters of the nodes.

``.venv/bin/python docs/scripts/make_parameters.py``
"""

from __future__ import annotations

import argparse
import inspect
import pkgutil
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import yaml
from markdown_tables import cell, code, table

import marine_sim_ros.nodes
from marine_sim_ros.ros.base.node import COMMON
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.dynamics.state_node import STATE_PARAMETERS, StateNode
from marine_sim_ros.ros.launching.arguments import ARGUMENTS
from marine_sim_ros.sim.options import OPTIONS

PAGE = Path(__file__).resolve().parent.parent / 'reference' / 'parameters.md'
HEAD = """\
# Options and parameters

Every option of a run has one name, one default and one range, wherever you give it. This run of
a BlueROV2 in a current is started by either line:

<!-- test: needs ros; interrupt -->
```bash
marine_sim run bluerov2 --dt 0.01 --current 0.2 0 0
```

<!-- test: skip, a launch file runs until it is ended -->
```bash
ros2 launch marine_sim_ros sim.launch.py vehicle:=bluerov2 dt:=0.01 current:='0.2 0 0'
```

An option `real_time_factor` is `--real-time-factor 0` on the command line and
`real_time_factor:=0` in a launch file. `marine_sim run --help`,
`ros2 launch marine_sim_ros sim.launch.py --show-args` and
`ros2 param describe /bluerov2/dynamics dt` tell what this page tells.

`docs/scripts/make_parameters.py` writes this page from the declarations in the code.

## Names to choose from

`marine_sim list KIND` prints one line for each thing that comes with the package, with `--json`
as JSON. `marine_sim list --help` names the kinds.

Your shell completes commands, options and these names where argcomplete is installed
(`apt install python3-argcomplete`, or `pip install argcomplete`). Switch it on in `~/.bashrc`:

<!-- test: skip, it changes the shell -->
```bash
eval "$(register-python-argcomplete marine_sim)"
```

## Options of a run

The last column lists the commands of `marine_sim` that take the option, and launch files. On the
command line a switch such as `--markers` takes no value, and `--no-lockstep` turns off what is
on by default; `vehicle` stands without a name, except for `experiment`.
"""
NODES = """
## Parameters of every node

Parameters are read when a node starts; those marked as live can be set while it runs
(`ros2 param set`).
"""


def takers() -> dict[str, set[str]]:
    """Return the names of the options that each command and launch files take."""
    found = {}
    for command in ('run', 'simulate', 'experiment'):
        parser = argparse.ArgumentParser()
        import_module(f'marine_sim_ros.tools.{command}').add_arguments(parser)
        found[code(command)] = {action.dest for action in parser._actions}
    return {**found, 'launch': set(ARGUMENTS)}


def option_rows() -> Iterable[Sequence[str]]:
    """Yield the rows of the options."""
    names = takers()
    for name, option in OPTIONS.items():
        where = ', '.join(taker for taker, taken in names.items() if name in taken)
        yield (code(name), cell(option.text), code(option.default_text), cell(option.range), where)


def other_names() -> str:
    """Return what is told of further names on the command line."""
    told = []
    for option in OPTIONS.values():
        for name in option.flags:
            told.append(f'- `{name}` is short for `{option.flag}`.')
        for name in option.deprecated:
            instead = option.flag.replace('--', '--no-') if option.default else option.flag
            told.append(
                f'- `{name}` is deprecated and ends with the next release: use `{instead}`.'
            )
    return '\n' + '\n'.join(told) + '\n'


def parameter_row(parameter: NodeParameter) -> Sequence[str]:
    """Return the row of a parameter, its default as YAML."""
    default = yaml.safe_dump(parameter.default, default_flow_style=True, width=1000)
    return (
        code(parameter.name),
        cell(parameter.text),
        code(default.removesuffix('...\n').strip()),
        cell(parameter.range),
        'live' if parameter.live else '',
    )


def node_parameters() -> dict[str, Sequence[NodeParameter]]:
    """Return the parameters of every executable; those of state nodes together."""
    result: dict[str, Sequence[NodeParameter]] = {}
    state_nodes = []
    for found in pkgutil.iter_modules(marine_sim_ros.nodes.__path__):
        module = import_module(f'marine_sim_ros.nodes.{found.name}')
        own: Sequence[NodeParameter] = getattr(module, 'PARAMETERS', ())
        if any(issubclass(k, StateNode) for _, k in inspect.getmembers(module, inspect.isclass)):
            state_nodes.append(found.name)
            if not own:
                continue
        result[found.name] = own
    return {' and '.join(state_nodes): STATE_PARAMETERS, **result}


def page() -> str:
    """Return the page."""
    head = ('option', 'meaning, unit', 'default', 'range', 'where')
    parts = [HEAD, table(head, option_rows()), other_names()]
    head = ('parameter', 'meaning, unit', 'default', 'range', '')
    parts += [NODES, table(head, map(parameter_row, COMMON))]
    without = []
    for name, parameters in node_parameters().items():
        if parameters:
            rows = table(head, map(parameter_row, parameters))
            parts.append(f'## Parameters of {name}\n\n{rows}')
        elif name != 'composed':
            without.append(code(name))
    parts.append(
        f'These have the parameters of every node only: {", ".join(without)}. `composed` runs all '
        'nodes in one process and takes the options of the run as JSON.\n'
    )
    return '\n'.join(part.strip('\n') + '\n' for part in parts)


if __name__ == '__main__':
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding='utf-8')
