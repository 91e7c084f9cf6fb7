# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact: forces of seabed, walls and obstacles on a vehicle that touches them.

Subscribes: odom; joint_states where the vehicle has an arm; drop_weights/state where it has drop
weights.
Moves the free bodies of the environment, and publishes the odometry of each, one per odom and with
its stamp: /bodies/<name>/odom, and /tf map -> bodies/<name>; where joints of it move or mate also
/bodies/<name>/joint_states, with NaN for a joint that is open or broken.
Publishes: wrench/contact, one per odom, same stamp; contact/markers (MarkerArray in base_link):
the vehicle's contact points near a surface, amber, and red where they press on it.
Parameters: the common ones, and those below; surfaces and materials are the environment's.
Failure: an odom that is not finite is answered with a zero wrench and a warning. The first tick
after a start, and after time went back, has no contact. A restarted node puts the bodies where
they were last, which the state node keeps (/bodies/<name>/odom/kept), and waits for that. Unknown
materials and parameters without effect are reported once at the start; a collision mesh that
cannot be used ends the node with one line. The contact points of an arm are those of its links and
of the gripped payload; while joint_states is silent its last positions hold. Wrenches are for
exactly one step of the same length as the last: use lockstep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.model.jaws import SOLE_VEHICLE
from marine_sim_ros.model.materials import shipped_materials, without_effect
from marine_sim_ros.physics.contact.contact import with_contact_positions
from marine_sim_ros.physics.contact.detection import contacts_within
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import BodyPublisher
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.holds import BodyHoldListener
from marine_sim_ros.ros.markers import contact_marker
from marine_sim_ros.sim.body_simulation import BodySimulation

__all__ = ['main']

_MARKER_DISTANCE = 0.02
"""m; contact points nearer to a surface are published as markers."""

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

    def __init__(self, **options: Any) -> None:
        """Create it as ``contact``; warn of materials and parameters without effect."""
        super().__init__('contact', PARAMETERS, **options)
        self._markers_stamp = -(10**18)
        self._markers = self.publisher(topics.CONTACT_MARKERS)
        self._bodies: dict[str, BodyPublisher] = {}
        self._world: BodySimulation | None = None
        self._broken: set[str] = set()
        if self.environment.free_bodies:
            self._world = BodySimulation(self.environment, self.values['dt'])
            self._hold = BodyHoldListener(self)
            joints = reported_joints(self.environment.body_joints)
            for body in self.environment.free_bodies:
                joint_names = joints.get(body.name, ())
                self._bodies[body.name] = BodyPublisher(self, body.name, joint_names)
        self._solid = self.environment.scene is not None and len(self.vehicle.contact) > 0
        if self.environment.scene is not None:
            self._report_materials(self.environment.scene.materials)

    def _report_materials(self, surfaces: tuple[str, ...]) -> None:
        materials = self.environment.materials or shipped_materials()
        materials_of_vehicle = tuple(
            m for m in self.vehicle.contact.materials if isinstance(m, str)
        )
        for text in materials.warnings((*materials_of_vehicle, *surfaces)):
            self.get_logger().warning(text)
        for name, reason in without_effect(materials).items():
            self.get_logger().info(f'contact parameter {name} has no effect: {reason}')

    def on_state(self, stamp: int, state: State) -> None:
        """Answer a state; a node that starts amid a run waits for the states of the bodies."""
        if self._world is not None and stamp and self._world.is_new:
            if (held := self._hold.held) is None:
                return
            self._world.restore(held.stamp, held.states, held.joints)
        super().on_state(stamp, state)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the wrench of contact; where bodies are free they move too."""
        if self._world is None:
            return super().wrench(stamp, state)
        body, environment = self.inputs(stamp).body, self.environment_at(stamp)
        try:
            links = None if self.arm is None else self.arm.poses
            closing = self.arm is not None and self.arm.closing
            integrator = self.values['integrator']
            contact_body = ContactBody(body, state, integrator, links=links, closing=closing)
            wrench = self._world.tick(stamp, environment, {SOLE_VEHICLE: contact_body})[
                SOLE_VEHICLE
            ]
        except RunError as error:
            self.get_logger().error(str(error))
            self.end(1)
            return np.zeros(6)
        for name, body_state in self._world.states.items():
            self._bodies[name].publish(stamp, body_state, self._world.joint_positions)
        self._report_broken(self._world)
        if self._markers_are_due(stamp):
            self._publish_markers(stamp, *self._world.points_on(SOLE_VEHICLE))
        return wrench

    def _report_broken(self, world: BodySimulation) -> None:
        for name in sorted(world.broken_joints.keys() - self._broken):
            force, torque = world.broken_joints[name]
            self.get_logger().warning(f'joint {name} broke: {force:.4g} N, {torque:.4g} N·m')
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

    def _markers_are_due(self, stamp: int) -> bool:
        """Whether markers are due."""
        rate = self.values['marker_rate']
        return rate > 0 and not 0 <= stamp - self._markers_stamp < NANOSECONDS / rate

    def _publish_markers(self, stamp: int, points: np.ndarray, pressed: np.ndarray) -> None:
        self._markers_stamp = stamp
        self._markers.publish(contact_marker(self.body_frame, stamp, points, pressed))


def main() -> None:
    """Run the executable."""
    run(ContactNode)


if __name__ == '__main__':
    main()
