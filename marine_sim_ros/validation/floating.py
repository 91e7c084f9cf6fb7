# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Published floating bodies: a released sphere, a section in waves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.currents_and_waves import regular_waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import Simulation

__all__ = ['floating_rows', 'floating_sphere', 'floating_table']

GRAVITY = 9.81
_SPHERE = (
    'NREL/HydroChrono at b0de39e, demos/sphere (MIT): heave decay from 1 m of a half-submerged '
    "sphere of 5 m radius and 261.8 t; column NREL (CFD) of the IEA's comparison"
)
_FLUME = (
    'KRSundsdal1/2D-ship-cross-section-in-regular-waves at 2465cee (CC0): data/3PPH/{}, '
    'heave over incident wave of 20 mm, steady part'
)
_HEIGHTS = ((1.0, 0.2023), (2.0, -0.8228), (3.0, -0.4341), (4.5, 0.6348), (9.0, 0.3361))
_MARGIN = 0.02
"""m; the six codes of the comparison differ by up to 0.046 m."""
_RESPONSES = ((4.143, 1.25, '3012_1.csv'), (7.004, 0.30, '3102_1.csv'))
_SHARE = 0.1
_RADIATIONS = {
    'constant': ('110077', '89320', ''),
    'memory': (
        '130877',
        '0',
        '<radiation><mode axis="heave" coefficient="119841" frequency="1.1649" decay="0.5855"/>'
        '</radiation>',
    ),
}
"""Added mass, damping and memory of the sphere, of the coefficients in its sphere.h5: at the
natural frequency of 1.439 rad/s; or at infinite frequency, and one oscillator fitted to B(ω)."""
_BODY = """<robot name="floating">
  <buoyancy_material name="body"><density value="{density}"/></buoyancy_material>
  <link name="base_link">
    <inertial><origin xyz="0 0 {ballast}"/><mass value="{mass}"/>
      <inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/>
    </inertial>
    <collision><buoyancy_material name="body"/><geometry>{shape}</geometry></collision>
  </link>
  <hydrodynamics>
    <water_density>1000</water_density>
    <added_mass>0 0 {added} 0 0 0</added_mass>
    <linear_damping>0 0 {damping} 0 0 0</linear_damping>
  </hydrodynamics>{radiation}
</robot>"""


class FloatingRow(NamedTuple):
    """A value that others found, and ours.

    Attributes:
        title: what it is.
        unit: of both.
        found: by others.
        margin: by which ours may differ.
        computed: ours.
        source: document and place.
    """

    title: str
    unit: str
    found: float
    margin: float
    computed: float
    source: str

    @property
    def verdict(self) -> str:
        """``pass`` where ours is within the margin, else ``fail``."""
        return 'pass' if abs(self.computed - self.found) <= self.margin else 'fail'


def floating_sphere(radiation: str) -> Vehicle:
    """Return the half-submerged sphere with ``constant`` coefficients or a ``memory``."""
    added, damping, element = _RADIATIONS[radiation]
    return load_vehicle(
        _BODY.format(
            density=0.5,
            ballast=-2,
            mass=261800,
            inertia=2e6,
            shape='<sphere radius="5"/>',
            added=added,
            damping=damping,
            radiation=element,
        )
    )


def flume_section() -> Vehicle:
    """Return the flume's section of 0.586 x 0.40 x 0.256 m and 0.20 m draught, as a box.

    Its added mass of 32.9 kg follows from the measured heave period of 1.17 s, m + a =
    ρ g B L (T/2π)²; of the damping of 32 N s/m, 8.7 are the measured friction of the rig, and the
    rest is Haskind's for the force of the wave at that frequency.
    """
    return load_vehicle(
        _BODY.format(
            density=0.78125,
            ballast=-0.02,
            mass=46.8,
            inertia=1.0,
            shape='<box size="0.586 0.4 0.256"/>',
            added=32.9,
            damping=32,
            radiation='',
        )
    )


def _sphere_heights(vehicle: Vehicle, dt: float = 0.005) -> list[float]:
    simulation = Simulation(
        vehicle,
        environment=Environment(gravity=GRAVITY),
        initial=state_at_rest((0, 0, 1.0)),
        dt=dt,
    )
    heights = [1.0]
    for _ in range(round(_HEIGHTS[-1][0] / dt)):
        simulation.tick(np.zeros(0))
        heights.append(float(simulation.state.position[2]))
    return [heights[round(t / dt)] for t, _ in _HEIGHTS]


def _response(vehicle: Vehicle, omega: float, periods: int = 16, steps: int = 50) -> float:
    """Return the amplitude of heave over that of the wave, in the last four periods."""
    period = 2 * math.pi / omega
    waves = regular_waves(0.04, period, direction=math.pi / 2, depth=1.0, gravity=GRAVITY)
    simulation = Simulation(
        vehicle,
        environment=Environment(gravity=GRAVITY, waves=waves),
        initial=state_at_rest((0, 0, -0.072)),
        dt=period / steps,
    )
    heave = []
    for _ in range(periods * steps):
        simulation.tick(np.zeros(0))
        heave.append(float(simulation.state.position[2]))
    last = np.array(heave[-4 * steps :])
    turn = np.exp(-2j * math.pi * np.arange(len(last)) / steps)
    return float(2 * abs(np.mean(last * turn)) / 0.02)


def floating_rows() -> tuple[FloatingRow, ...]:
    """Return the rows of all floating bodies, computed now."""
    rows = []
    for radiation in _RADIATIONS:
        found = _sphere_heights(floating_sphere(radiation))
        for (time, height), ours in zip(_HEIGHTS, found, strict=True):
            title = f'sphere, {radiation}, height after {time:g} s'
            rows.append(FloatingRow(title, 'm', height, _MARGIN, ours, _SPHERE))
    for omega, ratio, name in _RESPONSES:
        title = f'section in waves of {omega:g} rad/s, heave over wave'
        ours = _response(flume_section(), omega)
        rows.append(FloatingRow(title, '', ratio, _SHARE * ratio, ours, _FLUME.format(name)))
    return tuple(rows)


def floating_table(rows: tuple[FloatingRow, ...]) -> str:
    """Return the rows as a table in Markdown, with their sources below."""
    sources = list(dict.fromkeys(r.source for r in rows))
    lines = [
        '| quantity | unit | by others | computed | error | allowed | verdict |',
        '|---|---|--:|--:|--:|--:|---|',
    ]
    lines += [
        f'| {r.title} | {r.unit} | {r.found:g} [{sources.index(r.source) + 1}] | {r.computed:.3f} '
        f'| {r.computed - r.found:+.3f} | {r.margin:.3g} | {r.verdict} |'
        for r in rows
    ]
    return '\n'.join([*lines, '', *(f'- [{i}] {s}.' for i, s in enumerate(sources, 1))])
