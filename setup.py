# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""What setup.cfg cannot say: where pip and colcon (ament_python) put files and executables.

pip installs the resource folders into the package, and the one command ``marine_sim``; colcon
installs them below ``share/marine_sim_ros``, and each node as ``lib/marine_sim_ros/<node>``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

NAME = 'marine_sim_ros'
URL = f'https://github.com/marine-sim-ros/{NAME}'
PIP = 'setuptools.build_meta' in sys.modules
"""The build backend that pip and `python -m build` call (PEP 517); colcon runs this file."""
FOLDERS = ('launch', 'config', 'urdf', 'worlds')
NODES = sorted(p.stem for p in Path(NAME, 'nodes').glob('[a-z]*.py'))


def make_meshes() -> None:
    """Write the meshes of worlds/, which are not committed; end the build where that fails."""
    maker = Path('docs/scripts/make_worlds.py')
    if Path('worlds/meshes').is_dir() or not maker.is_file():
        return
    done = subprocess.run(
        [sys.executable, str(maker)],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(['.', *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ['?'])[-1]
        sys.stderr.write(  # colcon, which first asks for the metadata, drops a text of sys.exit
            f'ERROR: worlds/meshes cannot be made: {reason}; expected NumPy, lxml and PyYAML for '
            f'{sys.executable} '
            '(rosdep install --from-paths src, or pip install numpy lxml pyyaml)\n'
        )
        sys.exit(1)


def resources() -> dict[str, list[str]]:
    """Return the files of each folder below the resource folders."""
    found: dict[str, list[str]] = {}
    make_meshes()
    for top in FOLDERS:
        for path in sorted(p for p in Path(top).rglob('*') if p.is_file()):
            if '__pycache__' not in path.parts:
                found.setdefault(str(path.parent), []).append(str(path))
    return found


class BuildWithResources(build_py):
    """Copies the resource folders into the package."""

    def run(self) -> None:
        """Build; an editable installation finds them beside the package."""
        super().run()
        if getattr(self, 'editable_mode', False):
            return
        for folder, files in resources().items():
            target = Path(self.build_lib, NAME, 'share', folder)
            self.mkpath(str(target))
            for path in files:
                self.copy_file(path, str(target))


def long_description() -> str:
    """Return the README, with links that also work away from the repository."""
    text = Path('README.md').read_text(encoding='utf-8')
    text = re.sub(r'(!\[[^\]]*\]\()(?!https?:)', rf'\1{URL}/raw/main/', text)
    return re.sub(r'((?<!!)\[[^\]]*\]\()(?!https?:|#)', rf'\1{URL}/blob/main/', text)


DATA_FILES = [
    ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
    (f'share/{NAME}', ['package.xml']),
    ('bin', ['bin/marine_sim']),  # colcon adds bin to PATH, and not lib/marine_sim_ros
    *((f'share/{NAME}/{folder}', files) for folder, files in resources().items()),
]

setup(
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    cmdclass={'build_py': BuildWithResources} if PIP else {},
    data_files=[] if PIP else DATA_FILES,
    python_requires='>=3.10',  # in setup.cfg it becomes an object that colcon cannot read back
    long_description=long_description() if PIP else '',
    long_description_content_type='text/markdown',
    entry_points={
        'console_scripts': [
            f'marine_sim = {NAME}.tools.main:main',
            *(f'{node} = {NAME}.nodes.{node}:main' for node in ([] if PIP else NODES)),
        ]
    },
)
