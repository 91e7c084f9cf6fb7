# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""tmp"""


def add_arguments(p):
    pass


def execute(o):
    return 0
