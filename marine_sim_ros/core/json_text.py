# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""JSON of numbers that may not be finite: null stands for these, as JSON has no others."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ['json_text']


def json_text(content: Any, **settings: Any) -> str:
    """Return the JSON of some content; the settings are those of ``json.dumps``."""
    try:
        return json.dumps(content, allow_nan=False, **settings)
    except ValueError:  # rare, and to look at each number takes longer than to write it
        return json.dumps(_finite(content), allow_nan=False, **settings)


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content
