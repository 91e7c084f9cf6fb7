# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of the reference filter's errors, and prints what the page says of them.

``.venv/bin/python docs/scripts/make_localization.py``
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / 'docs' / 'pictures' / 'localization.png'
sys.path.insert(0, str(ROOT / 'test'))


def main() -> None:
    """Run the filters of all seeds, and draw."""
    import test_localization as filters

    nees, velocity, depth, errors, covariance = filters.estimate()
    time = np.arange(len(nees)) * 0.2
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout='constrained')
    above.plot(time, errors[:, :, 6], color='tab:blue', alpha=0.25, linewidth=0.7)
    spread = 2 * np.sqrt(np.mean(covariance[:, :, 6, 6], axis=1))
    above.plot(time, spread, 'k--', label='twice the expected deviation')
    above.plot(time, -spread, 'k--')
    above.set(ylabel='error to the east, m', title=f'{filters.SEEDS} seeds')
    above.legend(loc='upper left')
    below.plot(time, np.mean(nees, axis=1), color='tab:blue')
    for bound in filters.bounds(9):
        below.axhline(bound, color='k', linestyle='--')
    below.set(xlabel='time, s', ylabel='mean NEES (9 states)', ylim=(0, 14), xlim=(0, time[-1]))
    figure.savefig(PICTURE, dpi=110)
    for name, squared, freedom in (('NEES', nees, 9), ('DVL', velocity, 3), ('depth', depth, 1)):
        low, high = filters.bounds(freedom)
        print(f'{name}: {np.nanmean(squared):.2f}, {low:.2f} to {high:.2f}')


if __name__ == '__main__':
    main()
