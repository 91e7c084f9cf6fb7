# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of the page that draw themselves in the browser."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.element import Element

__all__ = ['Part']

# What draws here imports three.js, ECharts and nipplejs from the modules that these bring along.
_BROUGHT = (ui.scene, ui.echart, ui.joystick)


class Part(Element, component='part.js', esm={'marine-sim-console': 'lib'}):
    """An element that the script of the page fills.

    Kinds are ``view`` (three dimensions), ``gauges`` with the parts ``dials``, ``propellers`` and
    ``forces``, ``curves``, ``sensors``, ``hands``, and ``wire``, which is not seen.
    """

    def __init__(self, kind: str, part: str = '', *, page: str = '', replay: bool = False) -> None:
        """Add one; ``page`` starts the wire of that page."""
        super().__init__()
        self._props['kind'] = kind
        self._props['part'] = part
        self._props['page'] = page
        self._props['replay'] = replay

    def call(self, name: str, *values: Any) -> None:
        """Call a method of what draws."""
        self.run_method('call', name, *values)
