# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds a node by what it offers, whatever it is called."""

from __future__ import annotations

from rclpy.node import Node

__all__ = ['service_owner']


def service_owner(node: Node, service: str) -> str | None:
    """Return the full name of a node that offers a service (relative to a namespace), or None."""
    wanted = node.resolve_service_name(service)
    for name, namespace in node.get_node_names_and_namespaces():
        offered = node.get_service_names_and_types_by_node(name, namespace)
        if any(found == wanted for found, _ in offered):
            return f'{namespace.rstrip("/")}/{name}'
    return None
