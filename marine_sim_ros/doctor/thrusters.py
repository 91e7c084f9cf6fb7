# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of thrusters: controlled axes, pairs, handedness, order of ArduSub's motors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from marine_sim_ros.autopilot.channels import (
    ARDUSUB_ELEMENT,
    MOTORS,
    channel_map,
    motor_mismatches,
    pushes_alike,
    thruster_signs,
)
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.sim.simulation import Simulation

__all__ = [
    'handedness',
    'mirrored_thrusters',
    'motor_order',
    'neutral_thrust',
    'pulse_response',
    'reachable_axes',
    'thruster_links',
    'thruster_names',
]


# Thrusters: controlled axes, push directions, mirrored pairs.

MIRRORED = 0.02
"""m, that a pair's positions may differ from mirror images."""
PULSE = 200.0
"""µs above neutral."""
STEPS = 4
_OFF = 0.01
"""Fraction of a thruster's greatest thrust up to which it counts as off."""
_SIDES = (
    (('port', 'left'), 1, 1.0, 'y > 0'),
    (('starboard', 'right'), 1, -1.0, 'y < 0'),
    (('front', 'fore', 'bow'), 0, 1.0, 'x > 0'),
    (('rear', 'aft', 'stern', 'back'), 0, -1.0, 'x < 0'),
)
_ALONG = (
    (('vertical', 'heave'), 2, 'z'),
    (('lateral', 'sway'), 1, 'y'),
    (('surge', 'forward'), 0, 'x'),
)


def _words(name: str) -> set[str]:
    return set(name.lower().replace('-', '_').split('_'))


def reachable_axes(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Rank of the thruster matrix, and the axes that cannot be commanded (Fossen 2011, 9.7)."""
    vehicle = context.vehicle
    count = len(vehicle.thrusters)
    element = context.root.find('thrusters')
    if count == 0:
        yield context.hint(element, 'has no thrusters', 'add <thrusters>, or drive it by waves')
        return
    found = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass)
    if not found.unreachable:
        return
    text = (
        f'{count} thruster{"s" * (count > 1)} of rank {found.rank} cannot command '
        f'{", ".join(found.unreachable)} while the other axes are held'
    )
    if count >= 4 and {'surge', 'heave', 'yaw'} & set(found.unreachable):
        yield context.warning(
            element,
            text,
            'check the positions and rpy of the thrusters: four of them can have '
            'surge, heave and yaw',
        )
        return
    yield context.hint(element, text, 'leave these axes free in controllers and scenarios')


def pulse_response(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Run a few steps of the simulation with a pulse on one thruster at a time.

    The velocity gained along its axis, at its place, must be positive: cᵀ H ν > 0. A tether, which
    would pull from wherever it ends, is left off.
    """
    vehicle = context.vehicle
    others = {k: v for k, v in vehicle.extensions.items() if k != 'tether'}
    vehicle = replace(vehicle, extensions=others)
    elements = context.thruster_elements()
    deep = state_at_rest(position=(0.0, 0.0, -100.0))
    gained = []
    for pwm in (np.full(len(elements), 1500.0), *(1500.0 + PULSE * np.eye(len(elements)))):
        simulation = Simulation(vehicle, initial=deep)
        for _ in range(STEPS):
            simulation.tick(pwm)
        gained.append(np.asarray(simulation.state.velocity))
    for i, element in enumerate(elements):
        moved = (gained[i + 1] - gained[0]) @ vehicle.thrusters.effectiveness[:, i]
        if not moved > 0:
            yield context.error(
                element,
                f'a pulse of {1500 + PULSE:g} µs moves the vehicle {_alignment_word(moved)} the z '
                'axis of its <origin>',
                'give it thrust above neutral: pos_force, or rows of its curve above 1500 µs',
            )


def neutral_thrust(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrust at 1500 µs, which controllers and autopilots send for off, is 0."""
    thrusters = context.vehicle.thrusters
    pulses = np.arange(PWM_MIN, PWM_MAX + 1, 4.0)
    thrust = np.array([thrusters.thrust_of_pwm(np.full(len(thrusters), p)) for p in pulses])
    told = thrusters.thrust_of_pwm(np.full(len(thrusters), PWM_NEUTRAL))
    for i, element in enumerate(context.thruster_elements()):
        limit = _OFF * np.abs(thrust[:, i]).max()
        if abs(told[i]) <= limit:
            continue
        off = pulses[np.abs(thrust[:, i]) <= limit]
        advice = 'give rows of 0 N about 1500 µs'
        if off.size:
            middle = 0.5 * (off[0] + off[-1])
            advice += f', or take {middle - PWM_NEUTRAL:g} µs off its pulse widths'
            advice += f': it is off from {off[0]:g} to {off[-1]:g} µs'
        yield context.warning(
            element, f'its thrust at 1500 µs, which means off, is {told[i]:.3g} N', advice
        )


def _alignment_word(moved: float) -> str:
    return 'against' if moved < 0 else 'not along'


def thruster_names(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A thruster named for a side is there, and one named for an axis pushes along it."""
    thrusters = context.vehicle.thrusters
    for i, element in enumerate(context.thruster_elements()):
        words = _words(thrusters.names[i])
        for sides, axis, sign, expected in _SIDES:
            at = thrusters.position[i, axis]
            if words & set(sides) and sign * at < -1e-3:
                yield context.warning(
                    element,
                    f'its name says {expected}, but it is at {"xyz"[axis]} = {at:g} m',
                    'check the signs: x forward, y to port, z up (REP 103)',
                )
        for along, axis, letter in _ALONG:
            if words & set(along) and abs(thrusters.axis[i, axis]) < 0.5:
                c = thrusters.axis[i]
                yield context.warning(
                    element,
                    f'its name says it pushes along {letter}, but positive PWM pushes '
                    f'along ({c[0]:.2f}, {c[1]:.2f}, {c[2]:.2f})',
                    'check rpy: positive PWM pushes along the z axis of <origin>',
                )


def _pairs(context: DescriptionContext) -> list[tuple[int, int]]:
    """Return thrusters at mirrored places, port and starboard."""
    place = context.vehicle.thrusters.position
    mirrored = place * [1.0, -1.0, 1.0]
    result = []
    for i in range(len(place)):
        near = np.linalg.norm(place - mirrored[i], axis=1) < MIRRORED
        others = [int(j) for j in np.flatnonzero(near) if j > i and abs(place[i, 1]) > MIRRORED]
        if len(others) == 1:
            result.append((i, others[0]))
    return result


def mirrored_thrusters(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrusters at mirrored places push like mirror images, unless declared reversed."""
    axis = context.vehicle.thrusters.axis
    elements = context.thruster_elements()
    for i, j in _pairs(context):
        likeness = float(axis[i] @ (axis[j] * [1.0, -1.0, 1.0]))
        if likeness > -0.9 or _reversed_on_purpose(elements[i]) != _reversed_on_purpose(
            elements[j]
        ):
            continue
        first, second = (context.vehicle.thrusters.names[k] for k in (i, j))
        yield context.warning(
            elements[j],
            f'{first!r} and {second!r} are at mirrored places and push in opposite '
            'senses for the same PWM',
            'if one of them is not meant to be reversed, turn its rpy by 180 degrees',
        )


def _reversed_on_purpose(element: object) -> bool:
    """Return whether an Orca3 thruster gives its forces as negative."""
    text = getattr(element, 'findtext', lambda _: '')('pos_force') or ''
    return text.strip().startswith('-')


def handedness(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Pairs of propellers turn against each other, else their reaction torques add up."""
    thrusters = context.vehicle.thrusters
    elements = context.thruster_elements()
    for i, j in _pairs(context):
        told = elements[i].get('direction') and elements[j].get('direction')
        alike = float(thrusters.axis[i] @ (thrusters.axis[j] * [1.0, -1.0, 1.0])) > 0.9
        if not told or not alike or thrusters.handedness[i] != thrusters.handedness[j]:
            continue
        torque = float(thrusters.reaction_torque[i] + thrusters.reaction_torque[j])
        text = (
            f'{thrusters.names[i]!r} and {thrusters.names[j]!r} are a mirrored pair and turn the '
            f'same way ({elements[j].get("direction")})'
        )
        if torque > 0:
            yield context.warning(
                elements[j],
                f'{text}: together they twist by {torque:g} N·m per N each',
                'give one of them the other direction="cw" or "ccw"',
            )
        else:
            yield context.hint(
                elements[j],
                f'{text}; without reaction_torque that has no effect',
                'give one of them the other direction before you add a reaction_torque',
            )


def thruster_links(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A thruster and the link named after it are at the same place, with the same z axis."""
    thrusters = context.vehicle.thrusters
    for i, element in enumerate(context.thruster_elements()):
        name = thrusters.names[i]
        frame = context.frames.get(f'{name}_link') or context.frames.get(name)
        if frame is None:
            continue
        away = float(np.linalg.norm(frame.translation - thrusters.position[i]))
        axis = rotation_matrix(frame.quaternion)[:, 2]
        along = float(axis @ thrusters.axis[i])
        if away > 0.01:
            yield context.warning(
                element,
                f'pushes {away:.3g} m away from its link {frame.name!r}',
                'give <origin xyz> of the thruster and of the joint the same numbers',
            )
        if along < -0.5:
            yield context.warning(
                element,
                f'pushes against the z axis of its link {frame.name!r}',
                'give <origin rpy> of the thruster and of the joint the same numbers',
            )


# Number, order, position and sense of thrusters against the motors of ArduSub's frames.

FRAME_POSITIONS: dict[str, np.ndarray] = {
    'vectored': np.array([(1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1)]),
    'vectored_6dof': np.array(
        [(1, -1), (1, 1), (-1, -1), (-1, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)]
    ),
}
"""(n, 2) signs of x and y (FLU) of the motors: ahead or aft, to port or to starboard."""
AMIDSHIPS = 0.03
"""m."""


def _match_motors(
    signs: np.ndarray,
    places: np.ndarray,
    frame: np.ndarray,
    wanted: np.ndarray | None,
    first: Sequence[int],
) -> list[tuple[int, int]] | None:
    """Return for every motor its thruster and the sense (±1), or None for another layout.

    ``first`` is the thruster on each motor's channel, which is taken where it fits.
    """
    result: list[tuple[int, int]] = []
    left = list(range(len(signs)))
    for motor in range(len(frame)):
        options = [
            (k, s)
            for k in left
            for s in (1, -1)
            if pushes_alike(s * signs[k], frame[motor])
            and (wanted is None or np.array_equal(places[k], wanted[motor]))
        ]
        if not options:
            return None
        best = min(options, key=lambda o: (o[0] != first[motor], o[1] < 0, o[0]))
        result.append(best)
        left.remove(best[0])
    return result


def motor_order(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrusters of a vehicle for ArduPilot come in its order and push in its sense.

    These are the vehicles with an element <ardusub>, and those named as a BlueROV.
    """
    vehicle = context.vehicle
    element = context.root.find(ARDUSUB_ELEMENT)
    if element is None and 'bluerov' not in vehicle.name.lower():
        return
    try:
        channels = channel_map(vehicle)
    except ModelError as error:
        yield context.error(element, str(error), 'correct <ardusub>')
        return
    name = channels.frame
    if name not in MOTORS:
        return
    com = vehicle.inertia.center_of_mass
    level = (vehicle.thrusters.position - com)[:, :2]
    places = np.where(np.abs(level) > AMIDSHIPS, np.sign(level), 0.0).astype(int)
    on_channel = [
        channels.thrusters.index(motor) if motor in channels.thrusters else -1
        for motor in range(1, len(MOTORS[name]) + 1)
    ]
    matching = _match_motors(
        thruster_signs(vehicle), places, MOTORS[name], FRAME_POSITIONS.get(name), on_channel
    )
    elements = context.thruster_elements()
    plugin = context.root.find('thrusters') is None
    tell = context.hint if plugin and element is None else context.warning
    if matching is None:
        faults = motor_mismatches(vehicle, channels.thrusters, name)
        which = '; '.join(map(str, faults)) or 'a thruster is on another side than its motor'
        why = 'as <ardusub> names it' if element is not None else 'though it is named a BlueROV'
        yield tell(
            context.root.find('thrusters'),
            f'its thrusters make no {name} frame of ArduPilot, {why}: {which}',
            f'compare positions and rpy with the {name} frame, or name another frame in <ardusub>',
        )
        return
    for motor, (thruster, sense) in enumerate(matching):
        there = elements[on_channel[motor]] if on_channel[motor] >= 0 else element
        if thruster != on_channel[motor]:
            yield tell(
                there,
                f'is on channel {motor + 1}, but what ArduPilot calls motor '
                f'{motor + 1} of its {name} frame is {vehicle.thrusters.names[thruster]!r}',
                "put the thrusters in the order of ArduPilot's motor numbers, or give their "
                'channels in <ardusub>',
            )
        elif sense < 0:
            yield tell(
                there,
                f"pushes against what ArduPilot's motor {motor + 1} of the "
                f'{name} frame does with positive PWM',
                'turn its rpy by 180 degrees, or set MOT_n_DIRECTION of the autopilot',
            )
