# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Internals of rclpy that the nodes use for speed, each looked for before it is used.

Distributions differ in them. Where one is missing, the public interface does the same more slowly,
or the feature that needs it is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ['activate_ros_time', 'clock_subscription', 'leave_clock', 'peer_counter']


def clock_subscription(node: Any) -> Any:
    """Return the subscription of a node to /clock, or None where there is none or it is hidden."""
    return getattr(getattr(node, '_time_source', None), '_clock_sub', None)


def leave_clock(node: Any) -> bool:
    """End the subscription of a node to /clock; return whether that can be done."""
    detach = getattr(getattr(node, '_time_source', None), 'detach_node', None)
    if detach is not None:
        detach()
    return detach is not None


def activate_ros_time(clock: Any) -> None:
    """Let a clock show the time that it is set to."""
    activate = getattr(clock, '_set_ros_time_is_active', None)
    if activate is not None:
        activate(True)
        return
    with clock.handle:
        clock.handle.set_ros_time_override_is_enabled(True)


def peer_counter(endpoint: Any, name: str) -> Callable[[], int]:
    """Return what counts the peers of a publisher or subscription.

    Args:
        endpoint: publisher or subscription.
        name: get_subscription_count or get_publisher_count; that of the handle takes a fifth of
            the time of its wrapper.
    """
    counter: Callable[[], int] = getattr(getattr(endpoint, 'handle', None), name, None) or getattr(
        endpoint, name
    )
    return counter
