# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes .venv with what `make run` needs; a second call does nothing.

With the arguments `console` and `dev` it adds the console, or all that is worked with. The
variable ROS names the distribution whose wheels are installed: jazzy (default) or kilted. It runs
with the system's Python and its standard library alone. Every failure is one line that says what
to do, and exit code 2; what pip and cmake print goes to .venv/setup.log.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / '.venv'
PYTHON = VENV / 'bin' / 'python'
# Everything is locked, so nothing is to be resolved; modules are compiled when they are used.
PIP = (PYTHON, '-m', 'pip', 'install', '--no-deps', '--no-compile', '--progress-bar', 'off')
NEWER_PIP = 'pip==26.3'
"""That of Debian 12 compares each file of the index with 900 tags, as often as it is asked."""
HERE = '--no-build-isolation'
"""Builds the few that have no wheel with the environment's setuptools, fetched once."""
BUILD = VENV / 'build'
TOOLS = BUILD / 'tools'
LOG = VENV / 'setup.log'
LOCKS = ROOT / 'requirements'
MESSAGES = ROOT / 'scripts' / 'messages'
"""Packages of messages that have no wheel."""
LOCK, TOOLS_LOCK = LOCKS / 'lock.txt', LOCKS / 'lock-tf2-msgs.txt'
LOCKED_ROS = 'jazzy'
"""The distribution that the locks name; of others requirements/ros-<name>.txt has all wheels."""
ROS = os.environ.get('ROS') or LOCKED_ROS
WHEELS = LOCKS / f'ros-{ROS}.txt'
PACKAGING = [ROOT / name for name in ('setup.py', 'setup.cfg', 'pyproject.toml')]
WATCHED = [LOCK, TOOLS_LOCK, WHEELS, *PACKAGING, Path(__file__), *sorted(MESSAGES.rglob('*'))]
ADDITIONS = {
    'console': ('the console', 'about 20 s, 30 MB to fetch', LOCKS / 'lock-console.txt'),
    'dev': (
        'JAX, sweeps, tests and linters',
        'about a minute, 230 MB to fetch',
        LOCKS / 'lock-dev.txt',
    ),
}
OLDEST, NEWEST = (3, 10), (3, 14)
BAR = 30


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
    if not WHEELS.is_file():
        known = sorted(path.stem[len('ros-') :] for path in LOCKS.glob('ros-*.txt'))
        raise SetupError(
            f'ROS={ROS}: PyPI has wheels of {" and ".join(known)} only; name one of them, '
            f'or build in a workspace of ROS 2 {ROS}: docs/start/ros2.md'
        )
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        found = '.'.join(map(str, sys.version_info[:3]))
        raise SetupError(
            f'Python {found} at {sys.executable}: ROS 2 has wheels for '
            f'{".".join(map(str, OLDEST))} to {".".join(map(str, NEWEST))}; '
            'name another one: make PYTHON=python3.12'
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


def site_packages(prefix):
    """Return where pip puts modules below a prefix."""
    return Path(sysconfig.get_path('purelib', 'posix_prefix', {'base': str(prefix)}))


def environment():
    """Return the variables of pip and cmake: the environment's, and not those of the user."""
    result = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK='1')
    for name in ('PYTHONPATH', 'PYTHONHOME'):
        result.pop(name, None)
    result['AMENT_PREFIX_PATH'] = f'{VENV}{os.pathsep}{TOOLS}'
    result['PATH'] = os.pathsep.join(map(str, (TOOLS / 'bin', VENV / 'bin', result['PATH'])))
    return result


class Bar:
    """The share of a step that is done, on a terminal; its name alone in a pipe."""

    def __init__(self, title):
        """Say what begins."""
        self.title = title
        self.drawn = sys.stdout.isatty()
        self.show(0.0)
        if not self.drawn:
            print(f'  {title} ...', flush=True)

    def show(self, share):
        """Draw the bar."""
        if self.drawn:
            full = round(BAR * min(max(share, 0.0), 1.0))
            bar = '#' * full + '-' * (BAR - full)
            print(f'\r  [{bar}] {self.title} ', end='', flush=True)

    def end(self, share=1.0):
        """Draw it for the last time."""
        self.show(share)
        if self.drawn:
            print(flush=True)


def run(title, *commands, share=lambda said: 0.0, **more):
    """Run commands side by side into the log; raise SetupError when one fails.

    Args:
        title: what is done.
        commands: each with its arguments.
        share: what of it is done, of all that the commands have printed.
        more: variables for the commands.
    """
    bar, parts = Bar(title), []
    for number, command in enumerate(commands):
        said = VENV / f'setup-{number}.log'
        with said.open('wb') as log:
            process = subprocess.Popen(
                [str(c) for c in command],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**environment(), **more},
            )
        parts.append((process, said))
    try:
        while any(process.poll() is None for process, _ in parts):
            time.sleep(0.1)
            if bar.drawn:
                bar.show(share(b''.join(said.read_bytes() for _, said in parts)))
    finally:
        for process, _ in parts:
            if process.poll() is None:
                process.terminate()
            process.wait()
        text = b''.join(said.read_bytes() for _, said in parts)
        with LOG.open('ab') as log:
            log.write(text)
        for _, said in parts:
            said.unlink()
    if any(process.returncode for process, _ in parts):
        if bar.drawn:
            print(flush=True)
        raise SetupError(failure(title, text.decode(errors='replace')))
    bar.end()


def failure(title, said):
    """Return the line for a command that failed."""
    signs = (
        'ConnectionError',
        'NewConnectionError',
        'ConnectTimeout',
        'Temporary failure in name resolution',
        'Network is unreachable',
        'Connection refused',
    )
    if any(sign in said for sign in signs):
        return (
            f'{title} failed: PyPI cannot be reached; check the network and proxy '
            f'(pip config list), then call again; details in {LOG}'
        )
    return f'{title} failed; details in {LOG}'


def installed(*prefixes):
    """Return how many packages are there."""
    return sum(len(list(site_packages(prefix).glob('*.dist-info'))) for prefix in prefixes)


def locked(lock):
    """Return the lines of a lock, with the wheels of ROS of the distribution that is asked for."""
    lines = re.findall(r'^[\w.-]+==.*', lock.read_text(), re.MULTILINE)
    if ROS == LOCKED_ROS:
        return lines
    others = [line for line in lines if not line.startswith('ros-')]
    return others + (locked_wheels() if lock == LOCK else [])


def locked_wheels():
    """Return the lines of the wheels of ROS, those that build messages among them."""
    return re.findall(r'^ros-.*', WHEELS.read_text(), re.MULTILINE)


def requirement(name, lines):
    """Write a file for pip, and return it."""
    path = BUILD / f'{name}.txt'
    BUILD.mkdir(exist_ok=True)
    path.write_text('\n'.join(lines) + '\n')
    return path


def count_packages(lines):
    """Return the number of packages; a line for each version of Python may name the same."""
    return len({line.partition('==')[0] for line in lines})


def packages(lines, prefixes=(VENV,)):
    """Return the share of packages, fetched and installed, as a function of what pip printed."""
    before = installed(*prefixes)
    count = count_packages(lines)

    def share(said):
        there = said.count(b'Requirement already satisfied: ')
        fetched = said.count(b'Collecting ')
        return (fetched + 2 * there + installed(*prefixes) - before) / (2 * count)

    return share


def make_venv():
    """Make an empty environment."""
    if stamp().exists():  # first, so that a removal cut short is not taken for a finished set-up
        stamp().unlink()
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.parent.mkdir(exist_ok=True)
    import venv

    try:
        venv.EnvBuilder(with_pip=True, symlinks=True).create(VENV)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f'{VENV} cannot be made: {error}') from None


def install():
    """Install the locked packages, and what builds messages; the index is most of the waiting."""
    lines, tools = locked(LOCK), locked(TOOLS_LOCK)
    run('preparing', (*PIP, NEWER_PIP, *(x for x in lines if x.startswith('setuptools=='))))
    commands = [
        (*PIP, HERE, '--requirement', requirement(name, part))
        for name, part in (
            ('ros', [line for line in lines if line.startswith('ros-')]),
            ('other', [line for line in lines if not line.startswith('ros-')]),
        )
    ]
    run(
        f'installing {count_packages(lines)} packages',
        *commands,
        (*PIP, '--prefix', TOOLS, '--requirement', requirement('tools', tools)),
        share=packages([*lines, *tools], prefixes=(VENV, TOOLS)),
    )


def built(said):
    """Return the share of a build that is done."""
    steps = re.findall(rb'^\[(\d+)/(\d+)\]', said, re.MULTILINE)
    return int(steps[-1][0]) / int(steps[-1][1]) if steps else 0.0


def build_messages():
    """Build the packages of messages that have no wheel into the environment."""
    cmake = site_packages(TOOLS) / 'cmake' / 'data' / 'bin' / 'cmake'
    modules = {'PYTHONPATH': str(site_packages(TOOLS))}
    build = BUILD / 'messages'
    configure = (
        cmake,
        '-G',
        'Ninja',
        '-S',
        MESSAGES,
        '-B',
        build,
        f'-DCMAKE_PREFIX_PATH={VENV};{TOOLS}',
        f'-DCMAKE_INSTALL_PREFIX={VENV}',
        f'-DPython3_EXECUTABLE={PYTHON}',
        '-DBUILD_TESTING=OFF',
    )
    editable = (*PIP, HERE, '--editable', ROOT)
    run('configuring messages, installing marine_sim_ros', configure, editable, **modules)
    install = (cmake, '--build', build, '--target', 'install')
    run('building messages', install, share=built, **modules)
    shutil.rmtree(BUILD)
    shutil.rmtree(VENV / 'include')  # 30 MB of headers, which only such a build reads


def link_copies():
    """Let shared libraries of equal content be one file: wheels have no links, so they copy."""
    seen = {}
    for path in sorted(VENV.rglob('*.so*')):
        if path.is_symlink() or not path.is_file() or path.stat().st_size < 100_000:
            continue
        content = hashlib.sha256(path.read_bytes()).digest()
        first = seen.setdefault(content, path)
        if first is not path:
            link = path.with_name(f'{path.name}.link')
            try:
                os.link(first, link)
            except OSError:  # a file system without links; this saves room, and nothing else
                return
            link.replace(path)


def drop_compiled_pip():
    """Remove pip's compiled modules, 9 MB, which its next use makes again."""
    for cache in sorted((site_packages(VENV) / 'pip').rglob('__pycache__')):
        shutil.rmtree(cache)


def point_ament_here():
    """Let every Python of the environment find its packages' resources.

    The wheels do not set AMENT_PREFIX_PATH; a .pth line runs at start-up of each interpreter.
    """
    line = "import os, sys; os.environ.setdefault('AMENT_PREFIX_PATH', sys.prefix)\n"
    (site_packages(VENV) / 'marine_sim_ros_ament_prefix.pth').write_text(line)


def stamp(addition=''):
    """Return the file that says what the environment was made from."""
    return VENV / f'.setup-stamp{addition and "-" + addition}'


def is_done(wanted, addition=''):
    """Return whether this is set up already."""
    path = stamp(addition)
    return path.is_file() and path.read_text() == wanted and PYTHON.exists()


def setup():
    """Do what is not done yet of what every user needs."""
    wanted = fingerprint(*WATCHED)
    if is_done(wanted):
        return
    check_machine()
    print('Setting up .venv (once; a minute or two, 180 MB to fetch):', flush=True)
    make_venv()
    install()
    build_messages()
    link_copies()
    drop_compiled_pip()
    point_ament_here()
    stamp().write_text(wanted)


def add(addition):
    """Add what only some need, where it is not there yet."""
    title, weight, lock = ADDITIONS[addition]
    wanted = fingerprint(lock)
    if is_done(wanted, addition) or is_done(fingerprint(ADDITIONS['dev'][2]), 'dev'):
        return
    print(f'Adding {title} (once; {weight}):', flush=True)
    lines = locked(lock)
    command = (*PIP, HERE, '--requirement', requirement(addition, lines))
    run('installing packages', command, share=packages(lines))
    shutil.rmtree(BUILD)
    stamp(addition).write_text(wanted)


def main():
    """Set up, or say in one line why not."""
    os.chdir(ROOT)
    try:
        setup()
        for addition in sys.argv[1:]:
            add(addition)
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
