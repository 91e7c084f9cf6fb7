# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled engine: the core's own functions, traced by JAX, for one vehicle or thousands.

It needs the extra ``batch`` (JAX). Nothing outside this package imports JAX but
:mod:`marine_sim_ros.core.arrays`, for arrays that are JAX's already.
"""
