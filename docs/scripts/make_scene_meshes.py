# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes config/environments/meshes/: wreck, jetty, pipeline, wellhead, net pen (manifold3d).

Shapes and sizes are made up; the wreck is that of a coaster of 24 m, the jetty has two rows of
piles, the net pen is 16 m wide. Surfaces of the solids are rough, as by growth: smooth noise moves
their points by some centimetres. Twine of the net is wider than real twine, to be seen.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import manifold3d
import numpy as np
import trimesh

HERE = Path(__file__).resolve().parents[2] / 'config' / 'environments' / 'meshes'
Solid: TypeAlias = manifold3d.Manifold


def box(size: list[float], middle: list[float]) -> Solid:
    """Return a box."""
    return Solid.cube(size, center=True).translate(middle)


def tube(radius: float, start: list[float], end: list[float], sides: int = 16) -> Solid:
    """Return a cylinder from one place to another."""
    a, b = np.array(start, float), np.array(end, float)
    length = float(np.linalg.norm(b - a))
    found = trimesh.geometry.align_vectors([0, 0, 1], b - a)
    pose = np.column_stack([found[:3, :3], a])
    return Solid.cylinder(length, radius, circular_segments=sides).transform(pose)


def hull(length: float, beam: float, depth: float, inset: float) -> Solid:
    """Return the solid within a ship's hull, its deck level at z = 0, the bow along x.

    Args:
        length: m, over all.
        beam: m.
        depth: m, from keel to deck.
        inset: how far the surface lies within the outer one, m.
    """
    count, points = 49, 17
    share = np.linspace(0.0, 1.0, count)
    angle = np.linspace(-1.0, 1.0, points)
    along, side = np.meshgrid(share, angle, indexing='ij')
    wide = np.where(
        along < 0.55,
        1 - 0.25 * (1 - along / 0.55) ** 3,
        1 - (np.maximum(along - 0.55, 0.0) / 0.45) ** 2.4,
    )
    keel = np.where(along > 0.8, 1 - 0.6 * ((along - 0.8) / 0.2) ** 2, 1.0)
    sheer = 1.1 * np.maximum(along - 0.5, 0.0) ** 2 * 4
    half = np.maximum(beam / 2 * wide - inset, 0.02)
    y = half * np.sign(side) * np.abs(side) ** 0.45
    deep = np.maximum(depth * keel - inset, 0.2)
    z = sheer - (deep + sheer) * (1 - np.abs(side) ** 3) + 0.5 * inset * np.abs(side) ** 3
    x = (along - 0.5) * (length - 2 * inset)
    rings = np.stack([x, y, z], axis=-1)
    ends = rings[[0, -1]].mean(axis=1)
    vertices = np.concatenate([rings.reshape(-1, 3), ends])
    index = np.arange(count * points).reshape(count, points)
    faces = []
    for i in range(count - 1):
        for k in range(points):  # the last side of each ring is the deck
            a, b = index[i, k], index[i, (k + 1) % points]
            c, d = index[i + 1, k], index[i + 1, (k + 1) % points]
            faces += [[a, c, b], [b, c, d]]
    for ring, end, turned in (
        (index[0], len(vertices) - 2, False),
        (index[-1], len(vertices) - 1, True),
    ):
        for k in range(points):
            a, b = ring[k], ring[(k + 1) % points]
            faces.append([end, b, a] if turned else [end, a, b])
    mesh = trimesh.Trimesh(vertices, faces)
    if mesh.volume < 0:
        mesh.invert()
    return Solid(
        manifold3d.Mesh64(
            vert_properties=np.array(mesh.vertices, np.float64),
            tri_verts=np.array(mesh.faces, np.uint64),
        )
    )


def largest(solid: Solid) -> Solid:
    """Return the largest of the pieces of a solid."""
    return max(solid.decompose(), key=Solid.volume)


def wreck() -> Solid:
    """Return a ship that broke in two, hollow, with open hatches, a house, masts and a screw."""
    length, beam, depth = 24.0, 6.0, 3.2
    shell = hull(length, beam, depth, 0.0) - hull(length, beam, depth, 0.12).translate([0, 0, 0.2])
    deck = hull(length, beam, depth, 0.05) - box([40, 20, 10], [0, 0, -5.12])
    deck -= box([40, 20, 10], [0, 0, 5.9])
    ship = shell + (deck ^ box([30, 20, 3], [0, 0, 0.5]))
    for x in (-2.5, 3.0):  # hatches, with coamings
        ship += box([4.0, 3.2, 0.6], [x, 0, 0.1]) - box([3.7, 2.9, 2.0], [x, 0, 0.1])
        ship -= box([3.7, 2.9, 1.2], [x, 0, 0.0])
    for x in (0.3, -6.0, 6.2):  # bulkheads
        ship += hull(length, beam, depth, 0.06) ^ box([0.12, 10, 10], [x, 0, 0])
    house = box([4.5, 4.2, 4.4], [-8.2, 0, 2.1]) - box([4.2, 3.9, 1.9], [-8.2, 0, 1.1])
    house -= box([4.2, 3.9, 1.9], [-8.2, 0, 3.2])
    for y in (-1.4, -0.5, 0.5, 1.4):
        house -= box([1.0, 0.6, 0.6], [-6.0, y, 3.4])
    for x in (-9.4, -8.2, -7.0):
        house -= box([0.6, 10.0, 0.6], [x, 0, 3.4])
    house -= box([0.8, 10.0, 1.6], [-8.2, 0, 1.0])
    funnel = tube(0.7, [-9.2, 0, 4.2], [-9.5, 0, 6.0], 24) - tube(
        0.6, [-9.2, 0, 4.6], [-9.6, 0, 6.4], 24
    )
    ship += house + funnel
    ship += tube(0.14, [0.3, 0, -1.0], [0.3, 0, 6.5]) + tube(0.08, [0.3, 0, 1.2], [4.4, 0.9, 4.5])
    ship += tube(0.12, [9.6, 0, 0.4], [10.0, 0, 4.2])
    for side in (-1, 1):  # bulwark and its posts
        for x in np.arange(-10.5, 8.6, 1.5):
            half = (
                0.5 * beam * (1 - max(x / 12.0 * 0.5 + 0.5 - 0.55, 0.0) ** 2.4 / 0.45**2.4) - 0.25
            )
            rise = 4.4 * max(x / 24.0, 0.0) ** 2
            ship += tube(0.04, [x, side * half, rise - 0.1], [x, side * half, rise + 1.0], 8)
    ship += tube(0.12, [-12.6, 0, -2.0], [-11.0, 0, -2.0])
    for turn in range(4):
        blade = box([0.08, 0.45, 0.9], [0, 0, 0.55]).rotate([0, 0, 30]).rotate([90 * turn, 0, 0])
        ship += blade.translate([-12.4, 0, -2.0])
    ship += box([0.9, 0.12, 2.2], [-13.2, 0, -1.9]) + box([1.6, 0.1, 0.1], [-12.6, 0, -0.85])
    gap = box([1.3, 20, 20], [0, 0, 0]).rotate([0, 8, 12]).translate([1.6, 0, 0])
    hole = Solid.sphere(0.9, 20).scale([1.2, 1, 0.8]).translate([-4.5, -2.9, -1.2])
    ship = ship - gap - hole
    aft = largest(ship.trim_by_plane([-1, 0.2, 0], -1.6)).rotate([14, 2, 0])
    fore = (
        largest(ship.trim_by_plane([1, -0.2, 0], 1.6))
        .rotate([-20, -4, 9])
        .translate([1.2, 0.6, -0.35])
    )
    return (aft + fore).translate([0, 0, 2.7])


def jetty() -> Solid:
    """Return a deck on piles, with bracing, fenders and a ladder; z = 0 is the water."""
    deck = box([18.0, 4.0, 0.5], [0, 0, 2.0]) + box([18.0, 0.3, 0.3], [0, -1.9, 2.3])
    found = deck
    for x in np.arange(-8.0, 8.1, 4.0):
        for y in (-1.6, 1.6):
            found += tube(0.3, [x, y, -10.0], [x, y, 2.0], 20)
        found += box([0.5, 4.0, 0.5], [x, 0, 1.6])
        found += tube(0.09, [x, -1.6, -3.5], [x, 1.6, -0.5]) + tube(
            0.09, [x, 1.6, -3.5], [x, -1.6, -0.5]
        )
    for x in np.arange(-8.0, 4.1, 4.0):
        found += tube(0.09, [x, 1.6, -4.5], [x + 4.0, 1.6, -1.0])
    for y in (-0.25, 0.25):
        found += tube(0.04, [6.0 + y, -2.1, -3.0], [6.0 + y, -2.1, 3.0], 10)
    for z in np.arange(-2.8, 2.9, 0.3):
        found += tube(0.025, [5.75, -2.1, z], [6.25, -2.1, z], 8)
    found += box([0.5, 0.3, 0.1], [6.0, -2.0, 2.2]) + box([0.5, 0.3, 0.1], [6.0, -2.0, 1.8])
    for x in (-6.0, -2.0, 2.0):
        found += tube(0.25, [x, -2.2, 0.2], [x, -2.2, 2.0], 20)
    return found


def pipeline() -> Solid:
    """Return a pipe of 0.5 m on the seabed and over free spans, with anodes, a flange and a clamp.

    z = 0 is the seabed; spans of 6 and 4 m hang 0.5 m and 0.3 m above it.
    """
    along = np.linspace(-24.0, 24.0, 97)
    lift = 0.5 * np.exp(-(((along + 8.0) / 4.0) ** 4)) + 0.3 * np.exp(
        -(((along - 10.0) / 2.5) ** 4)
    )
    sway = 0.8 * np.sin(along / 14.0)
    places = np.column_stack([along, sway, 0.12 + lift])
    found = Solid()
    for start, end in pairwise(places):
        found += tube(0.25, list(start), list(end), 24) + Solid.sphere(0.25, 24).translate(end)
    for x in np.arange(-21.0, 22.0, 6.0):  # bracelet anodes
        i = int(np.argmin(np.abs(along - x)))
        a, b = places[i], places[i + 1]
        found += tube(0.31, list(a), list(b), 24)
    for x in (-1.0, 0.0):
        i = int(np.argmin(np.abs(along - x)))
        way = (places[i + 1] - places[i]) / np.linalg.norm(places[i + 1] - places[i])
        found += tube(0.42, list(places[i]), list(places[i] + 0.12 * way), 24)
    i = int(np.argmin(np.abs(along - 15.0)))
    found += box([0.6, 1.6, 0.3], list(places[i] - [0.0, 0.0, 0.3]))
    return found


def wellhead() -> Solid:
    """Return a template on the seabed with a tree, a valve panel, a hot-stab block and a ladder.

    z = 0 is the seabed; the panel faces the x axis.
    """
    found = Solid()
    for x in (-2.0, 2.0):
        for y in (-2.0, 2.0):
            found += tube(0.15, [x, y, -0.5], [x, y, 3.2], 20)
    for z in (0.2, 3.1):
        for s in (-2.0, 2.0):
            found += tube(0.12, [-2.0, s, z], [2.0, s, z]) + tube(0.12, [s, -2.0, z], [s, 2.0, z])
    for s in (-2.0, 2.0):
        found += tube(0.08, [-2.0, s, 0.2], [2.0, s, 3.1])
    found += tube(0.08, [-2.0, -2.0, 3.1], [-2.0, 2.0, 0.2])
    found += tube(0.45, [0, 0, -0.5], [0, 0, 1.2], 32) + tube(0.3, [0, 0, 1.2], [0, 0, 2.6], 32)
    found += box([0.9, 0.9, 0.6], [0, 0, 1.5]) + tube(0.5, [0, 0, 2.5], [0, 0, 2.7], 32)
    found += tube(0.18, [0, 0, 1.5], [0, 1.9, 1.5], 24) + tube(
        0.18, [0, 1.9, 1.5], [0, 3.4, 0.1], 24
    )
    panel = box([0.1, 2.4, 1.6], [1.75, 0, 1.7])
    for y, z in ((-0.7, 2.0), (0.0, 2.0), (0.7, 2.0)):  # valve buckets, with a bar in each
        panel -= tube(0.16, [1.6, y, z], [1.9, y, z], 32)
        bucket = tube(0.2, [1.55, y, z], [1.9, y, z], 32) - tube(
            0.16, [1.62, y, z], [2.0, y, z], 32
        )
        found += (
            bucket
            + tube(0.04, [1.5, y, z], [1.82, y, z], 16)
            + box([0.03, 0.26, 0.04], [1.82, y, z])
        )
    stab = box([0.4, 0.4, 0.3], [1.85, -0.5, 1.3])
    stab -= tube(0.03, [1.9, -0.5, 1.3], [2.2, -0.5, 1.3], 24)
    found += panel + stab + box([0.4, 0.4, 0.3], [1.85, 0.5, 1.3])
    for y in (1.35, 1.75):
        found += tube(0.03, [2.1, y, 0.2], [2.1, y, 3.1], 10)
    for z in np.arange(0.4, 3.1, 0.3):
        found += tube(0.02, [2.1, 1.35, z], [2.1, 1.75, z], 8)
    for z in (0.6, 1.7, 2.8):
        found += tube(0.03, [2.0, 1.55, z], [2.1, 1.55, z], 8) + box(
            [0.04, 0.44, 0.04], [2.1, 1.55, z]
        )
    return found


PEN_RADIUS, PEN_TOP, PEN_DEPTH, PEN_APEX = 8.0, 0.8, 10.0, 12.0
"""Of the net, m: its wall from above the water to this depth, and the depth of its cone's tip."""
MESHES_ROUND, MESHES_DOWN = 126, 27
"""Squares of 0.4 m round and down its wall."""
TEAR = {(61 + i, j) for j, row in ((11, (0, 1)), (12, (0, 1, 2)), (13, (1, 2))) for i in row}
"""Squares of the wall that are torn."""
FOULED = (69.0, 11.5)
"""Middle of the fouled patch, in squares round and down."""


def wall(i: float, j: float) -> np.ndarray:
    """Return the place on the wall of the net after so many squares round and down."""
    angle = 2 * np.pi * i / MESHES_ROUND
    z = PEN_TOP - (PEN_TOP + PEN_DEPTH) * j / MESHES_DOWN
    return np.array([PEN_RADIUS * np.cos(angle), PEN_RADIUS * np.sin(angle), z])


def twine(points: np.ndarray, closed: bool = False, radius: float = 0.011) -> trimesh.Trimesh:
    """Return a three-sided bar along points (n, 3), joined to a ring if closed."""
    count = len(points)
    way = np.roll(points, -1, 0) - np.roll(points, 1, 0) if closed else np.gradient(points, axis=0)
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    steep = np.abs(way[:, 2:]) > 0.9
    across = np.cross(way, np.where(steep, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    other = np.cross(way, across)
    turns = 2 * np.pi * np.arange(3) / 3
    rims = across[:, None] * np.cos(turns)[:, None] + other[:, None] * np.sin(turns)[:, None]
    faces = []
    for i in range(count if closed else count - 1):
        for k in range(3):
            a, b = 3 * i + k, 3 * i + (k + 1) % 3
            c, d = 3 * ((i + 1) % count) + k, 3 * ((i + 1) % count) + (k + 1) % 3
            faces += [[a, b, c], [b, d, c]]
    if not closed:
        last = 3 * count - 3
        faces += [[0, 2, 1], [last, last + 1, last + 2]]
    return trimesh.Trimesh((points[:, None] + radius * rims).reshape(-1, 3), faces, process=False)


def bars(points: list[np.ndarray], whole: list[bool], closed: bool) -> list[trimesh.Trimesh]:
    """Return the twine along points, without the pieces from a point to the next not whole."""
    if closed and all(whole):
        return [twine(np.array(points), closed=True)]
    if closed:  # begin after a gap
        first = whole.index(False) + 1
        points, whole = points[first:] + points[:first], whole[first:] + whole[:first]
        points, whole = [*points, points[0]], [*whole[:-1], False]
    found, start = [], 0
    for end, kept in enumerate([*whole[: len(points) - 1], False]):
        if not kept:
            if end > start:
                found.append(twine(np.array(points[start : end + 1])))
            start = end + 1
    return found


def net() -> trimesh.Trimesh:
    """Return the twine of a net pen: squares of 0.4 m, a cone below, a tear with loose ends."""
    found = []
    for j in range(MESHES_DOWN + 1):
        places = [wall(i, j) for i in range(MESHES_ROUND)]
        whole = [not {(i, j - 1), (i, j)} <= TEAR for i in range(MESHES_ROUND)]
        found += bars(places, whole, closed=True)
    for i in range(MESHES_ROUND):
        places = [wall(i, j) for j in range(MESHES_DOWN + 1)]
        whole = [not {(i - 1, j), (i, j)} <= TEAR for j in range(MESHES_DOWN)]
        found += bars(places, whole, closed=False)
    for s in np.arange(-7.6, 7.7, 0.4):
        half = np.sqrt(PEN_RADIUS**2 - s**2)
        t = np.linspace(-half, half, 2 * max(1, round(half / 0.8)) + 1)
        for x, y in ((t, s + 0 * t), (s + 0 * t, t)):
            share = np.hypot(x, y) / PEN_RADIUS
            z = -PEN_APEX + (PEN_APEX - PEN_DEPTH) * share
            found.append(twine(np.column_stack([x, y, z])))
    rng = np.random.default_rng(3)
    for i, j in ((62, 11), (63, 12), (61, 12), (64, 13), (63, 14)):
        sway = rng.normal(0, 0.02, (6, 3)).cumsum(axis=0)
        drop = np.linspace(0.0, rng.uniform(0.2, 0.35), 6)[:, None] * [0.0, 0.0, -1.0]
        found.append(twine(wall(i, j) + drop + sway - sway[0]))
    return trimesh.util.concatenate(found)


def sheet(thickness: float = 0.06) -> trimesh.Trimesh:
    """Return the net as a closed sheet to touch, with the tear as a hole."""
    rows = [[wall(i, j) for i in range(MESHES_ROUND)] for j in range(MESHES_DOWN + 1)]
    middle = np.array([*np.reshape(rows, (-1, 3)), [0.0, 0.0, -PEN_APEX]])
    faces, tip = [], len(middle) - 1
    for i in range(MESHES_ROUND):
        right = (i + 1) % MESHES_ROUND
        for j in range(MESHES_DOWN):
            if (i, j) not in TEAR:
                a, b = j * MESHES_ROUND + i, j * MESHES_ROUND + right
                faces += [[a, a + MESHES_ROUND, b], [b, a + MESHES_ROUND, b + MESHES_ROUND]]
        faces.append([MESHES_DOWN * MESHES_ROUND + i, tip, MESHES_DOWN * MESHES_ROUND + right])
    one = trimesh.Trimesh(middle, faces, process=False)
    out, count = 0.5 * thickness * one.vertex_normals, len(middle)
    ends = one.edges[trimesh.grouping.group_rows(one.edges_sorted, require_count=1)]
    rim = [f for a, b in ends for f in ([b, a, a + count], [b, a + count, b + count])]
    both = np.concatenate([one.faces, one.faces[:, ::-1] + count, rim])
    found = trimesh.Trimesh(np.concatenate([middle + out, middle - out]), both, process=False)
    found.remove_unreferenced_vertices()
    return found


def ring(radius: float, thick: float, z: float, sides: int = 12) -> Solid:
    """Return a level ring of round section."""
    section = manifold3d.CrossSection.circle(thick, sides).translate((radius, z))
    return section.revolve(90)


def polar(radius: float, angle: float, z: float) -> list[float]:
    """Return the place at a radius, an angle in degrees and a height."""
    return [radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle)), z]


def collar() -> Solid:
    """Return two rings that float, with brackets, posts and a handrail; z = 0 is the water."""
    found = ring(8.25, 0.16, 0.0) + ring(8.85, 0.16, 0.0) + ring(8.05, 0.05, 1.0, 8)
    for angle in np.arange(0.0, 360.0, 12.0):
        bracket = box([1.05, 0.16, 0.42], [8.55, 0, 0.0]).rotate([0, 0, angle])
        found += bracket + tube(0.045, polar(8.25, angle, 0.0), polar(8.05, angle, 1.0), 8)
    return found


def moorings() -> Solid:
    """Return the ring that sinks the net, its ropes, and lines to blocks on the ground."""
    found = ring(8.0, 0.1, -10.5)
    for angle in np.arange(6.0, 360.0, 24.0):
        found += tube(0.02, polar(8.0, angle, -10.5), polar(8.0, angle, -10.0), 6)
    for angle in np.arange(30.0, 360.0, 60.0):
        share = np.linspace(0.0, 1.0, 9)
        line = [polar(8.85 + 19.15 * s, angle, -24.4 * s - 2.5 * s * (1 - s)) for s in share]
        for start, end in pairwise(line):
            found += tube(0.04, start, end, 8) + Solid.sphere(0.04, 8).translate(end)
        found += box([1.6, 1.6, 1.0], [28.0, 0, -24.6]).rotate([0, 0, angle])
    return found


def fouling() -> Solid:
    """Return tufts of growth on a patch of the net, dense in its middle."""
    rng = np.random.default_rng(11)
    tufts = []
    for _ in range(260):
        i, j = FOULED + rng.normal(0.0, (1.5, 1.7))
        if rng.random() < 0.5:  # on twine that goes down, or round
            i = round(i)
        else:
            j = round(j)
        size = rng.uniform(0.025, 0.075)
        stretch = rng.uniform([0.7, 0.7, 0.8], [1.2, 1.2, 2.2])
        tufts.append(Solid.sphere(size, 8).scale(list(stretch)).translate(list(wall(i, j))))
    return Solid.batch_boolean(tufts, manifold3d.OpType.Add)


def roughen(solid: Solid, edge: float, height: float, only_below: float) -> trimesh.Trimesh:
    """Return a solid's surface with edges of at most so much, its points moved by smooth noise.

    Args:
        edge: m.
        height: of the noise, m.
        only_below: m; what is above stays smooth.
    """
    fine = solid.refine_to_length(edge)
    mesh = fine.to_mesh()
    vertices, faces = np.array(mesh.vert_properties)[:, :3].astype(float), np.array(mesh.tri_verts)
    found = trimesh.Trimesh(vertices, faces, process=False)
    rng = np.random.default_rng(7)
    noise = np.zeros(len(vertices))
    for scale in (0.7, 0.35, 0.18):
        wave = rng.normal(size=(12, 3)) * 2 * np.pi / scale / np.sqrt(3)
        phase = rng.uniform(0, 2 * np.pi, 12)
        noise += scale * np.sin(vertices @ wave.T + phase).mean(axis=1)
    noise *= height / np.abs(noise).max() * np.clip((only_below - vertices[:, 2]) / 0.5, 0.0, 1.0)
    found.vertices = vertices + noise[:, None] * found.vertex_normals
    return found


def main(folder: Path = HERE) -> None:
    """Write the meshes into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    up = trimesh.transformations.rotation_matrix(-np.pi / 2, [1, 0, 0])
    for name, made in {
        'wreck': roughen(wreck(), 0.45, 0.03, 99.0),
        'jetty': roughen(jetty(), 0.4, 0.03, 0.3),
        'pipeline': roughen(pipeline(), 0.3, 0.015, 99.0),
        'wellhead': roughen(wellhead(), 0.3, 0.004, 99.0),
        'net_pen': net(),
        'net_pen_sheet': sheet(),
        'net_pen_collar': roughen(collar(), 3.0, 0.0, 99.0),
        'net_pen_moorings': roughen(moorings(), 3.0, 0.0, 99.0),
        'net_pen_fouling': roughen(fouling(), 0.08, 0.012, 99.0),
    }.items():
        print(name, len(made.faces), 'triangles, closed:', made.is_watertight)
        plain = trimesh.Trimesh(
            np.round(made.vertices, 4), made.faces, process=False
        ).apply_transform(up)
        path = folder / f'{name}.glb'
        path.write_bytes(trimesh.exchange.gltf.export_glb(plain, include_normals=False))
        print(path, path.stat().st_size)


if __name__ == '__main__':
    main(*map(Path, sys.argv[1:]))
