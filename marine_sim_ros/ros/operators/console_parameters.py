# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the console node."""

from __future__ import annotations

from marine_sim_ros.console.control_lease import LEASE_TIMEOUT, OPERATOR_TIMEOUT
from marine_sim_ros.control.pilot import OUTPUTS
from marine_sim_ros.ros.base.parameters import SOURCES, Parameter, shared
from marine_sim_ros.ros.operators.command_publisher import STICKS

__all__ = ['PARAMETERS']

PARAMETERS = (
    Parameter('host', '127.0.0.1', 'address to listen on'),
    shared('console_port', name='port'),
    Parameter(
        'token_file',
        '',
        'file with the token of the link that steers, 32 letters or more, for its owner alone',
        empty='a new token at each start',
    ),
    Parameter('rate', 20.0, 'page updates per second of wall time', 1.0, 60.0, unit='Hz'),
    Parameter('output', 'pwm', 'output of the sticks at the start', choices=OUTPUTS),
    Parameter(
        'operator_timeout',
        OPERATOR_TIMEOUT,
        "silence of the operator's page, wall time, until the thrusters are neutral",
        0.1,
        60.0,
        unit='s',
    ),
    Parameter(
        'lease_timeout',
        LEASE_TIMEOUT,
        'silence, wall time, until the page loses control; `operator_timeout` at least',
        0.1,
        600.0,
        unit='s',
    ),
    Parameter('gain', 0.5, 'share of full stick at the start', 0.0, 1.0),
    Parameter(
        'on_loss',
        'disarm',
        'reaction of the controller to a lost operator',
        choices=('disarm', 'hold'),
    ),
    Parameter(
        'recorder',
        '',
        'parameters of the recorder that the operator may start, JSON',
        empty='none may be started',
    ),
    Parameter(
        'recorded', '', 'folder that the run is recorded to', empty='it is not, or by the operator'
    ),
    Parameter('folder', 'out', "folder of the operator's recordings"),
    *STICKS,
    SOURCES,
)
