# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of wheels in reference/platforms.md.

``.venv/bin/python docs/scripts/make_wheels.py``, with ``uv`` on PATH (``pip install uv``). A cell
has the Pythons for which ``uv pip compile`` resolves the requirements of setup.cfg with wheels
alone, for that system. pip's own ``--platform`` evaluates markers for the machine it runs on.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from pathlib import Path

from markdown_tables import code, table
from marks import between

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'reference' / 'platforms.md'
SYSTEMS = {
    'Linux x86-64': 'x86_64-unknown-linux-gnu',
    'Linux arm64': 'aarch64-unknown-linux-gnu',
    'macOS arm64': 'aarch64-apple-darwin',
    'Windows x86-64': 'x86_64-pc-windows-msvc',
}
PYTHONS = ('3.10', '3.11', '3.12', '3.13', '3.14')
SOURCE = 'urdf-parser-py'
"""The one requirement that PyPI has as source alone; it is pure Python."""
NO_EXTRAS = ('all', 'test', 'ros')
"""Sum of the others, pytest, and ROS, whose wheels are not on PyPI (requirements/ros-*.txt)."""


def read_requirements() -> dict[str, list[str]]:
    """Requirements by extra, each with those of the base, which is first and named ``''``."""
    config = ConfigParser()
    config.read(ROOT / 'setup.cfg', encoding='utf-8')
    base = config['options']['install_requires'].split()
    extras = config['options.extras_require']
    return {'': base} | {
        name: base + extras[name].split() for name in extras if name not in NO_EXTRAS
    }


def resolves(requirements: Sequence[str], platform: str, python: str) -> bool:
    """Whether wheels of all requirements and of their dependencies exist.

    Raises:
        SystemExit: uv failed for another reason.
    """
    command = ['uv', 'pip', 'compile', '-', '--quiet', '--python-platform', platform]
    command += ['--python-version', python, '--only-binary', ':all:', '--no-binary', SOURCE]
    done = subprocess.run(
        command, input='\n'.join(requirements), text=True, capture_output=True, check=False
    )
    if done.returncode and 'No solution found' not in done.stderr:
        raise SystemExit(f'uv: {done.stderr.strip()}')
    return done.returncode == 0


def python_range(resolved: Sequence[bool]) -> str:
    """Text of the Pythons for which the requirements resolve."""
    names = [name for name, one in zip(PYTHONS, resolved, strict=True) if one]
    if not names:
        return 'none'
    gaps = PYTHONS.index(names[-1]) - PYTHONS.index(names[0]) + 1 != len(names)
    return ', '.join(names) if gaps or len(names) == 1 else f'{names[0]} to {names[-1]}'


def main() -> None:
    """Resolve each extra for each system and Python, and write the table."""
    rows = []
    with ThreadPoolExecutor(4) as pool:
        for name, requirements in read_requirements().items():
            pending = [
                [pool.submit(resolves, requirements, system, python) for python in PYTHONS]
                for system in SYSTEMS.values()
            ]
            cells = [python_range([one.result() for one in system]) for system in pending]
            rows.append((code(name) or '(none)', *cells))
            print(*rows[-1], sep=' | ', flush=True)
    text = table(('extra', *SYSTEMS), rows).rstrip()
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(between(page, 'wheels', text), encoding='utf-8')


if __name__ == '__main__':
    main()
