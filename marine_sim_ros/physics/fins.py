# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: servos that turn control surfaces, their reader, and the lift and drag of each.

The memory is the deflections (..., m) in rad. Sources: Fossen (2021), chapter 9 (rudders and fins
as lift and drag surfaces), Whicker & Fehlner (1958) (slope and induced drag), Hoerner (1965)
(plate normal to the flow); the propeller wash is that of an actuator disc far downstream.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_numeric, matvec, namespace
from marine_sim_ros.core.errors import expected_one_of
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, text
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.kinematics import PlacedElement
from marine_sim_ros.model.servos import DEFAULT_MAX_RATE, ServoElement
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.actuator import Actuator, servo_step
from marine_sim_ros.physics.force import ForceInputs, ForceModel, relative_velocity, zero_memory

__all__ = [
    'FINS',
    'FIN_ACTUATOR',
    'fin_wrench',
    'fins_of',
    'lift_drag_coefficients',
    'lift_slope',
    'servo_load',
]


NAME = 'fins'

# Fins and rudders of a vehicle: positions, hinges, coefficients and servos.


@dataclass(frozen=True, eq=False)
class FinSet:
    """The m fins of a vehicle, in the order of the URDF.

    Attributes:
        names: m names.
        position: (m, 3) where the force acts, m.
        forward: (m, 3) unit vectors from the trailing to the leading edge at deflection 0.
        hinge: (m, 3) unit vectors about which a positive deflection turns (right-hand rule).
        area: (m,) A, m².
        lift_slope: (m,) a = dC_L/dα, 1/rad.
        zero_lift_drag: (m,) C_D0.
        drag_slope: (m,) dC_D/d|α|, 1/rad.
        induced_drag: (m,) k of k C_L².
        stall_angle: (m,) α_s, rad.
        stall_lift_slope: (m,) dC_L/d|α| beyond it, 1/rad.
        stall_drag_slope: (m,) dC_D/d|α| beyond it, 1/rad.
        lower: (m,) least deflection, rad.
        upper: (m,) greatest deflection, rad.
        max_rate: (m,) of the servo, rad/s.
        time_constant: (m,) of the servo, s.
        play: (m,) width of the free play between servo and fin, rad.
        load_per_force: (m,) load of the servo, as a fraction of its stall torque, per force
            normal to the fin, 1/N.
        wash: (m, n) 1.0 where the wash of a thruster meets a fin, else 0.0.
        disc_area: (m,) of that thruster's propeller, m²; 1 where there is none.
    """

    names: tuple[str, ...]
    position: np.ndarray
    forward: np.ndarray
    hinge: np.ndarray
    area: np.ndarray
    lift_slope: np.ndarray
    zero_lift_drag: np.ndarray
    drag_slope: np.ndarray
    induced_drag: np.ndarray
    stall_angle: np.ndarray
    stall_lift_slope: np.ndarray
    stall_drag_slope: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray
    time_constant: np.ndarray
    play: np.ndarray
    load_per_force: np.ndarray
    wash: np.ndarray
    disc_area: np.ndarray

    def __len__(self) -> int:
        """Return the number of fins."""
        return len(self.names)

    @cached_property
    def chordwise(self) -> np.ndarray:
        """(m, 6) body velocity -> speed of each fin along its undeflected chord."""
        return np.concatenate([self.forward, np.cross(self.position, self.forward)], axis=1)

    @cached_property
    def normal_to_chord(self) -> np.ndarray:
        """(m, 6) body velocity -> speed of each fin across its undeflected chord."""
        normal = np.cross(self.hinge, self.forward)
        return np.concatenate([normal, np.cross(self.position, normal)], axis=1)

    @cached_property
    def any_play(self) -> bool:
        """Whether any fin has play."""
        return not is_numeric(self.play) or bool(np.any(self.play))

    @cached_property
    def any_load(self) -> bool:
        """Whether the water loads any servo."""
        return not is_numeric(self.load_per_force) or bool(np.any(self.load_per_force))

    @cached_property
    def any_wash(self) -> bool:
        """Whether a propeller's wash meets any fin."""
        return not is_numeric(self.wash) or bool(np.any(self.wash))


def fins_of(vehicle: Vehicle) -> FinSet | None:
    """Return the fins of a vehicle; None without."""
    fins: FinSet | None = vehicle.extensions.get(NAME)
    return fins


# Reads <fins>, and estimates the lift of a fin from its shape.

OSWALD = 0.9
"""Efficiency e of the induced drag C_L²/(π e A) (Whicker & Fehlner 1958)."""
BROADSIDE = 1.2
"""Drag coefficient normal to the flow (Hoerner 1965, section 3: plates of small aspect ratio)."""
STALL = 0.4
"""Default stall angle, rad."""


@declaration(frozen=True, kw_only=True)
class WashElement:
    """<wash> of a fin."""

    reader: Reader
    thruster: str = text('thruster whose wash meets it', REQUIRED, place='attribute')
    diameter: float = number(
        REQUIRED, 1e-3, 20.0, 'm', 'diameter of its propeller', place='attribute'
    )


@declaration(frozen=True, kw_only=True)
class AspectRatioElement:
    """<aspect_ratio> of a fin."""

    value: float = number(REQUIRED, 0.05, 1e3, '', 'effective aspect ratio A', place='content')
    sweep: float = number(0.0, -1.4, 1.4, 'rad', 'sweep Λ of the quarter chord', place='attribute')


@declaration(frozen=True, kw_only=True)
class FinServoElement:
    """<servo> of a fin."""

    reader: Reader
    play: float = number(
        0.0, 0.0, 0.5, 'rad', 'width of the backlash between servo and fin', place='attribute'
    )
    stall_torque: float | None = number(
        None, 1e-6, 1e6, 'N·m', 'torque at which it stalls; default: it never does',
        place='attribute',
    )  # fmt: skip
    lever: float = number(
        0.0, -10.0, 10.0, 'm', 'distance of the centre of pressure behind the hinge',
        place='attribute',
    )  # fmt: skip


@declaration(frozen=True, kw_only=True)
class FinElement(PlacedElement, ServoElement):
    """<fin>; :func:`_coefficients` computes the defaults of numbers that are NaN."""

    name: str = text('name', REQUIRED, place='attribute')
    wash: WashElement | None = nested(WashElement, "propeller's wash that meets it")
    servo: FinServoElement | None = nested(FinServoElement, 'backlash and stall of its servo')
    area: float = number(REQUIRED, 1e-8, 1e4, 'm²', 'area A')
    aspect_ratio: AspectRatioElement | None = nested(AspectRatioElement, 'shape')
    lift_slope: float = number(math.nan, 0.0, 1e6, '1/rad', 'a = dC_L/dα')
    zero_lift_drag: float = number(0.01, 0.0, 1e6, '', 'C_D0')
    drag_slope: float = number(0.0, 0.0, 1e6, '1/rad', 'dC_D/d|α|')
    induced_drag: float = number(math.nan, 0.0, 1e6, '', 'k of k C_L²')
    stall_angle: float = number(STALL, 1e-3, 1.5708, 'rad', 'α_s')
    stall_lift_slope: float = number(math.nan, -1e6, 1e6, '1/rad', 'dC_L/d|α| beyond it')
    stall_drag_slope: float = number(math.nan, -1e6, 1e6, '1/rad', 'dC_D/d|α| beyond it')


@declaration(frozen=True, kw_only=True)
class FinsElement:
    """<fins>."""

    fin: tuple[FinElement, ...] = nested(FinElement, 'fins', many=True)


def lift_slope(aspect_ratio: float, sweep: float = 0.0) -> float:
    """Return dC_L/dα of a control surface of small aspect ratio, 1/rad.

    a = 1.8 π A / (cos Λ √(A²/cos⁴ Λ + 4) + 1.8), with A the effective aspect ratio (twice the
    geometric one for a fin on a large hull) and Λ the sweep of the quarter chord, rad.
    Source: Whicker & Fehlner (1958), DTMB report 933; for A → 0 it
    is π A / 2 within 5 %, for A → ∞ it is 0.9 · 2 π cos Λ.
    """
    cosine = math.cos(sweep)
    root = cosine * math.sqrt(aspect_ratio**2 / cosine**4 + 4)
    return 1.8 * math.pi * aspect_ratio / (root + 1.8)


def _coefficients(fin: FinElement) -> dict[str, float]:
    """Return the coefficients of a fin, with those that follow from its aspect ratio."""
    shape, stall = fin.aspect_ratio, fin.stall_angle
    if (shape is None) == math.isnan(fin.lift_slope):
        raise fin.reader.error('expected either an <aspect_ratio> or a <lift_slope>')
    slope, induced = fin.lift_slope, 0.0
    if shape is not None:
        slope = lift_slope(shape.value, shape.sweep)
        induced = 1 / (math.pi * OSWALD * shape.value)
    induced = _unless_nan(fin.induced_drag, induced)
    stall_range = max(math.pi / 2 - stall, 1e-3)
    at_stall = fin.zero_lift_drag + fin.drag_slope * stall + induced * (slope * stall) ** 2
    drag_rise = max(BROADSIDE - at_stall, 0.0) / stall_range
    return {
        'area': fin.area,
        'lift_slope': slope,
        'zero_lift_drag': fin.zero_lift_drag,
        'drag_slope': fin.drag_slope,
        'induced_drag': induced,
        'stall_angle': stall,
        'stall_lift_slope': _unless_nan(fin.stall_lift_slope, -slope * stall / stall_range),
        'stall_drag_slope': _unless_nan(fin.stall_drag_slope, drag_rise),
        'time_constant': fin.time_constant,
        **fin.limits,
        **_servo(fin),
    }


def _servo(fin: FinElement) -> dict[str, float]:
    """Return the play and the load per force of a fin's servo."""
    servo = fin.servo
    if servo is None:
        return {'play': 0.0, 'load_per_force': 0.0}
    load = 0.0 if servo.stall_torque is None else servo.lever / servo.stall_torque
    if load != 0.0 and fin.limits['max_rate'] >= DEFAULT_MAX_RATE:
        raise servo.reader.error(
            'the <limit> of the fin has no velocity; expected that of the servo without load'
        )
    return {'play': servo.play, 'load_per_force': load}


def _unless_nan(value: float, default: float) -> float:
    return default if math.isnan(value) else value


def _wash(wash: WashElement | None, thrusters: Collection[str]) -> tuple[np.ndarray, float]:
    """Return the thruster whose wash meets a fin (n,), and the area of its disc in m²."""
    names = tuple(thrusters)
    if wash is None:
        return np.zeros(len(names)), 1.0
    name = wash.thruster
    if name not in names:
        raise wash.reader.error(f'thruster {name!r} is unknown; {expected_one_of(name, names)}')
    return np.array([float(n == name) for n in names]), math.pi / 4 * wash.diameter**2


def _thruster_names(root: Reader) -> list[str]:
    """Return the names of the thrusters beside the element."""
    elements = root.element.iterfind('../thrusters/thruster')
    return [Reader(thruster, root.source).attribute('name') for thruster in elements]


def read_fins(root: Reader) -> FinSet | None:
    """Read ``<fins>``; None where it holds none.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    fins = root.read(FinsElement).fin
    if not fins:
        return None
    names = [fin.name for fin in fins]
    for i, fin in enumerate(fins):
        if fin.name in names[:i]:
            raise fin.reader.error('two fins have this name; expected unique names')
    rotations = [rotation_matrix(fin.origin.quaternion) for fin in fins]
    thrusters = _thruster_names(root)
    wash = [_wash(fin.wash, thrusters) for fin in fins]
    rows = [_coefficients(fin) for fin in fins]
    return FinSet(
        names=tuple(names),
        position=np.stack([fin.origin.translation for fin in fins]),
        forward=np.stack([turn[:, 0] for turn in rotations]),
        hinge=np.stack([turn[:, 2] for turn in rotations]),
        wash=np.stack([has_wash for has_wash, _ in wash]),
        disc_area=np.array([area for _, area in wash]),
        **{key: np.array([row[key] for row in rows]) for key in rows[0]},
    )


# Lift and drag of each fin in its own flow.


def lift_drag_coefficients(fins: FinSet, attack: Array) -> tuple[Array, Array]:
    """Return C_L and C_D (..., m) at angles of attack α (..., m) in rad, |α| ≤ π/2.

    Up to the stall angle α_s: C_L = a α, C_D = C_D0 + d |α| + k C_L². Beyond it both go on in
    straight lines: C_L = sgn α (a α_s + b_L (|α| − α_s)), C_D = C_D(α_s) + b_D (|α| − α_s), and
    |C_L| and C_D do not fall below 0. By default the lines end, at 90°, at C_L = 0 and C_D = 1.2.
    """
    xp = namespace(attack)
    size = xp.abs(attack)
    stall, slope = constant(xp, fins.stall_angle), constant(xp, fins.lift_slope)
    below = xp.minimum(size, stall)
    beyond = size - below
    none = xp.zeros_like(size)
    first = slope * below
    lift = xp.maximum(first + constant(xp, fins.stall_lift_slope) * beyond, none)
    drag = (
        constant(xp, fins.zero_lift_drag)
        + constant(xp, fins.drag_slope) * below
        + constant(xp, fins.induced_drag) * first * first
        + constant(xp, fins.stall_drag_slope) * beyond
    )
    return xp.sign(attack) * lift, xp.maximum(drag, none)


def _wash_speeds(fins: FinSet, speed: Array, thrust: Array, density: Any) -> Array:
    """Return speeds (..., m) along the chords in the propellers' wash: √(u² + 2 T/(ρ A_d)).

    T is what pushes ahead; a fin that moves astern is in front of its propeller, and feels none.
    """
    xp = namespace(speed)
    pushed = matvec(constant(xp, fins.wash), xp.maximum(thrust, xp.zeros_like(thrust)))
    added = 2 * pushed / (density * constant(xp, fins.disc_area))
    meets = (added > 0) & (speed >= 0)
    square = xp.where(meets, speed * speed + added, xp.ones_like(speed))
    return xp.where(meets, xp.sqrt(square), speed)


class FinFlow(NamedTuple):
    """Forces of the water on m fins, and the motion that they come from.

    Attributes:
        along: (..., m) velocity along the undeflected chord, m/s.
        across: (..., m) velocity across it, m/s.
        attack: (..., m) angle of attack, rad, ±90°.
        lift: (..., m) C_L.
        drag: (..., m) C_D.
        speed: (..., m) V, m/s; 1 at rest.
        scale: (..., m) ½ ρ A V, N·s/m.
    """

    along: Array
    across: Array
    attack: Array
    lift: Array
    drag: Array
    speed: Array
    scale: Array


def _fin_flow(
    vehicle: Vehicle, state: State, environment: Environment, angle: Array, thrust: Array
) -> FinFlow:
    fins = fins_of(vehicle)
    assert fins is not None
    xp = namespace(state.velocity)
    density = environment.density(state.position, vehicle.buoyancy.fluid_density)
    velocity = relative_velocity(state, environment)
    along = matvec(constant(xp, fins.chordwise), velocity)
    across = matvec(constant(xp, fins.normal_to_chord), velocity)
    if fins.any_wash:
        along = _wash_speeds(fins, along, thrust, density)
    square = along * along + across * across
    # Neither atan2 nor √ has a slope at 0; the detour keeps the derivative of nothing at nothing.
    moves = square > 0
    flow = xp.atan2(across, xp.where(moves, along, xp.ones_like(along)))
    attack = angle - flow
    attack = attack - math.pi * xp.round(attack / math.pi)
    if fins.any_play:
        half = constant(xp, fins.play) / 2
        attack = attack - xp.minimum(xp.maximum(attack, -half), half)
    lift, drag = lift_drag_coefficients(fins, attack)
    speed = xp.sqrt(xp.where(moves, square, xp.ones_like(square)))
    scale = 0.5 * density * constant(xp, fins.area) * speed
    return FinFlow(along, across, attack, lift, drag, speed, scale)


def fin_wrench(
    vehicle: Vehicle, state: State, environment: Environment, angle: Array, thrust: Array
) -> Wrench:
    """Return the wrench (..., 6) of all fins at deflections (..., m) in rad.

    With the velocity (u, w) of a fin in the water along and across its undeflected chord, without
    its part along the hinge: α = δ − atan2(w, u), taken to ±90° for a flow from behind; lift
    ½ ρ A C_L V² perpendicular to the velocity, drag ½ ρ A C_D V² against it. So a fin gives no
    energy at any deflection, but for the wash. Within its play b a fin turns into the flow, so α
    is less by b/2 at most.

    Args:
        vehicle: a vehicle with fins.
        state: its motion.
        environment: the water.
        angle: (..., m) deflections, rad.
        thrust: (..., n) of the thrusters, N, for the wash.
    """
    fins = fins_of(vehicle)
    assert fins is not None
    flow = _fin_flow(vehicle, state, environment, angle, thrust)
    xp = namespace(state.velocity)
    ahead = -flow.scale * (flow.lift * flow.across + flow.drag * flow.along)
    aside = flow.scale * (flow.lift * flow.along - flow.drag * flow.across)
    return matvec(constant(xp, fins.chordwise).T, ahead) + matvec(
        constant(xp, fins.normal_to_chord).T, aside
    )


def servo_load(
    vehicle: Vehicle, state: State, environment: Environment, angle: Array, thrust: Array
) -> Array | None:
    """Return the loads (..., m) of the servos as fractions of their stall torques; None: none.

    x (L cos α + D sin α)/τ: the force normal to the fin, x behind the hinge. Arguments are those
    of :func:`fin_wrench`.
    """
    fins = fins_of(vehicle)
    assert fins is not None
    if not fins.any_load:
        return None
    flow = _fin_flow(vehicle, state, environment, angle, thrust)
    xp = namespace(state.velocity)
    normal = flow.lift * xp.cos(flow.attack) + flow.drag * xp.sin(flow.attack)
    return constant(xp, fins.load_per_force) * normal * flow.scale * flow.speed


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return deflections (..., m) of 0."""
    return zero_memory(state, len(_fin_names(vehicle)))


def _has_fins(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return fins_of(vehicle) is not None


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Array,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Array]:
    """Return the wrench (..., 6), and the deflections (..., m)."""
    fins = fins_of(vehicle)
    assert fins is not None
    load = servo_load(vehicle, state, environment, memory, inputs.thrust)
    angle = servo_step(fins, memory, inputs.commands.get(NAME, memory * 0), dt, load)
    return fin_wrench(vehicle, state, environment, angle, inputs.thrust), angle


FINS = ForceModel(
    NAME,
    _step,
    begin=_begin,
    applies=_has_fins,
    needs=('thrust',),
    label='Fins',
    colour='#2a9d8f',
    element=NAME,
    read=read_fins,
    parts=FinsElement,
    executable='fins',
    scalar=True,
)


def _fin_names(vehicle: Vehicle) -> tuple[str, ...]:
    fins = fins_of(vehicle)
    return () if fins is None else fins.names


FIN_ACTUATOR = Actuator(
    NAME,
    _fin_names,
    text='deflections of fins, rad',
    unit='rad',
    limit=math.pi,
    part='fin',
    steered=True,
    stage='marine_sim_ros.control.glide:make_fin_allocation',
    wrench=fin_wrench,
    state=lambda memory: memory.forces.get(NAME),
    restore=lambda memory, state: memory._replace(forces={**memory.forces, NAME: state}),
    state_topic=f'{NAME}/state',
    command_topic=f'{NAME}/command',
)
