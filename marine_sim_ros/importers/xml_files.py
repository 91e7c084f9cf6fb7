# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""XML files as other parsers take them, templates refused, SDF includes written out.

Source: SDFormat 1.11 specification, <include>, "Model composition" and "Interactions with
<experimental:params>". Elements of other files have the attributes ``_source`` and ``_folder``.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lxml import etree

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.importers.builder import origin_of, read_text
from marine_sim_ros.importers.model_files import ModelFolders
from marine_sim_ros.model import xml
from marine_sim_ros.model.xml import Element, Reader

__all__ = [
    'FORMATS',
    'IncludedFiles',
    'expand_includes',
    'folder_of',
    'parse_file',
    'read_lenient',
    'reader_of',
]

FORMATS = 'SDF, URDF, xacro, MJCF, USD or a Stonefish scenario'


# Templates of descriptions, which another program must expand first.

_SUFFIXES = {
    '.erb': 'erb',
    '.rsdf': 'erb',
    '.em': 'empy',
    '.jinja': 'jinja2',
    '.jinja2': 'jinja2',
    '.j2': 'jinja2',
    '.in': 'in',
}
_MARKS = {
    'erb': re.compile(r'<%[^\n]{0,60}'),
    'jinja2': re.compile(r'(?<!\$)\{\{[^\n]{0,60}\}\}|\{%[^\n]{0,60}%\}'),
    'empy': re.compile(r'@\([^\n)]{1,60}\)|@\[(?:if|for|end)\b[^\n]{0,60}\]'),
    'in': re.compile(r'(?<=>)\s*@[A-Za-z_]\w{0,60}@?(?=\s*<)'),
}
_NAMES = {
    'erb': 'ERB: erb',
    'empy': 'EmPy (Debian: python3-empy): empy3',
    'jinja2': 'Jinja (pip install jinja2-cli): jinja2',
}


def refuse_template(path: Path, text: str) -> None:
    """Refuse a file that another program has to expand first, by its suffix or its text.

    Args:
        text: its text without comments, line breaks kept.

    Raises:
        ModelError: it is a template.
    """
    kind = _SUFFIXES.get(path.suffix)
    where = ''
    for name, mark in _MARKS.items():
        found = mark.search(text) if kind in (None, name) else None
        if found is not None:
            kind = name
            line = text.count('\n', 0, found.end()) + 1
            where = f':{line}: has {found[0].strip()[:60]!r}'
            break
    if kind is None:
        return
    plain = path.with_suffix('') if path.suffix in _SUFFIXES else path.with_stem(f'{path.stem}_x')
    command = f'{_NAMES[kind]} {path.name} > {plain.name}, or with ' if kind in _NAMES else ''
    raise ModelError(
        f'{path}{where}: is a template; expand it first with {command}the program of its package'
        + ('' if command else f', which writes {plain.name} (see its CMakeLists.txt)')
    )


# Lenient XML of other simulators: two hyphens in comments, undeclared prefixes.

MAX_INCLUDES = 200
"""Files that a model may include, those within included ones counted each time."""

_COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
_PREFIX = re.compile(r'[<\s/]([A-Za-z_][\w.-]*):[A-Za-z_]')
_DECLARED = re.compile(r'xmlns:([A-Za-z_][\w.-]*)\s*=')
_ROOT = re.compile(r'<([A-Za-z_][\w.-]*)(?=[\s/>])')


def _clean_text(text: str) -> str:
    """Return the text without comments, line breaks kept, with its prefixes declared."""
    text = _COMMENT.sub(lambda match: '\n' * match[0].count('\n'), text)
    inside = ' '.join(re.findall(r'<[^>]*>', text))
    prefixes = {*_DECLARED.findall(text), 'xml', 'xmlns'}
    missing = sorted(set(_PREFIX.findall(inside)) - prefixes)
    if not missing:
        return text
    names = ''.join(f' xmlns:{prefix}="urn:{prefix}"' for prefix in missing)
    return _ROOT.sub(lambda match: f'<{match[1]}{names}', text, count=1)


class IncludedFiles:
    """Reads what a file includes; small files must not stand for millions of elements."""

    def __init__(self) -> None:
        self._files = self._elements = 0

    def parse(self, file: Path, where: str) -> Element:
        """Return the root element of an included file.

        Args:
            where: place of what includes it, for messages.

        Raises:
            ModelError: it cannot be read, or there are too many.
        """
        self._files += 1
        if self._files > MAX_INCLUDES:
            raise ModelError(
                f'{where}: more than {MAX_INCLUDES} files are included; expected an end (do files '
                'include each other?)'
            )
        root = parse_file(file)
        self._elements += sum(1 for _ in root.iter())
        if self._elements > xml.MAX_ELEMENTS:
            raise ModelError(f'{where}: more than {xml.MAX_ELEMENTS:,} elements are included')
        return root


def parse_file(path: Path) -> Element:
    """Return the root element of a file of another simulator.

    Raises:
        ModelError: it cannot be read, is a template, or is no XML even so.
    """
    text = read_lenient(path)
    if not text.lstrip('\ufeff \t\r\n').startswith('<'):
        raise ModelError(f'{path}: is no XML; expected {FORMATS}')
    return xml.parse(text, str(path))


def read_lenient(path: Path) -> str:
    """Return the text of a file of another simulator, which is no template.

    Raises:
        ModelError: it cannot be read, or is a template.
    """
    text = _clean_text(read_text_file(path, ModelError, xml.MAX_BYTES, mark=True))
    refuse_template(path, text)
    return text


# SDF with includes written out as by libsdformat: nested or merged models, parameters.

_DEEPEST = 8
_POSED = ('link', 'model', 'frame')
"""Elements whose pose is relative to the model that they are in."""


def reader_of(element: Element, around: Reader) -> Reader:
    """Return a reader that knows the file of an element, which may be an included one."""
    own = element.get('_source')
    return Reader(element, around.source if own is None else str(own))


def folder_of(element: Element, around: Path) -> Path:
    """Return the folder in which the meshes of an element are looked for."""
    own = element.get('_folder')
    return around if own is None else Path(str(own))


def expand_includes(
    root: Element, source: str, folder: Path, drop: Callable[[str], None], readable: ModelFolders
) -> tuple[str, ...]:
    """Replace every <include> of an SDF file by the model that it names.

    Args:
        root: the <sdf> element; it is changed.
        source: name of the file, for messages.
        drop: takes a line on what is not taken over.
        readable: where included files may be.

    Returns:
        The URIs that were not found, each with what to do.

    Raises:
        ModelError: includes that are nested too deeply, include each other, are too many, or are
            outside the folders that may be read.
    """
    expansion = _Expansion(drop, readable)
    _trim_numbers(root, source, drop)
    for parent in [*root.findall('world'), *root.findall('model')]:
        expansion.fill(parent, Reader(parent, source), folder, ())
    return tuple(expansion.missing)


_TRAILING = re.compile(r'([\d\s.eE+-]*\d\.?)\s*(["\',;]+)\s*')
"""Numbers with marks behind them, at which libsdformat ends to read."""


def _trim_numbers(root: Element, source: str, drop: Callable[[str], None]) -> None:
    """Leave out stray marks behind the numbers of elements, as libsdformat does."""
    for element in root.iter('*'):
        found = _TRAILING.fullmatch(element.text or '')
        if found is not None:
            drop(f'{origin_of(Reader(element, source))}: the {found[2]} behind its numbers')
            element.text = found[1]


class _Expansion:
    """Includes of one file, counted."""

    def __init__(self, drop: Callable[[str], None], readable: ModelFolders) -> None:
        self.drop, self.readable = drop, readable
        self.missing: list[str] = []
        self._files = IncludedFiles()

    def fill(self, parent: Element, around: Reader, folder: Path, chain: tuple[Path, ...]) -> None:
        """Replace the includes of a <world> or <model> and of the models in it."""
        for model in parent.findall('model'):
            self.fill(model, around, folder, chain)
        for include in parent.findall('include'):
            reader = Reader(include, around.source)
            included = self._include(reader, folder, chain)
            if included is None:
                parent.remove(include)
            elif read_text(reader, 'merge', str(include.get('merge', ''))).lower() in (
                'true',
                '1',
            ):
                self._merge(parent, include, included)
            else:
                parent.replace(include, included)

    def _include(self, include: Reader, folder: Path, chain: tuple[Path, ...]) -> Element | None:
        """Return the <model> of an include with its own includes, name, pose and parameters."""
        uri = read_text(include, 'uri')
        try:
            file = self.readable.find_model(uri, folder)
        except ModelError as error:
            raise include.error(str(error)) from None
        if file is None:
            template = self.readable.find_template(uri, folder)
            what_to_do = (
                'download it, and give --package-path FOLDER with the folder that holds it'
                if template is None
                else f'beside it is the template {template.name}: expand it to '
                f'{template.with_suffix("").name} with the program of its package'
            )
            self.missing.append(f'{uri[:200]}: {what_to_do}')
            self.drop(f'{origin_of(include)}: {uri[:200]!r} is not there; {what_to_do}')
            return None
        if file in chain:
            names = ' -> '.join(path.parent.name or path.name for path in (*chain, file))
            raise include.error(f'includes itself: {names}')
        if len(chain) >= _DEEPEST:
            raise include.error(f'includes are nested deeper than {_DEEPEST}')
        root = self._files.parse(file, origin_of(include))
        _trim_numbers(root, str(file), self.drop)
        model = root.find('model')
        if model is None:
            self.drop(f'{origin_of(include)}: {uri!r} has no <model>')
            return None
        self.fill(model, Reader(model, str(file)), file.parent, (*chain, file))
        for element in (model, *model):
            if isinstance(element.tag, str) and element.get('_source') is None:
                element.set('_source', str(file))
                element.set('_folder', str(file.parent))
        self._override(include, model)
        return model

    def _override(self, include: Reader, model: Element) -> None:
        """Apply name, pose, static, plugins and parameters that an include gives."""
        name = read_text(include, 'name')
        if name:
            model.set('name', name)
        for tag in ('pose', 'static'):
            own, replacement = model.find(tag), include.element.find(tag)
            if replacement is not None:
                if own is not None:
                    model.remove(own)
                model.append(self._copy_with_source(replacement, include))
        if include.element.find('placement_frame') is not None:
            self.drop(f'{origin_of(include)}: its <placement_frame>')
        for plugin in include.element.findall('plugin'):
            model.append(self._copy_with_source(plugin, include))
        for params in include.element.iterchildren('{*}params'):
            for change in params.iterchildren('*'):
                self._change(change, Reader(change, include.source), model)

    @staticmethod
    def _copy_with_source(element: Element, around: Reader) -> Element:
        """Return a copy of an element that knows its file."""
        result = copy.deepcopy(element)
        result.set('_source', str(around.source))
        return result

    def _merge(self, parent: Element, include: Element, model: Element) -> None:
        """Put the contents of a model into the one that includes it, about a frame of its pose."""
        frame = f'_merged__{model.get("name", "")}__model__'
        proxy = etree.Element('frame', name=frame)
        pose = model.find('pose')
        if pose is not None:
            proxy.append(pose)
        at = parent.index(include)
        parent.replace(include, proxy)
        for element in list(model):
            if element.tag in ('pose', 'static') or not isinstance(element.tag, str):
                continue
            _hang(element, frame)
            at += 1
            parent.insert(at, element)

    def _change(self, change: Element, reader: Reader, model: Element) -> None:
        """Apply one element of <experimental:params>: add, modify, remove or replace."""
        path = str(change.get('element_id', ''))
        action = str(change.get('action', 'modify'))
        target: Element | None = model
        for name in filter(None, path.split('::')):
            found = [e for e in target if isinstance(e.tag, str) and e.get('name') == name]  # type: ignore[union-attr]
            target = found[0] if found else None
            if target is None:
                self.drop(f'{origin_of(reader)}: params name {path!r}, which is not there')
                return
        assert target is not None
        if not _apply(change, target, action, str(reader.source)):
            self.drop(f'{origin_of(reader)}: action {action!r} of params on {path!r}')


def _apply(change: Element, target: Element, action: str, source: str) -> bool:
    """Apply a change to an element; return whether the action is known."""
    above: Any = target.getparent()
    if action in ('add', 'replace'):
        made = copy.deepcopy(change)
        for key in ('element_id', 'action'):
            made.attrib.pop(key, '')
        made.set('_source', source)
        if action == 'add':
            target.append(made)
        elif above is not None:
            made.set('name', str(made.get('name', target.get('name', ''))))
            above.replace(target, made)
        return True
    if action == 'remove':
        if above is not None:
            above.remove(target)
        return True
    if action == 'modify':
        _modify(change, target, source)
        return True
    return False


def _modify(change: Element, target: Element, source: str) -> None:
    """Set the texts and attributes of an element, child by child."""
    for key, value in change.attrib.items():
        if key not in ('element_id', 'action', 'name'):
            target.set(key, value)
    children = [child for child in change if isinstance(child.tag, str)]
    if not children and (change.text or '').strip():
        target.text = change.text
    for child in children:
        action = str(child.get('action', 'modify'))
        named = [
            e
            for e in target.findall(child.tag)
            if child.get('name') is None or e.get('name') == child.get('name')
        ]
        if action == 'add' or not named:
            _apply(child, target, 'add', source)
        else:
            _apply(child, named[0], action, source)


def _hang(element: Element, frame: str) -> None:
    """Let the pose of an element of a merged model be relative to a frame of the merging one."""
    if element.tag == 'joint':
        for axis in element.iter('xyz'):
            if axis.get('expressed_in') == '__model__':
                axis.set('expressed_in', frame)
        return
    if element.tag not in _POSED:
        return
    if element.tag == 'frame' and element.get('attached_to', '') not in ('', '__model__'):
        return
    pose = element.find('pose')
    if pose is None:
        pose = etree.SubElement(element, 'pose')
        pose.text = '0 0 0 0 0 0'
    if str(pose.get('relative_to', pose.get('frame', ''))) in ('', '__model__'):
        pose.set('relative_to', frame)
