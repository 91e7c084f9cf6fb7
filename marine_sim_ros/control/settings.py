# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as files: config/controllers/*.yaml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import YamlReader, config_names, parse_yaml, read_config, shown

__all__ = [
    'MODES', 'ControllerSettings', 'ModernSettings', 'ThesisSettings', 'controller_names',
    'load_controller',
]  # fmt: skip

MODES = ('station', 'transit', 'velocity')


@dataclass(frozen=True)
class ModernSettings:
    """Of the modern law.

    Attributes:
        bandwidth: by mode, of position and of attitude, rad/s.
        damping: ratio ζ.
        integral: K_i = integral · ω K_p.
        integral_limit: of the integral's share, m/s² and rad/s².
        tolerance: errors of pose that the integral leaves alone, m and rad: without it a dead
            zone makes the vehicle hunt around its target.
        max_speed: of moving set-points, m/s.
        max_turn_rate: of turning set-points, rad/s.
        filter_time: of the measured velocity, s.
        error_diffusion: what rounding and dead zone swallow of a thrust is made up for in the next
            ticks: no limit cycle around the target, at the price of thrusters that stutter.
    """

    bandwidth: dict[str, tuple[float, float]]
    damping: float
    integral: float
    integral_limit: tuple[float, float]
    tolerance: tuple[float, float]
    max_speed: float
    max_turn_rate: float
    filter_time: float
    error_diffusion: bool


@dataclass(frozen=True, eq=False)
class ThesisSettings:
    """Of the thesis's law: gains (6,) for force and moment per error of pose and of velocity.

    Attributes:
        pose: K_p, K_i, K_d, each (6,).
        velocity: K_p, K_i, K_d, each (6,).
        window: over which the error is summed, s.
    """

    pose: tuple[np.ndarray, np.ndarray, np.ndarray]
    velocity: tuple[np.ndarray, np.ndarray, np.ndarray]
    window: float
    error_diffusion: bool = False


ControllerSettings = ModernSettings | ThesisSettings


def controller_names() -> list[str]:
    """Return the names of the controllers that are shipped."""
    return config_names('controllers')


def _pair(reader: YamlReader, high: float) -> tuple[float, float]:
    if not isinstance(reader.value, list) or len(reader.value) != 2:
        raise reader.error(f' is {shown(reader.value)}; expected [linear, angular]')
    first, second = (r.number(0.0, high) for r in reader.items())
    return first, second


def _modern(root: YamlReader) -> ModernSettings:
    keys = {
        'law', 'bandwidth', 'damping', 'integral', 'integral_limit', 'tolerance', 'max_speed',
        'max_turn_rate', 'filter_time', 'error_diffusion',
    }  # fmt: skip
    root.mapping(keys, keys - {'law'})
    bandwidth = root.child('bandwidth')
    bandwidth.mapping(set(MODES), set(MODES))
    return ModernSettings(
        bandwidth={mode: _pair(bandwidth.child(mode), 20.0) for mode in MODES},
        damping=root.child('damping').number(0.1, 5.0),
        integral=root.child('integral').number(0.0, 1.0),
        integral_limit=_pair(root.child('integral_limit'), 100.0),
        tolerance=_pair(root.child('tolerance'), 10.0),
        max_speed=root.child('max_speed').number(1e-3, 10.0),
        max_turn_rate=root.child('max_turn_rate').number(1e-3, 10.0),
        filter_time=root.child('filter_time').number(0.0, 10.0),
        error_diffusion=root.child('error_diffusion').truth(),
    )


def _gains(reader: YamlReader) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    reader.mapping({'kp', 'ki', 'kd'}, {'kp', 'ki', 'kd'})
    result = []
    for name in ('kp', 'ki', 'kd'):
        gains = reader.child(name)
        if not isinstance(gains.value, list) or len(gains.value) != 6:
            raise gains.error(f' is {shown(gains.value)}; expected six numbers, surge to yaw')
        result.append(np.array([g.number(0.0, 1e9) for g in gains.items()]))
    return result[0], result[1], result[2]


def _thesis(root: YamlReader) -> ThesisSettings:
    root.mapping({'law', 'pose', 'velocity', 'window'}, {'pose', 'velocity', 'window'})
    return ThesisSettings(
        pose=_gains(root.child('pose')),
        velocity=_gains(root.child('velocity')),
        window=root.child('window').number(1e-3, 100.0),
    )


_LAWS: dict[str, Callable[[YamlReader], ControllerSettings]] = {
    'modern': _modern,
    'thesis': _thesis,
}


def parse_controller(text: str, name: str) -> ControllerSettings:
    """Return the controller of a YAML text.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    root = YamlReader(name, parse_yaml(text, name, ParameterError), ParameterError)
    if not isinstance(root.value, dict):
        raise root.error(f': expected a mapping with law: {" or ".join(_LAWS)}')
    return _LAWS[root.child('law').choice(tuple(_LAWS))](root)


def load_controller(name_or_path: str | Path) -> ControllerSettings:
    """Return a controller by its shipped name or by the path of a YAML file.

    Raises:
        ParameterError: it cannot be found, read or used.
    """
    path, text = read_config(str(name_or_path), 'controllers', 'controller', ParameterError)
    return parse_controller(text, str(path))
