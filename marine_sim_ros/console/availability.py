# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether what the pages need is installed."""

from __future__ import annotations

import importlib.util

from marine_sim_ros.core.extras import missing

__all__ = ['require_pages']


def require_pages() -> None:
    """Raise MissingPackageError where NiceGUI is missing, which brings the web server along."""
    if importlib.util.find_spec('nicegui') is None:  # importing it takes seconds
        raise missing('nicegui', 'console')
