# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Measures an environment, and writes the table of environments in reference/platforms.md.

With the Python of each environment, then once for all; distances are those from the first:

    python docs/scripts/make_environments.py measure out/jazzy.json --tests graph others
    python docs/scripts/make_environments.py write out/jazzy.json out/kilted.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'reference' / 'platforms.md'
QUICK = 'not weekly and not long'
VARYING = (
    'bag_series bag_storage compiled_graph console console_replay dds_profile declared_tables '
    'determinism distributions doc_blocks doctor engine engine_control engine_reuse engine_rows '
    'error_lines extras figures fork graph gym options output packaging posix project_files '
    'scenario shared_memory sweep terminal_line xacro'
)
"""Tests of what other versions can change, by file."""
NODES = 'dds_profile determinism distributions fork graph launch_failures shared_memory'
"""Tests of processes and middleware, by file."""
SELECTIONS = {
    'graph': ['-m', f'ros and {QUICK}'],
    'others': ['-m', f'not ros and {QUICK}'],
    'varying': [*(f'test/test_{name}.py' for name in VARYING.split()), '-m', QUICK],
    'nodes': [*(f'test/test_{name}.py' for name in NODES.split()), '-m', QUICK],
    'versions': ['-m', f'versions and {QUICK}'],
}
PACKAGES = ('numpy', 'scipy', 'jax', 'ros-jazzy-rclpy', 'ros-kilted-rclpy')
DIVE = ('bluerov2', '--scenario', 'dive', '--record')
FULL_SPEED = ('--real-time-factor', '0')
RUNS = {
    'simulate': ('simulate', *DIVE),
    'composed': ('run', '--composed', *FULL_SPEED, *DIVE),
    'separate': ('run', *FULL_SPEED, *DIVE),
    'compiled': ('simulate', '--engine', 'jax', *DIVE),
}
"""Ways to run the dive; the folder of the recording follows."""
HEAD = (
    'system, processor',
    'Python',
    'NumPy',
    'JAX',
    'ROS',
    '`simulate`',
    '`run --composed`',
    '`run`',
    '`--engine jax`',
    'distance, m',
    'tests passed, failed, skipped',
)


def versions() -> dict[str, str]:
    """Versions of the packages that are there."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def system_name() -> str:
    """Name of the system, as os-release gives it."""
    lines = Path('/etc/os-release').read_text(encoding='utf-8').splitlines()
    names = dict(line.partition('=')[::2] for line in lines)
    return names.get('PRETTY_NAME', '').strip('"').removesuffix(f' ({_codename(names)})')


def _codename(names: Mapping[str, str]) -> str:
    return names.get('VERSION_CODENAME', '').strip('"')


def dive_hashes(runs: Iterable[str]) -> dict[str, str]:
    """Trajectory hash of the dive by the way it is run; the error where one fails."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in runs:
            target = Path(folder, name)
            command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *RUNS[name], str(target)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                found[name] = f'exit code {done.returncode}: {done.stderr.strip()[-300:]}'
            else:
                manifest = json.loads((target / 'manifest.json').read_text(encoding='utf-8'))
                found[name] = manifest['trajectory_sha256']
            print(f'{name}: {found[name]}', flush=True)
    return found


def dive_positions() -> list[list[float]]:
    """Positions (n, 3) of each tenth of a second of the dive, m."""
    from marine_sim_ros import load_scenario, load_vehicle, simulate

    trajectory = simulate(load_vehicle('bluerov2'), load_scenario('dive'))
    return np.asarray(trajectory.position)[::20].tolist()


def test_counts(selection: str) -> dict[str, Any]:
    """Numbers of tests of a selection by result, and the names of those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, 'report.xml')
        command = [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '-W', 'ignore']
        command += ['--dist', 'loadgroup', '--numprocesses', '2']
        start = time.monotonic()
        command += [f'--junitxml={report}', *SELECTIONS[selection]]
        subprocess.run(command, cwd=ROOT, check=False)
        if not report.exists():
            raise SystemExit(f'{selection}: pytest wrote no report; see above')
        suite = next(ElementTree.parse(report).getroot().iter('testsuite'))
    failed = [
        f'{case.get("classname")}::{case.get("name")}'
        for case in suite.iter('testcase')
        if case.find('failure') is not None or case.find('error') is not None
    ]
    total, skipped = int(suite.get('tests', 0)), int(suite.get('skipped', 0))
    return {
        'passed': total - skipped - len(failed),
        'failed': failed,
        'skipped': skipped,
        'seconds': round(time.monotonic() - start),
    }


def measure(options: argparse.Namespace) -> None:
    """Measure this environment into a file; tests of a second call are added to it."""
    options.file.parent.mkdir(parents=True, exist_ok=True)
    found = versions()
    result: dict[str, Any] = {}
    if options.file.exists():
        result = json.loads(options.file.read_text(encoding='utf-8'))
        if result['versions'] != found or result['python'] != platform.python_version():
            raise SystemExit(f'{options.file} is of another environment; expected a new file')
    else:
        ros = any(name.startswith('ros-') for name in found)
        runs = ['simulate', *(['composed', 'separate'] if ros else [])]
        result = {
            'system': system_name(),
            'processor': options.processor or platform.machine().replace('x86_64', 'x86-64'),
            'python': platform.python_version(),
            'versions': found,
            'hashes': dive_hashes(runs + (['compiled'] if 'jax' in found else [])),
            'positions': dive_positions(),
            'tests': {},
        }
        options.file.write_text(json.dumps(result), encoding='utf-8')
    for selection in options.tests:
        result['tests'][selection] = test_counts(selection)
        options.file.write_text(json.dumps(result), encoding='utf-8')


def row(found: Mapping[str, Any], reference: Mapping[str, Any]) -> Sequence[str]:
    """Cells of an environment below :data:`HEAD`."""
    packages = found['versions']
    ros = next((name for name in packages if name.startswith('ros-')), '')
    apart = np.subtract(found['positions'], reference['positions'])
    distance = float(np.linalg.norm(apart, axis=1).max())
    tests = [
        f'{name} {counts["passed"]}, {len(counts["failed"])}, {counts["skipped"]}'
        for name, counts in found['tests'].items()
    ]
    return (
        f'{found["system"]}, {found["processor"]}',
        found['python'],
        packages['numpy'],
        packages.get('jax', ''),
        f'{ros.split("-")[1].capitalize()}, rclpy {packages[ros]}' if ros else '',
        *(shown_hash(found['hashes'].get(name, '')) for name in RUNS),
        f'{distance:.1e}' if distance else '0',
        '; '.join(tests),
    )


def shown_hash(text: str) -> str:
    """First digits of a hash; an error as it is."""
    return f'`{text[:8]}`' if len(text) == 64 else text


def write(options: argparse.Namespace) -> None:
    """Write the table of measured environments."""
    from markdown_tables import table
    from marks import between

    found = [json.loads(file.read_text(encoding='utf-8')) for file in options.files]
    text = table(HEAD, [row(one, found[0]) for one in found]).rstrip()
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(between(page, 'environments', text), encoding='utf-8')
    print(text)


def main() -> None:
    """Measure an environment, or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    verbs = parser.add_subparsers(required=True)
    measuring = verbs.add_parser('measure')
    measuring.add_argument('file', type=Path)
    measuring.add_argument('--tests', choices=SELECTIONS, nargs='*', default=[])
    measuring.add_argument('--processor', default='', help='default: its architecture')
    measuring.set_defaults(act=measure)
    writing = verbs.add_parser('write')
    writing.add_argument('files', type=Path, nargs='+')
    writing.set_defaults(act=write)
    options = parser.parse_args()
    os.chdir(ROOT)
    options.act(options)


if __name__ == '__main__':
    main()
