# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of all bodies in a tick, with each other and with the scene."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import (
    cross,
    quaternion_conjugate,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.detection import (
    REACHING,
    contacts_within,
    pair_layout,
    separation_gap,
)
from marine_sim_ros.physics.contact.edges import EDGE_SEARCH
from marine_sim_ros.physics.contact.group_motion import BodyStates, ContactBody
from marine_sim_ros.physics.contact.kernels import NUMBER
from marine_sim_ros.physics.contact.pair_coefficients import PairCatalog
from marine_sim_ros.physics.contact.solid_tables import SolidTables, solid_environment

__all__ = ['ContactSearch', 'Touches', 'find_overlaps']


class Touches(NamedTuple):
    """Contacts of pairs of bodies, and of bodies with the scene.

    Attributes:
        keys: names of the two bodies of p pairs; the second empty: the scene.
        ends: (p,) ends of the contacts of each pair.
        number: (c,) numbers of the pairs of points, edges and surfaces.
        row: (c,) rows of their coefficients.
        values: (c, 7) gap, normal and point in the frame of the first body.
        poses: (p, 4, 3) R of the first body in the frame of the second, and its place.
    """

    keys: tuple[tuple[str, str], ...]
    ends: np.ndarray
    number: np.ndarray
    row: np.ndarray
    values: np.ndarray
    poses: np.ndarray

    @classmethod
    def none(cls) -> Touches:
        """Return no contacts."""
        empty = np.zeros(0, int)
        return cls((), empty, empty, empty, np.zeros((0, 7)), np.zeros((0, 4, 3)))

    @property
    def gap(self) -> np.ndarray:
        """(c,) m, negative in penetration."""
        return self.values[:, 0]

    @property
    def point(self) -> np.ndarray:
        """(c, 3) of the first body that is nearest to the second, m."""
        return self.values[:, 4:]

    def spans(self) -> list[tuple[tuple[str, str], slice]]:
        """Return the two names and the contacts of each pair."""
        ends = self.ends.tolist()
        return [(k, slice(a, b)) for k, a, b in zip(self.keys, [0, *ends], ends, strict=False)]

    def of_bodies(self, names: set[str]) -> Touches:
        """Return the contacts whose first bodies are some of all."""
        kept = [i for i, key in enumerate(self.keys) if key[0] in names]
        return self.of_pairs(kept)

    def of_pairs(self, kept: Sequence[int]) -> Touches:
        """Return the contacts of some of the pairs."""
        if len(kept) == len(self.keys) or not kept:
            return self if kept else Touches.none()
        spans = self.spans()
        index = np.concatenate([np.arange(len(self.number))[spans[i][1]] for i in kept])
        counts = [spans[i][1].stop - spans[i][1].start for i in kept]
        keys = tuple(self.keys[i] for i in kept)
        poses = self.poses[[*kept]]
        return Touches(
            keys, np.cumsum(counts), self.number[index], self.row[index], self.values[index], poses
        )


class ContactSearch:
    """Search for the contacts of all bodies, with what it knows of their shapes."""

    def __init__(self) -> None:
        """Start without shapes."""
        self._catalog = PairCatalog()
        self._shapes: tuple[list[Any], SolidTables] | None = None

    def touches(
        self,
        bodies: Mapping[str, ContactBody],
        states: BodyStates,
        environment: Environment,
        dt: float,
        joined: frozenset[frozenset[str]],
        pressed: Set[tuple[str, str]],
    ) -> Touches:
        """Return the contacts of all pairs of bodies, and of bodies and the scene.

        Args:
            bodies: bodies with contact points, in the order of their names.
            states: their states, in the same order.
            environment: environment at this time.
            dt: step, s.
            joined: pairs that do not touch, by name.
            pressed: pairs that pressed in the step before, by name.

        Raises:
            ModelError: a collision mesh that cannot be used.
        """
        from marine_sim_ros.physics.contact.kernels import detection

        if not bodies or (len(bodies) == 1 and not environment.scene):
            return Touches.none()
        step = _SearchStep.of(bodies, states, self._tables(bodies, environment), environment, dt)
        touched = _marks(pressed, step.names)
        excluded = _joined_marks(joined, step.names)
        pairs, ends, poses, number, owner, values, reach = detection.find_contacts(
            *step.arrays, excluded, touched, EDGE_SEARCH, REACHING, separation_gap(dt), dt
        )
        keys = [(step.names[one], step.names[other]) for one, other in pairs.tolist()]
        first_rows = [
            self._catalog.first_row(key, step.bodies[one].vehicle, step.scene_of(other))
            for key, (one, other) in zip(keys, pairs.tolist(), strict=True)
        ]
        if min(ends.tolist(), default=0) >= 0:  # nothing is to be searched elsewhere
            rows = number + np.array(first_rows, int)[owner]
            return Touches(tuple(keys), ends, number, rows, values, poses)
        parts, first = [], 0
        for i, end in enumerate(ends.tolist()):
            if end >= 0:
                own = number[first:end]
                parts.append((own, first_rows[i] + own, values[first:end]))
                first = end
            else:
                one, other = pairs[i].tolist()
                had_contact = keys[i] in pressed
                within = float(reach[one] + reach[other])
                parts.append(
                    step.search_elsewhere(one, other, poses[i], within, first_rows[i], had_contact)
                )
        numbers, all_rows, found = zip(*parts, strict=True)
        touches = Touches(
            tuple(keys), np.cumsum([*map(len, numbers)]), np.concatenate(numbers),
            np.concatenate(all_rows), np.concatenate(found), poses,
        )  # fmt: skip
        return touches.of_pairs([i for i, own in enumerate(numbers) if len(own)])

    def coefficients(self, touches: Touches) -> np.ndarray:
        """Return the coefficients (18, c) of contacts."""
        return self._catalog.select(touches.row)

    def _tables(self, bodies: Mapping[str, ContactBody], environment: Environment) -> SolidTables:
        parts = [body.vehicle.contact.unposed for body in bodies.values()]
        key = [*parts, environment.scene]
        if self._shapes is None or not _are_same(self._shapes[0], key):
            self._shapes = key, SolidTables.of(parts, environment.scene)
        return self._shapes[1]


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _marks(pairs: Iterable[tuple[str, ...]], names: tuple[str, ...]) -> np.ndarray:
    """Return a mask (b, b) of pairs of names."""
    marks, number = np.zeros((len(names), len(names)), bool), {n: i for i, n in enumerate(names)}
    for one, other in pairs:
        if one in number and other in number:
            marks[number[one], number[other]] = True
    return marks


_SCENE_POSE, _SCENE_VELOCITY = np.array([[0.0] * 6 + [1.0]]), np.zeros((1, 6))


@lru_cache(maxsize=16)
def _joined_marks(joined: frozenset[frozenset[str]], names: tuple[str, ...]) -> np.ndarray:
    return _marks((tuple(sorted(pair)) for pair in joined), names)


class _SearchStep(NamedTuple):
    """Bodies in a tick, with the scene as the last.

    Attributes:
        names: names of the bodies; that of the scene is empty.
        bodies: the bodies.
        environment: environment at this time.
        solids: their shapes.
        points: (m, 3) of all bodies, each in its frame, m.
        poses: (b, 7) position and quaternion.
        velocities: (b, 6).
        dt: step, s.
    """

    names: tuple[str, ...]
    bodies: list[ContactBody]
    environment: Environment
    solids: SolidTables
    points: np.ndarray
    poses: np.ndarray
    velocities: np.ndarray
    dt: float

    @classmethod
    def of(
        cls,
        bodies: Mapping[str, ContactBody],
        states: BodyStates,
        solids: SolidTables,
        environment: Environment,
        dt: float,
    ) -> _SearchStep:
        """Return the bodies of a tick by name."""
        return cls(
            (*bodies, ''),
            [*bodies.values()],
            environment,
            solids,
            np.concatenate([body.vehicle.contact.position for body in bodies.values()]),
            np.concatenate([states.poses, _SCENE_POSE]),
            np.concatenate([states.velocities, _SCENE_VELOCITY]),
            dt,
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels need of it."""
        return self.solids, self.points, self.poses, self.velocities

    def scene_of(self, number: int) -> Environment:
        """Return a body as the scene of another, or the scene."""
        if number == len(self.bodies):
            return self.environment
        own = self.bodies[number].vehicle.contact.unposed
        return solid_environment(own, self.environment.materials)

    def search_elsewhere(
        self,
        one: int,
        other: int,
        pose: np.ndarray,
        within: float,
        first_row: int,
        had_contact: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return numbers, rows and values of contacts with terrain or meshes.

        Args:
            one: number of a body.
            other: number of another, or of the scene.
            pose: (4, 3) R of the one in the frame of the other, and its place.
            within: gap of the farthest contacts, m.
            first_row: row of the coefficients of their first pair.
            had_contact: whether they pressed in the step before.
        """
        from marine_sim_ros.physics.contact.kernels import detection

        body, environment = self.bodies[one], self.scene_of(other)
        state = body.state
        if other < len(self.bodies):
            state = _relative_state(state, self.bodies[other].state)
        touch, number = contacts_within(body.vehicle, state, environment, within, compiled=True)
        own, scene = body.vehicle.contact, environment.scene
        assert scene is not None
        layout = pair_layout(own, scene)
        rows = layout.rows(number)
        labels = np.stack([
            number, layout.surface[rows], layout.shape[rows], layout.point[rows] < len(own)
        ], axis=1).astype(np.int64)  # fmt: skip
        values = np.column_stack(touch)
        count = detection.choose_contacts(
            self.solids, self.points, pose, one, other, self.velocities, had_contact,
            separation_gap(self.dt), self.dt, labels, values,
        )  # fmt: skip
        number = labels[:count, NUMBER]
        return number, first_row + layout.rows(number), values[:count]


def _relative_state(one: State, other: State) -> State:
    """Return the state of a body in the frame of another, its velocity in its own axes."""
    to_other = rotation_matrix(other.orientation).T
    orientation = quaternion_product(quaternion_conjugate(other.orientation), one.orientation)
    position = to_other @ (one.position - other.position)
    to_body = rotation_matrix(orientation).T
    frame_velocity = other.velocity[:3] + cross(other.velocity[3:], position)
    frame_twist = np.concatenate([to_body @ frame_velocity, to_body @ other.velocity[3:]])
    return State(position, orientation, one.velocity - frame_twist)


def _overlap_with_scene(
    vehicle: Vehicle, state: State, environment: Environment
) -> tuple[float, str]:
    """Return the depth of the deepest contact of a body in a scene, m, or 0; and with what.

    Args:
        vehicle: the body.
        state: its state in the frame of the scene.
        environment: environment of the scene, or without one.
    """
    scene, own = environment.scene, vehicle.contact
    if scene is None or not (len(scene) and len(own)):
        return 0.0, ''
    touch, number = contacts_within(vehicle, state, environment, 0.0, compiled=True)
    if not len(number):
        return 0.0, ''
    layout, deepest = pair_layout(own, scene), int(touch.gap.argmin())
    index = int(layout.surface[layout.rows(number[deepest : deepest + 1])][0]) - layout.ground
    name = scene.obstacles[index].name if index >= 0 else 'the ground or a wall'
    return -float(touch.gap[deepest]), name


def find_overlaps(
    names: Collection[str],
    bodies: Mapping[str, tuple[Vehicle, State]],
    joined: Container[frozenset[str]],
    environment: Environment,
) -> list[tuple[float, str, str]]:
    """Return depths in m of bodies in others and in the scene, with both names, deepest first.

    Either of two can lie in the other: points of each are compared with the shapes of the other.

    Args:
        names: bodies to check.
        bodies: all bodies and vehicles with their states.
        joined: pairs of names that may overlap.
        environment: environment with the scene.
    """
    result: list[tuple[float, str, str]] = []
    others = dict(bodies)
    for name in sorted(names):
        vehicle, state = one = others.pop(name)
        depth, obstacle = _overlap_with_scene(vehicle, state, environment)
        result.append((depth, name, obstacle))
        for other, two in others.items():
            radius = vehicle.contact.reach + two[0].contact.reach
            offset = state.position - two[1].position
            if offset @ offset < radius * radius and frozenset((name, other)) not in joined:
                depth = max(
                    _overlap_with_scene(
                        a[0],
                        _relative_state(a[1], b[1]),
                        solid_environment(b[0].contact.unposed, None),
                    )[0]
                    for a, b in ((one, two), (two, one))
                )
                result.append((depth, name, other))
    return sorted((overlap for overlap in result if overlap[0] > 0), reverse=True)
