# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The other vehicles of a fleet around a sensor: where each and its parts are at a tick."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.fleet.others import OtherVehicles
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import state_from
from marine_sim_ros.ros.sensors.own_parts import part_readers
from marine_sim_ros.ros.ticks.gathering import Gathering
from marine_sim_ros.sensors import SensorInputs, moving_parts
from marine_sim_ros.sensors.neighbours import beside, body_of

__all__ = ['Neighbours', 'described_neighbours']


class Neighbours(OtherVehicles):
    """Listens to the odom of every other vehicle, and puts their bodies into an environment.

    Attributes:
        last: the last known state by namespace; None before the first.
        gathered: the same, and the last known parts by name of the topic: what is waited for.
    """

    def __init__(
        self,
        node: SuiteNode,
        text: str,
        needs: Collection[str],
        partners: Collection[str] | None = None,
    ) -> None:
        """Load the vehicles.

        Args:
            node: node of the sensors.
            text: value of the parameter ``neighbours``.
            needs: what the sensors see move of vehicles, of ``topics.NEEDS``.
            partners: names of the vehicles that count; None: all.

        Raises:
            MarineSimError: not JSON, or a vehicle that cannot be used.
        """
        vehicles = _vehicles(text, partners)
        self._bodies = {name: body_of(vehicle, name) for name, vehicle in vehicles.items()}
        super().__init__(
            node,
            self._bodies,
            topics.ODOM,
            state_from,
            first=None,
            meanwhile='sensors see it where it was last',
        )
        none = SensorInputs.none()
        self._parts = {
            (name, need): OtherVehicles(
                node,
                [name],
                topics.NEEDS[need],
                read,
                first=getattr(none, need),
                meanwhile='cameras see its parts where they were last',
                by_topic=True,
            )
            for name, vehicle in vehicles.items()
            for need, read in part_readers(vehicle, node.environment).items()
            if need in needs and need in moving_parts(vehicle)
        }
        self.gathered = dict(self.last)
        for part in self._parts.values():
            self.gathered |= part.last

    def listen(self, gathering: Gathering) -> None:
        """Give what is heard to a gathering, which waits for it."""
        super().listen(gathering)
        for part in self._parts.values():
            part.listen(gathering)

    def around(
        self, environment: Environment, own: SensorInputs, given: Mapping[str, Any]
    ) -> tuple[Environment, SensorInputs]:
        """Return what sensors are given at a tick, as :func:`beside` does.

        Args:
            environment: water and scene.
            own: inputs of the own vehicle's sensors.
            given: what is known of the other vehicles, by the names of ``gathered``.
        """
        others = dict.fromkeys(self._bodies, SensorInputs.none(float(own.time)))
        for (name, need), part in self._parts.items():
            (key,) = part.last
            others[name] = others[name]._replace(**{need: given[key]})
        return beside(environment, own, self._bodies, given, others)


def _vehicles(text: str, partners: Collection[str] | None) -> dict[str, Vehicle]:
    return {
        name: vehicle_of(parameters)
        for name, parameters in described_neighbours(text).items()
        if partners is None or name.strip('/') in partners
    }


def described_neighbours(text: str) -> dict[str, dict[str, Any]]:
    """Return vehicle and vehicle_arguments by namespace, of the parameter ``neighbours``.

    Raises:
        ParameterError: it is not such a JSON object.
    """
    if not text:
        return {}
    try:
        told = json.loads(text)
        return {
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
