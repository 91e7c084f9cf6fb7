# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated instruments that speak the wire protocol of the real ones, one protocol per file.

``PROTOCOLS`` of :mod:`marine_sim_ros.core.registry` lists them.
"""
