# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of the thesis's controller, and how a file gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.yaml_file import YamlReader, shown

__all__ = ['ThesisSettings', 'read_thesis']


@dataclass(frozen=True, eq=False)
class ThesisSettings:
    """Settings of the thesis's controller: gains (6,) of force and moment per error.

    Attributes:
        pose: K_p, K_i, K_d, each (6,).
        velocity: K_p, K_i, K_d, each (6,).
        window: over which the error is summed, s.
    """

    pose: tuple[np.ndarray, np.ndarray, np.ndarray]
    velocity: tuple[np.ndarray, np.ndarray, np.ndarray]
    window: float
    error_diffusion: bool = False


def _gains(reader: YamlReader) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    reader.mapping({'kp', 'ki', 'kd'}, {'kp', 'ki', 'kd'})
    result = []
    for name in ('kp', 'ki', 'kd'):
        gains = reader.child(name)
        if not isinstance(gains.value, list) or len(gains.value) != 6:
            raise gains.error(f' is {shown(gains.value)}; expected six numbers, surge to yaw')
        result.append(np.array([g.number(0.0, 1e9) for g in gains.items()]))
    return result[0], result[1], result[2]


def read_thesis(root: YamlReader) -> ThesisSettings:
    """Return the settings of a controller file.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    root.mapping({'law', 'pose', 'velocity', 'window'}, {'pose', 'velocity', 'window'})
    return ThesisSettings(
        pose=_gains(root.child('pose')),
        velocity=_gains(root.child('velocity')),
        window=root.child('window').number(1e-3, 100.0),
    )
