# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a COLLADA (DAE) file says of itself, looked at before a mesh library opens it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ModelError

__all__ = ['collada_header']

MAX_PARTS = 1000
"""Of a scene; its nodes can refer to others, so a short file could stand for millions."""


def collada_header(content: bytes, path: Path) -> tuple[float, list[str]]:
    """Return the length unit in m of a COLLADA file, and what to tell of its axes.

    Raises:
        ModelError: not XML, with entities, or one that would unfold without end.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = ' '.join(str(error).split())[:120]
        raise ModelError(f'{path}: not a valid DAE mesh: {reason}') from None
    info: Any = root.getroottree().docinfo
    if info.doctype:
        raise ModelError(
            f'{path}: has a document type declaration (<!DOCTYPE ...>); expected none'
        )
    _refuse_bombs(root, path)
    unit, axis = root.find('.//{*}asset/{*}unit'), root.find('.//{*}asset/{*}up_axis')
    told = []
    if axis is not None and axis.text != 'Z_UP':
        told.append(f'{path}: says {axis.text}; its coordinates are taken as they are, z up')
    try:
        meters = float(unit.get('meter', '1')) if unit is not None else 1.0
    except ValueError:
        meters = math.nan
    if not 1e-9 < meters < 1e9:
        raise ModelError(f'{path}: <unit meter> is no length; expected a positive number of m')
    return meters, told


def _refuse_bombs(root: Any, path: Path) -> None:
    """Refuse a short COLLADA file that would unfold to more than memory holds."""
    for polygons in root.iterfind('.//{*}polylist'):
        sizes = [float(n) for n in (polygons.findtext('{*}vcount') or '').split() if n.isdigit()]
        if sum(sizes) > len((polygons.findtext('{*}p') or '').split()):
            raise ModelError(f'{path}: not a valid DAE mesh: <vcount> is more than <p> holds')
    nodes = {node.get('id'): node for node in root.iterfind('.//{*}node')}
    counts: dict[str, int] = {}
    try:
        scenes = list(root.iterfind('.//{*}visual_scene'))
        parts = sum(_geometries(scene, nodes, counts) for scene in scenes)
    except RecursionError:
        raise ModelError(f'{path}: not a valid DAE mesh: its nodes hold each other') from None
    if parts > MAX_PARTS:
        raise ModelError(f'{path}: its scene has {parts:.3g} parts; expected at most {MAX_PARTS}')


def _geometries(node: Any, nodes: dict[str, Any], counts: dict[str, int]) -> int:
    """Return how many geometries are below a node, those of nodes it refers to included."""
    total = len(node.findall('{*}instance_geometry')) + len(node.findall('{*}instance_controller'))
    for child in node.iterfind('{*}node'):
        total += _geometries(child, nodes, counts)
    for reference in node.iterfind('{*}instance_node'):
        name = reference.get('url', '').lstrip('#')
        if name in nodes:
            if name not in counts:
                counts[name] = _geometries(nodes[name], nodes, counts)
            total += counts[name]
    return total
