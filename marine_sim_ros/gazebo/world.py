# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A world and a vehicle put together for a run: step, systems, and the lockstep system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.gazebo.delivery import COMPILED, IN_SERVER, STOCK
from marine_sim_ros.model import xml
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.elements import GZ, add, add_pose, to_text
from marine_sim_ros.sdf.poses import Pose

__all__ = ['PROBE', 'SEAT_FOLDER', 'GazeboWorld', 'absolute_uris', 'run_world']

SEAT_FOLDER = Path(__file__).resolve().parent / 'system'
"""Entry of GZ_SIM_SYSTEM_PLUGIN_PATH by which the server finds the lockstep system."""
_SEATS = {IN_SERVER: 'marine_sim_lockstep', COMPILED: 'marine_sim_compiled'}
PROBE = 'marine_sim_probe'
"""Name of the sensor at the link's origin by which the lockstep system reads the state."""
_NEEDED = {
    'Physics': 'gz-sim-physics-system',
    'UserCommands': 'gz-sim-user-commands-system',
    'SceneBroadcaster': 'gz-sim-scene-broadcaster-system',
}
_APPLY = {'ApplyLinkWrench': 'gz-sim-apply-link-wrench-system'}
_LEAST_STEP = 1000
"""ns; gz-sim's Python bindings tell time in whole µs."""


@dataclass(frozen=True)
class GazeboWorld:
    """What a run gives to ``gz sim``.

    Attributes:
        text: text of the SDF file.
        name: name of the world.
        model: name of the vehicle in it.
        link: name of its link that takes the wrench.
        physics_step: ns.
        warnings: changes made to the world.
    """

    text: str
    name: str
    model: str
    link: str
    physics_step: int
    warnings: tuple[str, ...] = ()


def absolute_uris(text: str, path: Path) -> str:
    """Return the text of an SDF file in which names of files beside it are absolute."""
    root = xml.parse(text, str(path))
    for element in root.iter('uri'):
        name = (element.text or '').strip()
        if name and '://' not in name and (path.parent / name).exists():
            element.text = (path.parent / name).resolve().as_uri()
    return to_text(root)


def run_world(
    world: str,
    model: str,
    *,
    source: str,
    pose: Pose,
    step: int,
    gravity: float,
    delivery: str,
    lockstep: bool = True,
    real_time_factor: float = 1.0,
    run: Path | None = None,
) -> GazeboWorld:
    """Return a world with a vehicle in it, ready for a run.

    Args:
        world: text of an SDF file with one <world>.
        model: text of an SDF file with the vehicle.
        source: source of the world, for messages.
        pose: initial pose of the vehicle.
        step: control period, ns: from one wrench to the next.
        gravity: gravity of the environment of the forces, m/s².
        delivery: ``in_server``, ``stock`` or ``compiled``.
        lockstep: whether a step waits for its wrench, or for its commands.
        real_time_factor: real-time factor of Gazebo where it does not wait; 0: unlimited.
        run: file with the options of the run, which the system of ``compiled`` reads.

    Raises:
        ModelError: no <world>, a vehicle of that name in it already, or a physics step that does
            not fit the control period.
    """
    root = xml.parse(world, source)
    found = root.findall('world')
    if root.tag != 'sdf' or len(found) != 1:
        raise ModelError(f'{source}: {len(found)} <world> in <{root.tag}>; expected one in <sdf>')
    vehicle = xml.parse(model, 'the vehicle').find('model')
    assert vehicle is not None
    name, label = found[0].get('name', 'default'), vehicle.get('name', '')
    if any(m.get('name') == label for m in found[0].findall('model')):
        raise ModelError(f'{source}: has a model {label!r} already; expected a world without it')
    warnings: list[str] = []
    _set_gravity(found[0], gravity, warnings)
    physics = _physics(found[0])
    own = _physics_step(physics, step, source, delivery if lockstep else IN_SERVER, warnings)
    _set(physics, 'real_time_factor', 0 if lockstep else real_time_factor)
    _add_systems(found[0], {**_NEEDED, **(_APPLY if delivery == STOCK else {})})
    for element in vehicle.findall('pose'):
        vehicle.remove(element)
    add_pose(vehicle, pose)
    link = vehicle.get('canonical_link', 'base_link')
    if delivery in _SEATS:
        seat = _add_seat(found[0], _SEATS[delivery], label, link, step, lockstep=lockstep)
        _add_probe(vehicle, link)
        if run is not None:
            add(seat, 'run', str(run))
            add(seat, 'physics_step', str(own))
    else:
        _add_pose_publisher(vehicle, label, 0.0 if lockstep else NANOSECONDS / step)
    found[0].append(vehicle)
    return GazeboWorld(to_text(root), name, label, link, own, tuple(warnings))


def _set(parent: Element, tag: str, value: float) -> None:
    for old in parent.findall(tag):
        parent.remove(old)
    add(parent, tag, value)


def _set_gravity(world: Element, gravity: float, warnings: list[str]) -> None:
    """Let both halves of the simulation have one gravity; else a neutral vehicle would drift."""
    given = world.find('gravity')
    wanted = [0.0, 0.0, -gravity]
    if given is not None:
        words = (given.text or '').split()
        if len(words) == 3 and np.allclose([float(w) for w in words], wanted, atol=1e-9):
            return
        warnings.append(
            f'<gravity> is {" ".join(words)} in the world and {gravity:g} m/s² in the '
            'environment; the latter holds'
        )
        world.remove(given)
    add(world, 'gravity', wanted)


def _physics(world: Element) -> Element:
    physics = world.find('physics')
    if physics is None:
        physics = add(world, 'physics', name='lockstep', type='dart')
    if world.find(f'{{{GZ}}}policies') is None:
        policies = add(world, f'{{{GZ}}}policies')
        add(policies, 'parallel_postupdates', False)
    return physics


def _physics_step(
    physics: Element, step: int, source: str, delivery: str, warnings: list[str]
) -> int:
    """Return the physics step in ns; it stays the world's where the period is a multiple of it."""
    given = physics.findtext('max_step_size')
    own = step if given is None else round(float(given) * NANOSECONDS)
    if delivery == STOCK and own != step:
        warnings.append(
            f'<max_step_size> is {own * 1e-9:g} s; a wrench that acts for one step needs '
            f'{step * 1e-9:g} s, the control period'
        )
        own = step
    if own <= 0 or step % own or own % _LEAST_STEP:
        raise ModelError(
            f'{source}: <max_step_size> is {given} s; expected whole µs, of which the control '
            f'period, {step * 1e-9:g} s, is a multiple'
        )
    _set(physics, 'max_step_size', own / NANOSECONDS)
    return own


def _add_systems(world: Element, systems: dict[str, str]) -> None:
    """Add what is missing; gz-sim brings its default systems only to a world without any."""
    present = {(p.get('name') or '').split('::')[-1] for p in world.findall('plugin')}
    for system, library in systems.items():
        if system not in present:
            add(world, 'plugin', filename=library, name=f'gz::sim::systems::{system}')


def _add_seat(
    world: Element, module: str, model: str, link: str, step: int, *, lockstep: bool
) -> Element:
    plugin = add(
        world,
        'plugin',
        filename='gz-sim-python-system-loader-system',
        name='gz::sim::systems::PythonSystemLoader',
    )
    add(plugin, 'module_name', module)
    add(plugin, 'model', model)
    add(plugin, 'link', link)
    add(plugin, 'probe', PROBE)
    add(plugin, 'period', str(step))
    add(plugin, 'lockstep', lockstep)
    return plugin


def _add_probe(vehicle: Element, link: str) -> None:
    """Add a sensor that senses nothing, at the link's origin.

    gz-physics reports a link's state only when it has moved by 1e-6 m or turned as much, so that a
    vehicle at its turning point has the velocity of the tick before; what hangs on a link, such
    as a sensor, is reported at every step.
    """
    for element in vehicle.findall('link'):
        if element.get('name') == link:
            probe = add(element, 'sensor', name=PROBE, type='custom')
            probe.set(f'{{{GZ}}}type', _SEATS[IN_SERVER])


def _add_pose_publisher(vehicle: Element, model: str, frequency: float) -> None:
    """Add the publisher of the pose; OdometryPublisher omits the first pose and smooths."""
    plugin = add(
        vehicle,
        'plugin',
        filename='gz-sim-pose-publisher-system',
        name='gz::sim::systems::PosePublisher',
    )
    add(plugin, 'topic', f'/model/{model}/pose')
    add(plugin, 'publish_link_pose', False)
    add(plugin, 'publish_nested_model_pose', True)
    add(plugin, 'publish_model_pose', True)
    if frequency:
        add(plugin, 'update_frequency', frequency)
