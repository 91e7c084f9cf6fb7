# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of a run in Gazebo: world with vehicle and systems, and ros_gz_bridge's configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.files import expand_home, read_text_file, resource_folder
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import NANOSECONDS, State, step_nanoseconds
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.delivery import COMPILED, IN_SERVER, STOCK, check_gazebo_bodies
from marine_sim_ros.model import xml
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.library import vehicle_of, vehicle_path
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sdf.world import add_bodies, sdf_world
from marine_sim_ros.sdf.xml_writer import GZ, add_element, add_pose, to_text
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import (
    environment_from_options,
    initial_pose_parameters,
    namespace_of,
)
from marine_sim_ros.sim.scenario import load_scenario

__all__ = [
    'GazeboWorld',
    'PROBE',
    'SYSTEM_FOLDER',
    'absolute_uris',
    'bridge_command',
    'bridge_parameters',
    'bridge_text',
    'control_service',
    'add_vehicle_to_world',
    'start_state',
    'write_run',
]


# Command line and configuration of ros_gz_bridge, from config/gazebo/<delivery>.yaml.


def bridge_text(
    delivery: str, *, namespace: str, model: str, world: str, bodies: Iterable[str] = ()
) -> str:
    """Return the YAML text that ros_gz_bridge is to read.

    Args:
        delivery: ``in_server`` or ``stock``.
        namespace: namespace of the vehicle's topics in ROS, such as ``/bluerov2``.
        model: name of the vehicle in Gazebo.
        bodies: names of the free bodies that Gazebo moves.

    Raises:
        ParameterError: the file cannot be read.
    """
    folder = resource_folder('config') / 'gazebo'
    parts = [(delivery, model), *(('body', body) for body in bodies)]
    text = ''
    for name, entity in parts:
        path = folder / f'{name}.yaml'
        try:
            template = Template(path.read_text(encoding='utf-8'))
        except OSError as error:
            raise ParameterError(f'{path}: cannot be read: {error.strerror}') from None
        text += template.substitute(namespace=namespace, model=entity, world=world)
    return text


def control_service(world: str) -> str:
    """Return the argument with which ros_gz_bridge offers a world's control service.

    Its configuration file knows topics only.
    """
    return f'/world/{world}/control@ros_gz_interfaces/srv/ControlWorld'


def bridge_command(program: Path, world: str, file: Path) -> list[str]:
    """Return the command line that bridges what a file names, and a world's control service."""
    return [str(program), control_service(world), '--ros-args', '-p', f'config_file:={file}']


# World and vehicle of a run: step, systems, and the lockstep system.

SYSTEM_FOLDER = Path(__file__).resolve().parent / 'system'
"""Entry of GZ_SIM_SYSTEM_PLUGIN_PATH by which the server finds the lockstep system."""
_LOCKSTEP_SYSTEMS = {IN_SERVER: 'marine_sim_lockstep', COMPILED: 'marine_sim_compiled'}
PROBE = 'marine_sim_probe'
"""Name of the sensor at the link's origin by which the lockstep system reads the state."""
_REQUIRED_SYSTEMS = {
    'Physics': 'gz-sim-physics-system',
    'UserCommands': 'gz-sim-user-commands-system',
    'SceneBroadcaster': 'gz-sim-scene-broadcaster-system',
}
_WRENCH_SYSTEM = {'ApplyLinkWrench': 'gz-sim-apply-link-wrench-system'}
_MIN_STEP = 1000
"""ns; gz-sim's Python bindings tell time in whole µs."""


@dataclass(frozen=True)
class GazeboWorld:
    """World files and settings of a run for ``gz sim``.

    Attributes:
        text: text of the SDF file.
        name: name of the world.
        model: name of the vehicle in it.
        link: name of its link that takes the wrench.
        physics_step: ns.
        bodies: names of the free bodies in it.
        warnings: changes made to the world.
    """

    text: str
    name: str
    model: str
    link: str
    physics_step: int
    bodies: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def absolute_uris(text: str, path: Path) -> str:
    """Return the text of an SDF file in which names of files beside it are absolute."""
    root = xml.parse(text, str(path))
    for element in root.iter('uri'):
        name = (element.text or '').strip()
        if name and '://' not in name and (path.parent / name).exists():
            element.text = (path.parent / name).resolve().as_uri()
    return to_text(root)


def add_vehicle_to_world(
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
    environment: Environment | None = None,
) -> GazeboWorld:
    """Return a world with a vehicle and free bodies in it, ready for a run.

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
        environment: environment whose free bodies Gazebo moves; None: there are none.

    Raises:
        ModelError: no <world>, a vehicle of that name in it already, or a physics step that does
            not fit the control period.
    """
    root = xml.parse(world, source)
    worlds = root.findall('world')
    if root.tag != 'sdf' or len(worlds) != 1:
        raise ModelError(f'{source}: {len(worlds)} <world> in <{root.tag}>; expected one in <sdf>')
    vehicle = xml.parse(model, 'the vehicle').find('model')
    assert vehicle is not None
    name, label = worlds[0].get('name', 'default'), vehicle.get('name', '')
    present = [model.get('name') for model in worlds[0].findall('model')]
    bodies, warnings = dict[str, Element](), list[str]()
    if environment is not None:
        bodies, warnings = add_bodies(worlds[0], environment, buoyancy=False)
    for added in (*bodies, label):
        if added in present:
            raise ModelError(
                f'{source}: has a model {added!r} already; expected a world without it'
            )
        present.append(added)
    _set_gravity(worlds[0], gravity, source, warnings)
    physics = _physics(worlds[0])
    physics_step = _physics_step(
        physics, step, source, delivery if lockstep else IN_SERVER, warnings
    )
    _set_text(physics, 'real_time_factor', 0 if lockstep else real_time_factor)
    _add_systems(worlds[0], {**_REQUIRED_SYSTEMS, **(_WRENCH_SYSTEM if delivery == STOCK else {})})
    for element in vehicle.findall('pose'):
        vehicle.remove(element)
    add_pose(vehicle, pose)
    link = _link_name(vehicle)
    if delivery in _LOCKSTEP_SYSTEMS:
        seat = _add_lockstep_system(
            worlds[0], _LOCKSTEP_SYSTEMS[delivery], label, link, step, lockstep=lockstep
        )
        for model_element in (vehicle, *bodies.values()):
            _add_probe(model_element)
        if bodies:
            links = (f'{name}::{_link_name(element)}' for name, element in bodies.items())
            add_element(seat, 'bodies', ' '.join(links))
        if run is not None:
            add_element(seat, 'run', str(run))
            add_element(seat, 'physics_step', str(physics_step))
    else:
        _add_pose_publisher(vehicle, label, 0.0 if lockstep else NANOSECONDS / step)
    worlds[0].append(vehicle)
    return GazeboWorld(
        to_text(root), name, label, link, physics_step, tuple(bodies), tuple(warnings)
    )


def _set_text(parent: Element, tag: str, value: float) -> None:
    for old in parent.findall(tag):
        parent.remove(old)
    add_element(parent, tag, value)


def _set_gravity(world: Element, gravity: float, source: str, warnings: list[str]) -> None:
    """Let both halves of the simulation have one gravity; else a neutral vehicle would drift."""
    element = world.find('gravity')
    expected = [0.0, 0.0, -gravity]
    if element is not None:
        if np.allclose(Reader(element, source).numbers({3}), expected, atol=1e-9):
            return
        text = ' '.join((element.text or '').split())
        warnings.append(
            f'<gravity> is {text} in the world and {gravity:g} m/s² in the '
            'environment; the latter holds'
        )
        world.remove(element)
    add_element(world, 'gravity', expected)


def _physics(world: Element) -> Element:
    physics = world.find('physics')
    if physics is None:
        physics = add_element(world, 'physics', name='lockstep', type='dart')
    if world.find(f'{{{GZ}}}policies') is None:
        policies = add_element(world, f'{{{GZ}}}policies')
        add_element(policies, 'parallel_postupdates', False)
    return physics


def _physics_step(
    physics: Element, step: int, source: str, delivery: str, warnings: list[str]
) -> int:
    """Return the physics step in ns; it stays the world's where the period is a multiple of it."""
    element = physics.find('max_step_size')
    seconds = step / NANOSECONDS if element is None else Reader(element, source).number()
    physics_step = round(seconds * NANOSECONDS)
    if delivery == STOCK and physics_step != step:
        warnings.append(
            f'<max_step_size> is {physics_step * 1e-9:g} s; a wrench that acts for one step needs '
            f'{step * 1e-9:g} s, the control period'
        )
        physics_step = step
    if physics_step <= 0 or step % physics_step or physics_step % _MIN_STEP:
        raise ModelError(
            f'{source}: <max_step_size> is {seconds:g} s; expected whole µs, of which the control '
            f'period, {step * 1e-9:g} s, is a multiple'
        )
    _set_text(physics, 'max_step_size', physics_step / NANOSECONDS)
    return physics_step


def _add_systems(world: Element, systems: dict[str, str]) -> None:
    """Add what is missing; gz-sim brings its default systems only to a world without any."""
    present = {(p.get('name') or '').split('::')[-1] for p in world.findall('plugin')}
    for system, library in systems.items():
        if system not in present:
            add_element(world, 'plugin', filename=library, name=f'gz::sim::systems::{system}')


def _add_lockstep_system(
    world: Element, module: str, model: str, link: str, step: int, *, lockstep: bool
) -> Element:
    plugin = add_element(
        world,
        'plugin',
        filename='gz-sim-python-system-loader-system',
        name='gz::sim::systems::PythonSystemLoader',
    )
    add_element(plugin, 'module_name', module)
    add_element(plugin, 'model', model)
    add_element(plugin, 'link', link)
    add_element(plugin, 'probe', PROBE)
    add_element(plugin, 'period', str(step))
    add_element(plugin, 'lockstep', lockstep)
    return plugin


def _link_name(model: Element) -> str:
    """Return the name of the link of a model that takes wrenches."""
    return model.get('canonical_link', 'base_link')


def _add_probe(model: Element) -> None:
    """Add a sensor that senses nothing, at the origin of the link that takes wrenches.

    gz-physics reports a link's state only when it has moved by 1e-6 m or turned as much, so that a
    vehicle at its turning point has the velocity of the tick before; what hangs on a link, such
    as a sensor, is reported at every step.
    """
    for element in model.findall('link'):
        if element.get('name') == _link_name(model):
            probe = add_element(element, 'sensor', name=PROBE, type='custom')
            probe.set(f'{{{GZ}}}type', _LOCKSTEP_SYSTEMS[IN_SERVER])


def _add_pose_publisher(vehicle: Element, model: str, frequency: float) -> None:
    """Add the publisher of the pose; OdometryPublisher omits the first pose and smooths."""
    plugin = add_element(
        vehicle,
        'plugin',
        filename='gz-sim-pose-publisher-system',
        name='gz::sim::systems::PosePublisher',
    )
    add_element(plugin, 'topic', f'/model/{model}/pose')
    add_element(plugin, 'publish_link_pose', False)
    add_element(plugin, 'publish_nested_model_pose', True)
    add_element(plugin, 'publish_model_pose', True)
    if frequency:
        add_element(plugin, 'update_frequency', frequency)


# Files of a run in Gazebo: world with vehicle, and configuration of ros_gz_bridge.

DEFAULT_START = {'initial_position': [0.0, 0.0, -0.5], 'initial_rpy': [0.0, 0.0, 0.0]}
"""Default initial pose of a vehicle in gazebo_bridge."""


def start_state(options: RunOptions) -> State:
    """Return the state in which the vehicle of a run begins, at rest."""
    scenario = None
    if options.scenario:
        scenario = load_scenario(options.scenario).located(environment_from_options(options))
    start = {**DEFAULT_START, **initial_pose_parameters(options, scenario)}
    orientation = quaternion_from_rpy(*start['initial_rpy'])
    return State(np.array(start['initial_position'], float), orientation, np.zeros(6))


def _world_text(
    options: RunOptions, environment: Environment, file: str, folder: Path
) -> tuple[str, str]:
    """Return the text of the world and where it is from; meshes go to a folder."""
    if file:
        path = expand_home(file)
        return absolute_uris(read_text_file(path, ParameterError), path), str(path)
    world = sdf_world('marine_sim', environment, step=options.dt, bodies=False)
    for name, text in world.meshes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    return world.text, options.environment or 'still water'


def write_run(options: RunOptions, folder: Path, *, world: str, delivery: str) -> GazeboWorld:
    """Write world.sdf, its meshes and ros_gz_bridge.yaml into a folder.

    Args:
        folder: existing folder.
        world: SDF file to put the vehicle into; empty: one made from the environment.
        delivery: ``in_server``, ``stock`` or ``compiled``.

    Raises:
        MarineSimError: a world or a vehicle that cannot be used.
    """
    vehicle, environment = vehicle_of(options.named_vehicle()), environment_from_options(options)
    check_gazebo_bodies(vehicle, environment, delivery)
    path = vehicle_path(options.vehicle)
    model = sdf_model(vehicle, source=str(path), base=path.parent, meshes='copy', fixed=True)
    model.meshes.copy_to(folder)
    text, source = _world_text(options, environment, world, folder)
    start = start_state(options)
    run = folder / 'run.json' if delivery == COMPILED else None
    if run is not None:
        run.write_text(options.to_json(), encoding='utf-8')
    made = add_vehicle_to_world(
        text,
        model.text,
        source=source,
        delivery=delivery,
        lockstep=options.lockstep,
        pose=Pose(start.position, start.orientation),
        step=step_nanoseconds(options.dt),
        gravity=environment.gravity,
        real_time_factor=options.real_time_factor,
        run=run,
        environment=environment,
    )
    (folder / 'world.sdf').write_text(made.text, encoding='utf-8')
    namespace = namespace_of(options, vehicle.name)
    bridge = bridge_text(
        delivery, namespace=namespace, model=made.model, world=made.name, bodies=made.bodies
    )
    (folder / 'ros_gz_bridge.yaml').write_text(bridge, encoding='utf-8')
    return made


def bridge_parameters(world: GazeboWorld, dt: float, *, delivery: str) -> dict[str, Any]:
    """Return the parameters of gazebo_bridge for a world of :func:`write_run` and a period, s."""
    return {
        'delivery': delivery,
        'world': world.name,
        'link': f'{world.model}::{world.link}',
        'impulse_ratio': step_nanoseconds(dt) / world.physics_step,
    }
