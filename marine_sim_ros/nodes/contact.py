# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact: forces of seabed, walls and obstacles on a vehicle that touches them.

Subscribes: odom; joint_states where the vehicle has an arm; drop_weights/state where it has drop
weights.
Moves the free bodies of the environment, and publishes the odometry of each, one per odom and with
its stamp: /bodies/<name>/odom, and /tf map -> bodies/<name>; where joints of it move or mate also
/bodies/<name>/joint_states, with NaN for a joint that is open or broken; of a body with a tether
also /bodies/<name>/tether/shape (Path in map), ten a second.
Publishes: wrench/contact, one per odom, same stamp; contact/markers (MarkerArray in base_link):
the vehicle's contact points near a surface, amber, and red where they press on it; nothing while
there are none.
Parameters: the common ones, and those below; surfaces and materials are the environment's.
Failure: an odom that is not finite is answered with a zero wrench and a warning. The first tick
after a start, and after time went back, has no contact. A restarted node puts the bodies where
they were last, which the state node keeps (/bodies/<name>/odom/kept), and waits for that. Bodies
stand still in ticks that the node missed, with a warning. Unknown
materials and parameters without effect are reported once at the start; a collision mesh that
cannot be used ends the node with one line. The contact points of an arm are those of its links and
of the gripped body; while joint_states is silent its last positions hold. Wrenches are for
exactly one step of the same length as the last: use lockstep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench
from marine_sim_ros.environment.changes import EnvironmentChange
from marine_sim_ros.model.body_joints import SOLE_VEHICLE, reported_joints
from marine_sim_ros.model.free_bodies import tethered_bodies
from marine_sim_ros.model.materials import shipped_materials, without_effect
from marine_sim_ros.physics.contact.contact import compile_mesh_contact, with_contact_positions
from marine_sim_ros.physics.contact.detection import contacts_within
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import makers, own_arguments, run
from marine_sim_ros.ros.base.publishers import BodyPublisher
from marine_sim_ros.ros.fleet import CHECK_PERIOD, SharedWorld
from marine_sim_ros.ros.force_node import CompiledTick, ForceTick, ModelNode
from marine_sim_ros.ros.holds import BodyHoldListener
from marine_sim_ros.ros.markers import contact_marker
from marine_sim_ros.ros.message_fields import path_message
from marine_sim_ros.sim.body_simulation import BodySimulation, compile_contact

__all__ = ['main']

_MARKER_DISTANCE = 0.02
"""m; contact points nearer to a surface are published as markers."""
_SHAPE_PERIOD = NANOSECONDS // 10
"""Time between two messages of the tether of a body, ns."""

PARAMETERS = (
    NodeParameter(
        'marker_rate',
        10.0,
        'contact/markers per second of simulated time',
        0.0,
        1e3,
        unit='Hz',
        empty='none',
    ),
    option_parameter('dt'),
    option_parameter('integrator'),
)


class ContactNode(ModelNode):
    """Node of the contact force, and of the environment's free bodies."""

    def __init__(self, *, world: SharedWorld | None = None, **options: Any) -> None:
        """Create it as ``contact``; warn of materials and parameters without effect.

        Args:
            world: world of the vehicles of a fleet that touch each other; None: the vehicle's own.
        """
        super().__init__('contact', PARAMETERS, **options)
        self._markers_stamp = self._shapes_stamp = -(10**18)
        self._markers = self.publisher(topics.CONTACT_MARKERS)
        self._shows_points = True
        self._bodies: dict[str, BodyPublisher] = {}
        self._shapes: dict[str, Any] = {}
        self._broken: set[str] = set()
        self._name = SOLE_VEHICLE if world is None else self.get_namespace()
        if world is None and self.environment.free_bodies:
            world = SharedWorld()
        self._shared = world
        has_points = len(self.vehicle.contact) > 0  # reads shapes now, not in the first touch
        self._owns_world = world is not None and world.join(self._name, self)
        if world is not None and self._owns_world:
            self._create_world(world)
        self._solid = self.environment.scene is not None and has_points
        if self.environment.scene is not None:
            if self._solid and self.graph is None and self.environment.scene.meshes:
                compile_mesh_contact(self.vehicle)
            self._report_materials(self.environment.scene.materials)

    def _create_world(self, shared: SharedWorld) -> None:
        """Create the world that this node owns; in a compiled graph each tick has it."""
        joints = reported_joints(self.environment.body_joints)
        for body in self.environment.free_bodies:
            joint_names = joints.get(body.name, ())
            self._bodies[body.name] = BodyPublisher(self, body.name, joint_names)
        self._shapes = {
            name: self.publisher(topics.body_tether_shape(name))
            for name in tethered_bodies(self.environment.free_bodies)
        }
        from marine_sim_ros.physics.contact.kernels.algebra import report_kernels  # Numba

        report_kernels(self.get_logger().warning)
        compile_contact()
        if self.graph is None:
            shared.world = BodySimulation(self.environment, self.values['dt'])
            self._hold = BodyHoldListener(self)
            self.create_timer(CHECK_PERIOD, shared.watch, clock=self.wall_clock)

    def refuse_changes(self, changes: tuple[EnvironmentChange, ...]) -> str:
        """Return the reason to refuse a change of the bodies, which this node moves."""
        known, world = self.environment.changes, getattr(self._shared, 'world', None)
        is_new = len(changes) > len(known) and changes[: len(known)] == known
        is_checked = self._owns_world and is_new and changes[-1].changes_bodies
        if not (is_checked and isinstance(world, BodySimulation)):
            return ''
        return world.refusal([c for c in changes if c.changes_bodies], self.environment)

    def _report_materials(self, surfaces: tuple[str, ...]) -> None:
        materials = self.environment.materials or shipped_materials()
        materials_of_vehicle = tuple(
            m for m in self.vehicle.contact.materials if isinstance(m, str)
        )
        for text in materials.warnings((*materials_of_vehicle, *surfaces)):
            self.get_logger().warning(text)
        for name, reason in without_effect(materials).items():
            self.get_logger().info(f'contact parameter {name} has no effect: {reason}')

    def wrench(self, stamp: int, state: State) -> Wrench | None:
        """Return the wrench of contact; None where a world answers for all of its vehicles."""
        if self._shared is None:
            return super().wrench(stamp, state)
        contact_body = ContactBody(
            self.inputs(stamp).body,
            state,
            self.values['integrator'],
            links=None if self.arm is None else self.arm.poses,
            closing=self.arm is not None and self.arm.closing,
        )
        self._shared.add(self._name, stamp, contact_body)
        return None

    def tick_world(
        self, world: BodySimulation, stamp: int, vehicles: Mapping[str, ContactBody]
    ) -> Mapping[str, Wrench]:
        """Move the bodies; return the wrenches (6,) on all vehicles, or none yet.

        A node that starts amid a run waits for the states of the bodies, and leaves out the ticks
        until then, which it may receive after them.
        """
        if self.finished:
            return {}
        if stamp and world.is_new:
            if (held := self._hold.held) is None or stamp <= held.stamp:
                return {}
            world.restore(held.stamp, held.states, held.joints)
        try:
            wrenches = world.tick(stamp, self.environment_at(stamp), vehicles)
        except RunError as error:
            self.get_logger().error(str(error))
            self.end(1)
            return {}
        if world.missed_time:
            self.warn_throttled(
                f'no odom for {world.missed_time:.3f} s before {stamp / NANOSECONDS:.3f} s: '
                'the bodies stood still'
            )
        self._publish_bodies(stamp, world)
        return wrenches

    def on_output(self, tick: CompiledTick) -> None:
        """Publish what a compiled graph computed, and its bodies."""
        if tick.bodies is None or self._shared is None:
            super().on_output(tick)
            return
        self.newest, self._shared.world = tick.stamp, tick.bodies
        self._publish_bodies(tick.stamp, tick.bodies)
        self.publish_contact(tick.stamp, tick.output.sources[self.source])

    def _publish_bodies(self, stamp: int, world: BodySimulation) -> None:
        for name, body_state in world.states.items():
            self._bodies[name].publish(stamp, body_state, world.joint_positions)
        if not 0 <= stamp - self._shapes_stamp < _SHAPE_PERIOD:
            self._shapes_stamp = stamp
            for name, cable in world.cables.items():
                self._shapes[name].publish(path_message(stamp, cable.position))
        self._report_broken(world)

    def publish_contact(self, stamp: int, wrench: Wrench) -> None:
        """Publish the wrench (6,) that the world computed, and markers of the vehicle's points."""
        self.publish_wrench(stamp, wrench)
        if self._shared is not None and self._markers_are_due(stamp):
            self._publish_markers(stamp, *self._shared.world.points_on(self._name))

    def _report_broken(self, world: BodySimulation) -> None:
        for name in sorted(world.broken_joints.keys() - self._broken):
            force, torque = world.broken_joints[name]
            load = f'broke: {force:.4g} N, {torque:.4g} N·m' if force or torque else 'is released'
            if np.isnan(force):
                load = 'was open when the node restarted'
            self.get_logger().warning(f'joint {name} {load}')
        self._broken = set(world.broken_joints)

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish markers of the points that are near a surface, or press on it."""
        if not self._solid or tick.after is None or not self._markers_are_due(tick.stamp):
            return
        body = with_contact_positions(self.inputs(tick.stamp).body, tick.after.places)
        touch, number = contacts_within(body, tick.state, self.environment, _MARKER_DISTANCE)
        has_impulse = np.any(np.asarray(tick.after.impulse), axis=1)
        pressed = np.isin(number, np.asarray(tick.after.pair)[has_impulse])
        self._publish_markers(tick.stamp, touch.point, pressed)

    def on_idle(self, stamp: int) -> None:
        """Remove the markers where everything is far."""
        if self._solid and self._markers_are_due(stamp):
            self._publish_markers(stamp, np.zeros((0, 3)), np.zeros(0, bool))

    def _markers_are_due(self, stamp: int) -> bool:
        """Whether markers are due, and somebody receives them; asked once in their period."""
        rate = self.values['marker_rate']
        if rate <= 0 or 0 <= stamp - self._markers_stamp < NANOSECONDS / rate:
            return False
        self._markers_stamp = stamp
        return bool(self._markers.has_receiver)

    def _publish_markers(self, stamp: int, points: np.ndarray, pressed: np.ndarray) -> None:
        before, self._shows_points = self._shows_points, len(points) > 0
        if not (before or self._shows_points):
            return
        self._markers.publish(contact_marker(self.body_frame, stamp, points, pressed))


def main() -> None:
    """Run ``contact``, or for a fleet ``contact NAME JSON...``."""
    run(*makers(ContactNode, own_arguments(), world=SharedWorld))


if __name__ == '__main__':
    main()
