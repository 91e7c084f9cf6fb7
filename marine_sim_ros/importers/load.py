# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A file of another simulator -> an imported vehicle: reader of its format, plugins, checks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError, no_file
from marine_sim_ros.core.extras import missing_package
from marine_sim_ros.core.packages import MODEL
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.importers import (
    buoyancy,
    fin_plugins,
    foil_plugins,
    gazebo_plugins,
    other_plugins,
    sensors,
    surface_plugins,
    uuv_plugins,
)
from marine_sim_ros.importers.builder import Options, Plugin, VehicleBuilder, origin_of
from marine_sim_ros.importers.description import ImportedShape, Inertial, Sourced
from marine_sim_ros.importers.foil_plugins import add_wing_terms
from marine_sim_ros.importers.geometry import usable_collisions
from marine_sim_ros.importers.mjcf import read_mjcf
from marine_sim_ros.importers.model_files import files_matching
from marine_sim_ros.importers.sdf_reader import read_sdf
from marine_sim_ros.importers.sidecar_files import (
    add_marinegym,
    add_missing_thrusters,
    find_sidecar_files,
    note_limits,
)
from marine_sim_ros.importers.stonefish.reader import read_stonefish
from marine_sim_ros.importers.urdf_reader import read_urdf
from marine_sim_ros.importers.usd import USD_SUFFIXES, read_usd
from marine_sim_ros.importers.xml_files import FORMATS, parse_file, read_lenient
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import check_description
from marine_sim_ros.model.xacro_expansion import expand_description
from marine_sim_ros.physics.arm.manipulator import JOINTS
from marine_sim_ros.physics.fins import FIN_ACTUATOR
from marine_sim_ros.physics.thrusters import AZIMUTHS

__all__ = ['import_vehicle']

_DESCRIPTIONS = ('.sdf', '.urdf', '.xacro', '.scn', '.world', '.xml', *USD_SUFFIXES)
_ACROSS = 1e-3
"""Cosine; an azimuth turns about an axis across the thrust."""


@np.errstate(over='ignore', invalid='ignore')  # what is not finite is refused
def import_vehicle(path: Path, options: Options | None = None) -> VehicleBuilder:
    """Return the vehicle of a file: SDF, URDF or xacro, MJCF, USD, Stonefish.

    Args:
        options: what to take of it.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    options = options or Options()
    builder = _read(path, options)
    try:
        buoyancy.add_missing_water(builder)
    except ModelError as error:
        dropped = f'; not taken: {"; ".join(builder.dropped[:3])}' if builder.dropped else ''
        raise ModelError(f'{error}{dropped}') from None
    add_wing_terms(builder)
    _check_shapes(builder)
    _check_inertias(builder)
    _turn_thrusters(builder)
    _name_idle_shafts(builder)
    _check_joints(builder)
    _name_controllers(builder)
    _check_sensors(builder)
    builder.finish()
    return builder


def _read(path: Path, options: Options) -> VehicleBuilder:
    if not path.is_file():
        raise ModelError(f'{path}: {no_file(path, _DESCRIPTIONS)}; expected {FORMATS}')
    check_description(path)
    if path.suffix in USD_SUFFIXES:
        builder = read_usd(path, options)
        add_marinegym(builder, find_sidecar_files(builder, path))
        return builder
    skipped: tuple[str, ...] = ()
    if path.suffix in ('.urdf', '.xacro'):
        if path.suffix == '.urdf':
            read_lenient(path)  # refuses templates
        description = expand_description(
            path, options.arguments, skip_missing=options.skip_missing
        )
        source: str = description.source
        root, skipped = xml.parse(description.text, source), description.skipped
    else:
        source, root = str(path), parse_file(path)
    builder = _build(root, source, path, options)
    for text in skipped:
        builder.drop(text)
    builder.unread_forces += skipped
    return builder


def _build(root: xml.Element, source: str, path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of a parsed file."""
    if path.suffix == '.scn' and root.tag == 'robot':
        scenario = etree.Element('scenario')
        scenario.append(root)
        root = scenario
    if root.tag == 'scenario':
        return read_stonefish(root, source, path, options)
    if root.tag == 'mujoco':
        return read_mjcf(path, options)
    if root.tag not in ('sdf', 'robot'):
        raise ModelError(
            f'{path}: the root element is <{root.tag}>; expected <sdf>, <robot>, <scenario> or '
            '<mujoco>'
        )
    read = read_sdf if root.tag == 'sdf' else read_urdf
    builder, plugins = read(root, source, path, options)
    beside = find_sidecar_files(builder, path)
    note_limits(builder, beside, path)
    try:
        apply_plugins(builder, plugins)
    except ModelError as error:
        raise ModelError(f'{error}{builder.notes.get("missing", "")}') from None
    add_missing_thrusters(builder, beside)
    if not builder.thrusters and path.name == MODEL:
        around = rf'<uri>\s*model://{re.escape(path.resolve().parent.name)}/?\s*</uri>'
        if names := files_matching(around, path, (f'../*/{MODEL}*', '../*/*.sdf*')):
            builder.assume(f'no thrusters in the file; included by: {", ".join(names)}')
    return builder


def _check_shapes(builder: VehicleBuilder) -> None:
    """Leave out collisions and name visuals whose meshes are not there."""
    for name, link in list(builder.links.items()):
        collisions = [
            _resolve_mesh(s, builder.folder) for s, _ in usable_collisions(builder, link, [])
        ]
        visuals = []
        for shape in (_resolve_mesh(s, builder.folder) for s in link.visuals):
            if shape.kind != 'mesh' or _is_there(shape, builder.folder):
                visuals.append(shape)
            else:
                builder.drop(f'{shape.origin}: the mesh {shape.uri} is not there')
        builder.links[name] = replace(link, collisions=tuple(collisions), visuals=tuple(visuals))


def _is_there(shape: ImportedShape, folder: Path) -> bool:
    try:
        return mesh_path(shape.uri, folder).is_file()
    except ModelError:
        return False


def _resolve_mesh(shape: ImportedShape, folder: Path) -> ImportedShape:
    """Return a shape whose mesh is named by its file, where that is there."""
    if shape.kind != 'mesh':
        return shape
    try:
        path = mesh_path(shape.uri, folder).resolve()
    except ModelError:
        return shape
    return replace(shape, uri=path.as_uri()) if path.is_file() else shape


def _check_inertias(builder: VehicleBuilder) -> None:
    """Replace inertias that no body can have by that of a ball of water.

    Raises:
        ModelError: one is not finite.
    """
    for name, link in list(builder.links.items()):
        inertial = link.inertial
        if inertial is None:
            continue
        mass, tensor = inertial.mass.value, inertial.tensor.value
        largest = float(np.max(np.abs(tensor)))
        if not math.isfinite(largest + mass):
            raise ModelError(
                f'{inertial.tensor.origin}: mass or inertia of link {name!r} is too large for a '
                'number; expected lengths in m and masses in kg'
            )
        scaled = tensor / (2 * max(largest, 1e-300))
        moments = np.linalg.eigvalsh(scaled + scaled.T)
        if moments[0] >= 0 and (mass == 0 or moments[2] > 0):
            continue
        radius = (3 * max(mass, 1e-6) / (4 * np.pi * 1000)) ** (1 / 3)
        made = 0.4 * mass * radius**2 * np.eye(3)
        rule = f'{inertial.tensor.origin}: no inertia of a body; that of a ball of water'
        builder.assume(f'link {name!r}: {rule}')
        builder.links[name] = replace(
            link, inertial=Inertial(inertial.mass, inertial.pose, Sourced(made, rule, True))
        )


def _turn_thrusters(builder: VehicleBuilder) -> None:
    """Make the joint that turns a thruster its azimuth; its own shaft is no joint of an arm."""
    shafts = {t.shaft for t in builder.thrusters}
    for name in shafts & set(builder.joints):
        if builder.joints[name].kind == 'revolute':
            builder.joints[name] = replace(builder.joints[name], kind='continuous')
    above = builder.parent_joints()
    for index, thruster in enumerate(builder.thrusters):
        chain, at = [], thruster.link
        while at in above:
            if above[at].kind != 'fixed' and above[at].name not in shafts:
                chain.append(above[at])
            at = above[at].parent
        if len(chain) > 1:
            builder.drop(
                f'{chain[0].origin}: thruster {thruster.name!r} is moved by several joints'
            )
        if len(chain) != 1 or chain[0].kind == 'prismatic':
            continue
        hinge = chain[0]
        axis = builder.rotation_of(hinge.child) @ np.array(hinge.axis)
        thrust = np.asarray(rotation_matrix(thruster.pose.quaternion))[:, 2]
        if abs(float(axis @ thrust)) > _ACROSS * float(np.linalg.norm(axis)):
            builder.notes.setdefault('fixed', {})[hinge.name] = (
                f'it turns thruster {thruster.name!r} about an axis that is not across its thrust'
            )
            continue
        builder.thrusters[index] = replace(thruster, azimuth=hinge.name)


_NO_MASS = 1e-6
"""Fraction of the vehicle's mass that stands for none: some write 1e-8 kg for a frame."""


def _name_idle_shafts(builder: VehicleBuilder) -> None:
    """Name the joints that turn without end, as those of thrusters, and have no thruster."""
    shafts = {thruster.shaft for thruster in builder.thrusters}
    for name, joint in builder.joints.items():
        known = not builder.thrusters or shafts & set(builder.joints)
        if joint.kind == 'continuous' and known and name not in shafts:
            why = 'turns without end, and no thruster is on it'
            builder.drop(f'{joint.origin}: joint {name!r} {why}')


def _check_joints(builder: VehicleBuilder) -> None:
    """Fix joints that cannot be an arm's: those of a fin, without mass, or not free at 0."""
    fixed = dict(builder.notes.get('fixed', {}))
    for name, joint in list(builder.joints.items()):
        if joint.kind not in ('revolute', 'prismatic') or name in builder.actuated_joints:
            continue
        if name in builder.fin_joints:
            builder.joints[name] = replace(joint, kind='fixed')
            continue
        if name in fixed:
            why = fixed[name]
        elif not (
            np.isfinite([joint.lower, joint.upper]).all()
            and joint.lower <= 0 <= joint.upper
            and joint.lower < joint.upper
        ):
            why = f'its limits {joint.lower:g} to {joint.upper:g} do not hold 0, where it starts'
        elif _mass_below(builder, joint.child) <= _NO_MASS * builder.mass:
            why = 'what it moves weighs nothing'
        else:
            continue
        builder.drop(f'{joint.origin}: joint {name!r} is fixed: {why}')
        builder.joints[name] = replace(joint, kind='fixed')


def _name_controllers(builder: VehicleBuilder) -> None:
    """Name the controllers of joints, with the topic by which each joint is commanded here."""
    for where, joints in builder.notes.get('controllers', []):
        builder.drop(f'{where}: its gains are not read')
        for name in joints:
            joint = builder.joints.get(name)
            actuator = JOINTS
            if name in builder.actuated_joints:
                actuator = AZIMUTHS
            elif name in builder.fin_joints:
                actuator = FIN_ACTUATOR
            elif joint is None or joint.kind not in ('revolute', 'prismatic'):
                builder.drop(f'{where}: joint {name!r} is not commanded here')
                continue
            builder.assume(f'{where}: joint {name!r} follows {actuator.command_topic}')


def _mass_below(builder: VehicleBuilder, link: str) -> float:
    total, queue = 0.0, [link]
    while queue:
        at = queue.pop()
        total += builder.links[at].mass
        queue += [j.child for j in builder.joints.values() if j.parent == at]
    return total


def _check_sensors(builder: VehicleBuilder) -> None:
    """Leave out sensors on links that move; say what a GPS needs and is not installed."""
    if any(s.kind == 'gps' for s in builder.sensors) and find_spec('pymap3d') is None:
        builder.assume(str(missing_package('pymap3d', 'a run with the GPS of the source')))
    for sensor in list(builder.sensors):
        if not builder.is_rigid(sensor.link):
            builder.sensors.remove(sensor)
            builder.drop(
                f'{sensor.origin}: sensor {sensor.name!r}: its link {sensor.link!r} moves against '
                'the body, or is left out'
            )


# Readers of plugins by file name, shared by SDF and URDF.

_Read = Callable[[Plugin, VehicleBuilder], None]
_NOTED = {
    r'usv_(gazebo_)?wind|USVWind': 'pushes in the wind, by coefficients that are not read',
    r'freefloating_gazebo_fluid': 'its waves and current are not read; buoyancy and damping are '
    'those of the links',
    r'usv_gazebo_wave|wavefield|WaveVisual': 'draws or carries waves; ours are of --environment',
    r'thruster_manager': 'shares a wrench among the thrusters, which are taken by themselves',
}
"""Pattern of a plugin that is not read, and what it does."""


def _note_known(why: str, plugin: Plugin, builder: VehicleBuilder) -> None:
    builder.drop_plugin(plugin, why)


def _note_controller(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Note a controller of joints, which is named when it is known what became of them."""
    reader = plugin.reader
    names = [
        builder.scoped_name(reader, name, builder.joints)
        for element in reader.element.iter('joint_name', 'jointName')
        for name in [(element.text or '').strip()]
    ]
    builder.note_controller(f'{origin_of(reader)} {plugin.label}', names)


READERS: tuple[tuple[str, _Read], ...] = (
    (r'BuoyancyEngine|buoyancy-engine', buoyancy.add_buoyancy_engine),
    (r'systems::Buoyancy\b|(gz|ignition)-\w+-buoyancy-system', gazebo_plugins.set_gazebo_water),
    (r'ArduPilotPlugin', gazebo_plugins.note_ardupilot_channels),
    (r'lib[Bb]uoyancy\w*\.so', buoyancy.add_classic_buoyancy),
    (r'(uuv_|lib)underwater_object', uuv_plugins.add_underwater_object),
    (r'vrx::Surface|libSurface', surface_plugins.add_vrx_surface),
    (r'SimpleHydrodynamics', surface_plugins.add_simple_hydrodynamics),
    (r'gz-waves|wave_sim', surface_plugins.add_wave_hydrodynamics),
    (r'hippo_gz_plugins::hydrodynamics', other_plugins.add_hippo_hydrodynamics),
    (r'hippo_gz_plugins::buoyancy', other_plugins.add_hippo_buoyancy),
    (r'hippo_gz_plugins::thruster', other_plugins.add_hippo_thruster),
    (r'usv_(gazebo_)?dynamics', surface_plugins.add_usv_dynamics),
    (r'usv_(gazebo_)?thrust', surface_plugins.add_usv_thrust),
    (
        r'libHydrodynamicsPlugin|HydrodynamicsPlugin\b',
        lambda p, d: _read_hydrodynamics_plugin(p, d),
    ),
    (r'systems::Hydrodynamics|-hydrodynamics-system', gazebo_plugins.add_gazebo_hydrodynamics),
    (r'uuv_thruster(?!_manager)|libthruster_ros_plugin', uuv_plugins.add_uuv_thruster),
    (r'systems::Thruster|-thruster-system', gazebo_plugins.add_gazebo_thruster),
    (r'freefloating_gazebo_control', other_plugins.add_freefloating_thrusters),
    (r'freebuoyancy_gazebo', other_plugins.add_freefloating_water),
    (r'gazebo_uuv_plugin', other_plugins.add_uuv_plugin),
    (r'gazebo_mavlink_interface', other_plugins.note_mavlink_channels),
    (r'GenericMotorModel', other_plugins.add_generic_motor),
    (r'gazebo_motor_model|MulticopterMotorModel', other_plugins.add_motor_model),
    (r'uuv_fin|libfin_ros_plugin', fin_plugins.add_uuv_fin),
    (r'SailLiftDrag|sail-lift-drag', foil_plugins.name_sail),
    (r'AdvancedLiftDrag|advanced-lift-drag', foil_plugins.add_advanced_lift_drag),
    (r'foil_dynamics', foil_plugins.add_foil),
    (r'systems::LiftDrag|-lift-drag-system|LiftDragPlugin', fin_plugins.add_lift_drag),
    *sensors.UUV_READERS,
    *((pattern, partial(_note_known, why)) for pattern, why in _NOTED.items()),
    (r'Joint\w*Controller|joint-\w+-controller|ros2?_control', _note_controller),
)
"""Pattern of name and library -> reader; in the order in which they are applied."""
_PASSIVE = re.compile(
    'acoustic|airpressure|altimeter|api|baro|barometer|bridge|bumper|camera|cloud|comms|contact|cpc|depth|'
    'dvl|factory|forcetorque|ftsensor|gps|groundtruth|gst|gt|imu|init|interface|ir|kinect|label|'
    'laser|lidar|logical|magnetic|magnetometer|manager|mavlink|navsat|noise|odometry|openni|opticalflow|p3d|'
    'particle|physics|pose|pressure|publisher|range|ray|rpt|scene|sensors?|sonar|state|user|vision'
)
"""Words of library names whose plugins measure, publish or connect."""
_ACTIVE = re.compile(
    'actuator|buoyancy|current|damping|drag|dynamics|effort|engine|fin|fluid|force|hydrodynamics|'
    'lift|motor|propeller|propulsion|rotor|rudder|thrust|thrusters?|tether|waves?|wind|winch|wrench'
)
"""Words of library names whose plugins exert forces; they outweigh the above."""
_HOLDS = re.compile('DetachableJoint|detachable-joint')
_WORD = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d?[a-z]?|\d+')


def _role(plugin: Plugin) -> tuple[str, bool]:
    """Return a description of a plugin without a reader, and whether its forces are lost.

    The library and the system's class are looked at, not the free name.
    """
    name = str(plugin.reader.element.get('name', ''))
    system = name.rpartition('::')[2] if '::' in name else ''
    if _HOLDS.search(f'{plugin.file} {system}'):
        return 'the link that it holds is never released here', False
    words = [w.lower() for w in _WORD.findall(f'{plugin.file} {system}')]
    passive = any(map(_PASSIVE.fullmatch, words))
    if passive and not any(map(_ACTIVE.fullmatch, words)):
        return 'by its library it measures, publishes or connects; it is not read', False
    return 'is not understood; if it exerts forces, they are missing', True


def _read_hydrodynamics_plugin(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Tell the two plugins of one name apart: asv_wave_sim's of meshes, and that of LRAUV."""
    if plugin.reader.element.find('wave_model') is not None:
        surface_plugins.add_wave_hydrodynamics(plugin, builder)
    else:
        gazebo_plugins.add_gazebo_hydrodynamics(plugin, builder)


def apply_plugins(builder: VehicleBuilder, plugins: list[Plugin]) -> None:
    """Let every plugin add what it says; those that are not understood are named."""
    remaining = list(plugins)
    for pattern, read in READERS:
        for plugin in list(remaining):
            element = plugin.reader.element
            if re.search(pattern, f'{element.get("name", "")} {element.get("filename", "")}'):
                remaining.remove(plugin)
                read(plugin, builder)
    for plugin in remaining:
        role, loses_forces = _role(plugin)
        (builder.unread_force if loses_forces else builder.drop_plugin)(plugin, role)
    gazebo_plugins.add_fluid_added_mass(builder)
    sensors.add_gazebo_sensors(builder)
    builder.sort_thrusters()
