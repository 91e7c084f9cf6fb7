# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A program that joins the ROS graph and leaves it; without the keys of SROS2 it says why not."""

from __future__ import annotations

import sys

import rclpy
from rclpy.exceptions import NotInitializedException
from rclpy.node import Node

from marine_sim_ros.ros.base.internals import log_words

__all__ = ['main']


def main() -> None:
    """Make a participant; its error, in one line, on standard output, and exit code 1."""
    try:
        rclpy.init(args=log_words())
        Node('_security', enable_rosout=False, start_parameter_services=False).destroy_node()
    except (RuntimeError, NotInitializedException) as error:  # RCLError is a RuntimeError
        sys.stdout.write(' '.join(str(error).split()) + '\n')
        sys.exit(1)


if __name__ == '__main__':
    main()
