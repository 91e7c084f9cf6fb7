# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points from the text of a description, found when something is there to touch."""

from __future__ import annotations

from pathlib import Path

from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.contact.contact import ContactPoints

__all__ = ['described_points']


def described_points(
    text: str, source: str, base: Path | None, body: str, arm: Manipulator | None = None
) -> ContactPoints:
    """Return what touches: all collisions, those of an arm where its joints are at 0.

    It takes the text alone, so that a vehicle is plain data that another process can have.

    Args:
        text: the URDF, with ``body`` as its root.
        source: source of the text, for messages.
        base: folder that relative mesh names start from.
        body: name of the body's link.
        arm: the arm that the text describes, if there is one.

    Raises:
        ModelError: a mesh or a tag that cannot be read.
    """
    # A process with a vehicle that touches nothing needs no reader of descriptions.
    from marine_sim_ros.model.contact.points import contact_points, with_link_points
    from marine_sim_ros.model.contact.tags import read_contact_tags
    from marine_sim_ros.model.kinematics import fixed_frames
    from marine_sim_ros.model.urdf import read_shapes, standard_urdf
    from marine_sim_ros.model.xml import Reader, parse

    root = parse(text, source)
    robot, reader = standard_urdf(root, source), Reader(root, source)
    shapes = read_shapes(robot, reader, fixed_frames(robot, source, body), base)
    points = contact_points(shapes, read_contact_tags(reader).collisions)
    return points if arm is None else with_link_points(points, arm, [s.link for s in shapes])
