# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plugins of PX4's underwater vehicles: motors of Gazebo classic and new, and its hydrodynamics.

Source: PX4/PX4-SITL_gazebo-classic, src/gazebo_motor_model.cpp and gazebo_uuv_plugin.cpp;
PX4/PX4-Autopilot, src/modules/simulation/gz_plugins/generic_motor; gz-sim,
MulticopterMotorModel. All push along z of the rotor's link.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.importers.buoyancy import add_weight_share
from marine_sim_ros.importers.curves import along, sampled_curve
from marine_sim_ros.importers.description import Sourced, Thruster
from marine_sim_ros.importers.draft import (
    Draft,
    Plugin,
    flag,
    magnitudes,
    number,
    numbers,
    origin_of,
    text_of,
)
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.model.xml import Reader

__all__ = ['read_channels', 'read_generic_motor', 'read_motor_model', 'read_uuv_plugin']

_MAX_SPEED = 838.0
"""rad/s, default of <maxRotVelocity>."""
_MOTOR_CONSTANT = 8.54858e-06
"""N/(rad/s)², default of <motorConstant>."""
_SCALE_HEIGHT = 0.1
"""m, default of <height_scale_limit>."""


def read_channels(plugin: Plugin, draft: Draft) -> None:
    """Note the channels of libgazebo_mavlink_interface: ω = (u + offset) · scaling + zero.

    The output u of the autopilot is from −1 to 1, or from 0 where the motor is not reversible.
    """
    speeds = draft.notes.setdefault('motor_speeds', {})
    for element in plugin.reader.element.iterfind('control_channels/channel'):
        channel = Reader(element, plugin.reader.source)
        index = text_of(channel, 'input_index')
        scaling = number(channel, 'input_scaling', None, -1e6, 1e6)
        if scaling is None or text_of(channel, 'joint_control_type', 'velocity') != 'velocity':
            continue
        offset = number(channel, 'input_offset', 0.0, -1e6, 1e6).value
        zero = number(channel, 'zero_position_armed', 0.0, -1e6, 1e6).value
        speeds[index] = tuple((u + offset) * scaling.value + zero for u in (-1.0, 0.0, 1.0))
    draft.drop(f'{origin_of(plugin.reader)} {plugin.label}: only its channels are read')


def read_motor_model(plugin: Plugin, draft: Draft) -> None:
    """Take libgazebo_motor_model or MulticopterMotorModel: T = k ω |ω|, or k ω² one way only."""
    reader = plugin.reader
    kind = text_of(reader, 'motorType', 'velocity')
    if kind != 'velocity':
        draft.drop(f'{origin_of(reader)}: a motor of type {kind!r}; expected velocity')
        draft.unread_forces.append(f'{origin_of(reader)} {plugin.label}')
        return
    constant = number(reader, 'motorConstant', _MOTOR_CONSTANT, -1e6, 1e6)
    fastest = number(reader, 'maxRotVelocity', _MAX_SPEED, 0.0, 1e6)
    lowest = -fastest.value if flag(reader, 'reversible') else 0.0
    if not lowest:
        draft.assume(f'{origin_of(reader)}: not <reversible>: it pushes one way only')
    lowest, highest = _commanded(reader, draft, lowest, fastest.value)
    _add(plugin, draft, lambda w: constant.value * w * abs(w), lowest, highest)


def _commanded(reader: Reader, draft: Draft, lowest: float, fastest: float) -> tuple[float, float]:
    """Return the speeds (rad/s) that the channel of a motor can command, at most its own."""
    speeds = draft.notes.get('motor_speeds', {}).get(text_of(reader, 'motorNumber'))
    if speeds is None:
        return lowest, fastest
    ends = sorted((speeds[0 if lowest else 1], speeds[2]))
    if not ends[0] <= 0 < ends[1]:
        draft.drop(
            f'{origin_of(reader)}: its channel commands {ends[0]:g} to {ends[1]:g} rad/s; '
            f'expected a range over 0; it turns at up to {fastest:g} rad/s here'
        )
        return lowest, fastest
    if ends[1] < fastest:
        draft.assume(
            f'{origin_of(reader)}: its channel commands up to {ends[1]:g} rad/s, less than its '
            f'{fastest:g} rad/s'
        )
    return max(lowest, ends[0]), min(fastest, ends[1])


def read_generic_motor(plugin: Plugin, draft: Draft) -> None:
    """Take GenericMotorModel: a polynomial of the command, or k ω |ω|.

    T(u) = Σ a_i uⁱ with coefficients for either sign of u; u is the duty cycle between its ends,
    from −1 to 1 for a motor with two directions, or the speed of the rotor.
    """
    reader = plugin.reader
    if text_of(reader, 'motorType', 'velocity') != 'force_polynomial':
        read_motor_model(plugin, draft)
        return
    ahead = _polynomial(reader, 'positiveThrustPolynomial')
    if ahead is None:
        raise reader.error('has no <positiveThrustPolynomial>')
    astern = _polynomial(reader, 'negativeThrustPolynomial')
    astern = ahead if astern is None else astern
    duty = text_of(reader, 'controlMethod', 'rpm') == 'duty_cycle'
    highest = 1.0 if duty else number(reader, 'maxRotVelocity', _MAX_SPEED, 0.0, 1e6).value
    dead = number(reader, 'minCommand', 0.0, 0.0, 1e6).value

    def thrust(command: float) -> float:
        if abs(command) < max(dead, 1e-12):
            return 0.0
        size = float(
            np.polynomial.polynomial.polyval(abs(command), ahead if command > 0 else astern)
        )
        return size if command > 0 else -size

    lowest = -highest if flag(reader, 'bidirectionalMotor') else 0.0
    pulses = None
    if duty:
        pulses = tuple(
            number(reader, tag, default, 0.0, 1e6).value
            for tag, default in (('minDutyCycle', 1100.0), ('maxDutyCycle', 1900.0))
        )
    _add(plugin, draft, thrust, lowest, highest, speed=not duty, pulses=pulses)


def _polynomial(reader: Reader, tag: str) -> np.ndarray | None:
    """Return the coefficients of a polynomial, the constant first; None without."""
    child = reader.first(tag)
    if child is None:
        return None
    text = (child.element.text or '').strip().strip('[]').replace(',', ' ')
    return child.numbers(set(range(1, 21)), text)


def _add(
    plugin: Plugin,
    draft: Draft,
    thrust: Callable[[float], float],
    lowest: float,
    highest: float,
    *,
    speed: bool = True,
    pulses: tuple[float, ...] | None = None,
) -> None:
    """Add a thruster along z of the link of a motor."""
    reader = plugin.reader
    link = draft.known_link(reader, text_of(reader, 'linkName').replace('::', '/'))
    curve, mirrored = sampled_curve(thrust, lowest, highest, speed=speed)
    if pulses is not None and lowest < 0:
        first, last = pulses
        if not first < last:
            raise reader.error(f'minDutyCycle {first:g} is not below maxDutyCycle {last:g}')
        curve[:, 0] = np.interp(curve[:, 0], [1100.0, 1900.0], [first, last])
    pose = draft.pose_of(link)
    axis = draft.rotation_of(link)[:, 2]
    index = text_of(reader, 'actuator_number') or text_of(reader, 'motorNumber')
    label = f'motor_{index or len(draft.thrusters)}'
    lag = number(reader, 'timeConstantUp', None, 0.0, 60.0)
    draft.add_thruster(
        Thruster(
            label,
            along(pose.translation, -axis if mirrored else axis),
            Sourced(curve, origin_of(reader)),
            'cw' if text_of(reader, 'turningDirection') == 'cw' else 'ccw',
            time_constant=lag if speed else None,
            link=link,
            shaft=draft.scoped_name(
                reader, text_of(reader, 'jointName').replace('::', '/'), draft.joints
            ),
        ),
        index,
    )


def read_uuv_plugin(plugin: Plugin, draft: Draft) -> None:
    """Take libgazebo_uuv_plugin: added mass, linear damping, buoyancy as a share of the weight."""
    reader = plugin.reader
    link = draft.known_link(reader, text_of(reader, 'baseLinkName', draft.base).replace('::', '/'))
    for element in reader.element.findall('buoyancy'):
        _buoyancy(Reader(element, reader.source), draft)
    added, linear = (
        np.diag(
            np.concatenate([magnitudes(reader, f'{name}{kind}') for kind in ('Linear', 'Angular')])
        )
        for name in ('addedMass', 'damping')
    )
    none = np.zeros((6, 6))
    set_hydrodynamics(draft, reader, link, added, linear, none, none)


def _buoyancy(reader: Reader, draft: Draft) -> None:
    """Add a volume: ρ V = compensation · m of its link, lost over twice <height_scale_limit>."""
    link = draft.known_link(reader, text_of(reader, 'link_name').replace('::', '/'))
    factor = number(reader, 'compensation', 1.0, 0.0, 1e6)
    center = numbers(reader, 'origin', (3,)) or Sourced(np.zeros(3), 'default: origin of the link')
    limit = number(reader, 'height_scale_limit', _SCALE_HEIGHT, 1e-4, 1e4)
    add_weight_share(draft, link, factor, center, Sourced(2 * limit.value, limit.origin))
