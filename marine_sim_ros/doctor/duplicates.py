# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is described twice: by Orca3's plugins and by our elements, or by two kinds of ours."""

from __future__ import annotations

from collections.abc import Iterator

from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic

__all__ = ['drag_twice', 'plugins_beside_tags']

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
    """Lumped damping and panels that drag both act."""
    vehicle = context.vehicle
    lumped = any(context.root.find(f'hydrodynamics/{tag}') is not None for tag in _LUMPED)
    if not lumped or vehicle.hull is None or vehicle.hull.panels is None:
        return
    yield context.warning(
        context.root.find('hydrodynamics'),
        'gives damping for the vehicle and parameters of its hull: both act, so drag counts twice',
        "keep the damping, or the hull's parameters",
    )
