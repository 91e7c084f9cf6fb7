# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled search for the contacts of all pairs of bodies, and of bodies with simple scenes.

The contacts are those of physics/contact/detection.py: points and spheres of the first body with
the surfaces of the second, edges and spheres of the second with the convex bodies of the first. A
scene of planes, boxes, cylinders and spheres is the last of the bodies, and never the first of a
pair.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels import IS_POINT, NUMBER, SHAPE, SURFACE
from marine_sim_ros.physics.contact.kernels.algebra import (
    dot,
    inner_kernel,
    kernel,
    lever,
    set_rotation,
    turn,
    turn_back,
)
from marine_sim_ros.physics.contact.kernels.edges import deepest_point
from marine_sim_ros.physics.contact.kernels.separation import keep_contacts, separate_contacts
from marine_sim_ros.physics.contact.kernels.surfaces import clearance, surface_distance

__all__ = ['choose_contacts', 'choose_nearest', 'find_contacts', 'match_impulses', 'pair_contacts']


# Contacts of one pair.


@inner_kernel
def _add_points(solids, points, pose, one, other, within, near, labels, values, count):
    """Write the contacts of a body's points with the near surfaces of another; return how many.

    Args:
        solids: :class:`~marine_sim_ros.physics.contact.solid_tables.SolidTables`.
        points: (m, 3) of all bodies, each in its frame.
        pose: (4, 3) R of the one in the frame of the other, and its place.
        one: number of a body.
        other: number of another, or of the scene.
        within: m.
        near: (k,) whether a surface of the other is near.
        labels: (c, 4) integers of contacts.
        values: (c, 7) gap, normal and point of contacts, in the frame of the one.
        count: contacts so far.
    """
    place, local, normal = np.empty(3), np.empty(3), np.empty(3)
    turned, scratch = np.empty(3), np.empty(4)
    first, surface = solids.point_first[one], solids.surface_first[other]
    each = solids.point_first[one + 1] - first
    for k in range(solids.surface_first[other + 1] - surface):
        if not near[k]:
            continue
        rotation = solids.surface_rotation[surface + k]
        for i in range(each):
            point, radius = points[first + i], solids.point_radius[first + i]
            turn(pose[:3], point, place)
            for j in range(3):
                place[j] += pose[3, j] - solids.surface_position[surface + k, j]
            turn_back(rotation, place, local)
            gap = -radius + surface_distance(
                solids.surface_kind[surface + k],
                solids.surface_half[surface + k],
                local,
                normal,
                scratch,
            )
            if not gap < within:
                continue
            turn(rotation, normal, turned)
            turn_back(pose[:3], turned, values[count, 1:4])
            values[count, 0] = gap
            for j in range(3):
                values[count, 4 + j] = point[j] - radius * values[count, 1 + j]
            labels[count, NUMBER], labels[count, SURFACE] = k * each + i, k
            labels[count, SHAPE], labels[count, IS_POINT] = solids.point_shape[first + i], 1
            count += 1
    return count


@inner_kernel
def _face_lines(solids, solid, start, along, lines):
    """Write c and d (2, h) of an edge and a convex body; return h and the least distance."""
    first, end = solids.face_first[solid], solids.face_first[solid + 1]
    bound = -np.inf
    for h in range(end - first):
        normal = solids.face_normal[first + h]
        lines[0, h] = dot(normal, start) - solids.face_offset[first + h]
        lines[1, h] = dot(normal, along)
        bound = max(bound, lines[0, h] + min(lines[1, h], 0.0))
    return end - first, bound


@inner_kernel
def _add_edges(solids, pose, one, other, within, near, search, labels, values, count):
    """Write the contacts of another's edges in a body, as :func:`_add_points` does."""
    start, along, found, offset = np.empty(3), np.empty(3), np.empty(7), np.empty(3)
    lines = np.empty((2, len(solids.face_offset)))
    first, bodies = solids.solid_first[one], solids.solid_first[one + 1]
    edge, ends = solids.edge_first[other], 2 * (bodies - first)
    number = (solids.point_first[one + 1] - solids.point_first[one]) * (
        solids.surface_first[other + 1] - solids.surface_first[other]
    )
    for e in range(solids.edge_first[other + 1] - edge):
        if not near[solids.edge_surface[edge + e]]:
            continue
        for i in range(3):
            offset[i] = solids.edge_start[edge + e, i] - pose[3, i]
        turn_back(pose[:3], offset, start)
        turn_back(pose[:3], solids.edge_along[edge + e], along)
        for n in range(bodies - first):
            faces, bound = _face_lines(solids, first + n, start, along, lines)
            if not bound < within:
                continue
            normals = solids.face_normal[solids.face_first[first + n] :]
            deepest_point(
                lines[0, :faces], lines[1, :faces], normals, search[0], search[1], search[2], found
            )
            length = np.sqrt(dot(found[2:5], found[2:5]))
            for end in range(2):
                t = found[5 + end]
                gap = (found[0] + t * found[1]) / length
                if not gap < within:
                    continue
                values[count, 0] = gap
                for i in range(3):
                    outward = found[2 + i] / length
                    values[count, 1 + i] = -outward
                    values[count, 4 + i] = start[i] + t * along[i] - gap * outward
                labels[count, NUMBER] = number + ends * e + 2 * n + end
                labels[count, SURFACE] = solids.edge_surface[edge + e]
                labels[count, SHAPE] = solids.solid_shape[first + n]
                labels[count, IS_POINT] = 0
                count += 1
    return count


@inner_kernel
def _sphere_gap(solids, solid, center, radius, normal, weight):
    """Return the gap of a sphere and a convex body, and write its direction out of the body."""
    first = solids.face_first[solid]
    faces = solids.face_first[solid + 1] - first
    largest, nearest = -np.inf, 0
    for h in range(faces):
        weight[h] = dot(solids.face_normal[first + h], center) - solids.face_offset[first + h]
        if weight[h] > largest:
            largest, nearest = weight[h], h
    normal[0], normal[1], normal[2] = 0.0, 0.0, 0.0
    total = 0.0
    for h in range(faces):
        share = max(weight[h], 0.0) if largest > 0.0 else (1.0 if h == nearest else 0.0)
        for i in range(3):
            normal[i] += share * solids.face_normal[first + h, i]
    length = np.sqrt(dot(normal, normal))
    for i in range(3):
        normal[i] /= length
    deepest = -np.inf
    for h in range(faces):
        share = max(weight[h], 0.0) if largest > 0.0 else (1.0 if h == nearest else 0.0)
        depth = weight[h] - radius * dot(solids.face_normal[first + h], normal)
        deepest = max(deepest, depth)
        total += share / length * depth
    return max(deepest, total) if deepest > 0.0 else total


@inner_kernel
def _add_balls(solids, pose, one, other, within, near, labels, values, count):
    """Write the contacts of another's spheres with a body, as :func:`_add_points` does."""
    offset, center, normal = np.empty(3), np.empty(3), np.empty(3)
    weight = np.empty(len(solids.face_offset))
    first, bodies = solids.solid_first[one], solids.solid_first[one + 1]
    ball, count_before = solids.ball_first[other], solids.point_first[one + 1]
    number = (count_before - solids.point_first[one]) * (
        solids.surface_first[other + 1] - solids.surface_first[other]
    ) + 2 * (bodies - first) * (solids.edge_first[other + 1] - solids.edge_first[other])
    for b in range(solids.ball_first[other + 1] - ball):
        surface = solids.ball_surface[ball + b]
        if not near[surface]:
            continue
        radius = solids.surface_half[solids.surface_first[other] + surface, 0]
        for i in range(3):
            offset[i] = (
                solids.surface_position[solids.surface_first[other] + surface, i] - pose[3, i]
            )
        turn_back(pose[:3], offset, center)
        for n in range(bodies - first):
            gap = _sphere_gap(solids, first + n, center, radius, normal, weight)
            if not gap < within:
                continue
            values[count, 0] = gap
            for i in range(3):
                values[count, 1 + i] = -normal[i]
                values[count, 4 + i] = center[i] - (radius + gap) * normal[i]
            labels[count, NUMBER] = number + b * (bodies - first) + n
            labels[count, SURFACE], labels[count, IS_POINT] = surface, 0
            labels[count, SHAPE] = solids.solid_shape[first + n]
            count += 1
    return count


# Contacts of all pairs.


@inner_kernel
def _relative_pose(poses, rotations, one, other, pose):
    """Write R of a body in the frame of another, and its place (4, 3)."""
    offset = np.empty(3)
    for i in range(3):
        offset[i] = poses[one, i] - poses[other, i]
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += rotations[other, k, i] * rotations[one, k, j]
            pose[i, j] = total
    turn_back(rotations[other], offset, pose[3])


@inner_kernel
def _relative_velocity(velocities, pose, one, other, result):
    """Write the velocity (6,) of a body in the frame of another, in its own axes."""
    moving, turned = np.empty(3), np.empty(3)
    linear, angular, place = velocities[other, :3], velocities[other, 3:], pose[3]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        moving[i] = linear[i] + angular[j] * place[k] - angular[k] * place[j]
    turn_back(pose[:3], moving, turned)
    for i in range(3):
        result[i] = velocities[one, i] - turned[i]
    turn_back(pose[:3], angular, turned)
    for i in range(3):
        result[3 + i] = velocities[one, 3 + i] - turned[i]


@kernel
def choose_nearest(labels, values, velocity, dt, size, had_contact, separation):
    """Return how many contacts may press in a step; the nearest ones are moved to the front.

    Args:
        labels: (c, 4) or (c, 1) integers of contacts.
        values: (c, 7) of contacts.
        velocity: (6,) of the first body relative to the second.
        dt: step, s.
        size: largest number.
        had_contact: whether they pressed in the step before; then none is left out.
        separation: predicted gap beyond which a pair stays apart, m.
    """
    predicted, row, nearest = np.empty(len(values), np.float32), np.empty(6), np.inf
    for c in range(len(values)):
        lever(values[c, 1:4], values[c, 4:7], row)
        gap = values[c, 0]
        speed = 0.0
        for i in range(6):
            speed += row[i] * velocity[i]
        gap += dt * speed
        nearest, predicted[c] = min(nearest, gap), gap
    if nearest > separation and not had_contact:
        return 0
    if len(values) <= size:
        return len(values)
    chosen = np.zeros(len(values), np.bool_)
    for _ in range(size):
        best = -1
        for c in range(len(values)):
            if not chosen[c] and (best < 0 or predicted[c] < predicted[best]):
                best = c
        chosen[best] = True
    return keep_contacts(chosen, labels, values)


@inner_kernel
def _mark_near(solids, place, other, distance, near):
    """Mark the surfaces of a body that are within a distance of a place; return whether any is."""
    first, found = solids.surface_first[other], False
    for k in range(solids.surface_first[other + 1] - first):
        near[k] = (
            clearance(
                solids.surface_kind[first + k],
                solids.surface_position[first + k],
                solids.surface_rotation[first + k],
                solids.surface_bounds[first + k],
                place,
            )
            <= distance
        )
        found |= near[k]
    return found


@inner_kernel
def _most_contacts(solids, one, other):
    """Return the number of pairs of points, edges and spheres of two bodies."""
    points = solids.point_first[one + 1] - solids.point_first[one]
    bodies = solids.solid_first[one + 1] - solids.solid_first[one]
    surfaces = solids.surface_first[other + 1] - solids.surface_first[other]
    edges = solids.edge_first[other + 1] - solids.edge_first[other]
    balls = solids.ball_first[other + 1] - solids.ball_first[other]
    return surfaces * points + bodies * (2 * edges + balls)


@inner_kernel
def _near_pairs(solids, poses, reach, excluded):
    """Return the pairs (p, 2) of bodies that may touch: first those with the scene."""
    bodies = len(poses) - 1
    pairs, count = np.empty((bodies * (bodies + 1) // 2, 2), np.int64), 0
    if solids.surface_first[bodies + 1] > solids.surface_first[bodies]:
        for one in range(bodies):
            pairs[count, 0], pairs[count, 1] = one, bodies
            count += 1
    for one in range(bodies):
        for other in range(one + 1, bodies):
            square = 0.0
            for i in range(3):
                square += (poses[one, i] - poses[other, i]) ** 2
            distance = solids.reach[one] + reach[one] + solids.reach[other] + reach[other]
            if square <= distance * distance and not excluded[one, other]:
                pairs[count, 0], pairs[count, 1] = one, other
                count += 1
    return pairs[:count]


@kernel
def pair_contacts(solids, points, pose, one, other, within, near, search, labels, values):
    """Write the contacts of two bodies; return how many.

    Args:
        solids: of :func:`find_contacts`, like the other arguments.
        pose: (4, 3) R of the one in the frame of the other, and its place.
        one: number of the first body.
        other: number of the second, or of the scene.
        within: gap of the farthest contacts, m.
        near: (k,) whether a surface of the other is near.
        labels: (c, 4) integers of the contacts.
        values: (c, 7) gap, normal and point, in the frame of the first.
    """
    count = _add_points(solids, points, pose, one, other, within, near, labels, values, 0)
    count = _add_edges(solids, pose, one, other, within, near, search, labels, values, count)
    count = _add_balls(solids, pose, one, other, within, near, labels, values, count)
    return count


@kernel
def choose_contacts(
    solids, points, pose, one, other, velocities, had_contact, separation, dt, labels, values
):
    """Return how many contacts of two bodies may press in a step; they are moved to the front.

    Args:
        solids: of :func:`find_contacts`, like the other arguments.
        pose: (4, 3) R of the one in the frame of the other, and its place.
        one: number of the first body.
        other: number of the second, or of the scene.
        had_contact: whether they pressed in the step before.
        labels: (c, 4) integers of the contacts.
        values: (c, 7) gap, normal and point, in the frame of the first.
    """
    count, velocity = (
        separate_contacts(solids, points, pose, one, other, labels, values),
        np.empty(6),
    )
    _relative_velocity(velocities, pose, one, other, velocity)
    return choose_nearest(
        labels[:count], values[:count], velocity, dt, solids.limit[one], had_contact, separation
    )


@inner_kernel
def _copy(count, pair, labels, values, numbers, pairs, all_values):
    """Write the contacts of a pair as the last of all."""
    first = len(all_values) - count
    for c in range(count):
        numbers[first + c], pairs[first + c] = labels[c, NUMBER], pair
        for i in range(7):
            all_values[first + c, i] = values[c, i]


@inner_kernel
def _reach(radius, velocity, reaching, dt):
    """Return the gap in m beyond which nothing touches a body, as ``step_reach``."""
    speed, rate = (
        np.sqrt(dot(velocity[:3], velocity[:3])),
        np.sqrt(dot(velocity[3:], velocity[3:])),
    )
    return reaching[0] + reaching[1] * dt * (speed + radius * rate + dt * reaching[2])


@kernel
def find_contacts(
    solids, points, poses, velocities, excluded, touched, search, reaching, separation, dt
):
    """Return the contacts of all pairs.

    Returns:
        Pairs (p, 2), ends of their contacts (p,), −1 of a pair that is not searched here, and
        relative poses (p, 4, 3); numbers (c,) and pairs (c,) of the contacts, and their gaps,
        normals and points (c, 7); and the gaps (b,) beyond which nothing touches a body, m.

    Args:
        solids: :class:`~marine_sim_ros.physics.contact.solid_tables.SolidTables` of b bodies, the
            scene being the last.
        points: (m, 3) of all bodies, each in its frame.
        poses: (b, 7) position and quaternion.
        velocities: (b, 6).
        excluded: (b, b) pairs that do not touch.
        touched: (b, b) pairs that pressed in the step before.
        search: cuts, m and length of :func:`~.edges.find_deepest_points`.
        reaching: m, and m/s, besides those of :func:`~..detection.step_reach`.
        separation: of :func:`choose_nearest`, m.
        dt: step, s.
    """
    rotations, reach = np.empty((len(poses), 3, 3)), np.zeros(len(poses))
    for b in range(len(poses) - 1):
        reach[b] = _reach(solids.reach[b], velocities[b], reaching, dt)
    for b in range(len(poses)):
        set_rotation(poses[b, 3:], rotations[b])
    pairs = _near_pairs(solids, poses, reach, excluded)
    kept, ends, relative = (
        np.empty((len(pairs), 2), np.int64),
        np.empty(len(pairs), np.int64),
        np.empty((len(pairs), 4, 3)),
    )
    size, most = 0, 0
    for p in range(len(pairs)):
        size += solids.limit[pairs[p, 0]]
        most = max(most, _most_contacts(solids, pairs[p, 0], pairs[p, 1]))
    numbers, owners = np.empty(size, np.int64), np.empty(size, np.int64)
    all_values = np.empty((size, 7))
    labels, values = np.empty((most, 4), np.int64), np.empty((most, 7))
    near, found, total = np.empty(len(solids.surface_kind), np.bool_), 0, 0
    for p in range(len(pairs)):
        one, other = pairs[p, 0], pairs[p, 1]
        pose = relative[found]
        _relative_pose(poses, rotations, one, other, pose)
        within = reach[one] + reach[other]
        if not _mark_near(solids, pose[3], other, solids.reach[one] + within, near):
            continue
        count = -1
        if solids.is_simple[other]:
            count = pair_contacts(
                solids, points, pose, one, other, within, near, search, labels, values
            )
            count = choose_contacts(
                solids, points, pose, one, other, velocities, touched[one, other], separation, dt,
                labels[:count], values[:count],
            )  # fmt: skip
        if count:
            kept[found], total = pairs[p], total + max(count, 0)
            ends[found] = total if count > 0 else -1
            _copy(
                max(count, 0), found, labels, values,
                numbers[:total], owners[:total], all_values[:total],
            )  # fmt: skip
            found += 1
    return (
        kept[:found], ends[:found], relative[:found], numbers[:total], owners[:total],
        all_values[:total], reach,
    )  # fmt: skip


# Contacts of a group.


@kernel
def match_impulses(numbers, ends, old_numbers, old_ends, old_impulses):
    """Return the impulses (c, 3) of contacts in the step before; 0: there was none.

    Args:
        numbers: (c,) of the contacts of all pairs.
        ends: (p,) ends of the contacts of the pairs.
        old_numbers: (d,) of the step before.
        old_ends: (p,) ends of the contacts of the same pairs then.
        old_impulses: (d, 3) N·s.
    """
    result, first, old_first = np.zeros((len(numbers), 3)), 0, 0
    for p in range(len(ends)):
        for c in range(first, ends[p]):
            for d in range(old_first, old_ends[p]):
                if numbers[c] == old_numbers[d]:
                    for i in range(3):
                        result[c, i] = old_impulses[d, i]
        first, old_first = ends[p], old_ends[p]
    return result
