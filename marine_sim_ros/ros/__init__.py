# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shared parts of all nodes: topics, message conversion, parameters, the wrench barrier."""

from __future__ import annotations

import os

# Else Fast DDS reads profiles of the working folder, which may be of somebody else.
for _name in ('SKIP_DEFAULT_XML_FILE', 'SKIP_DEFAULT_XML'):
    os.environ.setdefault(_name, '1')
