# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of runs, as PNG files 1200 pixels wide; Matplotlib is imported when one is made."""

from __future__ import annotations

from marine_sim_ros.analysis.figures.balance import Balance, balance_figure
from marine_sim_ros.analysis.figures.efforts import efforts_figure
from marine_sim_ros.analysis.figures.fit import fit_figure
from marine_sim_ros.analysis.figures.helix import helix_figure
from marine_sim_ros.analysis.figures.plan import plan_figure
from marine_sim_ros.analysis.figures.tracking import pose_figure, speed_figure

__all__ = [
    'Balance',
    'balance_figure',
    'efforts_figure',
    'fit_figure',
    'helix_figure',
    'plan_figure',
    'pose_figure',
    'speed_figure',
]
