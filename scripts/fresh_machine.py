#!/usr/bin/env python3
# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the README's commands on bare Debian machines, and prints their time and disk space.

Each machine is a chroot that debootstrap makes with the packages of the README's `apt install`
line and nothing else. It gets a clone of this repository and a user who is not root. Mounts live
in a mount namespace of the command that needs them, so that the kernel removes them whatever
happens. Needs root; uses the standard library alone.

    sudo scripts/fresh_machine.py                              # all releases, both commands
    sudo scripts/fresh_machine.py trixie --command 'make run'

A network with a certificate authority or a package index of its own hands these in:

    sudo -E scripts/fresh_machine.py --copy /etc/pip.conf --env PIP_CERT --copy "$PIP_CERT"

Exit codes: 0 every command did its work, 1 one failed, 2 bad input or a missing tool.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = {'bookworm': 'Debian 12', 'trixie': 'Debian 13', 'testing': 'Debian testing'}
COMMANDS = ('make run', 'make test')
TOOLS = {
    'debootstrap': 'debootstrap',
    'unshare': 'util-linux',
    'setpriv': 'util-linux',
    'chroot': 'coreutils',
    'git': 'git',
}
GIT = ('git', '-c', 'safe.directory=*')
"""The repository may belong to a user, and this is root."""
COPY = ('cp', '--recursive', '--dereference', '--remove-destination', '--no-target-directory')
"""Files in place of links: a link of a machine may lead out of it."""
USER = 'user'
HOME = f'/home/{USER}'
CLONE = f'{HOME}/marine_sim_ros'
LINES = 15
"""Lines of a log that are shown when a command fails."""

# The shell is process 1 of its namespace; it waits for the command instead of becoming it, so that
# signals have their usual effect on the command.
ENTER = """
mount -t proc proc "$0/proc" &&
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" &&
mkdir -p "$0/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" || exit 125
chroot "$@"
exit $?
"""
ISOLATED = (
    'setpriv',
    '--pdeathsig',
    'KILL',
    'unshare',
    '--mount',
    '--pid',
    '--ipc',
    '--fork',
    '--kill-child',
    '--propagation',
    'private',
)


class FreshMachineError(Exception):
    """One line for the user."""


def readme_packages():
    """Return the packages that the README asks for."""
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    found = re.search(r'`(?:sudo )?apt install ([^`]+)`', text)
    if not found:
        raise FreshMachineError('README.md names no packages; expected `apt install ...`')
    return found.group(1).split()


def arguments():
    """Return the parser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ', '.join(f'{suite} ({name})' for suite, name in SUITES.items())
    parser.add_argument(
        'suites', nargs='*', metavar='SUITE', help=f'Debian releases: {known}; default: all'
    )
    parser.add_argument(
        '--command',
        dest='commands',
        action='append',
        metavar='COMMAND',
        help='shell command to run in the clone; may be repeated '
        f'(default: {", then ".join(COMMANDS)})',
    )
    parser.add_argument(
        '--base',
        type=Path,
        metavar='DIR',
        help='folder of the machines and logs, outside the repository; bare machines are kept '
        'there, so that a second call starts from them (default: a temporary folder)',
    )
    parser.add_argument(
        '--keep', action='store_true', help='leave the machines in --base after the commands'
    )
    parser.add_argument(
        '--ref', default='HEAD', help='commit or branch to check out (default: HEAD)'
    )
    parser.add_argument(
        '--packages', metavar='NAMES', help='packages to install (default: those of the README)'
    )
    parser.add_argument('--mirror', default='', metavar='URL', help="default: debootstrap's")
    parser.add_argument(
        '--expired',
        action='store_true',
        help='accept lists of packages whose date of expiry has passed, as a frozen mirror has',
    )
    parser.add_argument(
        '--copy',
        action='append',
        default=[],
        metavar='PATH',
        help='file or folder of this machine to hand in at the same path, as a certificate or a '
        'pip.conf; may be repeated',
    )
    parser.add_argument(
        '--env',
        action='append',
        default=[],
        metavar='NAME[=VALUE]',
        help='environment variable to hand in, as PIP_CERT; may be repeated',
    )
    return parser


def environment(names):
    """Return the environment of a machine's commands, with those variables that are handed in."""
    result = {
        'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'LANG': 'C.UTF-8',
        'DEBIAN_FRONTEND': 'noninteractive',
    }
    for text in names:
        name, given, value = text.partition('=')
        if not given and name not in os.environ:
            raise FreshMachineError(f'--env {name}: is not set; expected NAME=VALUE')
        result[name] = value if given else os.environ[name]
    return result


def commit_of(ref):
    """Return the commit that a name stands for."""
    command = [*GIT, '-C', ROOT, 'rev-parse', '--quiet', '--verify', f'{ref}^{{commit}}']
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise FreshMachineError(f'--ref {ref}: no such commit or branch in {ROOT}')
    return found.stdout.strip()


def check_options(options):
    """Fill in the defaults; raise FreshMachineError for an option that cannot be used."""
    options.suites = options.suites or list(SUITES)
    options.commands = options.commands or list(COMMANDS)
    for suite in options.suites:
        if suite not in SUITES:
            raise FreshMachineError(f'{suite} is unknown; expected: {", ".join(SUITES)}')
    if options.keep and options.base is None:
        raise FreshMachineError('--keep: expected --base DIR, the folder to keep machines in')
    if options.base is not None:
        options.base = options.base.resolve()
        if options.base == ROOT or ROOT in options.base.parents:
            raise FreshMachineError(f'--base {options.base}: expected a folder outside {ROOT}')
    options.copy = [Path(path).absolute() for path in options.copy]
    for path in options.copy:
        if not path.exists():
            raise FreshMachineError(f'--copy {path}: does not exist')
    options.packages = options.packages.split() if options.packages else readme_packages()
    options.environment = environment(options.env)


def check_machine():
    """Raise FreshMachineError for what this machine lacks."""
    if os.geteuid() != 0:
        raise FreshMachineError('a chroot needs root; call again with sudo')
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            raise FreshMachineError(f'no {tool} found; install it: apt install {package}')


def hear_interrupts():
    """Let a command hear SIGINT also where this script is a background job, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def call(log, *command, **options):
    """Run a command into a log; return its exit code and wall time in seconds."""
    start = time.monotonic()
    with log.open('ab') as file:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=hear_interrupts,
            **options,
        )
        try:
            code = process.wait()
        finally:
            process.kill()  # its namespaces end with it
            process.wait()
    return code, time.monotonic() - start


def inside(machine, log, command, env, user='root', folder='/'):
    """Run a shell command in a machine; return its exit code and wall time in seconds."""
    home = HOME if user == USER else '/root'
    return call(
        log,
        *ISOLATED,
        'sh',
        '-c',
        ENTER,
        machine,
        f'--userspec={user}:{user}',
        machine,
        'sh',
        '-c',
        f'cd {shlex.quote(folder)} && {command}',
        env=dict(env, HOME=home, USER=user),
    )


def done(log, title, result):
    """Return the wall time of a result; raise FreshMachineError when it failed."""
    code, wall = result
    if code:
        raise FreshMachineError(f'{title} failed with exit code {code}:\n{tail(log)}')
    return wall


def tail(log):
    """Return the last lines of a log, and where it is."""
    lines = log.read_text(errors='replace').splitlines()[-LINES:]
    return '\n'.join([*(f'    {line}' for line in lines), f'    ({log})'])


def megabytes(folder):
    """Return the disk space that a folder takes, MB; 0 where there is none."""
    if not folder.exists():
        return 0.0
    command = ['du', '--summarize', '--one-file-system', '--block-size=1', folder]
    return int(subprocess.check_output(command, text=True).split()[0]) / 1e6


def remove(folder):
    """Remove a machine; nothing is mounted there outside the namespaces of its commands."""
    if folder.exists():
        subprocess.run(['rm', '--recursive', '--force', '--one-file-system', folder], check=True)


def hand_in(machine, paths):
    """Copy name resolution, certificates and settings of this machine."""
    for path in (Path('/etc/resolv.conf'), Path('/etc/hosts'), *paths):
        target = machine / path.relative_to('/')
        if not path.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = subprocess.run([*COPY, path, target], stderr=subprocess.PIPE, text=True)
        if copied.returncode:
            raise FreshMachineError(f'--copy {path}: {copied.stderr.splitlines()[0]}')


def accept_expired(machine):
    """Let a machine's apt read lists of packages whose date of expiry has passed."""
    path = machine / 'etc/apt/apt.conf.d/90expired'
    path.write_text('Acquire::Check-Valid-Until "false";\n')


def bare_machine(suite, options, log):
    """Return the folder of a bare machine with the packages, and what they took; made once."""
    digest = hashlib.sha256(' '.join(sorted(options.packages)).encode()).hexdigest()[:8]
    base = options.base / f'{suite}-{digest}'
    about = base.with_suffix('.json')
    if base.is_dir() and about.is_file():
        return base, json.loads(about.read_text())
    partial = base.with_suffix('.partial')
    remove(partial)
    remove(base)
    print(f'{suite}: debootstrap ...', flush=True)
    mirror = [options.mirror] if options.mirror else []
    command = ('debootstrap', '--variant=minbase', suite, partial, *mirror)
    done(log, f'{suite}: debootstrap', call(log, *ISOLATED, *command))
    before = megabytes(partial)
    print(f'{suite}: apt install {" ".join(options.packages)} ...', flush=True)
    hand_in(partial, options.copy)
    if options.expired:
        accept_expired(partial)
    install = shlex.join(['apt-get', 'install', '--yes', *options.packages])
    command = f'apt-get update && {install} && apt-get clean'
    wall = done(log, f'{suite}: apt install', inside(partial, log, command, options.environment))
    done(
        log, 'useradd', inside(partial, log, f'useradd --create-home {USER}', options.environment)
    )
    found = {'seconds': wall, 'megabytes': megabytes(partial) - before}
    partial.rename(base)
    about.write_text(json.dumps(found))
    return base, found


def clone(machine, commit, log):
    """Clone the repository into a machine, without what is not committed."""
    target = machine / CLONE.lstrip('/')
    commands = {
        'git clone': (*GIT, 'clone', '--no-local', '--no-checkout', '--quiet', ROOT, target),
        'git checkout': (*GIT, '-C', target, 'checkout', '--quiet', '--detach', commit),
    }
    for title, command in commands.items():
        done(log, title, call(log, *command))


def visit(suite, options):
    """Run the commands on a machine; return rows (what, s, MB, MB of .venv, exit code)."""
    log = options.base / f'{suite}.log'
    log.unlink(missing_ok=True)
    bare, packages = bare_machine(suite, options, log)
    machine = options.base / f'{suite}-machine'
    remove(machine)
    rows = [('apt install', packages['seconds'], packages['megabytes'], 0.0, 0)]
    try:
        subprocess.run(['cp', '--archive', bare, machine], check=True)
        hand_in(machine, options.copy)
        clone(machine, options.commit, log)
        done(
            log,
            'chown',
            inside(machine, log, f'chown --recursive {USER}:{USER} {HOME}', options.environment),
        )
        home = machine / HOME.lstrip('/')
        venv = machine / CLONE.lstrip('/') / '.venv'
        for command in options.commands:
            print(f'{suite}: {command} ...', flush=True)
            before = megabytes(home)
            code, wall = inside(machine, log, command, options.environment, USER, CLONE)
            space = megabytes(home) - before
            rows.append((command, wall, space, megabytes(venv), code))
            print(f'{tail(log)}\n{suite}: {command}: exit code {code}, {wall:.0f} s', flush=True)
    finally:
        if not options.keep:
            remove(machine)
    return rows


def table(found):
    """Return the results as a table in Markdown; disk space is what a command added."""
    lines = [
        '| machine | command | wall time, s | disk space, MB | `.venv`, MB | exit code |',
        '|---|---|---:|---:|---:|---:|',
    ]
    for suite, rows in found.items():
        for what, *numbers, code in rows:
            cells = ' | '.join(f'{number:.0f}' for number in numbers)
            lines.append(f'| {SUITES[suite]} ({suite}) | `{what}` | {cells} | {code} |')
    return '\n'.join(lines)


def visit_all(options):
    """Visit every machine, print the table, return the exit code."""
    options.base.mkdir(parents=True, exist_ok=True)
    with (options.base / 'lock').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FreshMachineError(f'--base {options.base}: another call uses it') from None
        found = {suite: visit(suite, options) for suite in options.suites}
    print(f'\nCommit {options.commit[:12]}:\n\n{table(found)}')
    return int(any(code for rows in found.values() for *_, code in rows))


def main():
    """Visit the machines, or say in one line why not."""
    options = arguments().parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    try:
        check_options(options)
        check_machine()
        options.commit = commit_of(options.ref)
        if options.base is not None:
            sys.exit(visit_all(options))
        with tempfile.TemporaryDirectory(prefix='fresh_machine_', dir='/var/tmp') as folder:
            options.base = Path(folder)
            sys.exit(visit_all(options))
    except FreshMachineError as error:
        print(f'ERROR: {error}', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print('ERROR: interrupted', file=sys.stderr)
        sys.exit(2)


def interrupt(*_):
    """Clean up after SIGTERM as after ctrl-C."""
    raise KeyboardInterrupt


if __name__ == '__main__':
    main()
