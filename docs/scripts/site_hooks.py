# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Adds to the site a page of the API for each room of the package, and weights of the search.

MkDocs calls these functions (``hooks`` of mkdocs.yml); nothing is written to docs/.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from search_rules import keywords_of, weight_of

PACKAGE = Path(__file__).resolve().parents[2] / 'marine_sim_ros'
FOLDER = 'reference/api'
PARTS = ('heading', 'toc_entry')
"""What mkdocstrings leaves out of a module: the page has a heading of its own."""


def rooms() -> dict[str, list[str]]:
    """Return the dotted names of the modules of each room, those of the package first."""
    found: dict[str, list[str]] = {PACKAGE.name: [PACKAGE.name]}
    for path in sorted(PACKAGE.rglob('*.py')):
        parts = path.relative_to(PACKAGE).with_suffix('').parts
        parts = parts[:-1] if parts[-1] == '__init__' else parts
        if not parts or not documented(path):
            continue
        name = '.'.join((PACKAGE.name, *parts))
        inside = (PACKAGE / parts[0]).is_dir()
        found.setdefault(parts[0] if inside else PACKAGE.name, []).append(name)
    return {room: found[room] for room in sorted(found, key=lambda r: (r != PACKAGE.name, r))}


def documented(path: Path) -> bool:
    """Return whether a module defines something public, or says what its package is for."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    if path.name == '__init__.py':
        return bool(ast.get_docstring(tree))
    names = [getattr(node, 'name', '') for node in tree.body]
    return any(name and not name.startswith('_') for name in names)


def page_of(room: str, modules: list[str]) -> str:
    """Return the page of a room in Markdown."""
    title = room if room == PACKAGE.name else f'{PACKAGE.name}.{room}'
    lines = [f'# {title}', '']
    for module in modules:
        heading = f'## `{module.removeprefix(f"{PACKAGE.name}.")}`'
        options = ['    options:', *(f'      show_root_{part}: false' for part in PARTS)]
        lines += [heading, '', f'::: {module}', *options, '']
    return '\n'.join(lines)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the API pages into the navigation, after the other pages of the reference."""
    pages = [{room: f'{FOLDER}/{room}.md'} for room in rooms()]
    for section in config.nav or []:
        if 'Reference' in section:
            section['Reference'].append({'Python API': pages})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Make the API pages."""
    for room, modules in rooms().items():
        path = f'{FOLDER}/{room}.md'
        files.append(File.generated(config, path, content=page_of(room, modules)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Give the page its weight and its keywords (front matter that the search plugin reads)."""
    path = page.file.src_uri
    page.meta['search'] = {'boost': weight_of(path)}
    page.meta['tags'] = keywords_of(path)
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Show Sphinx's roles of docstrings as the code they name; break no option at a hyphen."""

    def keep(code: re.Match[str]) -> str:
        return re.sub(r'--[a-z][\w-]*', r'<span class="option">\g<0></span>', code[0])

    html = re.sub(r':(?:func|class|meth|mod|data|attr):(?=<code)', '', html)
    return re.sub('<code>[^<]*</code>', keep, html)


def on_post_build(config: MkDocsConfig) -> None:
    """Leave the keywords with the page as a whole: its sections are found by what they say."""
    path = Path(config.site_dir, 'search', 'search_index.json')
    index = json.loads(path.read_text(encoding='utf-8'))
    for entry in index['docs']:
        if '#' in entry['location']:
            entry.pop('tags', None)
    path.write_text(json.dumps(index, separators=(',', ':')), encoding='utf-8')
