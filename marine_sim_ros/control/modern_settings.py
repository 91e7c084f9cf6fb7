# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of the modern controller, and how a file gives them."""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.core.yaml_file import YamlReader, shown

__all__ = ['MODES', 'ModernSettings', 'read_modern']

MODES = ('station', 'transit', 'velocity')


@dataclass(frozen=True)
class ModernSettings:
    """Settings of the modern controller.

    Attributes:
        bandwidth: bandwidths of position and of attitude, by mode, rad/s.
        damping: ratio ζ.
        integral: K_i = integral · ω K_p.
        integral_limit: limit of the integral term, m/s² and rad/s².
        tolerance: errors of pose that the integral leaves alone, m and rad: without it a dead
            zone makes the vehicle hunt around its target.
        max_speed: largest speed of moving set-points, m/s.
        max_turn_rate: largest rate of turning set-points, rad/s.
        filter_time: filter time constant of the measured velocity, s.
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


def _pair(reader: YamlReader, high: float) -> tuple[float, float]:
    if not isinstance(reader.value, list) or len(reader.value) != 2:
        raise reader.error(f' is {shown(reader.value)}; expected [linear, angular]')
    first, second = (r.number(0.0, high) for r in reader.items())
    return first, second


def read_modern(root: YamlReader) -> ModernSettings:
    """Return the settings of a controller file.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    keys = {
        'law',
        'bandwidth',
        'damping',
        'integral',
        'integral_limit',
        'tolerance',
        'max_speed',
        'max_turn_rate',
        'filter_time',
        'error_diffusion',
    }
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
