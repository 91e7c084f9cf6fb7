# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every code block of the README and of docs/ does what the page says, or says why it is not run.

The blocks of a page share an empty folder and run in order, as somebody would type them.
"""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest
from conftest import ROOT, SHARE
from doc_blocks import LOADERS, NEEDS, PAGES, Block, blocks_of, clauses_of
from fork_server import COMMAND, forked

SECONDS = 4.0
"""How long a command that does not end by itself is left to run, on a machine that is not busy."""
LONGEST = 60.0
WORK = {'composed': 2.0, 'separate': 3.0}
"""s of processor time after which it has run for long enough, too: graphs start with 1 and 2."""
SEPARATE = ('README.md', 'docs/index.md', 'docs/reference/fleets.md') if SHARE == 1 else ()
"""Pages whose graphs are processes, as they are typed, in `make test-all`; others are composed."""
STEP = 0.02
"""s; four times the default one: whole scenarios, for a quarter of the processor time."""
SHARED = ('config', 'docs', 'urdf', 'worlds')
"""Folders of the repository that blocks name as they are seen from its root."""


def name_of(page):
    return str(page.relative_to(ROOT))


def slow(page):
    return any(block.language in ('bash', 'python') and block.runs for block in blocks_of(page))


class Session:
    """Runs the blocks of a page in one folder, and ends what runs in the background."""

    def __init__(self, folder, environment):
        self.graph = 'separate'
        self.folder = folder / 'page'
        self.folder.mkdir()
        for name in SHARED:
            (self.folder / name).symlink_to(ROOT / name)
        commands = folder / 'bin'
        commands.mkdir()
        for name, arguments in (('marine_sim', ' -m marine_sim_ros.tools.main'), ('python', '')):
            (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n')
            (commands / name).chmod(0o755)
        self.environment = dict(environment, PATH=f'{commands}{os.pathsep}{environment["PATH"]}')
        self.given = environment
        paths = (str(ROOT), environment.get('PYTHONPATH', ''))
        self.environment['PYTHONPATH'] = os.pathsep.join(filter(None, paths))
        self.started = []

    def start(self, block):
        """Start the last command of a block, after those before it."""
        log = (self.folder / f'.line_{block.line}.log').open('w+')
        *before, last = (block.language == 'bash' and commands_of(self.typed(block))) or [None]
        for words in before:
            assert self.fork(words, log).wait(timeout=400) == 0, said(log)
        process = self.fork(last, log) if last else self.script(block, log)
        self.started.append((process, log, time.monotonic()))
        return self.started[-1]

    def typed(self, block):
        """Return the text of a block with a longer step, and a graph in one process."""
        text, composed = in_steps(block.text), self.graph == 'composed'
        return in_one_process(text) if composed else text

    def fork(self, words, log):
        process = forked(COMMAND, words, self.given, folder=self.folder, output=log)
        return process or subprocess.Popen(
            [sys.executable, '-m', COMMAND, *words], env=self.environment, **self.streams(log)
        )

    def script(self, block, log):
        script = self.folder / f'.line_{block.line}'
        script.write_text(self.typed(block))
        program = {'bash': ['bash', '-euo', 'pipefail'], 'python': [sys.executable]}
        return subprocess.Popen(
            [*program[block.language], str(script)], env=self.environment, **self.streams(log)
        )

    def streams(self, log):
        return {
            'cwd': self.folder,
            'start_new_session': True,
            'stdin': subprocess.DEVNULL,
            'stdout': log,
            'stderr': subprocess.STDOUT,
        }

    def run(self, block):
        if 'file' in block.clauses:
            path = self.folder / block.clauses['file']
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if 'load' in block.clauses:
            LOADERS[block.clauses['load']](block.text)
        if block.language not in ('bash', 'python') or 'file' in block.clauses:
            return
        started = self.start(block)
        if 'background' in block.clauses:
            return
        if 'interrupt' in block.clauses:
            self.interrupt(*started)
        else:
            process, log, _ = started
            code = process.wait(timeout=400)
            assert code == int(block.clauses.get('exit', 0)), said(log)
            assert 'Traceback' not in said(log), said(log)
            self.started.remove(started)
            if 'ends' in block.clauses:
                self.end()

    def interrupt(self, process, log, since):
        """Let a command run for a while, and end it as ctrl-C does."""
        share = os.getloadavg()[0] / os.cpu_count() / 2
        seconds = min(LONGEST, SECONDS * max(1.0, share))
        while time.monotonic() - since < seconds and used_by(process) < WORK[self.graph]:
            time.sleep(0.1)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        try:
            code = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'ctrl-C did not end it; it said {said(log)!r}') from None
        self.started.remove((process, log, since))
        assert code in (0, 130, -signal.SIGINT), said(log)
        assert 'Traceback' not in said(log), said(log)

    def end(self):
        for started in tuple(reversed(self.started)):
            self.interrupt(*started)

    def kill(self):
        """End what a page that failed has left: a graph has processes in sessions of their own."""
        for process, log, _ in self.started:
            if process.poll() is None:
                family = [process, *psutil.Process(process.pid).children(recursive=True)]
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    for member in family:
                        member.kill()
            log.close()


def used_by(process):
    """Return the processor time of a process and of those that it has started, s."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        for one in (found := psutil.Process(process.pid), *found.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += sum(one.cpu_times()[:2])
    return total


def said(log):
    log.flush()
    log.seek(0)
    return log.read()


@pytest.fixture
def session(tmp_path, ros_environment):
    result = Session(tmp_path, ros_environment)
    yield result
    result.kill()


@pytest.mark.parametrize('page', PAGES, ids=name_of)
def test_every_block_is_run_or_says_why_not(page):
    complaints = {block.line: block.complaint for block in blocks_of(page)}
    assert not {f'{name_of(page)}:{line}': c for line, c in complaints.items() if c}


def in_steps(text):
    """Let the commands of a block that name no step run in steps of STEP."""
    verb = re.compile('^marine_sim (run|simulate) (?!--help)', re.MULTILINE)
    return text if '--dt' in text else verb.sub(rf'\g<0>--dt {STEP} ', text)


def in_one_process(text):
    """Let the graphs of a block that names no way to run them be composed."""
    verb = re.compile('^marine_sim run (?!--help)', re.MULTILINE)
    named = re.search(r'--(composed|processes|engine)', text)
    return text if named else verb.sub(r'\g<0>--composed ', text)


def commands_of(text):
    """Return the words of each command of a text that has marine_sim and no shell; else none."""
    lines = re.sub(r'\\\n|\s+#.*', ' ', text).strip().splitlines()
    plain = [re.fullmatch(r'marine_sim( +[\w./:,=+-]+)+ *', line) for line in lines]
    return [line.split()[1:] for line in lines] if all(plain) else []


DONE = set()
"""Blocks of one command that writes no file, which other pages have shown to work."""


def command_alone(block):
    """Return the one command of a block, without comments, or None where it does more."""
    text = re.sub(r'\s+#.*', '', block.text).strip()
    alone = block.language == 'bash' and not re.search(r'\n|out/|\.urdf|\.yaml|\.py|>', text)
    return text if alone and not {'file', 'background'} & set(block.clauses) else None


def of_folder(page):
    """Return a page as a parameter; pages of a folder share a worker, and so DONE."""
    group = pytest.mark.xdist_group(f'blocks of {page.parent.name}')
    return pytest.param(page, marks=group, id=name_of(page))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize('page', [of_folder(p) for p in PAGES if slow(p)])
def test_the_commands_of_a_page_work(page, session):
    session.graph = 'separate' if name_of(page) in SEPARATE else 'composed'
    for block in blocks_of(page):
        if block.runs and command_alone(block) not in DONE:
            try:
                session.run(block)
            except Exception as error:
                raise AssertionError(f'{name_of(page)}:{block.line}: {error}') from error
            DONE.update({command_alone(block)} - {None})
    session.end()


@pytest.mark.parametrize('page', [p for p in PAGES if not slow(p)], ids=name_of)
def test_what_a_page_describes_can_be_read(page):
    for block in blocks_of(page):
        if block.runs and 'load' in block.clauses:
            LOADERS[block.clauses['load']](block.text)


@pytest.mark.parametrize('page', PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = re.sub(r'```.*?```', '', page.read_text(encoding='utf-8'), flags=re.DOTALL)
    targets = re.findall(r'\]\(([^)#\s]+)[^)]*\)', text)
    missing = [t for t in targets if '://' not in t and not (page.parent / t).exists()]
    assert not [t for t in missing if not t.startswith('api/') and '/api/' not in t]


def test_pages_that_the_code_names_are_there():
    paths = [ROOT / 'Makefile', ROOT / 'setup.py']
    for top in ('marine_sim_ros', 'config', 'urdf', 'worlds', 'launch', 'test', 'scripts'):
        paths += (ROOT / top).rglob('*')
    missing = set()
    for path in paths:
        if (
            path.suffix in ('', '.py', '.yaml', '.xacro', '.urdf', '.sdf', '.js')
            and path.is_file()
        ):
            named = re.findall(r'\bdocs/[\w./-]*\w', path.read_text(encoding='utf-8'))
            missing |= {n for n in named if not (ROOT / n).exists() and 'sub-frames' not in n}
    assert not missing


def test_marks_are_read(tmp_path):
    page = tmp_path / 'page.md'
    page.write_text(
        '<!-- test: needs ros ros2; exit 2 -->\n```bash\nfalse\n```\n\n'
        '<!-- test: skip, it needs a display -->\n\n```python\nimport this\n```\n\ntext\n\n'
        '```yaml\na: 1\n```\n\n    indented\n'
    )
    shell, skipped, yaml, indented = blocks_of(page)
    assert shell.clauses == {'needs': 'ros ros2', 'exit': '2'}
    assert (shell.language, shell.text, shell.line) == ('bash', 'false\n', 2)
    assert skipped.clauses == {'skip': 'it needs a display'}
    assert not shell.complaint
    assert not skipped.complaint
    assert not skipped.runs
    assert 'needs a mark' in yaml.complaint
    assert 'no language' in indented.complaint
    assert clauses_of('<!-- results -->') is None
    assert 'unknown clause' in Block('bash', '', 1, {'hide': ''}).complaint
    assert 'unknown need' in Block('bash', '', 1, {'needs': 'rocket'}).complaint
    assert 'cannot load' in Block('yaml', '', 1, {'load': 'rocket'}).complaint
    assert 'without a reason' in Block('bash', '', 1, {'skip': ''}).complaint
    assert all(isinstance(here(), bool) for here in NEEDS.values())


def test_a_block_that_fails_fails(session):
    with pytest.raises(AssertionError):
        session.run(Block('bash', 'echo this is wrong\nfalse\n', 1))
    with pytest.raises(AssertionError, match='ValueError'):
        session.run(Block('python', 'raise ValueError\n', 2))
    session.run(Block('bash', 'exit 2\n', 3, {'exit': '2'}))
    session.run(Block('yaml', 'written', 4, {'file': 'a/b.yaml'}))
    session.run(Block('bash', 'test "$(cat a/b.yaml)" = written\n', 5))
