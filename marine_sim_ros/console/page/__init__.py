# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console's pages and their server; needs the extra ``console``."""

from __future__ import annotations

import os

# Else nicegui reads settings of the working folder, which may be of somebody else.
os.environ.setdefault('NICEGUI_STORAGE_PATH', os.devnull)
os.environ.setdefault('MATPLOTLIB', 'false')  # which nicegui imports otherwise
