# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Workflow, container, forms and citation: they parse, and what they name is there."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, WEEKLY

import marine_sim_ros
from marine_sim_ros.sim.options import RunOptions

WORKFLOW = ROOT / '.github' / 'workflows' / 'ci.yml'
FORMS = sorted((ROOT / '.github' / 'ISSUE_TEMPLATE').glob('*.yml'))
YAML = [WORKFLOW, *FORMS, ROOT / 'CITATION.cff', ROOT / '.pre-commit-config.yaml']
JOBS = yaml.safe_load(WORKFLOW.read_text(encoding='utf-8'))['jobs']
STEPS = [
    pytest.param(name, step['run'], id=f'{name}-{i}')
    for name, job in JOBS.items()
    for i, step in enumerate(job['steps'])
    if 'run' in step
]
DOCKERFILE = (ROOT / 'Dockerfile').read_text(encoding='utf-8')
SCRIPTS = [*sorted(ROOT.glob('scripts/*.sh')), ROOT / '.ci' / 'run']


class OncePerKey(yaml.SafeLoader):
    """Refuses a key that stands twice; YAML takes the last one and says nothing."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), f'twice in {node.start_mark}: {keys}'
        return super().construct_mapping(node, deep)


def script(name):
    """Import a script of the folder scripts."""
    spec = importlib.util.spec_from_file_location(name, ROOT / 'scripts' / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize('path', YAML, ids=lambda p: p.name)
def test_yaml_parses_and_has_no_key_twice(path):
    assert isinstance(yaml.load(path.read_text(encoding='utf-8'), OncePerKey), dict)


# Modules that texts name.

PACKAGE = ROOT / 'marine_sim_ros'
ROOMS = sorted(path.parent.name for path in PACKAGE.glob('*/__init__.py'))
MODULE_PATH = re.compile(rf'(?<![\w/.<-])(?:marine_sim_ros/)?((?:{"|".join(ROOMS)})/[\w/]+\.py)\b')
WRITTEN = ('*.md', 'docs/**/*.md', 'examples/**/*.md', 'marine_sim_ros/**/*.py', 'test/*.py')


def missing_modules(text):
    """Return the paths of modules in a text that do not exist; a recipe's new file may."""
    recipes = set(re.findall(r'<!-- test: file marine_sim_ros/(\S+) -->', text))
    return sorted(set(MODULE_PATH.findall(text)) - recipes - EXISTING)


EXISTING = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob('*.py')}


def test_a_path_of_a_module_that_does_not_exist_is_found():
    text = 'see physics/no_such_file.py, marine_sim_ros/ros/gone.py and core/state.py'
    assert missing_modules(text) == ['physics/no_such_file.py', 'ros/gone.py']


def test_modules_that_docs_docstrings_and_comments_name_exist():
    paths = {path for pattern in WRITTEN for path in ROOT.glob(pattern)}
    paths -= {ROOT / 'CHANGELOG.md', Path(__file__).resolve()}
    found = {p.name: missing_modules(p.read_text(encoding='utf-8')) for p in sorted(paths)}
    assert {name: missing for name, missing in found.items() if missing} == {}


# The workflow.


@pytest.mark.parametrize(('job', 'text'), STEPS)
def test_steps_are_shell_and_name_files_that_are_there(job, text):
    plain = re.sub(r'\$\{\{.*?\}\}', 'VALUE', text)
    done = subprocess.run(['bash', '-n', '-c', plain], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for word in re.findall(r'(?<![\w/$}])((?:\.ci|scripts|\.github)/[\w./*-]+)', plain):
        found = list(ROOT.glob(word))
        assert found, word
    for word in re.findall(r'(?:^|sudo )((?:\.ci|scripts)/\S+)', plain, re.MULTILINE):
        assert os.access(ROOT / word, os.X_OK), word


@pytest.mark.parametrize('name', JOBS)
def test_jobs_end_in_time_on_a_machine_that_is_named(name):
    job = JOBS[name]
    assert job['timeout-minutes'] <= 90
    machines = [job['runs-on']]
    if machines == ['${{ matrix.runner }}']:
        machines = job['strategy']['matrix']['runner']
    assert set(machines) <= {'ubuntu-24.04', 'ubuntu-24.04-arm', 'macos-15', 'windows-2025'}


def test_every_python_that_setup_accepts_is_tested():
    setup = script('setup_venv')
    expected = [f'3.{minor}' for minor in range(setup.OLDEST[1], setup.NEWEST[1] + 1)]
    assert JOBS['test']['strategy']['matrix']['python'] == expected


def test_every_bare_machine_is_visited():
    assert JOBS['fresh']['strategy']['matrix']['suite'] == list(script('fresh_machine').SUITES)


@pytest.mark.skipif(not (ROOT / 'noxfile.py').is_file(), reason='no noxfile.py')
def test_the_session_of_the_workflow_is_in_the_noxfile():
    tree = ast.parse((ROOT / 'noxfile.py').read_text(encoding='utf-8'))
    sessions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    commands = ' '.join(step.get('run', '') for step in JOBS['noble']['steps'])
    assert set(re.findall(r'--session (\w+)', commands)) <= sessions


def test_what_make_run_records_is_in_the_way_of_no_command_of_the_documentation():
    """A folder that has a recording is refused, and `make run` is what everybody calls first."""
    folder = re.search(r'--record (\S+)', (ROOT / 'Makefile').read_text(encoding='utf-8'))[1]
    for path in (ROOT / 'README.md', *(ROOT / 'docs').rglob('*.md')):
        assert folder not in re.findall(r'--record (\S+)', path.read_text(encoding='utf-8')), path


@pytest.mark.parametrize('line', WEEKLY)
def test_what_runs_weekly_exists(line):
    file, _, name = line.partition('::')
    text = (ROOT / file).read_text(encoding='utf-8')
    defined = re.split(r'\[|::', name)[0]
    assert re.search(rf'^(def )?{defined}( =|\()', text, re.MULTILINE)


ATTACKS = (ROOT / 'test' / 'attacks.txt').read_text(encoding='utf-8').splitlines()[2:]


def test_every_attack_has_tests():
    numbers, _, tests = zip(*(re.split(r' (.*) \| ', line) for line in ATTACKS), strict=True)
    assert list(numbers) == sorted({f'{int(number):03}' for number in numbers})
    assert len(numbers) == 52
    for file, name in (t.split('::') for line in tests for t in line.split()):
        text = (ROOT / 'test' / file).read_text(encoding='utf-8')
        assert re.search(rf'^def {name}\(', text, re.MULTILINE), (file, name)
    cases = ROOT.parent / 'shared' / 'cases' / 'attack'  # beside the checkout, on some machines
    assert {path.name[:3] for path in cases.glob('[0-9]*')} <= {*numbers}


def test_the_scheduled_run_tries_every_example_and_attack_once_a_week():
    """SECURITY.md promises it: a cron line of one day, and FUZZ=all down to pytest's options."""
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding='utf-8'))
    ((_, _, *days),) = [entry['cron'].split() for entry in workflow[True]['schedule']]  # on:
    assert days[:2] == ['*', '*']
    assert days[2] in '0123456'
    job = JOBS['test']
    assert job['env']['FUZZ'] == "${{ github.event_name == 'schedule' && 'all' || '' }}"
    assert '.ci/run' in [step.get('run') for step in job['steps']]
    assert re.search('^make test ', (ROOT / '.ci' / 'run').read_text(encoding='utf-8'), re.M)
    for fuzz in ('', 'all'):
        words = ['make', '--dry-run', 'test']
        env = {**os.environ, 'FUZZ': fuzz}
        told = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        assert ("-m 'not weekly'" in told.stdout) == (fuzz == '')


def test_launch_arguments_of_the_workflow_exist():
    commands = (
        ' '.join(step.get('run', '') for job in JOBS.values() for step in job['steps'])
        + DOCKERFILE
    )
    used = set(re.findall(r'(\w+):=', commands))
    assert {'scenario', 'real_time_factor'} <= used
    assert used <= {field.name for field in fields(RunOptions)}
    for name in set(re.findall(r'(\w+\.launch\.py)', commands)):
        assert (ROOT / 'launch' / name).is_file()


# A release.

GOOD_RELEASE = {
    'package.xml': (
        '<package><version>1.2.3</version><maintainer email="{}">A</maintainer></package>'
    ),
    'marine_sim_ros/__init__.py': "__version__ = '1.2.3'\n",
    'CHANGELOG.md': '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-01\n\n- News.\n',
}


@pytest.mark.parametrize(
    ('file', 'old', 'new', 'said'),
    [
        ('package.xml', '', '', None),
        ('package.xml', '1.2.3', '1.2.2', 'package.xml has version 1.2.2'),
        ('marine_sim_ros/__init__.py', '1.2.3', '1.2.30', 'has version 1.2.30'),
        ('CHANGELOG.md', '## 1.2.3', '## 1.3.0', 'newest release has version 1.3.0'),
        ('CHANGELOG.md', 'Unreleased\n', 'Unreleased\n\n- More.\n', 'entries under Unreleased'),
        ('package.xml', 'a@sea.org', 'a@sea.invalid', "the address 'a@sea.invalid'"),
        ('package.xml', 'a@sea.org', '', "the address ''"),
    ],
)
def test_a_release_has_one_version_no_open_entries_and_an_address(tmp_path, file, old, new, said):
    for name, text in GOOD_RELEASE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = text.format('a@sea.org')
        assert name != file or old in text
        path.write_text(text.replace(old, new) if name == file and old else text)
    faults = script('check_release').release_faults(tmp_path, 'v1.2.3')
    assert len(faults) == (said is not None), faults
    assert said is None or said in faults[0]


def test_the_release_is_checked_before_it_is_built():
    path = ROOT / '.github' / 'workflows' / 'release.yml'
    steps = yaml.safe_load(path.read_text(encoding='utf-8'))['jobs']['release']['steps']
    commands = [step.get('run', step.get('uses')) for step in steps]
    check = commands.index('scripts/check_release.py "$GITHUB_REF_NAME"')
    assert check < commands.index('pipx run build') < len(commands) - 1
    assert os.access(ROOT / 'scripts' / 'check_release.py', os.X_OK)


# Other installations.


@pytest.mark.parametrize('distribution', ['jazzy', 'lyrical'])
def test_pixi_installs_the_dependencies_of_the_manifest(distribution):
    tomllib = pytest.importorskip('tomllib', reason='new in Python 3.11')
    settings = tomllib.loads((ROOT / 'pixi.toml').read_text(encoding='utf-8'))
    assert settings['environments'][distribution] == [distribution]
    feature = settings['feature'][distribution]
    assert feature['channels'] == [f'https://prefix.dev/robostack-{distribution}']
    ros, python = conda_packages('exec', distribution)
    assert set(feature['dependencies']) == ros
    assert python <= set(settings['dependencies'])


def conda_packages(kind, distribution):
    """Return the packages of ROS and the others of conda that the manifest depends on."""
    manifest = (ROOT / 'package.xml').read_text(encoding='utf-8')
    wanted = re.findall(f'<{kind}_depend>(.*)</{kind}_depend>', manifest)
    ros = {f'ros-{distribution}-{x.replace("_", "-")}' for x in wanted if 'python3-' not in x}
    names = {'yaml': 'pyyaml', 'matplotlib': 'matplotlib-base', 'collada': 'pycollada'}
    return ros, {names.get(x[8:], x[8:]) for x in wanted if x.startswith('python3-')}


def test_the_recipe_of_conda_has_the_dependencies_of_the_manifest():
    recipe = yaml.safe_load((ROOT / 'conda' / 'recipe.yaml').read_text(encoding='utf-8'))
    assert recipe['context']['version'] == marine_sim_ros.__version__
    ros, python = conda_packages('exec', '${{ distribution }}')
    assert set(recipe['requirements']['run']) == {'python', *ros, *python}
    assert set(recipe['requirements']['host']) >= conda_packages('build', '')[1]
    for name in ('jazzy', 'lyrical'):
        text = (ROOT / 'conda' / f'{name}.yaml').read_text(encoding='utf-8')
        assert yaml.safe_load(text) == {'distribution': [name]}


# The container.


def ignored_by_docker(path):
    lines = (ROOT / '.dockerignore').read_text(encoding='utf-8').splitlines()
    parts = Path(path).parts  # none for the folder itself
    return ''.join(parts[:1]) in lines or any(f'**/{part}' in lines for part in parts)


def test_what_the_image_copies_is_there_and_not_ignored():
    sources = re.findall(r'^COPY (?:--\S+ )*(\S+) \S+$', DOCKERFILE, re.MULTILINE)
    assert len(sources) == 3
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not ignored_by_docker(source)


@pytest.mark.skipif(shutil.which('git') is None, reason='no git')
def test_nothing_that_is_committed_is_kept_from_the_image():
    assert ignored_by_docker('.git/config')
    assert ignored_by_docker('test/__pycache__/a.pyc')
    tracked = subprocess.check_output(['git', 'ls-files'], cwd=ROOT, text=True).splitlines()
    assert [path for path in tracked if ignored_by_docker(path)] == []


@pytest.mark.parametrize('distribution', ['jazzy', 'lyrical'])
def test_the_dev_container_is_a_stage_of_the_dockerfile(distribution):
    path = ROOT / '.devcontainer' / distribution / 'devcontainer.json'
    settings = json.loads(path.read_text(encoding='utf-8'))
    ((argument, _),) = settings['build']['args'].items()
    assert settings['build']['args'][argument] == distribution
    assert f'ARG {argument}=jazzy\nFROM ros:${{{argument}}} AS' in DOCKERFILE
    stages = re.findall(r'^FROM \S+ AS (\w+)$', DOCKERFILE, re.MULTILINE)
    assert settings['build']['target'] in stages
    assert (path.parent / settings['build']['dockerfile']).resolve() == ROOT / 'Dockerfile'
    assert (path.parent / settings['build']['context']).resolve() == ROOT
    folder = re.search(r'^WORKDIR (\S+)$', DOCKERFILE, re.MULTILINE).group(1)
    assert settings['workspaceFolder'] == f'{folder}/src/marine_sim_ros'
    assert f'target={settings["workspaceFolder"]},' in settings['workspaceMount']
    assert f'USER {settings["remoteUser"]}\n' in DOCKERFILE
    assert RunOptions().console_port in settings['forwardPorts']


def test_the_image_runs_as_a_user():
    last = DOCKERFILE.rsplit('FROM ', 1)[1]
    assert re.findall(r'^USER (\w+)$', last, re.MULTILINE) == ['ubuntu']


@pytest.mark.parametrize('path', SCRIPTS, ids=lambda p: p.name)
def test_shell_scripts_parse_and_can_be_called(path):
    done = subprocess.run(['bash', '-n', path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.access(path, os.X_OK)


def test_the_entrypoint_passes_the_command_and_its_exit_code_on(tmp_path):
    setup = tmp_path / 'ws' / 'install' / 'setup.bash'
    setup.parent.mkdir(parents=True)
    setup.write_text('export FOUND=workspace\n')
    command = [
        ROOT / 'scripts' / 'docker_entrypoint.sh',
        'sh',
        '-c',
        'echo $FOUND "$1"; exit 7',
        'sh',
        'two words',
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, 'HOME': str(tmp_path)}
    )
    assert done.stdout == 'workspace two words\n'
    assert done.returncode == 7


# Forms and citation.


@pytest.mark.parametrize(
    'path', [p for p in FORMS if p.name != 'config.yml'], ids=lambda p: p.name
)
def test_fields_of_forms_have_names_of_their_own(path):
    form = yaml.safe_load(path.read_text(encoding='utf-8'))
    assert {'name', 'description', 'body'} <= set(form)
    fields = [field for field in form['body'] if field['type'] != 'markdown']
    ids = [field['id'] for field in fields]
    labels = [field['attributes']['label'] for field in fields]
    assert len(set(ids)) == len(ids) == len(set(labels))
    assert any(field.get('validations', {}).get('required') for field in fields)


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))
    assert str(citation['version']) == marine_sim_ros.__version__
    manifest = (ROOT / 'package.xml').read_text(encoding='utf-8')
    assert citation['license'] == re.search('<license>(.*)</license>', manifest).group(1)
    assert {'cff-version', 'message', 'title', 'authors', 'type'} <= set(citation)
