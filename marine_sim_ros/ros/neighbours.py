# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The other vehicles of a fleet around a sensor: where each is at a tick."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import state_from
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.others import OtherVehicles
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors.neighbours import among, body_of

__all__ = ['Neighbours']


class Neighbours(OtherVehicles):
    """Listens to the odom of every other vehicle, and puts their bodies into an environment.

    Attributes:
        last: the last known state by namespace; None before the first.
    """

    def __init__(self, node: SuiteNode, text: str) -> None:
        """Load the vehicles.

        Args:
            node: node of the sensors.
            text: value of the parameter ``neighbours``.

        Raises:
            MarineSimError: not JSON, or a vehicle that cannot be used.
        """
        self._bodies = _bodies(text)
        super().__init__(
            node,
            self._bodies,
            topics.ODOM,
            state_from,
            first=None,
            meanwhile='sensors see it where it was last',
        )

    def around(self, environment: Environment, states: Mapping[str, Any]) -> Environment:
        """Return an environment with the bodies of those whose states are known."""
        return among(environment, self._bodies, states)


def _bodies(text: str) -> dict[str, Body]:
    if not text:
        return {}
    try:
        told = json.loads(text)
        known = {
            name: {
                'vehicle': str(one['vehicle']),
                'vehicle_arguments': [str(text) for text in one['vehicle_arguments']],
            }
            for name, one in told.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParameterError(
            f'neighbours is {text[:80]!r}; expected a JSON object with vehicle and '
            'vehicle_arguments by namespace'
        ) from None
    return {name: body_of(vehicle_of(parameters), name) for name, parameters in known.items()}
