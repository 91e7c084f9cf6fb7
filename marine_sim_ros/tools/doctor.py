# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Find mistakes in a vehicle's description before anything runs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from marine_sim_ros.core.errors import escape_controls
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.core.text import open_terminal
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import Diagnostic, Severity, load_context
from marine_sim_ros.doctor.hydrodynamics import step_line
from marine_sim_ros.doctor.repairs import apply_edits
from marine_sim_ros.doctor.units import is_oversized
from marine_sim_ros.doctor.verdict import judge_motion
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.tools.command_line import check_writable, write_file
from marine_sim_ros.tools.options import add_option, parse_set_options

__all__ = ['add_arguments', 'execute']

_STYLES = {Severity.ERROR: 'bold red', Severity.WARNING: 'yellow', Severity.HINT: 'cyan'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument('vehicle', metavar='URDF', help='shipped name, or a URDF or xacro file')
    add_option(parser, 'vehicle_arguments')
    add_option(parser, 'environment', empty='calm water')
    add_option(parser, 'integrator')
    parser.add_argument('--json', action='store_true', help='print the findings as JSON')
    parser.add_argument(
        '--fix',
        default='',
        metavar='OUT',
        help='write a copy in which every finding with a single right answer is fixed',
    )


def _as_json(vehicle: str, findings: Sequence[Diagnostic]) -> str:
    rows = [
        {
            'severity': f.severity.value,
            'check': f.check,
            'message': f.message,
            'file': f.place.file,
            'line': f.place.line or None,
            'element': f.place.element,
            'advice': f.advice,
            'fix': f.edit.description if f.edit else None,
        }
        for f in findings
    ]
    return json.dumps({'vehicle': vehicle, 'findings': rows}, indent=2, ensure_ascii=False)


def _print(findings: Sequence[Diagnostic]) -> None:
    console = open_terminal(soft_wrap=True, highlight=False)
    for f in findings:
        label = Text(f'{f.severity.value}: ', style=_STYLES[f.severity])
        text = escape_controls(f'{f.place}: {f.message} [{f.check}]')
        console.print(label.append(text, style='default'))
        console.print(Text(escape_controls(f'    {f.advice}'), style='dim'))
    counts = Counter(f.severity for f in findings)
    names = [f'{counts[s]} {s.value}{"" if counts[s] == 1 else "s"}' for s in Severity]
    console.print(', '.join(names))


def execute(options: argparse.Namespace) -> int:
    """Examine it; 1 where there is an error, 0 for warnings and hints alone."""
    if options.fix:
        check_writable(Path(options.fix), '--fix', source=expand_home(options.vehicle))
    water = run_environment(options.environment)
    arguments = parse_set_options(options.vehicle_arguments)
    context = load_context(options.vehicle, arguments, options.integrator)
    findings = examine(context)
    told: list[str] = []
    if options.fix:
        content, told = apply_edits(context, findings)
        write_file(Path(options.fix), content, '--fix')
    if options.json:
        print(_as_json(str(context.path), findings))
    else:
        if context.loaded is not None and not is_oversized(context):
            print(*judge_motion(context.loaded).lines, sep='\n')  # doubts are findings
            print(step_line(context.loaded, water, options.integrator))
        _print(findings)
        for text in told:
            print(f'fixed in {options.fix}: {text}')
    return 1 if any(f.severity is Severity.ERROR for f in findings) else 0
