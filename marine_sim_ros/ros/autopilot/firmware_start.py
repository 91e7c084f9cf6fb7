# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Starts an autopilot's firmware for a node, or says how somebody starts it."""

from __future__ import annotations

from marine_sim_ros.autopilot.channels import ChannelMap, frame_fault
from marine_sim_ros.autopilot.firmware import (
    Firmware,
    FirmwareSettings,
    command_by_hand,
    find_firmware,
)
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter, shared

__all__ = ['PARAMETERS', 'start_firmware']

PARAMETERS = (
    shared('ardusub'),
    shared('autopilot_instance'),
    shared('autopilot_address'),
    shared('ground_station'),
    shared('navigation'),
    Parameter(
        'companion',
        '127.0.0.1:14551',
        'UDP address to which the firmware that is started '
        'here sends MAVLink for a companion program',
    ),
    Parameter(
        'frame_rate',
        400.0,
        "autopilot's frames per second; at least one for every tick",
        1.0,
        1e4,
        unit='Hz',
    ),
    Parameter(
        'start_timeout',
        50.0,
        'wall time that the first tick waits for an autopilot',
        0.0,
        59.0,
        unit='s',
    ),
    Parameter('imu_noise', True, 'the IMU that the autopilot reads has its noise'),
)
"""Parameters of a node that starts a firmware."""


def start_firmware(
    node: SuiteNode, channels: ChannelMap, port: int, navigator: str
) -> Firmware | None:
    """Start the firmware of a node's parameters; None: somebody else is to start it.

    Args:
        node: a node with ``PARAMETERS``.
        channels: frame and channels of the node's vehicle.
        port: UDP port of the simulator.
        navigator: UDP address of the companion, or empty.

    Raises:
        ParameterError: no such firmware, or no parameters for the frame.
        ModelError: the thrusters push otherwise than the motors of the firmware that is started.
    """
    values, origin = node.values, node.environment.origin
    settings = FirmwareSettings(
        channels.frame,
        '127.0.0.1',
        port,
        values['autopilot_instance'],
        (origin.latitude, origin.longitude),
        values['ground_station'],
        values['companion'],
        values['frame_rate'],
        values['navigation'],
        navigator,
    )
    program = find_firmware(values['ardusub'])
    fault = frame_fault(node.vehicle, channels)
    if program is not None:
        if fault:
            raise ModelError(fault)
        firmware = Firmware(program, settings)
        node.get_logger().info(f'started {program}; its output is in {firmware.log}')
        return firmware
    if fault:
        node.get_logger().warning(fault)
    node.get_logger().info(f'waiting for ArduSub on UDP {values["autopilot_address"]}:{port}')
    node.get_logger().info(f'start it with: {command_by_hand(settings)}')
    return None
