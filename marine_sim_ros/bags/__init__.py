# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writers of rosbag2 recordings and their manifests."""
