# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sessions of nox: the tests with the versions of a distribution."""

import os
import shutil
import subprocess

import nox

nox.options.sessions = ['noble']
MATPLOTLIB = """[libs]
enable_lto = false
"""
"""How it is built: to optimise takes longer than the drawing of the tests."""
SYSTEM_LIBRARIES = """system_freetype = true
system_qhull = true
"""


def _installed(*libraries: str) -> bool:
    """Return whether the headers of libraries are here."""
    command = shutil.which('pkg-config')
    return bool(command) and subprocess.call([command, '--exists', *libraries]) == 0


@nox.session(python='3.12', reuse_venv=True)
def noble(session: nox.Session) -> None:
    """Tests with what Ubuntu 24.04 has; arguments go to pytest, default: all but ROS processes.

    MESSAGES names the packages of scripts/messages that are built; default: all.
    """
    prefix = session.virtualenv.location
    # Matplotlib 3.6 has no wheel for Python 3.12; its build downloads FreeType unless told.
    # Not in nox's own folder for such files, which would become TMPDIR of the tests.
    settings = os.path.abspath(os.path.join(prefix, 'matplotlib.cfg'))
    with open(settings, 'w') as file:
        file.write(MATPLOTLIB)
        file.write(SYSTEM_LIBRARIES if _installed('freetype2', 'qhull_r') else '')
    session.install(
        '--no-compile',
        '-r',
        'requirements/noble.txt',
        env={'MPLSETUPCFG': settings, 'CFLAGS': '-O0 -g0', 'CXXFLAGS': '-O0 -g0'},
    )
    session.env.update(
        AMENT_PREFIX_PATH=prefix, PYTHONPATH=os.getcwd(), PYTHONDONTWRITEBYTECODE=''
    )
    build = os.path.join(prefix, 'build')
    packages = os.environ.get('MESSAGES')
    if not os.path.isfile(os.path.join(build, 'build.ninja')):
        session.run(
            'cmake',
            '-G',
            'Ninja',
            '-S',
            'scripts/messages',
            '-B',
            build,
            f'-DCMAKE_PREFIX_PATH={prefix}',
            f'-DCMAKE_INSTALL_PREFIX={prefix}',
            f'-DPython3_EXECUTABLE={prefix}/bin/python',
            '-DBUILD_TESTING=OFF',
            *([f'-DPACKAGES={packages}'] if packages else []),
            silent=True,
        )
    session.run('cmake', '--build', build, '--target', 'install', silent=True)
    chosen = session.posargs or ('-m', 'not ros and not slow')
    session.run(
        'python',
        '-m',
        'pytest',
        '-p',
        'no:cacheprovider',
        '--numprocesses',
        'auto',
        '--dist',
        'loadgroup',
        *chosen,
    )
