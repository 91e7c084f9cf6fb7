# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes .venv with what `make run` needs, and with --dev all else; a second call does nothing.

Runs with the system's Python and its standard library alone. Every failure is one line that says
what to do, and exit code 2; what pip and cmake print goes to .venv/setup.log.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / '.venv'
PYTHON = VENV / 'bin' / 'python'
PIP = (PYTHON, '-m', 'pip', 'install', '--quiet')
STAMP = VENV / '.setup-stamp'
DEV_STAMP = VENV / '.setup-stamp-dev'
LOG = VENV / 'setup.log'
LOCK = ROOT / 'requirements' / 'lock.txt'
DEV_LOCK = ROOT / 'requirements' / 'lock-dev.txt'
TF2 = ROOT / 'scripts' / 'tf2_msgs'
WATCHED = [LOCK, ROOT / 'setup.py', ROOT / 'setup.cfg', Path(__file__), *sorted(TF2.rglob('*'))]
OLDEST, NEWEST = (3, 10), (3, 13)


class SetupError(Exception):
    """One line for the user."""


def fingerprint(*paths):
    """Return a hash of everything the environment, or a part of it, is made from."""
    digest = hashlib.sha256(f'{sys.version}{ROOT}'.encode())
    for path in paths:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def check_machine():
    """Raise SetupError for what only the user can mend."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        found = '.'.join(map(str, sys.version_info[:3]))
        raise SetupError(
            f'Python {found} at {sys.executable}: ROS 2 Jazzy has wheels for 3.10 to 3.13; '
            'name another one: make PYTHON=python3.11'
        )
    for module in ('venv', 'ensurepip'):
        try:
            __import__(module)
        except ImportError:
            raise SetupError(
                f'this Python has no {module}; install it, on Debian and Ubuntu: '
                'apt install python3-venv'
            ) from None
    for variable, names in (('CC', ('cc', 'gcc', 'clang')), ('CXX', ('c++', 'g++', 'clang++'))):
        named = os.environ.get(variable, '').split()
        if not any(shutil.which(name) for name in (named[:1] or names)):
            raise SetupError(
                f'no {"C" if variable == "CC" else "C++"} compiler found; install one, '
                'on Debian and Ubuntu: apt install build-essential'
            )
    header = Path(sysconfig.get_path('include')) / 'Python.h'
    if not header.is_file():
        raise SetupError(
            f'{header} is missing; install the Python headers, on Debian and Ubuntu: '
            'apt install python3-dev'
        )


def run(title, *command):
    """Run a command into the log; raise SetupError when it fails."""
    print(f'  {title} ...', flush=True)
    environment = dict(os.environ, AMENT_PREFIX_PATH=str(VENV), PIP_DISABLE_PIP_VERSION_CHECK='1')
    environment['PATH'] = f'{VENV / "bin"}{os.pathsep}{environment.get("PATH", "")}'
    for name in ('PYTHONPATH', 'PYTHONHOME'):
        environment.pop(name, None)
    with LOG.open('ab') as log:
        start = log.tell()
        code = subprocess.call(
            [str(c) for c in command], stdout=log, stderr=subprocess.STDOUT, env=environment
        )
    if code == 0:
        return
    said = LOG.read_bytes()[start:].decode(errors='replace')
    signs = (
        'ConnectionError',
        'NewConnectionError',
        'ConnectTimeout',
        'Temporary failure in name resolution',
        'Network is unreachable',
        'Connection refused',
    )
    if any(sign in said for sign in signs):
        raise SetupError(
            f'{title} failed: PyPI cannot be reached; check the network and proxy '
            f'(pip config list), then call again; details in {LOG}'
        )
    raise SetupError(f'{title} failed; details in {LOG}')


def make_venv():
    """Make an empty environment."""
    if STAMP.exists():  # first, so that a removal cut short is not taken for a finished set-up
        STAMP.unlink()
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.parent.mkdir(exist_ok=True)
    import venv

    try:
        venv.EnvBuilder(with_pip=True, symlinks=True).create(VENV)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f'{VENV} cannot be made: {error}') from None


def build_tf2_msgs():
    """Build the one interface package that has no wheel into the environment."""
    build = VENV / 'build' / 'tf2_msgs'
    run(
        'configuring tf2_msgs', VENV / 'bin' / 'cmake', '-G', 'Ninja', '-S', TF2, '-B', build,
        f'-DCMAKE_PREFIX_PATH={VENV}', f'-DCMAKE_INSTALL_PREFIX={VENV}',
        f'-DPython3_EXECUTABLE={PYTHON}', '-DBUILD_TESTING=OFF',
    )  # fmt: skip
    run('building tf2_msgs', VENV / 'bin' / 'cmake', '--build', build, '--target', 'install')


def point_ament_here():
    """Let every Python of the environment find its packages' resources.

    The wheels do not set AMENT_PREFIX_PATH; a .pth line runs at start-up of each interpreter.
    """
    site = subprocess.check_output(
        [str(PYTHON), '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], text=True
    )
    line = "import os, sys; os.environ.setdefault('AMENT_PREFIX_PATH', sys.prefix)\n"
    (Path(site.strip()) / 'marine_sim_ros_ament_prefix.pth').write_text(line)


def setup():
    """Do what is not done yet of what every user needs."""
    wanted = fingerprint(*WATCHED)
    if STAMP.is_file() and STAMP.read_text() == wanted and PYTHON.exists():
        return
    check_machine()
    print('Setting up .venv (once; about two minutes):', flush=True)
    make_venv()
    run('installing the locked packages (200 MB)', *PIP, '--requirement', LOCK)
    build_tf2_msgs()
    point_ament_here()
    run('installing marine_sim_ros', *PIP, '--no-deps', '--no-build-isolation', '--editable', ROOT)
    STAMP.write_text(wanted)


def setup_dev():
    """Add JAX, sweeps, tests and linters, where they are not there yet."""
    wanted = fingerprint(DEV_LOCK)
    if DEV_STAMP.is_file() and DEV_STAMP.read_text() == wanted:
        return
    print('Adding JAX, sweeps, tests and linters (once; about a minute):', flush=True)
    run('installing the locked packages (230 MB)', *PIP, '--requirement', DEV_LOCK)
    DEV_STAMP.write_text(wanted)


def main():
    """Set up, or say in one line why not."""
    os.chdir(ROOT)
    try:
        setup()
        if sys.argv[1:] == ['--dev']:
            setup_dev()
    except SetupError as error:
        sys.exit(_fail(str(error)))
    except KeyboardInterrupt:
        sys.exit(_fail('interrupted; call again to go on'))
    except OSError as error:
        sys.exit(_fail(f'{error.filename or ROOT}: {error.strerror}'))


def _fail(text):
    print(f'ERROR: {text}', file=sys.stderr)
    return 2


if __name__ == '__main__':
    main()
