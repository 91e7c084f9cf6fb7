# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bare Debian machines: what is refused, what they get, and that nothing stays mounted."""

import argparse
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from processor import PATIENCE

SCRIPT = ROOT / 'scripts' / 'fresh_machine.py'
spec = importlib.util.spec_from_file_location('fresh_machine', SCRIPT)
fresh_machine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fresh_machine)


def call(*arguments, **environment):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['jammy'], 'jammy is unknown; expected: bookworm, trixie'),
        (['--keep'], '--keep: expected --base DIR'),
        (['--base', ROOT / 'out'], 'expected a folder outside'),
        (['--base', ROOT], 'expected a folder outside'),
        (['--copy', '/no/such/file'], '--copy /no/such/file: does not exist'),
        (['--env', 'NOT_SET_ANYWHERE'], '--env NOT_SET_ANYWHERE: is not set; expected NAME=VALUE'),
    ],
)
def test_bad_options_get_one_line(arguments, said):
    done = call(*arguments)
    assert done.returncode == 2
    assert done.stdout == ''
    assert said in done.stderr
    assert done.stderr.startswith('ERROR: ')
    assert done.stderr.count('\n') == 1


def test_who_is_not_root_is_told_so(monkeypatch):
    monkeypatch.setattr(os, 'geteuid', lambda: 1000)
    with pytest.raises(fresh_machine.FreshMachineError, match='root; call again with sudo'):
        fresh_machine.check_machine()


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
@pytest.mark.parametrize('missing', sorted(fresh_machine.TOOLS))
def test_a_missing_tool_is_named_with_its_package(tmp_path, missing):
    for tool in set(fresh_machine.TOOLS) - {missing}:
        (tmp_path / tool).symlink_to('/bin/true')
    done = call(PATH=str(tmp_path))
    assert done.returncode == 2
    package = fresh_machine.TOOLS[missing]
    assert done.stderr == f'ERROR: no {missing} found; install it: apt install {package}\n'


@pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(t) is None for t in fresh_machine.TOOLS),
    reason='needs root and debootstrap',
)
def test_a_commit_that_does_not_exist_is_refused_before_anything_is_made(tmp_path):
    done = call('--ref', 'no-such-branch', '--base', tmp_path / 'base')
    assert done.returncode == 2
    assert '--ref no-such-branch: no such commit or branch' in done.stderr
    assert not (tmp_path / 'base').exists()


def test_two_calls_do_not_share_a_folder(tmp_path):
    options = argparse.Namespace(base=tmp_path, suites=[], commit='0' * 40)
    with (tmp_path / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(fresh_machine.FreshMachineError, match='another call uses it'):
            fresh_machine.visit_all(options)
    assert fresh_machine.visit_all(options) == 0


def test_the_machines_have_what_the_readme_names():
    packages = fresh_machine.readme_packages()
    assert {'build-essential', 'python3-dev', 'python3-venv'} <= set(packages)
    assert all(re.fullmatch(r'[a-z0-9.+-]+', name) for name in packages)


def test_commands_are_those_of_the_readme():
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    for command in fresh_machine.COMMANDS:
        assert re.search(rf'\b{command}\b', text, re.MULTILINE), command


def test_only_named_variables_reach_a_machine(monkeypatch):
    monkeypatch.setenv('SECRET_OF_THIS_MACHINE', 'x')
    monkeypatch.setenv('PIP_CERT', '/a/file')
    found = fresh_machine.environment(['PIP_CERT', 'MODE=a=b'])
    assert found['PIP_CERT'] == '/a/file'
    assert found['MODE'] == 'a=b'
    assert set(found) == {'PATH', 'LANG', 'DEBIAN_FRONTEND', 'PIP_CERT', 'MODE'}


RELEASE = """Suite: old
Date: Sat, 01 Jan 2022 00:00:00 UTC
Valid-Until: Sat, 08 Jan 2022 00:00:00 UTC
SHA256:
 {} {} Packages
"""


@pytest.mark.skipif(not shutil.which('apt-get'), reason='needs apt')
def test_apt_reads_lists_that_have_expired_only_when_it_is_told_to(tmp_path):
    mirror, machine = tmp_path / 'mirror', tmp_path / 'machine'
    for folder in ('etc/apt/apt.conf.d', 'var/lib/apt/lists/partial', 'var/cache/apt'):
        (machine / folder).mkdir(parents=True)
    mirror.mkdir()
    packages = b'Package: none\nVersion: 1\nArchitecture: all\nFilename: none.deb\nSize: 1\n'
    (mirror / 'Packages').write_bytes(packages)
    digest = hashlib.sha256(packages).hexdigest()
    (mirror / 'Release').write_text(RELEASE.format(digest, len(packages)))
    source = f'deb [trusted=yes] copy:{mirror} ./\n'
    (machine / 'etc/apt/sources.list').write_text(source)
    apt = ('apt-get', '-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User=', 'update')
    environment = {**os.environ, 'APT_CONFIG': str(tmp_path / 'apt.conf')}
    (tmp_path / 'apt.conf').write_text(f'Dir "{machine}";\n')
    done = subprocess.run(apt, env=environment, capture_output=True, text=True)
    assert done.returncode == 100
    assert 'is expired' in done.stderr
    fresh_machine.accept_expired(machine)
    done = subprocess.run(apt, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list((machine / 'var/lib/apt/lists').glob('*_Packages'))


def test_what_is_handed_in_replaces_links_and_keeps_its_path(tmp_path):
    folder = tmp_path / 'given'
    (folder / 'deeper').mkdir(parents=True)
    (folder / 'deeper' / 'file').write_text('inner')
    single = tmp_path / 'pip.conf'
    single.write_text('[global]')
    outside = tmp_path / 'outside'
    outside.write_text('untouched')
    machine = tmp_path / 'machine'
    target = machine / single.relative_to('/')
    target.parent.mkdir(parents=True)
    target.symlink_to(outside)
    fresh_machine.hand_in(machine, [single, folder])
    assert target.read_text() == '[global]'
    assert outside.read_text() == 'untouched'
    assert (machine / folder.relative_to('/') / 'deeper' / 'file').read_text() == 'inner'
    assert (machine / 'etc' / 'resolv.conf').is_file() == Path('/etc/resolv.conf').exists()


def test_a_folder_of_links_is_handed_in_twice(tmp_path):
    folder, store = tmp_path / 'certs', tmp_path / 'store'
    folder.mkdir()
    store.mkdir()
    (store / 'a.pem').write_text('certificate')
    (folder / 'a.pem').symlink_to(store / 'a.pem')
    machine = tmp_path / 'machine'
    inner = machine / folder.relative_to('/')
    inner.mkdir(parents=True)
    (inner / 'a.pem').symlink_to(store / 'a.pem')  # as ca-certificates makes it
    for _ in range(2):  # into a bare machine, and into its copy
        fresh_machine.hand_in(machine, [folder])
    assert (inner / 'a.pem').read_text() == 'certificate'
    assert not (inner / 'a.pem').is_symlink()
    assert (store / 'a.pem').read_text() == 'certificate'


def test_a_folder_that_cannot_be_handed_in_gets_one_line(tmp_path):
    (tmp_path / 'gone.pem').symlink_to(tmp_path / 'nowhere')
    with pytest.raises(fresh_machine.FreshMachineError, match=r'--copy .*gone\.pem'):
        fresh_machine.hand_in(tmp_path / 'machine', [tmp_path])


def test_the_table_has_a_row_for_every_command():
    rows = [('apt install', 63.2, 503.4, 0.0, 0), ('make run', 90.0, 450.0, 449.6, 1)]
    lines = fresh_machine.table({'trixie': rows}).splitlines()
    assert len(lines) == 4
    assert lines[2] == '| Debian 13 (trixie) | `apt install` | 63 | 503 | 0 | 0 |'
    assert lines[3] == '| Debian 13 (trixie) | `make run` | 90 | 450 | 450 | 1 |'
    assert len({line.count('|') for line in lines}) == 1


def small_machine(folder):
    """Make a machine of this machine's shell and what it needs; return it."""
    for name in ('proc', 'dev/pts', 'tmp', 'etc'):
        (folder / name).mkdir(parents=True)
    (folder / 'etc' / 'passwd').write_text('root:x:0:0::/root:/bin/sh\n')
    (folder / 'etc' / 'group').write_text('root:x:0:\n')
    for name in ('sh', 'sleep', 'cat', 'touch'):
        path = Path(shutil.which(name)).resolve()
        linked = subprocess.check_output(['ldd', path], text=True)
        for library in re.findall(r'(/\S+)', linked):
            copy = folder / library.lstrip('/')
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        copy = folder / 'bin' / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
    return folder


can_mount = (
    os.geteuid() == 0
    and not subprocess.run(
        ['unshare', '--mount', '--pid', '--fork', 'true'], capture_output=True
    ).returncode
)


@pytest.mark.skipif(not can_mount, reason='needs root and mount namespaces')
def test_a_command_sees_its_machine_alone_and_leaves_no_mount(tmp_path):
    machine, log = small_machine(tmp_path / 'machine'), tmp_path / 'log'
    env = fresh_machine.environment(['MARK=here'])
    command = 'echo $MARK; cat /proc/self/mounts; exit 3'
    code, wall = fresh_machine.inside(machine, log, command, env)
    text = log.read_text()
    assert code == 3, text
    assert 0 < wall < 60
    assert 'here\n' in text
    assert 'proc /proc proc' in text
    assert 'tmpfs /dev/shm tmpfs' in text
    assert str(machine) not in Path('/proc/self/mounts').read_text()


def test_commands_hear_interrupts_also_of_a_script_in_the_background(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, _ = fresh_machine.call(tmp_path / 'log', 'sh', '-c', 'kill -INT $$; exit 0')
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == -signal.SIGINT


@pytest.mark.skipif(not can_mount, reason='needs root and mount namespaces')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_script_that_is_killed_leaves_no_process_and_no_mount(tmp_path, number):
    machine, log = small_machine(tmp_path / 'machine'), tmp_path / 'log'
    program = (
        'import sys, signal, pathlib; sys.path.insert(0, sys.argv[1]); import fresh_machine as f;'
        'signal.signal(signal.SIGTERM, lambda *_: sys.exit(1));'
        'f.inside(*map(pathlib.Path, sys.argv[2:]), "touch /began; sleep 300", f.environment([]))'
    )
    script = subprocess.Popen(
        [sys.executable, '-c', program, SCRIPT.parent, machine, log],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + PATIENCE
    while not (machine / 'began').exists():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    script.send_signal(number)
    script.wait()
    while inside := processes_in(machine):
        assert time.monotonic() < deadline, inside
        time.sleep(0.05)
    assert str(machine) not in Path('/proc/self/mounts').read_text()


def processes_in(machine):
    """Return the processes whose root is a machine."""
    found = []
    for entry in Path('/proc').iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / 'root') == str(machine):
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(not can_mount, reason='needs root and mount namespaces')
def test_a_machine_is_removed_also_when_a_command_cannot_run(tmp_path, monkeypatch):
    bare = small_machine(tmp_path / 'base' / 'bare')
    monkeypatch.setattr(
        fresh_machine, 'bare_machine', lambda *_: (bare, {'seconds': 1.0, 'megabytes': 2.0})
    )
    options = argparse.Namespace(
        base=tmp_path / 'base',
        copy=[],
        commit='0' * 40,
        commands=['true'],
        keep=False,
        environment=fresh_machine.environment([]),
    )
    with pytest.raises(fresh_machine.FreshMachineError, match='git checkout failed'):
        fresh_machine.visit('trixie', options)
    assert not (tmp_path / 'base' / 'trixie-machine').exists()
    assert bare.exists()
