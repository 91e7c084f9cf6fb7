# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which words of a command line ROS reads: NAME:=VALUE elsewhere renames nothing."""

import sys

import pytest

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('own', 'ros'),
    [
        (['run', 'bluerov2', '--set', 'arm:=true'], []),
        (['odom:=1', 'pause:=true'], ['--ros-args', '-r', '__ns:=/a', '-p', 'arm:=true']),
        ([], ['--ros-args', '-r', 'odom:=state']),
        ([], []),
    ],
)
def test_ros_reads_its_own_words_alone(own, ros, monkeypatch):
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from marine_sim_ros.ros.base.process import own_arguments, ros_arguments

    monkeypatch.setattr(sys, 'argv', ['marine_sim', *own, *ros])
    assert (own_arguments(), ros_arguments()) == (own, ros)
    context = rclpy.Context()
    rclpy.init(
        args=ros_arguments(), context=context, signal_handler_options=SignalHandlerOptions.NO
    )
    try:
        node = rclpy.create_node('words', context=context)
        space = node.get_namespace().rstrip('/')
        assert node.resolve_topic_name('arm') == f'{space}/arm'
        assert node.resolve_service_name('pause') == f'{space}/pause'
        renamed = 'odom:=state' in ros
        assert node.resolve_topic_name('odom') == f'{space}/{"state" if renamed else "odom"}'
        node.destroy_node()
    finally:
        context.try_shutdown()
