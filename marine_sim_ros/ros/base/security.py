# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that join the ROS graph and leave it, with an error where keys of SROS2 are missing."""

from __future__ import annotations

import sys

import rclpy
from rclpy.exceptions import NotInitializedException
from rclpy.node import Node

from marine_sim_ros.ros.base.internals import log_arguments

__all__ = ['main']


def main() -> None:
    """Make a participant; its error, in one line, on standard output, and exit code 1."""
    try:
        rclpy.init(args=log_arguments())
        Node('_security', enable_rosout=False, start_parameter_services=False).destroy_node()
    except (RuntimeError, NotInitializedException) as error:  # RCLError is a RuntimeError
        sys.stdout.write(' '.join(str(error).split()) + '\n')
        sys.exit(1)


if __name__ == '__main__':
    main()
