# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures and tables of hydrodynamics.md; two of the tables go to standard output.

``.venv/bin/python docs/scripts/make_hydrodynamics.py [--added-mass]``, which makes only that table
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from lxml import etree
from marks import between
from matplotlib.axes import Axes
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.integrate import trapezoid

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.currents_and_waves import Waves, jonswap, regular_waves
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.geometry.meshes import voxelise
from marine_sim_ros.geometry.shapes import cylinder_shape
from marine_sim_ros.model.hull_parameters import HULL_PARAMETERS
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy, submerged_fractions
from marine_sim_ros.physics.drag import drag_components
from marine_sim_ros.physics.hull_drag import wet_hull
from marine_sim_ros.physics.panels import friction_coefficient
from marine_sim_ros.sim.simulation import Simulation

HERE = Path(__file__).resolve().parent.parent / 'pictures'
PAGE = HERE.parent / 'explanation' / 'hydrodynamics.md'
BLUE, GREY, ORANGE, SAND = '#1f6fb2', '#5f6b76', '#d9822b', '#f0c070'
G = 9.81
SEA = Environment(gravity=G)


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)


def body(geometry: str, mass: float, tags: str = '', inertia: float = 1.0) -> Vehicle:
    """Return a vehicle of one homogeneous shape that floats by its geometry."""
    return load_vehicle(f"""
    <robot name="body"><hydrodynamics>{tags}<buoyancy_mode>geometry</buoyancy_mode></hydrodynamics>
      <link name="base_link"><inertial><mass value="{mass}"/>
        <inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/>
      </inertial><collision><geometry>{geometry}</geometry></collision></link></robot>""")


def hull_in_waves(path: Path) -> None:
    """Draw the surface vessel in a regular wave: panels by wetness, voxels by submersion."""
    vehicle = load_vehicle('surface_vessel')
    assert vehicle.hull is not None
    panels, voxels = vehicle.hull.panels, vehicle.hull.voxels
    assert panels is not None
    assert voxels is not None
    sea = Environment(waves=regular_waves(0.25, 1.4, phase=0.6))
    state = State(np.array([0, 0, 0.0]), quaternion_from_rpy(0.05, -0.08, 0), np.zeros(6))
    rotation = rotation_matrix(state.orientation)
    figure = plt.figure(figsize=(11, 3.9))
    x, y = np.meshgrid(np.linspace(-0.9, 0.9, 60), np.linspace(-0.5, 0.5, 20))
    surface = sea.elevation(np.stack([x, y], axis=-1))
    for i, name in enumerate(('panels, coloured by wet share', 'voxels, by submerged share')):
        axes = figure.add_subplot(1, 2, i + 1, projection='3d', computed_zorder=False)
        axes.plot_surface(x, y, surface, color='#6fb6e8', alpha=0.35, linewidth=0)
        if i == 0:
            shares = wet_hull(panels, state, sea).wet_fraction
            colours = plt.get_cmap('YlGnBu')(0.15 + 0.7 * shares)
            corners = panels.corners @ rotation.T
            axes.add_collection3d(
                Poly3DCollection(corners, facecolors=colours, edgecolors='#00000030', lw=0.3)
            )
        else:
            shares = submerged_fractions(voxels, state, sea)
            centers = voxels.center @ rotation.T
            axes.scatter(
                *centers.T, c=shares, cmap='YlGnBu', vmin=-0.2, vmax=1.2, s=9, depthshade=False
            )
        axes.set(xlim=(-0.9, 0.9), ylim=(-0.5, 0.5), zlim=(-0.5, 0.2))
        axes.set_position((0.5 * i, -0.05, 0.5, 0.98))
        axes.set_box_aspect((1.8, 1.0, 0.7), zoom=1.45)
        axes.view_init(14, -62)
        axes.set_axis_off()
        axes.set_title(name, fontsize=11)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def laws(path: Path) -> None:
    """Plot the angle's exponent, the pressure over the speed, and the friction line."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.3), layout='constrained')
    degrees = np.linspace(0, 90, 400)
    for f in (0.1, 0.3, 0.5, 0.7, 1.0):
        left.plot(degrees, np.cos(np.radians(degrees)) ** f, label=f'f = {f:g}')
    _label(left, 'angle between flow and normal [°]', 'cosᶠ θ')
    speed = np.linspace(0, 2, 100)
    middle.plot(speed, 10 * speed + 10 * speed**2, label="guide's default, 10 Pa", color=BLUE)
    middle.plot(speed, 0.5 * 1027 * 1.2 * speed**2, label='drag coefficient 1.2', color=ORANGE)
    middle.set_yscale('log')
    middle.set_ylim(1, 5000)
    _label(middle, 'speed [m/s]', 'pressure on a facing panel [Pa]')
    reynolds = np.geomspace(1e3, 1e8, 300)
    right.semilogx(reynolds, friction_coefficient(reynolds), color=BLUE)
    right.axvline(1e4, color=GREY, linewidth=0.8, linestyle=':')
    right.text(1.2e4, 0.0005, 'floor', color=GREY)
    right.set_ylim(0, 0.022)
    _label(right, 'Reynolds number', 'C_f (ITTC 1957)')
    left.legend(fontsize=8)
    middle.legend(fontsize=8)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def slamming(path: Path) -> None:
    """Plot a flat box that drops into the water from 1 m."""
    tags = '<pressure_drag><C_PD1>100</C_PD1><C_PD2>100</C_PD2></pressure_drag>'
    vehicle = body('<box size="0.8 0.5 0.12"/>', 20.0, tags)
    simulation = Simulation(vehicle, environment=SEA, initial=state_at_rest((0, 0, 1.0)), dt=0.001)
    heights, kinds, memory = [], [], None
    for _ in range(2000):
        wrenches, memory = drag_components(vehicle, simulation.state, SEA, memory, dt=0.001)
        kinds.append([wrenches[k][2] for k in ('pressure', 'suction', 'slamming')])
        heights.append(simulation.state.position[2])
        simulation.tick(np.zeros(0))
    t = np.arange(2000) * 0.001
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, layout='constrained')
    top.plot(t, np.array(heights) - 0.06, color=BLUE)
    top.axhline(0, color=GREY, linewidth=0.8)
    _label(top, '', 'height of the bottom [m]')
    for i, name in enumerate(('pressure', 'suction', 'slamming')):
        bottom.plot(t, np.array(kinds)[:, i], label=name)
    bottom.legend()
    _label(bottom, 'time [s]', 'upward force [N]')
    bottom.set_xlim(0.35, 1.2)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _periodogram(waves: Waves, seconds: float = 3600.0) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(0, seconds, 0.5)
    eta = np.array([float(waves.elevation(np.zeros(3), s)) for s in t])
    power = np.abs(np.fft.rfft(eta * np.hanning(len(t)))) ** 2
    omega = 2 * np.pi * np.fft.rfftfreq(len(t), 0.5)
    smooth = np.convolve(power, np.ones(101) / 101, 'same')
    return omega, smooth / trapezoid(smooth, omega) * np.var(eta)


def sea(path: Path) -> None:
    """Plot a generated sea: spectrum asked for and found, and a minute of the surface."""
    environment = load_environment('moderate_sea')
    waves = environment.waves
    assert waves is not None
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.3), layout='constrained')
    omega, found = _periodogram(waves)
    peak = 2 * np.pi / 8.8
    grid = np.linspace(0.3, 2.5, 300)
    shape = jonswap(grid / peak, 3.3)
    asked = shape / trapezoid(shape, grid) * (1.88 / 4) ** 2
    left.plot(omega, found, color=BLUE, label='an hour of the generated sea')
    left.plot(grid, asked, color=ORANGE, label='JONSWAP')
    left.set_xlim(0.3, 2.5)
    left.legend(fontsize=8)
    _label(left, 'frequency [rad/s]', 'spectrum [m² s]')
    t = np.linspace(0, 90, 900)
    right.plot(t, [float(waves.elevation(np.zeros(3), s)) for s in t], color=BLUE)
    _label(right, 'time [s]', 'surface at the origin [m]')
    figure.savefig(path, dpi=100)
    plt.close(figure)


def parameter_table() -> str:
    """Return the table of the hull's parameters."""
    rows = [
        '| element | default | unit | usual | possible | meaning |',
        '|---|---|---|---|---|---|',
    ]
    for key, p in HULL_PARAMETERS.items():
        least = 'more than 0' if 0 < p.low <= 1e-6 else f'{p.low:g} or more'
        rows.append(
            f'| `{key}` | {p.default:g} | {p.unit or "1"} | {p.usual[0]:g} to {p.usual[1]:g} '
            f'| {least} | {p.help} |'
        )
    return '\n'.join(rows)


def voxel_table() -> str:
    """Return cost and error of a lying cylinder over the size of its voxels."""
    rows = [
        '| voxel size | voxels | error of the wet volume | to cut, s | to evaluate, µs |',
        '|---|---|---|---|---|',
    ]
    radius, length = 0.2, 0.6
    q = quaternion_from_rpy(np.pi / 2, 0, 0)
    for across in (2, 4, 8, 16, 32):
        size = 2 * radius / across
        geometry = f'<cylinder radius="{radius}" length="{length}"/>'
        vehicle = body(geometry, 30.0, f'<voxel_size>{size}</voxel_size>')
        start = time.perf_counter()
        count = len(voxelise(cylinder_shape(radius, length), size).volume)
        cut = time.perf_counter() - start
        errors = []
        for level in np.linspace(-0.15, 0.15, 31):
            state = State(np.array([0, 0, level]), q, np.zeros(6))
            found = buoyancy(vehicle, state, SEA)[:3] @ rotation_matrix(q)[2] / (1027 * G)
            half = np.arccos(level / radius)
            below = length * radius**2 * (half - np.sin(half) * np.cos(half))
            errors.append((found - below) / vehicle.buoyancy.volume)
        rows.append(
            f'| {size:.4g} m | {count} | {np.abs(errors).max():.2%} | {cut:.2f} '
            f'| {_evaluate(vehicle, state):.0f} |'
        )
    return '\n'.join(rows)


def _evaluate(vehicle: Vehicle, state: State) -> float:
    start = time.perf_counter()
    for _ in range(200):
        buoyancy(vehicle, state, SEA)
    return (time.perf_counter() - start) / 200 * 1e6


def with_collisions(vehicle: Vehicle, method: str, seen: bool) -> Vehicle:
    """Return a vehicle with its added mass computed from its collisions, or from what is seen."""
    root = etree.fromstring(vehicle.urdf.encode())
    hydrodynamics = root.find('hydrodynamics')
    assert hydrodynamics is not None
    for element in hydrodynamics.findall('added_mass'):
        hydrodynamics.remove(element)
    hydrodynamics.set('added_mass', method)
    for link in root.findall('link') if seen else ():
        for collision in link.findall('collision'):
            link.remove(collision)
        for visual in link.findall('visual'):
            visual.tag = 'collision'
            for material in visual.findall('material'):
                visual.remove(material)
    return load_vehicle(etree.tostring(root, encoding='unicode'))


def added_mass_table() -> str:
    """Return the added mass of the BlueROV2 and its Heavy: published sets, ellipsoid, panels."""
    rows = [
        '| | surge | sway | heave | roll | pitch | yaw | surge-pitch | sway-roll |',
        '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
    ]

    def row(title: str, vehicle: Vehicle) -> None:
        a = vehicle.added_mass
        numbers = [*np.diag(a), a[0, 4], a[1, 3]]
        rows.append(
            f'| {title} | {" | ".join(f"{x if abs(x) > 1e-6 else 0:.3g}" for x in numbers)} |'
        )

    for name in ('wu2018', 'von_benzon2022', 'tank2025'):
        heavy = '_heavy' if name != 'wu2018' else ''
        row(f'`{name}`', load_vehicle(f'bluerov2{heavy}', coefficients=name))
    rov, heavy_rov = load_vehicle('bluerov2'), load_vehicle('bluerov2_heavy')
    row('ellipsoid like its box', with_collisions(rov, 'estimate', seen=False))
    row('panels on its box', with_collisions(rov, 'panels', seen=False))
    row('panels on what is drawn', with_collisions(rov, 'panels', seen=True))
    row('the same, Heavy', with_collisions(heavy_rov, 'panels', seen=True))
    return '\n'.join(rows)


def main() -> None:
    """Make everything."""
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(between(page, 'added mass', added_mass_table()), encoding='utf-8')
    if '--added-mass' in sys.argv:
        return
    HERE.mkdir(exist_ok=True)
    hull_in_waves(HERE / 'hull_in_waves.png')
    laws(HERE / 'panel_laws.png')
    slamming(HERE / 'slamming.png')
    sea(HERE / 'sea.png')
    sys.stdout.write(f'{parameter_table()}\n\n{voxel_table()}\n')


if __name__ == '__main__':
    main()
