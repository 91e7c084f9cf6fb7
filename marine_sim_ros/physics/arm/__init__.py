# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms: kinematic, or a chain of bodies that is solved with the vehicle; grippers and payloads."""
