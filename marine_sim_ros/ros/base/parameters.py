# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of nodes, each declared once: default, meaning, unit, range, read-only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import Setting, declaration
from marine_sim_ros.faults.devices import COMMAND_TIMEOUT
from marine_sim_ros.sim.options import OPTIONS

__all__ = [
    'COMMAND_HOLD',
    'NEIGHBOURS',
    'NodeParameter',
    'SEEN',
    'PROTOCOL',
    'VIDEO',
    'WRENCH_SOURCES',
    'declare',
    'option_parameter',
]


@declaration(frozen=True)
class NodeParameter(Setting):
    """One parameter of a node.

    Attributes:
        live: whether it may be set while the node runs.
    """

    live: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor that ``ros2 param describe`` shows."""
        result = ParameterDescriptor(description=self.text, read_only=not self.live)
        if self.choices:
            result.additional_constraints = self.range
        if self.low is None or self.high is None:
            return result
        element = self.default[0] if isinstance(self.default, list) else self.default
        if isinstance(element, float):
            bounds = FloatingPointRange(from_value=self.low, to_value=self.high)
            result.floating_point_range = [bounds]
        elif isinstance(element, int):
            limits = IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
            result.integer_range = [limits]
        return result


def option_parameter(option: str, **changes: Any) -> NodeParameter:
    """Return the parameter of an option of a run (sim/options.py).

    Args:
        **changes: fields that differ on this node, such as the default.
    """
    option_spec = OPTIONS[option]
    default: Any = option_spec.default
    if isinstance(default, tuple):
        default = list(default) or ['']  # an empty list of ROS has no type
    settings: dict[str, Any] = {
        'name': option_spec.name,
        'default': default,
        'help': option_spec.help,
        'low': option_spec.low,
        'high': option_spec.high,
        'choices': option_spec.choices,
        'unit': option_spec.unit,
        'empty': option_spec.empty,
    }
    return NodeParameter(**{**settings, **changes})


COMMAND_HOLD = NodeParameter(
    'command_timeout',
    COMMAND_TIMEOUT,
    'simulated time after which a command no longer holds',
    0.0,
    1e6,
    unit='s',
)
NEIGHBOURS = NodeParameter(
    'neighbours',
    '',
    'vehicle and vehicle_arguments of each other vehicle that sensors meet, JSON by namespace',
    empty='none',
)
SEEN = NodeParameter(
    'seen', False, "publish what another vehicle's camera needs of this one: tether/nodes"
)
OWNS_BODIES = NodeParameter(
    'owns_bodies',
    True,
    "whether the free bodies are those of this vehicle's node contact; in a fleet, of the first's",
)
PROTOCOL = option_parameter('protocol')
DRIVER_NAMES = option_parameter('topics')
VIDEO = option_parameter('video')
WRENCH_SOURCES = NodeParameter(
    'wrench_sources',
    [''],
    'names of the wrenches wrench/<name>, in the order of their sum',
    empty='all that act on the vehicle in its environment',
)


def declare(node: Node, parameters: Iterable[NodeParameter]) -> dict[str, Any]:
    """Declare parameters on a node and return their values by name.

    Raises:
        ParameterError: a value of the wrong type, out of its range, or not one of the choices.
    """
    values = {}
    for p in parameters:
        try:
            # A list of no declared element type would lose it: rclpy infers it from the default.
            value = node.declare_parameter(p.name, p.default, p.descriptor()).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            text = ' '.join(str(error).split())
            raise ParameterError(
                f'{node.get_name()}: parameter {p.name!r}: {text}; expected {p.text}'
            ) from None
        if reason := p.refusal(value):
            raise ParameterError(f'{node.get_name()}: parameter {p.name!r} {reason}')
        values[p.name] = value
    return values


def neighbour_parameters(text: str, parameter: str = 'neighbours') -> dict[str, dict[str, Any]]:
    """Return vehicle and vehicle_arguments by namespace, of a parameter.

    Raises:
        ParameterError: it is not such a JSON object.
    """
    if not text:
        return {}
    try:
        entries = json.loads(text)
        return {
            name: {
                'vehicle': str(entry['vehicle']),
                'vehicle_arguments': [str(text) for text in entry['vehicle_arguments']],
                'seed': int(entry.get('seed', 0)),
            }
            for name, entry in entries.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParameterError(
            f'{parameter} is {text[:80]!r}; expected a JSON object with vehicle and '
            'vehicle_arguments by namespace'
        ) from None
