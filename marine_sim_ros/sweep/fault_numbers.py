# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of faults by name: ``weak.thruster_3.share``, ``gust.speed``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.faults.kinds import KINDS, Fault, ThrusterFault, numbers_of

__all__ = ['with_fault']

_TIMES = {'at': 'start', 'until': 'end'}


def _parts(name: str, thrusters: Sequence[str]) -> tuple[type[Fault], dict[str, Any], str]:
    """Return the kind, whose it is, and which number.

    Raises:
        ParameterError: there is no such kind, thruster or number.
    """
    first, _, rest = (f'dead.{name}.at' if name in thrusters else name).partition('.')
    target, _, last = rest.rpartition('.')
    kind = KINDS.get(first)
    if kind is None:
        raise ParameterError(
            f'sweep: fault.{name}: {first!r} is unknown; expected one of: {", ".join(KINDS)}, or '
            f'of: {", ".join(thrusters)}'
        )
    of: dict[str, Any] = {'thruster': target} if issubclass(kind, ThrusterFault) else {}
    if of and target not in thrusters:
        raise ParameterError(
            f'sweep: fault.{name}: {target!r} is unknown; expected fault.{first}.THRUSTER.NUMBER '
            f'with one of: {", ".join(thrusters)}'
        )
    known = [*numbers_of(kind), *_TIMES]
    if last not in known or (target and not of):
        raise ParameterError(
            f'sweep: fault.{name} is unknown; expected at its end one of: {", ".join(known)}'
        )
    return kind, of, last


def with_fault(
    faults: Sequence[Fault], name: str, thrusters: Sequence[str], change: Callable[[float], float]
) -> tuple[Fault, ...]:
    """Return faults with a number of one of them changed; it is added where it is not there.

    Args:
        faults: faults of a scenario.
        name: ``KIND.NUMBER``, ``KIND.THRUSTER.NUMBER``, or ``THRUSTER`` for when it dies.
        thrusters: names of the vehicle's.
        change: function from the old number to the new one.

    Raises:
        ParameterError: there is no such fault or number, or it is out of its range.
    """
    kind, of, number = _parts(name, thrusters)
    same = [
        i
        for i, fault in enumerate(faults)
        if type(fault) is kind and all(getattr(fault, k) == v for k, v in of.items())
    ]
    if len(same) > 1:
        raise ParameterError(
            f'sweep: fault.{name}: the scenario has {len(same)} of them; expected one at most'
        )
    fault = faults[same[0]] if same else kind(**of)
    field = _TIMES.get(number, number)
    value = change(getattr(fault, field))
    known = numbers_of(kind).get(number)
    if known is not None and not known.low <= value <= known.high:
        raise ParameterError(
            f'sweep: fault.{name} is {value:g}; expected {known.low:g} to {known.high:g}'
        )
    changes: dict[str, Any] = {field: value}
    changed = replace(fault, **changes)
    if not same:
        return (*faults, changed)
    return tuple(changed if i in same else f for i, f in enumerate(faults))
