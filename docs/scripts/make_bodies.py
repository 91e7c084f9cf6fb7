# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Run five cases of bodies without water here and in MuJoCo, and write their table.

``.venv/bin/python docs/scripts/make_bodies.py``; the table is in explanation/contact.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from markdown_tables import table
from marks import between
from scipy.integrate import solve_ivp

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.sim.body_simulation import BodySimulation

__all__ = ['CASES', 'Compared']

PAGE = Path(__file__).resolve().parent.parent / 'explanation' / 'contact.md'
G, DT, FLOOR = 9.8, 0.005, -5.0
FRICTION = math.sqrt(0.57 * 0.65)
"""Of steel on sand, config/materials.yaml."""
RESTITUTION = 0.6
"""Of steel on steel, likewise."""
MEASURED = 150
"""Steps that are timed: later a stack is at rest, which costs nothing here."""
BARE = 'volume: 0, drag_coefficient: 0, material: steel'


class Compared(NamedTuple):
    """A quantity of a case.

    Attributes:
        case: name of the case.
        quantity: what is compared, with its unit.
        expected: by a closed form or an accurate integral; NaN: none.
        ours: value here.
        mujoco: value in MuJoCo.
    """

    case: str
    quantity: str
    expected: float
    ours: float
    mujoco: float


class Motion(NamedTuple):
    """Motion of b bodies at n ticks.

    Attributes:
        position: (n, b, 3) of their middles, m.
        rotation: (n, b, 3, 3).
        linear: (n, b, 3) velocity of the middles, map, m/s.
        angular: (n, b, 3) in body axes, rad/s.
        step_time: median processor time of the first steps, µs.
    """

    position: np.ndarray
    rotation: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    step_time: float

    def energy(self, mass: float, inertia: np.ndarray) -> np.ndarray:
        """Return kinetic and potential energy (n,) of bodies of one mass and inertia (3,), J."""
        kinetic = mass * self.linear**2 + inertia * self.angular**2
        height = self.position[..., 2] - FLOOR
        return np.asarray((kinetic.sum(axis=-1) / 2 + mass * G * height).sum(axis=-1))


def run_ours(text: str, duration: float, gravity: float = G) -> Motion:
    """Return the motion of the bodies of an environment, without added mass."""
    environment = parse_environment(text, 'bodies.yaml')
    estimated, none = '<added_mass>estimate', '<added_mass>0 0 0 0 0 0'
    bodies = (
        replace(body, description=body.description.replace(estimated, none))
        for body in environment.free_bodies
    )
    environment = replace(environment, free_bodies=tuple(bodies), gravity=gravity)
    world, ticks, spent = BodySimulation(environment, DT), [], []
    for k in range(round(duration / DT) + 1):
        start = time.process_time()
        world.tick(round(k * DT * 1e9), environment, {})
        spent.append(time.process_time() - start)
        ticks.append(list(world.states.values()))
    position, orientation, velocity = (
        np.array([[state[i] for state in states] for states in ticks]) for i in range(3)
    )
    rotation = rotation_matrix(orientation)
    linear = (rotation @ velocity[..., :3, None])[..., 0]
    step_time = 1e6 * float(np.median(spent[:MEASURED]))
    return Motion(position, rotation, linear, velocity[..., 3:], step_time)


def run_mujoco(bodies: str, duration: float, start: np.ndarray | None = None) -> Motion:
    """Return the motion of the bodies of a MuJoCo world, by default with its own settings.

    Args:
        bodies: MJCF below ``<worldbody>``.
        duration: s.
        start: initial generalised velocity; None: 0.
    """
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option timestep="{DT}" gravity="0 0 {-G}" '
        f'cone="elliptic" impratio="100"/><worldbody>{bodies}</worldbody></mujoco>'
    )
    data, ticks, spent = mujoco.MjData(model), [], []
    if start is not None:
        data.qvel[: len(start)] = start
    for _ in range(round(duration / DT) + 1):
        mujoco.mj_forward(model, data)
        velocity = np.zeros((model.nbody - 1, 6))
        for i, row in enumerate(velocity):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, i + 1, row, 0)
        rotation = data.xmat[1:].reshape(-1, 3, 3).copy()
        angular = (velocity[:, None, :3] @ rotation)[:, 0]
        ticks.append((data.xipos[1:].copy(), rotation, velocity[:, 3:], angular))
        begin = time.process_time_ns()
        mujoco.mj_step(model, data)
        spent.append(time.process_time_ns() - begin)
    position, rotations, linear, turning = (np.array(rows) for rows in zip(*ticks, strict=True))
    step_time = float(np.median(spent[:MEASURED])) / 1e3
    return Motion(position, rotations, linear, turning, step_time)


def box_inertia(mass: float, edges: tuple[float, float, float]) -> np.ndarray:
    """Return the moments of inertia (3,) of a box about its axes, kg·m²."""
    square = np.square(edges)
    return mass / 12 * (square.sum() - square)


def falling_stack() -> Iterator[Compared]:
    """Five boxes fall 50 mm one upon the other, and rest."""
    edge, mass, count = 0.2, 40.0, 5
    heights = [FLOOR + edge / 2 + i * edge + 0.05 * (i + 1) for i in range(count)]
    text = 'seabed: {depth: 5.0, material: sand}\nbodies:\n' + ''.join(
        f'  - {{name: box_{i}, shape: box, size: [0.4, 0.4, {edge}], position: [0, 0, {z}], '
        f'mass: {mass}, {BARE}}}\n'
        for i, z in enumerate(heights)
    )
    boxes = f'<geom type="plane" size="9 9 1" pos="0 0 {FLOOR}" friction="{FRICTION}"/>'
    boxes += ''.join(
        f'<body pos="0 0 {z}"><freejoint/><geom type="box" size="0.2 0.2 {edge / 2}" '
        f'mass="{mass}" friction="{FRICTION}"/></body>'
        for z in heights
    )
    runs = run_ours(text, 4.0), run_mujoco(boxes, 4.0)
    name, tick = 'falling stack of five', round(0.095 / DT)
    fall = heights[0] - G * (tick * DT) ** 2 / 2
    yield Compared(name, 'lowest after 0.095 s, m', fall, *(r.position[tick, 0, 2] for r in runs))
    top = FLOOR + edge / 2 + (count - 1) * edge
    yield Compared(
        name, 'height of the top at rest, m', top, *(r.position[-1, -1, 2] for r in runs)
    )
    creep = (np.linalg.norm(r.position[-1] - r.position[-201], axis=1).max() for r in runs)
    yield Compared(name, 'creep in the last second, m', 0.0, *creep)
    gain = (np.diff(r.energy(mass, box_inertia(mass, (0.4, 0.4, edge)))).max() for r in runs)
    yield Compared(name, 'largest gain of energy in a step, J', 0.0, *gain)
    yield Compared(name, 'time of a step, µs', math.nan, *(r.step_time for r in runs))


def sliding_box() -> Iterator[Compared]:
    """A box on a slope around the angle of its friction."""
    mass, edges = 40.0, (0.4, 0.4, 0.2)
    for ratio in (0.99, 1.01, 1.5):
        angle = math.atan(ratio * FRICTION)
        z = 0.1 / math.cos(angle)
        text = (
            f'seabed: {{depth: 5.0, material: sand, slope: {{angle: {math.degrees(angle)}}}}}\n'
            f'bodies:\n  - {{name: box, shape: box, size: {[*edges]}, position: [0, 0, {z}], '
            f'on_seabed: true, rpy: [0, {-angle}, 0], mass: {mass}, {BARE}}}\n'
        )
        slope = (
            f'<geom type="plane" size="9 9 1" pos="0 0 {FLOOR}" euler="0 {-angle} 0" '
            f'friction="{FRICTION}"/><body pos="0 0 {FLOOR + z}" euler="0 {-angle} 0"><freejoint/>'
            f'<geom type="box" size="0.2 0.2 0.1" mass="{mass}" friction="{FRICTION}"/></body>'
        )
        runs = run_ours(text, 2.0), run_mujoco(slope, 2.0)
        gain = (
            float(np.linalg.norm(r.linear[-1, 0]) - np.linalg.norm(r.linear[200, 0])) for r in runs
        )
        acceleration = max(0.0, G * (math.sin(angle) - FRICTION * math.cos(angle)))
        name = f'box on a slope of {ratio} μ'
        yield Compared(name, 'acceleration in the second second, m/s²', acceleration, *gain)
    yield Compared(name, 'time of a step, µs', math.nan, *(r.step_time for r in runs))


def pendulum() -> Iterator[Compared]:
    """A rod on a hinge, released level, for ten swings."""
    mass, length, duration = 10.0, 0.5, 10.0
    text = (
        'bodies:\n  - {name: rod, shape: box, size: [0.5, 0.05, 0.05], position: [0.25, 0, -5], '
        f'mass: {mass}, {BARE}}}\njoints:\n'
        '  - {name: q, type: revolute, child: rod, position: [0, 0, -5], axis: [0, 1, 0]}\n'
    )
    rod = (
        '<body pos="0 0 -5"><joint type="hinge" axis="0 1 0"/>'
        f'<geom type="box" pos="0.25 0 0" size="0.25 0.025 0.025" mass="{mass}"/></body>'
    )
    inertia = box_inertia(mass, (0.5, 0.05, 0.05))
    about = inertia[1] + mass * (length / 2) ** 2
    exact = solve_ivp(
        lambda _, y: [y[1], mass * G * length / 2 / about * math.cos(y[0])],
        (0.0, duration), [0.0, 0.0], rtol=1e-11, atol=1e-11,
    ).y[0, -1]  # fmt: skip
    runs = run_ours(text, duration), run_mujoco(rod, duration)
    name = 'pendulum on a hinge'
    found = (math.atan2(-(r.position[-1, 0, 2] + 5), r.position[-1, 0, 0]) for r in runs)
    yield Compared(name, 'angle after 10 s, rad', exact, *found)
    swing = mass * G * length / 2
    energies = [r.energy(mass, inertia) / swing for r in runs]
    drift = (e[-1] - e[0] for e in energies)
    yield Compared(name, 'drift of energy in 10 s, of m g l', 0.0, *drift)
    yield Compared(name, 'time of a step, µs', math.nan, *(r.step_time for r in runs))


def chain_of_twenty() -> Iterator[Compared]:
    """Twenty links on ball joints swing: the end of the chain against an integral."""
    count, length, mass, duration, slope = 20, 0.2, 2.0, 1.0, math.radians(60)
    along = np.array([math.cos(slope), 0.0, -math.sin(slope)])
    text, joints, links = 'bodies:\n', 'joints:\n', ''
    for i in range(count):
        middle = [0.0, 0.0, FLOOR] + (i + 0.5) * length * along
        top = [0.0, 0.0, FLOOR] + i * length * along
        text += (
            f'  - {{name: link_{i:02d}, shape: box, size: [0.2, 0.04, 0.04], '
            f'rpy: [0, {slope}, 0], position: {middle.tolist()}, mass: {mass}, {BARE}}}\n'
        )
        parent = f'link_{i - 1:02d}' if i else 'world'
        joints += (
            f'  - {{type: ball, child: link_{i:02d}, parent: {parent}, '
            f'position: {top.tolist()}}}\n'
        )
        pose = f'pos="{length} 0 0"' if i else f'pos="0 0 {FLOOR}" euler="0 {slope} 0"'
        links += (
            f'<body {pose}><joint type="ball"/><geom type="box" pos="0.1 0 0" '
            f'size="0.1 0.02 0.02" mass="{mass}" contype="0" conaffinity="0"/>'
        )
    links += '</body>' * count
    runs = run_ours(text + joints, duration), run_mujoco(links, duration)
    inertia = box_inertia(mass, (0.2, 0.04, 0.04))
    exact = swing_chain(count, length, mass, float(inertia[1]), duration, slope)
    name = 'chain of twenty'
    for i, axis in ((0, 'x'), (2, 'z')):
        ends = (r.position[-1, -1, i] + length / 2 * r.rotation[-1, -1, i, 0] for r in runs)
        expected = exact[i // 2] + (FLOOR if i else 0.0)
        yield Compared(name, f'{axis} of its end after 1 s, m', expected, *ends)
    total = count * mass * G * count * length / 2
    energies = [r.energy(mass, inertia) / total for r in runs]
    drift = (e[-1] - e[0] for e in energies)
    yield Compared(name, 'drift of energy in 1 s, of m g l', 0.0, *drift)
    yield Compared(name, 'time of a step, µs', math.nan, *(r.step_time for r in runs))


def swing_chain(
    count: int, length: float, mass: float, inertia: float, duration: float, slope: float
) -> tuple[float, float]:
    """Return x and z of the end of a chain that starts straight, by Lagrange's equations.

    M_ij = m l² c_ij cos(q_i − q_j) with c_ij = n − max(i, j) − ½, on the diagonal
    n − i − ¾ + I/(m l²), where q are the slopes of the links, down positive.
    """
    k = np.arange(count)
    coefficient = count - np.maximum.outer(k, k) - 0.5
    coefficient[k, k] = count - k - 0.75 + inertia / (mass * length**2)
    lever = count - k - 0.5

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        q, w = y[:count], y[count:]
        difference = q[:, None] - q[None, :]
        matrix = coefficient * np.cos(difference)
        turning = coefficient * np.sin(difference) @ (w * w)
        return np.concatenate(
            [w, np.linalg.solve(matrix, G / length * lever * np.cos(q) - turning)]
        )

    start = np.concatenate([np.full(count, slope), np.zeros(count)])
    motion = solve_ivp(rates, (0.0, duration), start, method='DOP853', rtol=1e-9, atol=1e-9)
    end = motion.y[:count, -1]
    return float(length * np.cos(end).sum()), float(-length * np.sin(end).sum())


def colliding_spheres() -> Iterator[Compared]:
    """Two equal spheres, one at rest: speeds by restitution, and momentum."""
    mass, radius = 20.0, 0.2
    inertia = np.full(3, 0.4 * mass * radius**2)
    text = 'bodies:\n' + ''.join(
        f'  - {{name: {name}, shape: sphere, radius: {radius}, position: [{x}, 0, -3], '
        f'velocity: [{v}, 0, 0], mass: {mass}, {BARE}}}\n'
        for name, x, v in (('a', 0.0, 1.0), ('b', 0.6, 0.0))
    )
    # A spring of frequency ω with e = exp(−π ζ/√(1 − ζ²)); MuJoCo needs some ten steps of contact.
    log, omega = -math.log(RESTITUTION), 60.0
    ratio = log / math.hypot(math.pi, log)
    spring = f'solref="{-(omega**2)} {-2 * ratio * omega}" solimp="0.9999 0.9999 0.001"'
    spheres = ''.join(
        f'<body pos="{x} 0 -3" gravcomp="1"><freejoint/><geom type="sphere" size="{radius}" '
        f'mass="{mass}" {spring}/></body>'
        for x in (0.0, 0.6)
    )
    runs = run_ours(text, 0.5, 0.0), run_mujoco(spheres, 0.5, np.array([1.0]))
    name = 'two spheres'
    for i, sign in ((0, -1), (1, 1)):
        speed = (1 + sign * RESTITUTION) / 2
        found = (r.linear[-1, i, 0] for r in runs)
        yield Compared(name, f'speed of the {("first", "second")[i]}, m/s', speed, *found)
    change = (
        np.abs(mass * (r.linear[-1].sum(axis=0) - r.linear[0].sum(axis=0))).max() for r in runs
    )
    yield Compared(name, 'change of momentum, N·s', 0.0, *change)
    lost = mass / 2 * (1 - RESTITUTION**2) / 2
    found = (float(-np.ptp(r.energy(mass, inertia)[[0, -1]])) for r in runs)
    yield Compared(name, 'energy after the impact less that before, J', -lost, *found)
    yield Compared(name, 'time of a step, µs', math.nan, *(r.step_time for r in runs))


CASES = (falling_stack, sliding_box, pendulum, chain_of_twenty, colliding_spheres)


def main() -> None:
    """Write the table."""
    rows = []
    for row in (row for case in CASES for row in case()):
        form = '.0f' if 'time of' in row.quantity else '.6g'
        expected = '' if math.isnan(row.expected) else f'{row.expected:.6g}'
        rows.append(
            (row.case, row.quantity, expected, f'{row.ours:{form}}', f'{row.mujoco:{form}}')
        )
    text = table(('case', 'quantity', 'expected', 'here', f'MuJoCo {mujoco.__version__}'), rows)
    page = between(PAGE.read_text(encoding='utf-8'), 'bodies', text)
    PAGE.write_text(page, encoding='utf-8')


if __name__ == '__main__':
    main()
