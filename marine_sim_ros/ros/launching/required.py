# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""What a launch does when a process ends that it cannot go on without."""

from __future__ import annotations

import signal
from typing import Any

from launch.actions import Shutdown
from launch.events.process import ProcessExited

from launch import LaunchContext
from marine_sim_ros.core.parent_process import THROUGH

__all__ = ['required', 'required_to_live']

_CLEAN = (*THROUGH, -signal.SIGINT, 128 + signal.SIGINT)
"""Exit codes of a process that came to its end, or was interrupted together with the launch."""


def required(event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch with a process, for its ``on_exit``.

    Raises:
        RuntimeError: the process failed; ``ros2 launch`` then ends all others and returns 1.
    """
    if context.is_shutdown:
        return []
    if event.returncode in _CLEAN:
        return [Shutdown(reason=f'{event.process_name} has ended')]
    raise RuntimeError(
        f'{event.process_name} has died with exit code {event.returncode}; the launch ends'
    )


def required_to_live(event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch with a process that fails, for its ``on_exit``; one at its end may leave.

    Raises:
        RuntimeError: the process failed; ``ros2 launch`` then ends all others and returns 1.
    """
    return [] if event.returncode in _CLEAN else required(event, context)
