# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins of UUV Simulator (Quadratic, TwoLines) and surfaces of Gazebo's LiftDrag.

Source: uuv_simulator, uuv_gazebo_plugins/src: FinPlugin, LiftDragModel; gz-sim,
src/systems/lift_drag. Both are two straight lines by the angle of attack, as our own fins are.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import matrix_quaternion, quaternion_from_rpy
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_flag,
    read_number,
    read_sourced_numbers,
    read_text,
)
from marine_sim_ros.importers.description import Fin, ImportedJoint, Sourced
from marine_sim_ros.importers.uuv_plugins import time_constant
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Reader

__all__ = [
    'QUARTER',
    'add_fin',
    'area_in_water',
    'hinge_of',
    'add_lift_drag',
    'add_uuv_fin',
    'refuse_fin',
    'surface_frame',
    'yaw_pose',
]

_DENSITY = 1000.0
"""kg/m³, of the water where no plugin gives one, as :mod:`.buoyancy` takes it."""
_PARALLEL = 1e-3
"""Largest sine between a hinge and the span of its fin."""
_TWO_LINES = {
    'alpha_stall': ('stall_angle', 1e-3, math.pi / 2),
    'cla': ('lift_slope', 0.0, 1e6),
    'cla_stall': ('stall_lift_slope', -1e6, 1e6),
    'cda': ('drag_slope', 0.0, 1e6),
    'cda_stall': ('stall_drag_slope', -1e6, 1e6),
}
_GAZEBO = {'alpha_stall': math.pi / 2, 'cla': 1.0, 'cla_stall': 0.0, 'cda': 0.01, 'cda_stall': 1.0}

Values = dict[str, Sourced[float]]


def yaw_pose(angle: float) -> Pose:
    """Return a turn about z."""
    return Pose(np.zeros(3), np.asarray(quaternion_from_rpy(0.0, 0.0, angle)))


QUARTER = Pose(np.zeros(3), np.asarray(quaternion_from_rpy(math.pi / 2, 0.0, 0.0)))
"""A quarter turn about the chord."""


def _half_turn_about_x() -> Pose:
    """Return a half turn about x: the same chord, the hinge the other way round."""
    return Pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def hinge_of(builder: VehicleBuilder, link: str) -> tuple[ImportedJoint | None, str]:
    """Return the joint that turns a link, or None where it is fixed; and why it is no fin."""
    above, at, found = builder.parent_joints(), link, None
    while at != builder.base and at in above:
        joint = above[at]
        if joint.kind in ('continuous', 'prismatic'):
            return None, f'it moves with the {joint.kind} joint {joint.name!r}'
        if joint.kind == 'revolute' or joint.lower < joint.upper:
            if found is not None:
                return None, f'it moves with two joints, {found.name!r} and {joint.name!r}'
            found = joint
        at = joint.parent
    return found, ''


def _density(builder: VehicleBuilder) -> float:
    return _DENSITY if builder.water_density is None else builder.water_density.value


def area_in_water(
    reader: Reader, builder: VehicleBuilder, area: Sourced[float], density: Sourced[float]
) -> Values:
    """Return the area that gives the same force in the water of the vehicle."""
    water = _density(builder)
    if density.value == water:
        return {'area': area}
    builder.assume(
        f'{origin_of(reader)}: reckons with {density.value:g} kg/m³, the water has {water:g}: '
        'the area is scaled'
    )
    scaled = area.value * density.value / water
    return {'area': Sourced(scaled, f'{area.origin} × {density.value:g}/{water:g}')}


def _two_lines(
    reader: Reader, builder: VehicleBuilder, defaults: dict[str, float], tag: str
) -> Values:
    """Return our coefficients of two straight lines; the tag has the density.

    Raises:
        ModelError: a number that is missing, or out of range.
    """

    def read_value(
        name: str, low: float, high: float, default: float | None = None
    ) -> Sourced[float]:
        child = reader.first(name)
        if child is not None and not (child.element.text or '').strip() and low <= 0:
            rule = f'{origin_of(child)}: empty, which the source takes as 0'
            builder.assume(rule)
            return Sourced(0.0, rule, True)
        found = read_number(reader, name, defaults.get(name, default), low, high)
        if found is None:
            raise reader.error(f'has no <{name}>')
        return found

    none = Sourced(0.0, 'the source has none')
    fresh = defaults.get(tag)
    density = read_value(tag, 1e-3, 2e4, fresh)
    area = read_value('area', 1e-8, 1e4, defaults.get('area'))
    lines = {ours: read_value(name, low, high) for name, (ours, low, high) in _TWO_LINES.items()}
    return {**area_in_water(reader, builder, area, density), **lines, 'zero_lift_drag': none}


def _quadratic(reader: Reader, builder: VehicleBuilder) -> Values:
    """Return our coefficients of L = c_L α u² and D = c_D α² u².

    Raises:
        ModelError: a number that is missing, or out of range.
    """
    lift, drag = (read_number(reader, f'{n}_constant', None, 0.0, 1e6) for n in ('lift', 'drag'))
    if lift is None or drag is None or lift.value <= 0:
        raise reader.error('expected a <lift_constant> above 0 and a <drag_constant>')
    water = _density(builder)
    slope = 2 * lift.value / water
    return {
        'area': Sourced(1.0, 'of reference: the constants have it in them'),
        'lift_slope': Sourced(slope, f'{lift.origin}: 2 c_L/ρ'),
        'induced_drag': Sourced(
            drag.value * 2 / (water * slope**2), f'{drag.origin}: ρ c_D/2 c_L²'
        ),
        'zero_lift_drag': Sourced(0.0, 'the source has none'),
        'stall_angle': Sourced(math.pi / 2, 'the source has no stall'),
    }


class Flap(NamedTuple):
    """A joint that moves a flap, and the deflection of our fin for one radian of it."""

    joint: ImportedJoint
    ratio: float


def add_fin(
    builder: VehicleBuilder,
    label: str,
    where: str,
    pose: Pose,
    joint: ImportedJoint | None,
    rest: Values,
    flap: Flap | None = None,
) -> None:
    """Add a fin with the chord along x and the span along z; name one that does not fit.

    Args:
        where: place in the source.
        pose: its frame in the base.
        joint: its hinge, or None where it is fixed.
        flap: what turns its lift in place of its hinge.
    """
    lower = upper = 0.0
    turning = joint if flap is None else flap.joint
    if turning is not None:
        axis = builder.rotation_of(turning.child) @ np.array(turning.axis)
        axis = axis / np.linalg.norm(axis)
        span = _span(pose)
        if flap is None and np.linalg.norm(np.cross(axis, span)) > _PARALLEL:
            builder.drop(f'{where}: fin {label!r}: its joint does not turn about its span')
            builder.notes.setdefault('fixed', {})[turning.name] = 'its fin is not simulated'
            return
        if flap is None and axis @ span < 0:
            pose = pose.then(_half_turn_about_x())
        if not turning.lower <= 0 <= turning.upper:
            builder.drop(f'{where}: fin {label!r}: its joint does not reach 0, where it starts')
            return
        builder.assume(
            f'joint {turning.name!r} is fixed: its fin turns by itself, on fins/command'
        )
        ratio, limit = (1.0, math.pi) if flap is None else (flap.ratio, math.pi / 2)
        ends = sorted((ratio * turning.lower, ratio * turning.upper))
        lower, upper = max(ends[0], -limit) + 0.0, min(ends[1], limit) + 0.0
    origin = 'fixed' if turning is None else turning.origin
    limits = Sourced((lower, upper), origin)
    builder.add_fin(Fin(label, pose, rest, limits, '' if turning is None else turning.name))


def _span(pose: Pose) -> np.ndarray:
    return pose.then(Pose(np.array([0.0, 0.0, 1.0]), IDENTITY.quaternion)).translation - (
        pose.translation
    )


def add_uuv_fin(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take libuuv_fin: lift and drag in the x-y plane of its link, at its origin."""
    reader = plugin.reader
    name = read_text(reader, 'joint_name')
    try:
        joint = builder.joints.get(name)
        link = read_text(reader, 'link_name', '' if joint is None else joint.child)
        model = reader.first('liftdrag')
        if joint is None or link not in builder.links or model is None:
            raise reader.error('expected a <joint_name>, a <link_name> and a <liftdrag>')
        kind = read_text(model, 'type')
        turn = 0.0
        if kind == 'Quadratic':
            values = _quadratic(model, builder)
        elif kind == 'TwoLines':
            values = _two_lines(model, builder, {}, 'fluid_density')
            zero = read_number(model, 'a0', 0.0, -math.pi, math.pi)
            turn = 0.0 if zero is None else -zero.value
            builder.assume(
                f'{origin_of(model)}: drag against the motion, and the same lines, at negative '
                'angles too; the source has other signs there'
            )
        else:
            raise model.error(f'model {kind!r}; expected Quadratic or TwoLines')
    except ModelError as error:
        refuse_fin(builder, reader, name, error)
        return
    lag = time_constant(reader, builder)
    if lag is not None:
        values['time_constant'] = lag
    pose = builder.pose_of(link).then(yaw_pose(turn))
    hinge = joint if joint.lower < joint.upper else None
    builder.notes.setdefault('fixed', {})[name] = 'its fin turns by itself'
    add_fin(builder, name, origin_of(reader), pose, hinge, values)


def refuse_fin(builder: VehicleBuilder, reader: Reader, name: str, error: ModelError) -> None:
    """Name a fin that cannot be taken; its joint stays at 0."""
    builder.notes.setdefault('fixed', {})[name] = 'its fin stays at 0'
    reason = re.sub(r'^.*?:\d+: ', '', str(error))
    builder.drop(f'{origin_of(reader)}: fin {name!r}: lift and drag are not simulated: {reason}')


def add_lift_drag(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take gz::sim::systems::LiftDrag: a surface at its centre of pressure, on a joint or not."""
    reader = plugin.reader
    link = read_text(reader, 'link_name', plugin.reference)
    try:
        link = builder.known_link(reader, link)
        joint, why = hinge_of(builder, link)
        if why:
            raise reader.error(why)
        # that of asv_sim names the water
        density = 'air_density' if reader.first('fluid_density') is None else 'fluid_density'
        values = _two_lines(reader, builder, {**_GAZEBO, 'area': 1.0, density: 1.2041}, density)
        pose = builder.pose_of(link).then(surface_frame(reader))
    except ModelError as error:
        refuse_fin(builder, reader, link, error)
        return
    where = origin_of(reader)
    flap = _flap(reader, builder, joint, pose, values['lift_slope'].value)
    _name_the_rest(reader, builder)
    label = link if joint is None else joint.name
    add_fin(builder, label if flap is None else flap.joint.name, where, pose, joint, values, flap)
    if read_flag(reader, 'radial_symmetry'):
        builder.assume(f'{where}: <radial_symmetry>: two surfaces at right angles')
        add_fin(builder, f'{label}_across', where, pose.then(QUARTER), None, values)


def _flap(
    reader: Reader, builder: VehicleBuilder, hinge: ImportedJoint | None, pose: Pose, slope: float
) -> Flap | None:
    """Return the flap of <control_joint_name>, C_L = a α + k δ, or None.

    A fin that turns by (k/a) δ has the same lift; where its own hinge is the flap's joint, by that
    angle more.
    """
    name = read_text(reader, 'control_joint_name')
    gain = read_number(reader, 'control_joint_rad_to_cl', 4.0, -1e6, 1e6).value
    if not name or not gain:
        return None
    joint = builder.joints.get(builder.scoped_name(reader, name, builder.joints))
    where = f'{origin_of(reader)}: <control_joint_rad_to_cl>: a flap that adds lift'
    if joint is None:
        builder.drop(f'{where}: its joint {name!r} does not exist')
        return None
    if slope <= 0 or (hinge is not None and hinge is not joint):
        builder.drop(f'{where} to a surface without a slope, or with a hinge of its own')
        return None
    own = 0.0
    if hinge is not None:
        axis = builder.rotation_of(hinge.child) @ np.array(hinge.axis)
        own = 1.0 if axis @ _span(pose) > 0 else -1.0
    ratio = own + gain / slope
    builder.assume(
        f'{where}: its fin turns by {ratio:.3g} of the angle of {joint.name!r}, which stalls and '
        'drags with it here'
    )
    builder.notes.setdefault('fixed', {})[joint.name] = 'its fin turns by itself'
    return Flap(joint, ratio)


def _name_the_rest(reader: Reader, builder: VehicleBuilder) -> None:
    """Name what LiftDrag has and our fins do not: moments, and no force on the way astern."""
    moments = [t for t in ('cma', 'cma_stall', 'cm_delta') if read_number(reader, t, 0.0).value]
    if moments:
        builder.drop(f'{origin_of(reader)}: <{">, <".join(moments)}>: a moment about the span')
    if not read_flag(reader, 'reversible'):
        builder.assume(
            f'{origin_of(reader)}: not <reversible>: no force astern in the source; here there is'
        )


def surface_frame(reader: Reader) -> Pose:
    """Return the frame of a surface in its link, turned by the angle at which it has no lift.

    Raises:
        ModelError: directions that span no plane.
    """
    vectors = {
        name: read_sourced_numbers(reader, name, (3,)) or Sourced(np.array(usual), '')
        for name, usual in (('forward', (1.0, 0, 0)), ('upward', (0, 0, 1.0)), ('cp', (0.0, 0, 0)))
    }
    ahead, up = vectors['forward'].value, vectors['upward'].value
    span = np.cross(ahead, up)
    if np.linalg.norm(span) < 1e-6:
        raise reader.error('<forward> and <upward> are parallel')
    ahead, span = ahead / np.linalg.norm(ahead), span / np.linalg.norm(span)
    zero = read_number(reader, 'a0', 0.0, -math.pi, math.pi)
    turn = matrix_quaternion(np.stack([ahead, np.cross(span, ahead), span], 1))
    frame = Pose(vectors['cp'].value, turn)
    return frame.then(yaw_pose(0.0 if zero is None else zero.value))
