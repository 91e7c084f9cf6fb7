# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which law the jets of thrusters follow near a boundary."""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError

__all__ = ['JET_MODES', 'JetLaw']

JET_MODES = ('normal_only', 'documented')


@dataclass(frozen=True)
class JetLaw:
    """How a jet of thrust T acts back from a boundary at distance d; R is the rotor's radius.

    Attributes:
        mode: ``normal_only`` or ``documented``, see :mod:`marine_sim_ros.physics.boundary`.
        exponent: k of the ratio (1 + d/R)^−k, 1 to 2.
        suction: share of the ratio with which a jet that leaves a boundary draws the rotor to
            it, ``normal_only``; 1 is what the documented law has for a ceiling.
    """

    mode: str = 'normal_only'
    exponent: float = 1.5
    suction: float = 0.0

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no such law."""
        if self.mode not in JET_MODES:
            raise ParameterError(
                f'boundary mode is {self.mode!r}; {expected_one_of(self.mode, JET_MODES)}'
            )
        if not 1.0 <= self.exponent <= 2.0:
            raise ParameterError(f'boundary exponent is {self.exponent}; expected 1 to 2')
        if not 0.0 <= self.suction <= 1.0:
            raise ParameterError(f'boundary suction is {self.suction}; expected 0 to 1')
