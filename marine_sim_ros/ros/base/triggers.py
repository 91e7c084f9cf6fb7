# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calls of Trigger services whose refusals are told, for operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from std_srvs.srv import Trigger

from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['ask_trigger']


def ask_trigger(
    node: SuiteNode,
    name: str,
    client: Any,
    *,
    absent: str,
    done: Callable[[], object] | None = None,
) -> None:
    """Call a service; warn with the reason where it is not there, and where it refuses.

    Args:
        node: warns.
        name: of the service.
        client: of the service.
        absent: what is told where nobody serves it.
        done: function that is called after it has succeeded.
    """
    if not client.service_is_ready():
        node.warn_throttled(f'{name}: {absent}')
        return
    client.call_async(Trigger.Request()).add_done_callback(partial(_told, node, name, done))


def _told(node: SuiteNode, name: str, done: Callable[[], object] | None, future: Any) -> None:
    answer = future.result()
    if answer is not None and not answer.success:
        node.warn_throttled(f'{name}: refused: {answer.message}')
    elif answer is not None and done is not None:
        done()
