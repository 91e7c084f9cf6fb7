# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that are filled and read field by field, as other senders and readers do."""

import numpy as np


def set_odometry(message, state):
    """Write a state into an Odometry."""
    position, orientation = message.pose.pose.position, message.pose.pose.orientation
    position.x, position.y, position.z = state.position.tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = state.orientation.tolist()
    v, w = message.twist.twist.linear, message.twist.twist.angular
    v.x, v.y, v.z, w.x, w.y, w.z = state.velocity.tolist()


def set_wrench(message, wrench):
    """Write six numbers into a WrenchStamped."""
    f, t = message.wrench.force, message.wrench.torque
    f.x, f.y, f.z, t.x, t.y, t.z = wrench.tolist()


def set_acceleration(message, acceleration):
    """Write six numbers into an AccelStamped."""
    a, w = message.accel.linear, message.accel.angular
    a.x, a.y, a.z, w.x, w.y, w.z = acceleration.tolist()


def acceleration_from(message):
    """Return the six numbers of an AccelStamped."""
    a, w = message.accel.linear, message.accel.angular
    return np.array([a.x, a.y, a.z, w.x, w.y, w.z])
