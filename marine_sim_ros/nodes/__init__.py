# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One executable per file. Each docstring is the node's contract."""

import sys

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.ros_needed import check_packages, require_ros

if sys.argv[:1] == ['-m']:  # python -m marine_sim_ros.nodes.drag, before Python looks for drag
    try:
        require_ros('a node')
        check_packages()
    except ParameterError as error:
        sys.stderr.write(f'ERROR: {error}\n')
        sys.exit(2)
