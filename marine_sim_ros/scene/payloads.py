# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads: loose bodies that lie where they are declared until a gripper takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.reader import read_obstacle
from marine_sim_ros.scene.scene import Scene

__all__ = ['Payload', 'read_payloads']

_OWN = frozenset({'mass', 'volume', 'drag_coefficient', 'added_mass_coefficient'})


@dataclass(frozen=True, eq=False)
class Payload:
    """A homogeneous body; its middle is its centre of mass and of volume.

    Attributes:
        body: shape, size, and where it lies at first.
        mass: m, kg.
        volume: displaced volume V, m³.
        drag_coefficient: C_d of the area across each of its own axes.
        added_mass_coefficient: C_a: its added mass is C_a ρ V in every direction.
    """

    body: Obstacle
    mass: float
    volume: float
    drag_coefficient: float = 1.1
    added_mass_coefficient: float = 0.5

    @property
    def name(self) -> str:
        """Name of the payload."""
        return self.body.name

    @cached_property
    def tensor(self) -> np.ndarray:
        """(3, 3) inertia about its middle, own axes, kg·m², of a homogeneous body."""
        # Each mean square is that along an axis: edge²/12, diameter²/16 or /20 where it is round.
        shares = {'box': (12, 12, 12), 'cylinder': (16, 16, 12), 'sphere': (20, 20, 20)}
        squares = self.body.size**2 / np.array(shares[self.body.kind])
        return self.mass * np.diag(np.sum(squares) - squares)

    @cached_property
    def areas(self) -> np.ndarray:
        """(3,) areas across its own axes, m²."""
        x, y, z = self.body.size
        shares = {
            'box': (1.0, 1.0, 1.0),
            'cylinder': (1.0, 1.0, math.pi / 4),
            'sphere': (math.pi / 4,) * 3,
        }
        return np.array([y * z, x * z, x * y]) * np.array(shares[self.body.kind])


def _solid_volume(body: Obstacle) -> float:
    share = {'box': 1.0, 'cylinder': math.pi / 4, 'sphere': math.pi / 6}[body.kind]
    return share * float(np.prod(body.size))


def read_payloads(reader: YamlReader, scene: Scene | None) -> tuple[Payload, ...]:
    """Return the payloads of an environment's list; shapes are written as those of obstacles.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    ground = Scene((), None, ()) if scene is None else scene
    result: list[Payload] = []
    for index, item in enumerate(reader.items()):
        body = read_obstacle(item, index, ground, _OWN)
        item.mapping(set(item.value), {'mass'})
        if body.name in {payload.name for payload in result}:
            raise item.error(
                f': two payloads are named {body.name!r}; expected names of their own'
            )
        result.append(
            Payload(
                body,
                item.child('mass').number(1e-6, 1e6),
                item.child('volume', _solid_volume(body)).number(0.0, 1e6),
                item.child('drag_coefficient', 1.1).number(0.0, 10.0),
                item.child('added_mass_coefficient', 0.5).number(0.0, 10.0),
            )
        )
    return tuple(result)
