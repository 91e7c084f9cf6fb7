# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions of simple floating bodies, for tests."""

from marine_sim_ros import load_vehicle

WATER = 1027.0


def box_inertia(mass, size):
    x, y, z = size
    return [mass * (b * b + c * c) / 12 for b, c in ((y, z), (z, x), (x, y))]


def body(
    geometry,
    mass,
    *,
    inertia=(1.0, 1.0, 1.0),
    density=None,
    tags='',
    own='',
    com='0 0 0',
    extra='',
    name='body',
):
    """Return a vehicle with one collision: geometry, material and <hydrodynamics> children."""
    ixx, iyy, izz = inertia
    material = '' if density is None else '<buoyancy_material name="stuff"/>'
    stuff = f'<density value="{density}"/>' if density is not None else '<density value="1"/>'
    return load_vehicle(f"""
    <robot name="{name}">
      <buoyancy_material name="stuff">{stuff}</buoyancy_material>
      <hydrodynamics><water_density>{WATER}</water_density>{tags}</hydrodynamics>
      <link name="base_link">
        <inertial><origin xyz="{com}"/><mass value="{mass}"/>
          <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>
        <collision>{material}{own}<geometry>{geometry}</geometry></collision>
      </link>{extra}
    </robot>""")


def box(size, mass, **options):
    options.setdefault('inertia', box_inertia(mass, size))
    return body(f'<box size="{size[0]} {size[1]} {size[2]}"/>', mass, **options)
