# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters, each declared once: default, unit and meaning, range, read-only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from marine_sim_ros.core.errors import ParameterError

__all__ = ['SOURCES', 'Parameter', 'declare', 'refusal']


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node; the description names its unit."""

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False
    """Whether it may be set while the node runs."""

    def descriptor(self) -> ParameterDescriptor:
        """Return what ``ros2 param describe`` shows."""
        result = ParameterDescriptor(description=self.description, read_only=not self.live)
        if self.choices:
            result.additional_constraints = 'one of: ' + ', '.join(self.choices)
        if self.low is None or self.high is None:
            return result
        if isinstance(self.default, float):
            bounds = FloatingPointRange(from_value=self.low, to_value=self.high)
            result.floating_point_range = [bounds]
        elif isinstance(self.default, int):
            limits = IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
            result.integer_range = [limits]
        return result


SOURCES = Parameter(
    'wrench_sources',
    [''],
    'wrench/<name> each; summed in this order; empty: what acts on the vehicle in its environment',
)


def refusal(parameter: Parameter, value: Any) -> str:
    """Return why a parameter cannot have a value, or nothing; ranges are rclpy's to check."""
    if parameter.choices and value not in parameter.choices:
        return f'is {value!r}; expected one of: {", ".join(parameter.choices)}'
    return ''


def declare(node: Node, parameters: Iterable[Parameter]) -> dict[str, Any]:
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
                f'{node.get_name()}: parameter {p.name!r}: {text}; expected {p.description}'
            ) from None
        if reason := refusal(p, value):
            raise ParameterError(f'{node.get_name()}: parameter {p.name!r} {reason}')
        values[p.name] = value
    return values
