# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads SDF models for tests, knowing the format's rules and nothing of the writer."""

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

ORDER = 'xyzpqr'


def values(element):
    return np.array([float(word) for word in element.text.split()])


def number(parent, tag, default=None):
    element = parent.find(tag)
    return default if element is None else float(element.text)


def own_pose(element):
    """Return the 4 x 4 matrix of an element's <pose>, in whatever frame that is given in."""
    result = np.eye(4)
    pose = element.find('pose')
    if pose is None or not (pose.text or '').strip():
        return result
    numbers = values(pose)
    result[:3, 3] = numbers[:3]
    if pose.get('rotation_format', 'euler_rpy') == 'quat_xyzw':
        result[:3, :3] = Rotation.from_quat(numbers[3:]).as_matrix()
    else:
        result[:3, :3] = Rotation.from_euler('xyz', numbers[3:]).as_matrix()
    return result


def spatial_inertia(inertial):
    """Return the 6 x 6 mass matrix about the link's origin in its axes, and the added mass."""
    mass = number(inertial, 'mass')
    pose = own_pose(inertial)
    tensor = np.zeros((3, 3))
    for i, a in enumerate('xyz'):
        for j, b in enumerate('xyz'):
            tensor[i, j] = number(inertial, 'inertia/i' + ''.join(sorted(a + b)))
    turn, c = pose[:3, :3], pose[:3, 3]
    cross = np.cross(np.eye(3), c)  # rows e_i x c: this is S(c), with S(c) v = c x v
    rigid = np.block(
        [
            [mass * np.eye(3), -mass * cross],
            [mass * cross, turn @ tensor @ turn.T - mass * cross @ cross],
        ]
    )
    added = np.zeros((6, 6))
    fluid = inertial.find('fluid_added_mass')
    if fluid is not None:
        for i, a in enumerate(ORDER):
            for j, b in enumerate(ORDER[i:], i):
                added[i, j] = added[j, i] = number(fluid, a + b, 0.0)
    return rigid, added


def moved(matrix, pose):
    """Return a mass matrix (6 x 6) of one frame about another, where the first has a pose."""
    turn, place = pose[:3, :3], pose[:3, 3]
    arm = np.zeros((6, 6))
    arm[:3, :3] = arm[3:, 3:] = turn.T
    arm[:3, 3:] = -turn.T @ np.cross(np.eye(3), place)
    return arm.T @ matrix @ arm


class SdfReader:
    """One model of an SDF text."""

    def __init__(self, text):
        self.root = etree.fromstring(text.encode())
        self.model = self.root.find('model')
        self.links = {e.get('name'): e for e in self.model.findall('link')}
        self.joints = {e.get('name'): e for e in self.model.findall('joint')}
        self.frames = {e.get('name'): e for e in self.model.findall('frame')}
        names = [e.get('name') for e in self.model]
        assert len(names) == len(set(names))

    def pose(self, name, position=None):
        """Return the pose in the model's frame of a link, joint or frame, joints moved."""
        if name in self.links:
            element, default = self.links[name], '__model__'
        elif name in self.joints:
            element, default = self.joints[name], self.joints[name].findtext('child')
        else:
            element, default = self.frames[name], self.frames[name].get('attached_to')
        pose = element.find('pose')
        base = default if pose is None else pose.get('relative_to', default)
        start = np.eye(4) if base == '__model__' else self.pose(base, position)
        result = start @ own_pose(element)
        return result @ self._motion(base, position) if name in self.links else result

    def _motion(self, joint, position):
        """Return how a joint's position moves what is posed relative to it."""
        result = np.eye(4)
        if joint in self.joints and position:
            axis = values(self.joints[joint].find('axis/xyz'))
            if self.joints[joint].get('type') == 'revolute':
                result[:3, :3] = Rotation.from_rotvec(position[joint] * axis).as_matrix()
            else:
                result[:3, 3] = position[joint] * axis
        return result

    def mass_matrix(self, position=None):
        """Return the mass matrix of all links as one body about the model's frame."""
        total = np.zeros((6, 6))
        for name, link in self.links.items():
            rigid, added = spatial_inertia(link.find('inertial'))
            total = total + moved(rigid + added, self.pose(name, position))
        return total

    def shapes(self, tag):
        """Yield the owner, its pose in the model's frame, and kind and sizes of each shape."""
        for name, link in self.links.items():
            for element in link.findall(tag):
                shape = element.find('geometry')[0]
                sizes = {e.tag: e.text if e.tag == 'uri' else values(e) for e in shape}
                yield name, self.pose(name) @ own_pose(element), shape.tag, sizes
