# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where sensors look: each kind has its axis, that of its message or instrument."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic

__all__ = ['sensor_view']

_DOWN = math.cos(math.radians(60))
"""Of the angle between down and where a sensor for the ground looks at most."""
_UP = math.cos(math.radians(30))
_TURNED_DOWN = {'x': '0 1.570796 0', 'z': '3.141593 0 0'}
"""rpy that turns an axis down, with the frame's x or z axis ahead."""
_WORDS = (('ahead', 'astern'), ('to port', 'to starboard'), ('up', 'down'))


def sensor_view(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A DVL and an altimeter look down; no sonar looks straight up."""
    for sensor in context.vehicle.sensors:
        model = SENSORS[sensor.kind]
        if not model.looks:
            continue
        direction = sensor.rotation @ np.eye(3)['xyz'.index(model.looks)]
        misses = direction[2] > -_DOWN if model.down else direction[2] > _UP
        if misses:
            elements = context.root.iter('sensor')
            ground = ', and measures the ground only below it' if model.down else ''
            yield context.warning(
                next((e for e in elements if e.get('name') == sensor.name), None),
                f'looks {_where(direction)}: along the {model.looks} axis of its frame{ground}',
                f'for down, give it rpy="{_TURNED_DOWN[model.looks]}"; leave it where it is meant',
            )


def _where(direction: np.ndarray) -> str:
    axis = int(np.argmax(np.abs(direction)))
    return _WORDS[axis][0 if direction[axis] > 0 else 1]
