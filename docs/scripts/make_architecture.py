# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the rooms of the package and their imports: pictures/architecture.svg.

``.venv/bin/python docs/scripts/make_architecture.py [FOLDER_OF_THE_PACKAGE]``

A room is a package below marine_sim_ros. Its floor is one above the highest room that it imports.
An arrow that follows from two others is left out of the picture, and counted all the same.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / 'docs' / 'pictures' / 'architecture.svg'
ROS_ROOMS = ('ros', 'nodes', 'tools', 'bench')
"""Rooms that may import ROS."""
WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT = 1000, 74, 118, 34
STYLE = """
  text { font: 13px system-ui, sans-serif; text-anchor: middle; fill: #fff; }
  .floor { font-size: 11px; fill: #7b8794; text-anchor: start; }
  .core { fill: #1f6fb2; } .ros { fill: #c2701c; }
  path { stroke: #8a97a5; stroke-width: 1.1; fill: none; opacity: 0.75; }
  #head path { fill: #8a97a5; stroke: none; }
"""


def imports(path: Path, package: str) -> set[str]:
    """Return the dotted names of the package that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and (node.module or '').split('.')[0] == package:
            found |= {f'{node.module}.{alias.name}' for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.split('.')[0] == package}
    return found


def arrows(package: Path) -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    rooms = {folder.name for folder in package.iterdir() if (folder / '__init__.py').is_file()}
    used: dict[str, set[str]] = {room: set() for room in rooms}
    for room in rooms:
        for path in (package / room).rglob('*.py'):
            targets = {name.split('.')[1] for name in imports(path, package.name) if '.' in name}
            used[room] |= (targets & rooms) - {room}
    return used


def floors(used: dict[str, set[str]]) -> dict[int, list[str]]:
    """Return the rooms of each floor, the lowest one is 0."""
    level: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((floor(below) for below in used[room]), default=-1)
        return level[room]

    found = defaultdict(list)
    for room in sorted(used):
        found[floor(room)].append(room)
    return dict(found)


def needed(used: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows that do not follow from two others."""

    def below(room: str) -> set[str]:
        return used[room] | {far for near in used[room] for far in below(near)}

    return [
        (room, target)
        for room in sorted(used)
        for target in sorted(used[room])
        if not any(target in below(other) for other in used[room] - {target})
    ]


def places(
    levels: dict[int, list[str]], lines: list[tuple[str, str]]
) -> dict[str, tuple[float, float]]:
    """Return the centre of each room; rooms of a floor are ordered by those they import."""
    at: dict[str, tuple[float, float]] = {}
    for level in sorted(levels):
        rooms = levels[level]

        def middle(room: str) -> float:
            below = [at[target][0] for source, target in lines if source == room]
            return sum(below) / len(below) if below else WIDTH / 2

        rooms.sort(key=lambda room: (middle(room), room))
        gap = (WIDTH - 80) / len(rooms)
        for i, room in enumerate(rooms):
            y = (max(levels) - level) * ROW + ROW / 2
            at[room] = (80 + gap * (i + 0.5), y)
    return at


def picture(used: dict[str, set[str]]) -> str:
    """Return the picture as SVG."""
    levels, lines = floors(used), needed(used)
    at = places(levels, lines)
    height = len(levels) * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f'<style>{STYLE}</style>',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    for source, target in lines:
        (x0, y0), (x1, y1) = at[source], at[target]
        y0, y1 = y0 + BOX_HEIGHT / 2, y1 - BOX_HEIGHT / 2 - 1
        bend = min(40.0, (y1 - y0) / 2)
        curve = f'M{x0:.0f} {y0:.0f}C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f}'
        parts.append(f'<path d="{curve} {x1:.0f} {y1:.0f}" marker-end="url(#head)"/>')
    for level in sorted(levels):
        y = (max(levels) - level) * ROW + ROW / 2 + 4
        parts.append(f'<text class="floor" x="4" y="{y:.0f}">floor {level}</text>')
    for room, (x, y) in at.items():
        kind = 'ros' if room in ROS_ROOMS else 'core'
        parts.append(
            f'<rect class="{kind}" x="{x - BOX_WIDTH / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" '
            f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
            f'<text x="{x:.0f}" y="{y + 4:.0f}">{room}</text>'
        )
    return '\n'.join([*parts, '</svg>', ''])


def main() -> None:
    """Draw the picture and print the counts."""
    used = arrows(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / 'marine_sim_ros')
    PICTURE.write_text(picture(used), encoding='utf-8')
    count = sum(len(targets) for targets in used.values())
    sys.stdout.write(f'{len(used)} rooms on {len(floors(used))} floors, {count} arrows\n')


if __name__ == '__main__':
    main()
