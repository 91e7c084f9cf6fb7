# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""XML of SDF files: documents, elements, poses and numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from lxml import etree

from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.xml import Element

__all__ = ['GZ', 'add_element', 'add_pose', 'format_numbers', 'new_document', 'to_text']


SDF_VERSION = '1.10'
"""The first that knows <fluid_added_mass>; Gazebo Garden and later read it."""
GZ = 'http://gazebosim.org/schema'
"""Namespace of elements that only gz-sim knows; it looks at their prefix alone, which is gz."""
_DECIMALS = 12
"""Of lengths and quaternions; rounding errors of rotations, about 1e-17, are not written."""


def format_numbers(values: Iterable[float] | float) -> str:
    """Return numbers as the shortest text that reads back to the same doubles."""
    numbers = np.atleast_1d(np.asarray(values, float)) + 0.0  # no minus before a zero
    return ' '.join(repr(float(v)).removesuffix('.0') for v in numbers)


def add_element(
    parent: Element,
    tag: str,
    value: Iterable[float] | float | str | None = None,
    **attributes: str,
) -> Element:
    """Add an element with a text, a boolean or numbers, and return it."""
    element = etree.SubElement(parent, tag, attributes)
    if isinstance(value, str):
        element.text = value
    elif isinstance(value, bool):
        element.text = 'true' if value else 'false'
    elif value is not None:
        element.text = format_numbers(value)
    return element


def add_pose(parent: Element, pose: Pose, relative_to: str = '') -> None:
    """Add a <pose>, unless it is the identity; rotated ones as quaternions."""
    translation = np.round(pose.translation, _DECIMALS)
    quaternion = np.round(pose.quaternion, _DECIMALS)
    attributes = {'relative_to': relative_to} if relative_to else {}
    if np.any(quaternion[:3]):
        add_element(
            parent, 'pose', [*translation, *quaternion], **attributes, rotation_format='quat_xyzw'
        )
    elif np.any(translation) or relative_to:
        add_element(parent, 'pose', [*translation, 0, 0, 0], **attributes)


def new_document(comment: str) -> Element:
    """Return a new <sdf> with a comment in it."""
    root = etree.Element('sdf', version=SDF_VERSION, nsmap={'gz': GZ})
    root.append(etree.Comment(f' {comment} '))
    return root


def to_text(root: Element) -> str:
    """Return an indented document."""
    etree.indent(root)
    return (
        "<?xml version='1.0' encoding='utf-8'?>\n"
        + etree.tostring(root, encoding='unicode')
        + '\n'
    )
