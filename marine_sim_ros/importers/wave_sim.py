# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hydrodynamics of asv_wave_sim: forces on the panels of the collisions, as our hulls have them.

Source: asv_wave_sim, gz-waves/src/Physics.cc: pressure and suction −(C_1 s + C_2 s²) S cosᶠθ with
s = |v|/v_r, friction by Reynolds number, and damping −(A_wet/A) (c_1 + c_2 |v|) v.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.importers.description import Hydrodynamics, PanelDrag, Sourced
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of
from marine_sim_ros.model.xml import Reader

__all__ = ['read_waves']

_PRESSURE, _EXPONENT = 100.0, 0.4
"""Pa and 1, defaults of <cPDrag1>, <cPDrag2>, <cSDrag1>, <cSDrag2>; of <fPDrag> and <fSDrag>."""
_DAMPING = 1e-6
"""N·s/m and others, default of <cDampL1>, <cDampL2>, <cDampR1> and <cDampR2>."""


def read_waves(plugin: Plugin, draft: Draft) -> None:
    """Let the collisions float by their volume and drag by their panels, with its coefficients."""
    draft.notes['float_by_collisions'] = True
    reader = plugin.reader.first('hydrodynamics') or plugin.reader
    forces = {'viscous': ('viscous',), 'pressure': ('pressure', 'suction')}
    draft.panel_drag = PanelDrag(
        number(reader, 'vRDrag', 1.0, 1e-6, 1e6).value,
        _coefficients(reader, 'P'),
        _coefficients(reader, 'S'),
        tuple(
            f for tag, found in forces.items() if _is_on(reader, f'{tag}_drag_on') for f in found
        ),
        origin_of(reader),
    )
    if _is_on(reader, 'damping_on'):
        _read_damping(reader, draft)
    draft.assume(
        f'{origin_of(plugin.reader)} {plugin.label}: its collisions float by their volume and '
        'drag by their panels, with its coefficients'
    )


def _coefficients(reader: Reader, letter: str) -> tuple[float, float, float]:
    """Return linear and quadratic coefficient in Pa and the exponent of pressure or suction."""
    linear, quadratic = (
        number(reader, f'c{letter}Drag{n}', _PRESSURE, 0.0, 1e9).value for n in (1, 2)
    )
    return linear, quadratic, number(reader, f'f{letter}Drag', _EXPONENT, 1e-3, 1e3).value


def _is_on(reader: Reader, tag: str) -> bool:
    return text_of(reader, tag, '1') not in ('0', 'false')


def _read_damping(reader: Reader, draft: Draft) -> None:
    """Take damping that is more than the simulator's default, which damps nothing."""
    terms = np.zeros((2, 6))
    for letter, axes in (('L', slice(0, 3)), ('R', slice(3, 6))):
        for n in (1, 2):
            terms[n - 1, axes] = number(reader, f'cDamp{letter}{n}', _DAMPING, 0.0, 1e9).value
    if np.all(terms <= _DAMPING):
        return
    origin = origin_of(reader)
    draft.assume(f'{origin}: its damping acts in full, in the source by the share under water')
    draft.hydrodynamics = Hydrodynamics(
        draft.water_density or Sourced(1000.0, 'no density in the source', True),
        Sourced(np.zeros((6, 6)), origin),
        Sourced(np.diag(terms[0]), origin),
        Sourced(np.diag(terms[1]), origin),
    )
