# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The code blocks of Markdown pages, and the marks that say how each is tested.

A mark is a comment on the line before a block, ``<!-- test: CLAUSE; CLAUSE -->``:

``skip, REASON``    the block is not run, and why; always the last clause
``needs NAME ...``  it is run where these are found, see :data:`NEEDS`
``background``      the command goes on while later blocks of the page run; SIGINT ends it
``ends``            after this block nothing needs what runs in the background: it is ended
``interrupt``       the command runs for some seconds; SIGINT ends it
``exit N``          the exit code that is expected (0 without this clause)
``file NAME``       the text is written to a file beside the other blocks of the page
``load KIND``       the text is read as one of :data:`LOADERS`

Blocks in bash and Python are run. Blocks in text are samples of output, formulas or trees of
files. Every other block has to be marked.
"""

import re
import shutil
from dataclasses import dataclass, field
from functools import cache

from conftest import ROOT, has
from markdown_it import MarkdownIt

from marine_sim_ros.control.controller_model import parse_controller
from marine_sim_ros.dataset.plan import parse_dataset_plan, setup_of
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.faults.fault_types import parse_faults
from marine_sim_ros.identification.parameters import FITS
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.materials import parse_materials
from marine_sim_ros.model.parts import parse_parts
from marine_sim_ros.sim.fleet import FLEETS
from marine_sim_ros.sim.mission import MISSIONS
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sweep.plan import parse_plan

PAGES = (ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md')))
RUN = {'bash', 'python'}
SAMPLES = {'text'}
PART = """<robot name="part"><link name="base_link"><inertial><mass value="10"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="baro_link"/><joint name="baro" type="fixed"><parent link="base_link"/>
  <child link="baro_link"/></joint>{}</robot>"""


def found(*commands):
    return all(shutil.which(command) for command in commands)


NEEDS = {
    'ros': lambda: has('rclpy'),
    'ros2': lambda: found('ros2') and has('launch_ros'),
    'gazebo': lambda: found('gz'),
    'jax': lambda: has('jax'),
    'pyarrow': lambda: has('pyarrow'),
    'gymnasium': lambda: has('gymnasium'),
    'nicegui': lambda: has('nicegui'),
    'pymavlink': lambda: has('pymavlink'),
}
"""What a block may need: name -> whether it is here."""

LOADERS = {
    'vehicle': lambda text: load_vehicle(text),
    'vehicle-part': lambda text: load_vehicle(PART.format(text)),
    'environment': lambda text: parse_environment(text, 'block.yaml'),
    'scenario': lambda text: parse_scenario(text, 'block.yaml'),
    'mission': lambda text: MISSIONS.parse(text, 'block.yaml'),
    'controller': lambda text: parse_controller(text, 'block.yaml'),
    'fleet': lambda text: FLEETS.parse(text, 'block.yaml'),
    'sweep': lambda text: parse_plan(text, 'block.yaml'),
    'dataset': lambda text: setup_of(parse_dataset_plan(text, 'block.yaml')),
    'materials': lambda text: parse_materials(text, 'block.yaml'),
    'parts': lambda text: parse_parts(text, 'block.yaml'),
    'fit': lambda text: FITS.parse(text, 'block.yaml'),
    'faults': lambda text: parse_faults(text.removeprefix('faults:')),
}
"""What a block in XML or YAML may be read as: name -> a function that raises what is wrong."""


@dataclass(frozen=True)
class Block:
    """A fenced block: language, text, line in the page (from 1) and the clauses of its mark."""

    language: str
    text: str
    line: int
    clauses: dict = field(default_factory=dict)

    @property
    def complaint(self):
        """What keeps the block from being tested; empty if nothing does."""
        known = {'skip', 'needs', 'background', 'ends', 'interrupt', 'exit', 'file', 'load'}
        if unknown := set(self.clauses) - known:
            return f'unknown clause {sorted(unknown)}; expected one of {sorted(known)}'
        if 'skip' in self.clauses:
            return '' if len(self.clauses['skip']) > 8 else 'skip without a reason'
        if unknown := set(self.clauses.get('needs', '').split()) - set(NEEDS):
            return f'unknown need {sorted(unknown)}; expected one of {sorted(NEEDS)}'
        if self.clauses.get('load', 'vehicle') not in LOADERS:
            return f'cannot load {self.clauses["load"]}; expected one of {sorted(LOADERS)}'
        tested = RUN | SAMPLES
        if self.language not in tested and not {'load', 'file'} & set(self.clauses):
            return f'a block in {self.language or "no language"} needs a mark: load, file or skip'
        return ''

    @property
    def runs(self):
        """Whether the block does anything on this machine."""
        return (
            (self.language in RUN or bool({'load', 'file'} & set(self.clauses)))
            and 'skip' not in self.clauses
            and all(NEEDS[name]() for name in self.clauses.get('needs', '').split())
        )


def clauses_of(comment):
    """Return the clauses of an HTML comment, name -> value; None if it is no mark."""
    match = re.fullmatch(r'<!-- test: (.*?) -->', ' '.join(comment.split()))
    if match is None:
        return None
    before, skip, reason = match[1].partition('skip')
    pairs = (clause.split(None, 1) for clause in before.split(';') if clause.strip())
    found = {name: ''.join(value).strip() for name, *value in pairs}
    return {**found, 'skip': reason.lstrip(', ')} if skip else found


@cache
def blocks_of(page):
    """Return the blocks of a page; one that is indented has no language."""
    blocks, mark, marked = [], {}, -1
    for token in MarkdownIt('commonmark').parse(page.read_text(encoding='utf-8')):
        if token.type == 'html_block' and clauses_of(token.content) is not None:
            mark, marked = clauses_of(token.content), token.map[1]
        elif token.type in ('fence', 'code_block'):
            here = mark if marked in (token.map[0], token.map[0] - 1) else {}
            language = token.info.split(' ')[0] if token.type == 'fence' else ''
            blocks.append(Block(language, token.content, token.map[0] + 1, here))
    return blocks
