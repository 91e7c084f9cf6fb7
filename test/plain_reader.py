# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass, displaced mass, drag and thrust of vehicle descriptions, without the package.

Each format is read once more from its documentation, as plainly as it goes: the numbers of the
source, no frames and no rules. What a format leaves to rules of ours is NaN or None.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import trimesh
import yaml
from lxml import etree

PULSES = (1100.0, 1300.0, 1500.0, 1700.0, 1900.0)
"""µs; 1500 is neutral, 1100 and 1900 are the ends of a source's commands."""
_SHARES = (np.array(PULSES) - 1500) / 400
_GRAVITY = 9.80665


class Numbers(NamedTuple):
    """What a description says: kg, kg, N at 1 m/s along x, y and z, N by thruster and pulse."""

    mass: float
    displaced: float
    drag: np.ndarray
    thrust: list


def read_numbers(path, packages=()):
    """Return the numbers of a file: SDF, URDF or xacro with plugins, Stonefish, MJCF or USD."""
    path = Path(path)
    if path.suffix in ('.usd', '.usda'):
        return _usd(path)
    parser = etree.XMLParser(remove_comments=True, recover=True)  # prefixes without a namespace
    root = etree.fromstring(_text(path, packages).encode(), parser)
    if root.tag == 'sdf':
        _include(root, path.parent)
        return _gazebo(root, path.parent)
    if root.tag == 'scenario':
        return _stonefish(root)
    if root.tag == 'mujoco':
        return _mujoco(root)
    plugins = [_named(p) for p in root.iter('plugin')]
    if any('uuv_underwater_object' in name for name in plugins):
        return _uuv(root)
    if any('freefloating_gazebo_control' in name for name in plugins):
        return _freefloating(root)
    return _gazebo(root, path.parent)


def _text(path, packages):
    if path.suffix != '.xacro':
        return path.read_text()
    import xacro
    import xacro.substitution_args

    folders = {}
    for folder in (*packages, *path.parents[:3]):
        for manifest in Path(folder).rglob('package.xml'):
            name = etree.parse(str(manifest)).findtext('name').strip()
            folders.setdefault(name, str(manifest.parent))
    find = xacro.substitution_args._eval_find
    xacro.substitution_args._eval_find = folders.__getitem__
    try:
        return xacro.process_file(str(path)).toxml()
    finally:
        xacro.substitution_args._eval_find = find


def _named(plugin):
    return f'{plugin.get("name", "")} {plugin.get("filename", "")}'


def _value(parent, tag, default=None):
    found = None if parent is None else parent.find(tag)
    return default if found is None else float(found.text)


def _vector(text):
    return np.array([float(word) for word in text.split()])


# Gazebo


def _include(root, folder):
    """Put the models of SDF includes beside the folder of a model into it."""
    for include in list(root.iter('include')):
        name = include.findtext('uri').removeprefix('model://')
        file = next(p / name / 'model.sdf' for p in (folder, folder.parent) if (p / name).is_dir())
        parser = etree.XMLParser(remove_comments=True, recover=True)
        include.getparent().append(etree.parse(str(file), parser).getroot().find('model'))


def _gazebo(root, folder):
    sdf = root.tag == 'sdf'
    mass = 0.0
    for link in root.iter('link'):
        if next(link.iterancestors('plugin'), None) is not None:
            continue
        inertial = link.find('inertial')
        if inertial is not None:
            entry = inertial.find('mass')
            mass += float(entry.text if sdf else entry.get('value'))
        else:
            mass += 1.0 if sdf else 0.0
    density = {float(e.text) for e in root.iter('fluid_density')} or {1000.0}
    volume = sum(_volume(c.find('geometry')) for c in root.iter('collision'))
    thrust, drag = [], np.full(3, np.nan)
    channels = _channels(root)
    for plugin in root.iter('plugin'):
        if '::Thruster' in _named(plugin):
            thrust.append(_thruster(plugin, channels))
        if '::Hydrodynamics' in _named(plugin):
            pairs = (('xU', 'xUabsU', 'xUU'), ('yV', 'yVabsV', 'yVV'), ('zW', 'zWabsW', 'zWW'))
            drag = np.array([sum(abs(_value(plugin, t, 0.0)) for t in tags) for tags in pairs])
        if 'hippo_gz_plugins::' in _named(plugin) and plugin.find('maximum_rpm') is not None:
            thrust.append(_hippo_thruster(plugin))
    if any('hippo_gz_plugins::' in _named(p) for p in root.iter('plugin')):
        return Numbers(mass, _hippo_buoyancy(root), _hippo_drag(root), thrust)
    return Numbers(mass, volume * max(density), drag, thrust)


def _hippo_buoyancy(root):
    displaced = 0.0
    for block in root.iter('buoyancy'):
        link = next(e for e in root.iter('link') if e.get('name') == block.findtext('link'))
        share = _value(block, 'compensation', _value(block, 'relative_compensation'))
        weight = _value(link.find('inertial'), 'mass') * share * _GRAVITY
        displaced += (weight + _value(block, 'force_added', 0.0)) / _GRAVITY
    return displaced


def _hippo_drag(root):
    return sum(_vector(e.text) for e in root.iter('damping_linear'))


def _hippo_thruster(plugin):
    turns = _value(plugin, 'maximum_rpm') / 60 * np.abs(_SHARES)
    size = _value(plugin, 'quadratic_coeff') * turns**2 + _value(plugin, 'linear_coeff') * turns
    return np.sign(_SHARES) * np.maximum(size + _value(plugin, 'constant_coeff', 0.0), 0.0)


def _volume(geometry):
    shape = geometry[0]
    if shape.tag == 'mesh':
        return np.nan

    def sizes(tag):
        return _vector(shape.get(tag) or shape.findtext(tag))

    if shape.tag == 'box':
        return float(np.prod(sizes('size')))
    if shape.tag == 'sphere':
        return 4 / 3 * np.pi * float(sizes('radius')[0]) ** 3
    return np.pi * float(sizes('radius')[0]) ** 2 * float(sizes('length')[0])


def _channels(root):
    found = {}
    for control in root.iter('control'):
        if control.find('jointName') is None:
            continue
        first, last = _value(control, 'servo_min', 1000.0), _value(control, 'servo_max', 2000.0)
        share = (np.array(PULSES) - first) / (last - first)
        command = _value(control, 'multiplier', 1.0) * (share + _value(control, 'offset', 0.0))
        found[control.findtext('jointName')] = command
    return found


def _thruster(plugin, channels):
    most = _value(plugin, 'max_thrust_cmd')
    least = _value(plugin, 'min_thrust_cmd')
    command = channels.get(plugin.findtext('joint_name'))
    if plugin.findtext('use_angvel_cmd') in ('1', 'true') or (most is None and command is None):
        return None
    most = 1000.0 if most is None else most
    least = -most if least is None else least
    if command is None:
        return np.where(_SHARES < 0, -least, most) * _SHARES
    return np.clip(command, least, most)


# UUV Simulator


def _diagonal(model, tag):
    text = model.findtext(tag)
    values = np.zeros(6) if text is None else np.abs(_vector(text))
    return values if len(values) == 6 else np.diag(values.reshape(6, 6))


def _uuv(root):
    mass = sum(float(e.get('value')) for e in root.iterfind('link/inertial/mass'))
    plugin = next(p for p in root.iter('plugin') if 'uuv_underwater_object' in _named(p))
    density = _value(plugin, 'fluid_density', 1028.0)
    volume, drag = 0.0, np.zeros(3)
    for link in plugin.findall('link'):
        volume += _value(link, 'volume', 0.0)
        if link.findtext('neutrally_buoyant') in ('1', 'true'):
            volume = np.nan
        for model in link.findall('hydrodynamic_model'):
            if model.findtext('type').strip() != 'fossen':
                drag += np.nan
                continue
            linear = _diagonal(model, 'linear_damping') + _diagonal(
                model, 'linear_damping_forward_speed'
            ) * np.array([1, 0, 0, 0, 0, 0])
            drag += (linear + _diagonal(model, 'quadratic_damping'))[:3]
    rotors = [p for p in root.iter('plugin') if p.find('conversion') is not None]
    return Numbers(mass, volume * density, drag, [_rotor(p) for p in rotors])


def _rotor(plugin):
    conversion, constant = plugin.find('conversion'), None
    if conversion.findtext('type').strip() == 'Basic':
        constant = _value(conversion, 'rotorConstant')
    if conversion.findtext('type').strip() == 'LinearInterp':
        states, forces = (_vector(conversion.findtext(f'{n}putValues')) for n in ('in', 'out'))
        if {1100.0, 1900.0} <= set(states):  # pulse widths
            return np.interp(PULSES, states, forces)
    most, least = _value(plugin, 'clampMax'), _value(plugin, 'clampMin')
    if constant is None or most is None or least is None or least >= most:
        return None
    speed = np.where(_SHARES < 0, -least, most) * _SHARES * _value(plugin, 'gain', 1.0)
    thrust = _value(plugin, 'thrust_efficiency', 1.0) * constant * speed * np.abs(speed)
    return np.clip(
        thrust, _value(plugin, 'thrustMin', -np.inf), _value(plugin, 'thrustMax', np.inf)
    )


# freefloating_gazebo


def _freefloating(root):
    total, displaced, drag = 0.0, 0.0, np.zeros(3)
    for link in root.findall('link'):
        entry = link.find('inertial/mass')
        mass = 0.0 if entry is None else float(entry.get('value'))
        total += mass
        for share in link.iter('compensation'):
            displaced += mass * float(share.text)
        for element in (*link.iter('damping'), *link.iter('drag')):
            drag += _vector(element.get('xyz', '0 0 0'))
    plugin = next(p for p in root.iter('plugin') if 'freefloating_gazebo_control' in _named(p))
    thrust = []
    for element in plugin.findall('thruster'):
        columns = _vector(element.findtext('map', '0 0 1 0 0 0'))[:3]
        water = [_value(element, f'effort{place}Water', 0.0) for place in ('Under', 'Over')]
        effort = _value(element, 'effort', max(water) or 100.0)
        thrust.append(effort * float(np.linalg.norm(columns)) * _SHARES)
    return Numbers(total, displaced, drag, thrust)


# Stonefish


def _stonefish(root):
    """Return the numbers of boxes, cylinders and spheres; of a mesh only a <mass> is known."""
    water = root.find('.//ocean/water')
    density = 1000.0 if water is None else float(water.get('density'))
    materials = {m.get('name'): float(m.get('density')) for m in root.iterfind('materials/*')}
    mass = displaced = 0.0
    parts = [e for e in root.iter('base_link', 'link') if e.get('type') not in (None, 'compound')]
    for part in (*parts, *root.iter('external_part'), *root.iter('internal_part')):
        volume = _solid(part)
        given = part.find('mass')
        material = part.find('material').get('name')
        mass += volume * materials[material] if given is None else float(given.get('value'))
        displaced += density * volume if part.get('buoyant', 'true') == 'true' else 0.0
    thrust = [_propeller(a, density) for a in root.iter('actuator') if a.get('type') == 'thruster']
    return Numbers(mass, displaced, _box_drag(root, density), thrust)


def _box_drag(root, density):
    """Return ½ ρ C_q A of the end that meets the water and ρ C_v A of the four sides of a box.

    Stonefish, SolidEntity::ComputeHydrodynamicForces and CorrectHydrodynamicForces.
    """
    parts = list(root.iter('base_link', 'link', 'external_part'))
    parts = [p for p in parts if p.find('physics') is None and p.get('type') != 'compound']
    factors = root.find('.//base_link/hydrodynamics')
    if len(parts) != 1 or parts[0].get('type') != 'box' or factors is None:
        return np.full(3, np.nan)
    x, y, z = _vector(parts[0].find('dimensions').get('xyz'))
    ends = np.array([y * z, x * z, x * y])
    sides = 2 * (ends.sum() - ends)
    quadratic, viscous = (_vector(factors.get(f'{k}_drag')) for k in ('quadratic', 'viscous'))
    return density * (quadratic * ends / 2 + viscous * sides)


def _solid(part):
    sizes = part.find('dimensions')
    if sizes is None:
        return np.nan
    if part.get('type') == 'box':
        return trimesh.creation.box(_vector(sizes.get('xyz'))).volume
    radius = float(sizes.get('radius'))
    if part.get('type') == 'sphere':
        return 4 / 3 * np.pi * radius**3
    return np.pi * radius**2 * float(sizes.get('height'))


def _propeller(actuator, density):
    specs, propeller = actuator.find('specs'), actuator.find('propeller')
    model = actuator.find('thrust_model')
    if model is not None:
        if model.get('type') != 'fluid_dynamics' or specs.get('inverted_setpoint') == 'true':
            return None
        coefficients = model.find('thrust_coeff')
        ahead, astern = (float(coefficients.get(side)) for side in ('forward', 'reverse'))
        turns = float(specs.get('max_setpoint')) / (2 * np.pi) * _SHARES
    else:
        ahead = float(specs.get('thrust_coeff'))
        astern = float(specs.get('thrust_coeff_backward', ahead))
        turns = float(specs.get('max_rpm')) / 60 * _SHARES
    coefficient = np.where(_SHARES < 0, astern, ahead)
    thrust = coefficient * density * turns * np.abs(turns) * float(propeller.get('diameter')) ** 4
    return thrust if re.match('t', propeller.get('right', 'true')) else -thrust[::-1]


# USD


def _usd(path):
    """Return the masses of the rigid bodies, and what MarineGym has beside them in YAML.

    Its thrust is k/4.4e-7 · 9.81 (a n² + b n + c) of a speed n = d u + e, at most 3900 rpm; it
    has 997 kg/m³ (marinegym/actuators/t200.py, robots/drone/underwaterVehicle.py).
    """
    from pxr import Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.Open(str(path))
    mass = 0.0
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            continue
        own = prim.GetAttribute('physics:mass').Get()
        density = prim.GetAttribute('physics:density').Get()
        for shape in () if own else Usd.PrimRange(prim):
            if shape.HasAPI(UsdPhysics.CollisionAPI):  # a cube, of a stage in metres
                scale = UsdGeom.Xformable(shape).ComputeLocalToWorldTransform(0).GetDeterminant()
                own = (own or 0.0) + density * abs(scale) * UsdGeom.Cube(
                    shape
                ).GetSizeAttr().Get() ** 3
        mass += own
    beside = path.with_suffix('.yaml')
    if not beside.is_file():
        return Numbers(mass, np.nan, np.full(3, np.nan), [])
    numbers = yaml.safe_load(beside.read_text())
    water = numbers['hydro_coef']
    drag = np.add(water['linear_damping'], water['quadratic_damping'])[:3]
    ahead, astern = _SHARES > 0.075, _SHARES < -0.075
    turns = np.where(ahead, 3659.9 * _SHARES + 345.21, 3494.4 * _SHARES - 433.5)
    turns = np.clip(turns, -3900, 3900) * (ahead | astern)
    pull = np.where(
        ahead,
        4.7368e-7 * turns**2 - 1.9275e-4 * turns + 8.4452e-2,
        -3.8442e-7 * turns**2 - 1.6186e-4 * turns - 3.9139e-2,
    ) * (ahead | astern)  # the source has -0.38 N at rest
    rotors = numbers['rotor_configuration']['force_constants']
    return Numbers(mass, 997.0 * numbers['volume'], drag,
                   [float(k) / 4.4e-7 * 9.81 * pull for k in rotors])  # fmt: skip


# MuJoCo


def _mujoco(root):
    """Return the numbers of bodies of boxes; one that is a single box has the drag of its faces.

    MuJoCo has ½ ρ A v² and 3 π μ d v of the box of a body's inertia, d the mean of its edges.
    """
    option = root.find('option')
    density, viscosity = (float(option.get(name, 0.0)) for name in ('density', 'viscosity'))
    mass = displaced = 0.0
    drag = np.zeros(3)
    for body in root.iter('body'):
        boxes = body.findall('geom')
        edges = [2 * _vector(box.get('size')) for box in boxes]
        own = sum(_geom(box, np.prod(e)) for box, e in zip(boxes, edges, strict=True))
        mass += own
        displaced += own * float(body.get('gravcomp', 0.0))
        if len(boxes) != 1 or any(box.get('type') != 'box' for box in boxes):
            drag += np.nan
            continue
        x, y, z = edges[0]
        drag += 0.5 * density * np.array([y * z, x * z, x * y])
        drag += 3 * np.pi * viscosity * (x + y + z) / 3
    thrust = []
    for motor in root.iterfind('actuator/motor'):
        low, high = _vector(motor.get('ctrlrange'))
        force = np.linalg.norm(_vector(motor.get('gear'))[:3])
        thrust.append(force * np.where(_SHARES < 0, -low, high) * _SHARES)
    return Numbers(mass, displaced, drag, thrust)


def _geom(geom, volume):
    given = geom.get('mass')
    return float(geom.get('density', 1000.0)) * volume if given is None else float(given)
