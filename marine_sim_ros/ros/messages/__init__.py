# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is sent: topics, their messages, and numbers in place of messages."""
