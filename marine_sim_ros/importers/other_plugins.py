# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plugins of PX4, HippoCampus and freefloating_gazebo for underwater vehicles.

Source: PX4/PX4-SITL_gazebo-classic, src/gazebo_motor_model.cpp and gazebo_uuv_plugin.cpp;
PX4/PX4-Autopilot, src/modules/simulation/gz_plugins/generic_motor; gz-sim,
MulticopterMotorModel. All push along z of the rotor's link.

HippoCampus: HippoCampusRobotics/hippo_simulation, hippo_gz_plugins/src.

freefloating_gazebo: src/hydro_model_parser.cpp, hydro_link.h and
freefloating_gazebo_control.cpp. Its damping is quadratic where type="linear" is not given; its
<density> is relative, a factor of buoyancy, damping and added mass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_flag,
    read_magnitudes,
    read_number,
    read_sourced_numbers,
    read_text,
)
from marine_sim_ros.importers.buoyancy import add_weight_share
from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.importers.thrusters import (
    add_column,
    add_propeller,
    linear_thrust_curve,
    sampled_curve,
)
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN
from marine_sim_ros.model.xml import Reader

__all__ = [
    'note_mavlink_channels',
    'add_freefloating_thrusters',
    'add_freefloating_water',
    'add_generic_motor',
    'add_hippo_buoyancy',
    'add_hippo_hydrodynamics',
    'add_hippo_thruster',
    'add_link_water',
    'add_motor_model',
    'add_uuv_plugin',
]


# Plugins of PX4's underwater vehicles: motors (Gazebo classic and new), hydrodynamics.

_MAX_SPEED = 838.0
"""rad/s, default of <maxRotVelocity>."""
_MOTOR_CONSTANT = 8.54858e-06
"""N/(rad/s)², default of <motorConstant>."""
_SCALE_HEIGHT = 0.1
"""m, default of <height_scale_limit>."""


def note_mavlink_channels(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Note the channels of libgazebo_mavlink_interface: ω = (u + offset) · scaling + zero.

    The output u of the autopilot is from −1 to 1, or from 0 where the motor is not reversible.
    """
    speeds = builder.notes.setdefault('motor_speeds', {})
    for element in plugin.reader.element.iterfind('control_channels/channel'):
        channel = Reader(element, plugin.reader.source)
        index = read_text(channel, 'input_index')
        scaling = read_number(channel, 'input_scaling', None, -1e6, 1e6)
        if scaling is None or read_text(channel, 'joint_control_type', 'velocity') != 'velocity':
            continue
        offset = read_number(channel, 'input_offset', 0.0, -1e6, 1e6).value
        zero = read_number(channel, 'zero_position_armed', 0.0, -1e6, 1e6).value
        speeds[index] = tuple((u + offset) * scaling.value + zero for u in (-1.0, 0.0, 1.0))
    builder.drop(f'{origin_of(plugin.reader)} {plugin.label}: only its channels are read')


def add_motor_model(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take libgazebo_motor_model or MulticopterMotorModel: T = k ω |ω|, or k ω² one way only."""
    reader = plugin.reader
    kind = read_text(reader, 'motorType', 'velocity')
    if kind != 'velocity':
        builder.unread_force(plugin, f'a motor of type {kind!r}; expected velocity')
        return
    constant = read_number(reader, 'motorConstant', _MOTOR_CONSTANT, -1e6, 1e6)
    fastest = read_number(reader, 'maxRotVelocity', _MAX_SPEED, 0.0, 1e6)
    lowest = -fastest.value if read_flag(reader, 'reversible') else 0.0
    if not lowest:
        builder.assume(f'{origin_of(reader)}: not <reversible>: it pushes one way only')
    lowest, highest = _commanded_speeds(reader, builder, lowest, fastest.value)
    _add(plugin, builder, lambda w: constant.value * w * abs(w), lowest, highest)


def _commanded_speeds(
    reader: Reader, builder: VehicleBuilder, lowest: float, fastest: float
) -> tuple[float, float]:
    """Return the speeds (rad/s) that the channel of a motor can command, at most its own."""
    speeds = builder.notes.get('motor_speeds', {}).get(read_text(reader, 'motorNumber'))
    if speeds is None:
        return lowest, fastest
    ends = sorted((speeds[0 if lowest else 1], speeds[2]))
    if not ends[0] <= 0 < ends[1]:
        builder.drop(
            f'{origin_of(reader)}: its channel commands {ends[0]:g} to {ends[1]:g} rad/s; '
            f'expected a range over 0; it turns at up to {fastest:g} rad/s here'
        )
        return lowest, fastest
    if ends[1] < fastest:
        builder.assume(
            f'{origin_of(reader)}: its channel commands up to {ends[1]:g} rad/s, less than its '
            f'{fastest:g} rad/s'
        )
    return max(lowest, ends[0]), min(fastest, ends[1])


def add_generic_motor(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take GenericMotorModel: a polynomial of the command, or k ω |ω|.

    T(u) = Σ a_i uⁱ with coefficients for either sign of u; u is the duty cycle between its ends,
    from −1 to 1 for a motor with two directions, or the speed of the rotor.
    """
    reader = plugin.reader
    if read_text(reader, 'motorType', 'velocity') != 'force_polynomial':
        add_motor_model(plugin, builder)
        return
    ahead = _polynomial(reader, 'positiveThrustPolynomial')
    if ahead is None:
        raise reader.error('has no <positiveThrustPolynomial>')
    astern = _polynomial(reader, 'negativeThrustPolynomial')
    astern = ahead if astern is None else astern
    duty = read_text(reader, 'controlMethod', 'rpm') == 'duty_cycle'
    highest = 1.0 if duty else read_number(reader, 'maxRotVelocity', _MAX_SPEED, 0.0, 1e6).value
    dead = read_number(reader, 'minCommand', 0.0, 0.0, 1e6).value

    def thrust(command: float) -> float:
        if abs(command) < max(dead, 1e-12):
            return 0.0
        size = float(
            np.polynomial.polynomial.polyval(abs(command), ahead if command > 0 else astern)
        )
        return size if command > 0 else -size

    lowest = -highest if read_flag(reader, 'bidirectionalMotor') else 0.0
    pulses = None
    if duty:
        pulses = tuple(
            read_number(reader, tag, default, 0.0, 1e6).value
            for tag, default in (('minDutyCycle', PWM_MIN), ('maxDutyCycle', PWM_MAX))
        )
    _add(plugin, builder, thrust, lowest, highest, speed=not duty, pulses=pulses)


def _polynomial(reader: Reader, tag: str) -> np.ndarray | None:
    """Return the coefficients of a polynomial, the constant first; None without."""
    child = reader.first(tag)
    if child is None:
        return None
    text = (child.element.text or '').strip().strip('[]').replace(',', ' ')
    return child.numbers(set(range(1, 21)), text)


def _add(
    plugin: Plugin,
    builder: VehicleBuilder,
    thrust: Callable[[float], float],
    lowest: float,
    highest: float,
    *,
    speed: bool = True,
    pulses: tuple[float, ...] | None = None,
) -> None:
    """Add a thruster along z of the link of a motor."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'linkName'))
    curve, mirrored = sampled_curve(thrust, lowest, highest, speed=speed)
    if pulses is not None and lowest < 0:
        first, last = pulses
        if not first < last:
            raise reader.error(f'minDutyCycle {first:g} is not below maxDutyCycle {last:g}')
        curve[:, 0] = np.interp(curve[:, 0], [PWM_MIN, PWM_MAX], [first, last])
    index = read_text(reader, 'actuator_number') or read_text(reader, 'motorNumber')
    label = f'motor_{index or len(builder.thrusters)}'
    lag = read_number(reader, 'timeConstantUp', None, 0.0, 60.0)
    add_propeller(
        builder,
        label,
        link,
        np.eye(3)[2],
        (curve, mirrored),
        (origin_of(reader), False),
        index,
        direction='cw' if read_text(reader, 'turningDirection') == 'cw' else 'ccw',
        time_constant=lag if speed else None,
        shaft=builder.scoped_name(reader, read_text(reader, 'jointName'), builder.joints),
    )


def add_uuv_plugin(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take libgazebo_uuv_plugin: added mass, linear damping, buoyancy as a share of the weight."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'baseLinkName', builder.base))
    for element in reader.element.findall('buoyancy'):
        _buoyancy(Reader(element, reader.source), builder)
    _set_diagonal_hydrodynamics(
        builder, reader, link, ('addedMass', 'damping'), 'Linear', 'Angular'
    )


def _set_diagonal_hydrodynamics(
    builder: VehicleBuilder, reader: Reader, link: str, names: tuple[str, str], *suffixes: str
) -> None:
    """Take added mass and linear damping on diagonals, of elements called name and suffix."""
    added, linear = (
        np.diag(np.concatenate([read_magnitudes(reader, name + suffix) for suffix in suffixes]))
        for name in names
    )
    none = np.zeros((6, 6))
    set_hydrodynamics(builder, reader, link, added, linear, none, none)


def _buoyancy(reader: Reader, builder: VehicleBuilder) -> None:
    """Add a volume: ρ V = compensation · m of its link, lost over twice <height_scale_limit>."""
    link = builder.known_link(reader, read_text(reader, 'link_name'))
    factor = read_number(reader, 'compensation', 1.0, 0.0, 1e6)
    center = read_sourced_numbers(reader, 'origin', (3,)) or Sourced(
        np.zeros(3), 'default: origin of the link'
    )
    limit = read_number(reader, 'height_scale_limit', _SCALE_HEIGHT, 1e-4, 1e4)
    add_weight_share(builder, link, factor, center, Sourced(2 * limit.value, limit.origin))


# Plugins of HippoCampus: hydrodynamics, buoyancy and thrusters of hippo_gz_plugins.

_COMPENSATION = ('compensation', 'force_added')
_EXTRA_FORCE = 'additional_buyoancy_force'  # codespell:ignore buyoancy
"""Name of an extra force in N, as the source spells it."""


def add_hippo_hydrodynamics(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take linear damping and added mass of each <hydrodynamics> of the plugin."""
    for element in plugin.reader.element.findall('hydrodynamics'):
        reader = Reader(element, plugin.reader.source)
        link = builder.known_link(reader, read_text(reader, 'link', builder.base))
        names = 'added_mass', 'damping'
        _set_diagonal_hydrodynamics(builder, reader, link, names, '_linear', '_angular')


def add_hippo_buoyancy(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take ρ V g = c m g + F of a link, lost over twice <height_scale_limit> at the surface."""
    elements = plugin.reader.element.findall('buoyancy') or [plugin.reader.element]
    for element in elements:
        reader = Reader(element, plugin.reader.source)
        link = builder.known_link(reader, read_text(reader, 'link', 'base_link'))
        old = reader.first('compensation') is None  # names of earlier versions of the plugin
        fraction, added = ('relative_compensation', _EXTRA_FORCE) if old else _COMPENSATION
        factor = read_number(reader, fraction, 1.0, 0.0, 1e6)
        force = read_number(reader, added, 0.0, -1e9, 1e9)
        limit = read_number(reader, 'height_scale_limit', _SCALE_HEIGHT, 1e-4, 1e4)
        center = read_sourced_numbers(reader, 'origin', (3,)) or Sourced(
            np.zeros(3), 'origin of the link'
        )
        height = Sourced(2 * limit.value, limit.origin)
        add_weight_share(builder, link, factor, center, height, force.value)


def add_hippo_thruster(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take T = a n² + b n + c, not below 0, along x of its link; n in revolutions per second."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'link'))
    fastest = read_number(reader, 'maximum_rpm', None, 0.0, 1e6)
    if fastest is None:
        raise reader.error('has no <maximum_rpm>; expected the rate at full throttle')
    terms = [
        read_number(reader, f'{name}_coeff', 0.0).value
        for name in ('constant', 'linear', 'quadratic')
    ]
    sign = -1.0 if read_text(reader, 'propeller_direction') == 'cw' else 1.0

    def thrust(speed: float) -> float:
        if not speed:
            return 0.0
        rate = abs(speed) / (2 * np.pi)
        size = max(float(np.polynomial.polynomial.polyval(rate, terms)), 0.0)
        return sign * float(np.copysign(size, speed))

    highest = fastest.value * np.pi / 30
    index = read_text(reader, 'thruster_number')
    add_propeller(
        builder,
        f'thruster_{index or len(builder.thrusters)}',
        link,
        np.eye(3)[0],
        sampled_curve(thrust, -highest, highest),
        (origin_of(reader), False),
        index,
        direction='cw' if read_text(reader, 'turning_direction') == 'cw' else 'ccw',
        time_constant=read_number(reader, 'timeconstant_up', None, 0.0, 60.0),
        shaft=builder.scoped_name(reader, read_text(reader, 'joint'), builder.joints),
    )


# Vehicles of freefloating_gazebo: buoyancy and damping in links, thrusters of its plugin.

_EFFORT = 100.0
"""N, default of <effort>."""
_THRUSTER = 'map|effort((Under|Over)Water)?|name'
"""Pattern of the elements of a <thruster>."""
_LIMIT = 0.1
"""m, where <limit radius=""> is not given."""
_DAMPING = ('damping', 'drag')
_READ = {'compensation', 'origin', 'limit', 'density', 'added_mass', *_DAMPING}
"""Elements of <buoyancy> and <hydrodynamics> that are read."""
_WEATHER = {'current', 'wind'}
"""Elements beside them that are not."""


def add_link_water(link: Reader, builder: VehicleBuilder) -> None:
    """Take the water of a <link>: <buoyancy>, ρ V = compensation · m, and <hydrodynamics>.

    They stand in the link, as older files have it, or in its <fluid>.
    """
    name = link.attribute('name')
    if name not in builder.links:
        return
    _read_blocks(link, name, builder)
    for element in link.element.findall('fluid'):
        _read_blocks(Reader(element, link.source), name, builder)


def add_freefloating_water(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take the blocks that freebuoyancy_gazebo has in a <link name=""> of its own."""
    for element in plugin.reader.element.findall('link'):
        reader = Reader(element, plugin.reader.source)
        link = builder.known_link(reader, reader.attribute('name'))
        _read_blocks(reader, link, builder)


def _read_blocks(reader: Reader, link: str, builder: VehicleBuilder) -> None:
    """Take all <buoyancy> and <hydrodynamics> of an element; a <fluid> has what they share."""
    volumes = [Reader(e, reader.source) for e in reader.element.findall('buoyancy')]
    terms = [Reader(e, reader.source) for e in reader.element.findall('hydrodynamics')]
    if not volumes and not terms:
        return
    fluid = reader if reader.element.tag == 'fluid' else None
    for block in volumes:
        _add_volume(block, fluid or block, link, builder)
    for block in volumes + terms:
        _name_unread(block, builder)
        if any(block.first(tag) is not None for tag in (*_DAMPING, 'added_mass')):
            _add_terms(block, fluid or block, link, builder)


def _name_unread(block: Reader, builder: VehicleBuilder) -> None:
    builder.name_unread(block, '|'.join(_READ | _WEATHER))
    weather = sorted(_WEATHER & {str(e.tag) for e in block.element})
    if weather:
        names = ', '.join(f'<{tag}>' for tag in weather)
        builder.drop(f'{origin_of(block)}: {names}: wind and currents are of our environment')


def _add_volume(reader: Reader, fluid: Reader, link: str, builder: VehicleBuilder) -> None:
    """Add the volume of a link; at the surface it is lost over twice its <limit radius="">."""
    factor = read_number(reader, 'compensation', 1.0, 0.0, 1e6)
    relative = read_number(fluid, 'density', 1.0, 0.0, 1e6)
    origin, limit = reader.first('origin') or fluid.first('origin'), reader.first('limit')
    center = (
        np.zeros(3) if origin is None else origin.numbers({3}, origin.attribute('xyz', '0 0 0'))
    )
    radius = _LIMIT if limit is None else limit.attribute_number('radius', _LIMIT, 1e-4, 1e4)
    at = Sourced(center, origin_of(origin or reader))
    fraction = Sourced(relative.value * factor.value, factor.origin)
    add_weight_share(builder, link, fraction, at, Sourced(2 * radius, origin_of(limit or reader)))


def _add_terms(block: Reader, fluid: Reader, link: str, builder: VehicleBuilder) -> None:
    """Add damping and added mass; a later element replaces an earlier one of its kind."""
    linear, quadratic, added = np.zeros(6), np.zeros(6), np.zeros((6, 6))
    for element in (e for tag in _DAMPING for e in block.element.findall(tag)):
        reader = Reader(element, block.source)
        target = linear if reader.attribute('type', '') == 'linear' else quadratic
        for at, key in ((0, 'xyz'), (3, 'rpy')):
            if element.get(key) is not None:
                target[at : at + 3] = np.abs(reader.numbers({3}, reader.attribute(key)))
    found = read_sourced_numbers(block, 'added_mass', tuple(range(1, 37)))
    if found is not None and np.any(found.value):  # zeros are none, however many
        found = read_sourced_numbers(block, 'added_mass', (6, 36))
        assert found is not None
        added = np.diag(found.value) if len(found.value) == 6 else found.value.reshape(6, 6)
    relative = read_number(fluid, 'density', 1.0, 0.0, 1e6).value
    none = np.zeros((6, 6))
    set_hydrodynamics(
        builder, block, link, relative * added, np.diag(relative * linear),
        np.diag(relative * quadratic), none,
    )  # fmt: skip


def add_freefloating_thrusters(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take the thrusters of freefloating_gazebo_control.

    One with <map> is fixed: its six numbers are force and moment of one newton about the centre of
    mass. One with <name> pushes along −z of that link.
    """
    reader = plugin.reader
    body = builder.known_link(reader, read_text(reader, 'link', builder.base))
    elements = reader.element.findall('thruster')
    if not elements:
        builder.unread_force(plugin, 'has no <thruster>')
    for index, element in enumerate(elements):
        thruster = Reader(element, reader.source)
        effort = _effort(thruster, builder)
        columns = read_sourced_numbers(thruster, 'map', (6,))
        link = read_text(thruster, 'name')
        if columns is not None:
            _add_fixed_thruster(builder, body, f'thruster_{index}', columns, effort)
        elif link in builder.links:
            curve = linear_thrust_curve(-effort.value, effort.value), False
            add_propeller(builder, link, link, -np.eye(3)[2], curve, (effort.origin, False))
        else:
            where = f'{origin_of(thruster)}: thruster {link!r}'
            builder.drop(f'{where} is on no link; expected <map> or the name of a link')
            builder.unread_forces.append(where)


def _effort(thruster: Reader, builder: VehicleBuilder) -> Sourced[float]:
    """Return the largest thrust (N); usv_sim gives one under and one above the water."""
    builder.name_unread(thruster, _THRUSTER)
    effort = read_number(thruster, 'effort', None, 0.0, 1e9)
    if effort is not None:
        return effort
    wet, dry = (
        read_number(thruster, f'effort{place}Water', None, 0.0, 1e9) for place in ('Under', 'Over')
    )
    if wet is None and dry is None:
        builder.assume(f'{origin_of(thruster)}: no <effort>: {_EFFORT:g} N, the default')
        return read_number(thruster, 'effort', _EFFORT)
    if dry is not None and dry.value > 0:
        where = 'in the water too' if wet is None or not wet.value else 'as in the water'
        builder.assume(f'{dry.origin}: above the water; here it pushes {where}')
    return next(e for e in (wet, dry) if e is not None and (e.value or e is dry or dry is None))


def _add_fixed_thruster(
    builder: VehicleBuilder,
    body: str,
    name: str,
    columns: Sourced[np.ndarray],
    effort: Sourced[float],
) -> None:
    """Add a thruster by its force and moment about the centre of mass of a link."""
    turn = np.asarray(rotation_matrix(builder.pose_of(body).quaternion))
    inertial = builder.links[body].inertial
    center = builder.pose_of(body).translation
    if inertial is not None:
        center = builder.pose_of(body).then(inertial.pose).translation
    add_column(builder, name, columns, effort, center=center, turn=turn)
