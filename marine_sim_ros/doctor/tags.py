# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of the elements of a URDF: unknown, misplaced, unused, or described twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from marine_sim_ros.control.ros2_control import hardware_faults
from marine_sim_ros.core.errors import nearest_name
from marine_sim_ros.core.schema import ElementSchema
from marine_sim_ros.doctor.context import (
    DescriptionContext,
    Diagnostic,
    Edit,
    FindingPlace,
    Severity,
    finite_numbers,
)
from marine_sim_ros.doctor.repairs import attributes_to_elements, relative_density, rename_element
from marine_sim_ros.model.elements import (
    COLLISION_ELEMENTS,
    KNOWN_ELEMENTS,
    element_schemas,
    robot_elements,
)
from marine_sim_ros.model.foreign import plugin_warnings
from marine_sim_ros.model.xml import Element, Reader

__all__ = [
    'computed_numbers',
    'density_unit',
    'drag_twice',
    'hardware',
    'ignored_plugins',
    'loading',
    'loading_messages',
    'misspelt_elements',
    'plugins_beside_tags',
    'unread_attributes',
    'unused_curves',
    'unused_materials',
    'warning_remedy',
]


# Unknown or misplaced elements and attributes.

_READABLE = 0.75
"""Likeness of two words from which one is taken for the other misspelt."""


def _located_message(context: DescriptionContext, text: str) -> tuple[FindingPlace, str]:
    """Return place and message of ``file:line: <element>: message``, as far as it is so."""
    found = re.fullmatch(r'(.*?):(\d+): (?:(<.*?>)(?: in <.*?>)?:? )?(.*)', text, re.DOTALL)
    files = {str(context.path), *(file for file, _ in context.source.origins.values())}
    if found is None or found[1] not in files:
        return FindingPlace(str(context.path)), text.removeprefix(f'{context.path}: ')
    return FindingPlace(found[1], int(found[2]), found[3] or ''), found[4]


def loading(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The description becomes a vehicle."""
    if context.loaded is not None:
        return
    place, text = _located_message(context, context.refusal)
    yield Diagnostic(Severity.ERROR, f'cannot be simulated: {text}', place, 'fix this first')


def loading_messages(context: DescriptionContext) -> Iterator[Diagnostic]:
    """What was repaired or looked unusual when the description was read."""
    plugins = plugin_warnings(context.root, context.source)
    for warning in (w for w in context.vehicle.warnings if w not in plugins):
        place, text = _located_message(context, warning)
        edit = _stray_underscore(context, place, text)
        yield Diagnostic(Severity.WARNING, text, place, warning_remedy(text), edit=edit)


_REMEDIES = {
    'faced inwards|was inside out': 'flip the normals in the program that made the mesh; this run '
    'uses the turned ones',
    r'hole\(s\) closed|is wrapped': 'close the surface in the program that made the mesh, and '
    'compare the volume with the known one',
    'overlap by': 'unite the bodies in the program that made the mesh; this run uses the union',
    'were simplified to': 'raise <max_triangles> for the shape that was given, which is slower',
    'cannot be simplified': 'give a mesh of fewer triangles',
    'its coordinates are taken as they are': 'export the mesh with z up, or turn it by <origin>',
    'usual are|almost nothing': 'check the number and its unit',
    'is unknown and ignored': 'correct the name of the element, or delete it',
    'only read with name=': 'give name="in_place", or delete the attributes',
    'it is taken as fixed': 'write type="fixed", or give the joint limits and a velocity',
    'displaces nothing': 'give the link an <inertial> with a mass',
    'has no <collision>': 'give a link a <collision>, or the robot a <buoyancy> and damping',
    'reads the pressure': 'correct baro_link_to_base_link_z',
    'joints at 0; give it': 'replace the <collision> of the link',
    'beside <buoyancy>': 'delete <buoyancy>, or <buoyancy_material>',
    'is not symmetric': 'give the symmetric matrix',
}
"""What to do about warnings of the reader, by an expression that their texts match."""


def warning_remedy(text: str) -> str:
    """Return the remedy for a warning of the reader."""
    found = (advice for pattern, advice in _REMEDIES.items() if re.search(pattern, text))
    return next(found, 'correct the description, or leave it if the numbers are as you know them')


def computed_numbers(context: DescriptionContext) -> Iterator[Diagnostic]:
    """What was computed when the description was read, with its numbers."""
    advice = 'compare it with what is known of the vehicle'
    told = (_located_message(context, note) for note in context.vehicle.notes)
    for place, text in told:
        yield Diagnostic(Severity.HINT, text, place, advice)


def ignored_plugins(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Gazebo plugins of others are not read: elements of this package describe their effect."""
    advice = (
        'describe its effect with elements of this package, or leave it if it does not affect the '
        'motion'
    )
    for place, text in (
        _located_message(context, t) for t in plugin_warnings(context.root, context.source)
    ):
        yield Diagnostic(Severity.WARNING, text, place, advice)


def _stray_underscore(context: DescriptionContext, place: FindingPlace, text: str) -> Edit | None:
    """Return the fix of a plugin's tag whose right name is known."""
    meant = re.search(r'did you mean <(\w+)>', text)
    if meant is None or context.expanded:
        return None
    for element in context.root.iterfind('gazebo//*'):
        if Reader(element, '').line == place.line and str(element.tag).strip('_') == meant[1]:
            return rename_element(element, meant[1])
    return None


def _extension_elements(context: DescriptionContext) -> Iterator[tuple[Element, ElementSchema]]:
    """Yield all elements of our extensions and what is in them, with what may be in each."""
    known = element_schemas()
    parents = [context.root, *context.root.iterfind('link/collision')]
    queue = [(e, known[e.tag]) for parent in parents for e in parent if e.tag in known]
    while queue:
        element, schema = queue.pop(0)
        yield element, schema
        below = [e for e in element if isinstance(e.tag, str)]
        queue += [(e, schema.children.get(e.tag, ElementSchema())) for e in below]


def unread_attributes(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Values stand in elements, <C_PD1>3</C_PD1>; as attributes nobody reads them."""
    for element, schema in _extension_elements(context):
        unread = [str(name) for name in element.attrib if name not in schema.attributes]
        children = [name for name in unread if name in schema.children]
        if children:
            first = children[0]
            yield context.error(
                element,
                f'has {", ".join(children)} as attributes, which nobody reads',
                f'make elements of them: <{first}>{element.get(first)}</{first}>',
                attributes_to_elements(element, children),
            )
        others = [name for name in unread if name not in children]
        if others:
            yield context.warning(
                element,
                f'has attributes that nobody reads: {", ".join(others)}',
                f'known are: {", ".join(sorted(schema.attributes)) or "none"}',
            )


def misspelt_elements(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Elements below <robot> or <collision> that nobody reads, though they look like ours."""
    known: dict[str, frozenset[str]] = {'robot': robot_elements(), 'collision': COLLISION_ELEMENTS}
    parents = [context.root, *context.root.iterfind('link/collision')]
    for element in (e for parent in parents for e in parent if isinstance(e.tag, str)):
        parent = element.getparent()
        choices = frozenset() if parent is None else known.get(parent.tag, frozenset())
        if element.tag in choices | KNOWN_ELEMENTS:
            continue
        near = nearest_name(element.tag, sorted(choices), _READABLE)
        if near:
            yield context.error(
                element,
                'is unknown, so nobody reads it',
                f'did you mean <{near}>?',
                rename_element(element, near),
            )


def unused_materials(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Each <buoyancy_material> that is defined is used by a collision."""
    used = {m.get('name') for m in context.root.iterfind('link/collision/buoyancy_material')}
    for material in context.root.findall('buoyancy_material'):
        if material.get('name') not in used:
            yield context.warning(
                material, 'is used by no collision', 'name it in a collision, or remove it'
            )


def unused_curves(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Each thrust <curve> is used by a thruster."""
    used = {t.get('curve') for t in context.root.findall('thrusters/thruster')}
    linear = context.root.find('thrusters/thruster/linear') is not None
    tell = context.hint if context.expanded and linear else context.warning
    for curve in context.root.findall('thrusters/curve'):
        if curve.get('name') not in used:
            yield tell(curve, 'is used by no thruster', 'name it in a thruster: curve="..."')


def density_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Densities of materials are relative to water, not in kg/m³."""
    for element in context.root.findall('buoyancy_material/density'):
        value = finite_numbers(element.get('value'), 1)
        if value is not None and 25 < float(value[0]) <= 25000:
            density = float(value[0])
            yield context.error(
                element,
                f'is {density:g}; a density relative to water is 0.0001 to 25',
                f'{density:g} kg/m³ is {density / 1000:g}',
                relative_density(element, density),
            )


# Duplicate descriptions: Orca3's plugins and our elements, or two of our elements.

_LUMPED = ('linear_damping', 'quadratic_damping', 'modulus_damping')


def plugins_beside_tags(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Nothing is described by an Orca3 plugin and by elements of ours at once."""
    root = context.root
    lumped = [e for tag in _LUMPED for e in root.findall(f'hydrodynamics/{tag}')]
    hulls = [
        e
        for tag in ('buoyancy_material', 'hydrodynamics')
        for e in root.findall(f'link/collision/{tag}')
    ]
    materials = [e for e in hulls if e.tag == 'buoyancy_material']
    rivals = {
        'Thruster': (root.findall('thrusters'), 'the plugin replaces it'),
        'Buoyancy': ([*root.findall('buoyancy'), *materials], 'only one of them floats it'),
        'Drag': (
            [*lumped, *(e for e in hulls if e.tag == 'hydrodynamics')],
            'damping is replaced by the plugin, and the drag of a hull is added to it',
        ),
        'Barometer': (root.findall('barometer'), 'the plugin replaces it'),
    }
    for plugin in root.iter('plugin'):
        for kind, (elements, outcome) in rivals.items():
            if f'libOrca{kind}Plugin' in (plugin.get('filename') or '') and elements:
                yield context.error(
                    elements[0],
                    f"stands beside Orca3's {kind} plugin: {outcome}",
                    'keep one of them',
                )


def drag_twice(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Lumped damping and panels that drag both act; linear, but not ahead, it is that of waves."""
    vehicle = context.vehicle
    lumped = any(context.root.find(f'hydrodynamics/{tag}') is not None for tag in _LUMPED)
    if not lumped or vehicle.hull is None or vehicle.hull.panels is None:
        return
    linear, squared = vehicle.damping.by_axis
    if linear[0] == 0 and not squared.any():
        return
    yield context.warning(
        context.root.find('hydrodynamics'),
        'gives damping for the vehicle and parameters of its hull: both act, so drag counts twice',
        "keep the damping, or the hull's parameters",
    )


def hardware(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Joints of <ros2_control> are devices of the vehicle, with interfaces that these have."""
    joints = {joint.get('name') for joint in context.root.findall('joint')}
    systems = {str(e.get('name', '')): e for e in context.root.findall('ros2_control')}
    for fault in hardware_faults(context.vehicle):
        element = systems[fault.system]
        owned = [
            j for j in element.findall('joint') if fault.joint and j.get('name') == fault.joint
        ]
        report = context.error if fault.is_error else context.hint
        yield report(owned[0] if owned else element, fault.text, fault.advice)
    for joint in context.root.iterfind('ros2_control/joint'):
        if joint.get('name') not in joints:
            yield context.warning(
                joint,
                f'{joint.get("name")!r} is no <joint> of the description, and ros2_control '
                'refuses it',
                'add the joint; marine_sim export-ros2-control writes a description that has all',
            )
