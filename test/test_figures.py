# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures are made for any run, without a display, and show what they are told to."""

import math
import struct
import subprocess
import sys

import numpy as np
import pytest

from marine_sim_ros.analysis.path_figures import helix_figure, plan_figure, trail_samples
from marine_sim_ros.analysis.paths import fit_circle, fit_steady_turn
from marine_sim_ros.analysis.run_figures import (
    Balance,
    balance_figure,
    efforts_figure,
    pose_figure,
    speed_figure,
)
from marine_sim_ros.core.errors import RecordingError

pytestmark = pytest.mark.versions
T = np.arange(0, 30.001, 0.02)
N = len(T)
ANGLE = 0.3 * T
POSITION = np.stack([2 * np.cos(ANGLE), 2 * np.sin(ANGLE), -5 - 0.05 * T], axis=1)
RPY = np.stack([0 * T, 0 * T, ANGLE + math.pi / 2], axis=1)
VELOCITY = np.stack([-0.6 * np.sin(ANGLE), 0.6 * np.cos(ANGLE), np.full(N, -0.05)], axis=1)
FREE = np.full((N, 12), np.nan)
HELD = np.concatenate([POSITION * 0.9, np.zeros((N, 9))], axis=1)
STEP = np.where(T[:, None] < 10, np.zeros(12), np.ones(12))
LEVEL = Balance(
    'bare', (-0.035, -0.003, -0.089), (-0.023, -0.007, 0.02), -0.038, -0.114, (1, 1, 1)
)


def drawn(path):
    """Return width, height and the share of pixels that are not white of a PNG file."""
    from matplotlib.image import imread

    content = path.read_bytes()
    assert content[:8] == b'\x89PNG\r\n\x1a\n'
    width, height = struct.unpack('>II', content[16:24])
    return width, height, float(np.mean(np.any(imread(path)[..., :3] < 0.95, axis=-1)))


PICTURES = {
    'pose': lambda p: pose_figure(p, T, POSITION, RPY, HELD, title='t'),
    'pose, step': lambda p: pose_figure(p, T, POSITION, RPY, STEP, title='t', window=10.0),
    'pose, free': lambda p: pose_figure(p, T, POSITION, RPY, FREE, title='t'),
    'speed': lambda p: speed_figure(p, T, np.tile(VELOCITY, 2), HELD, title='t'),
    'plan': lambda p: plan_figure(p, T, POSITION, RPY, HELD, title='t', size=(1, 0.5, 0.5)),
    'plan, step': lambda p: plan_figure(p, T, POSITION, RPY, STEP, title='t', until=12.0),
    'plan, circle': lambda p: plan_figure(
        p, T, POSITION, RPY, title='t', circle=fit_circle(POSITION[:, :2])
    ),
    'plan, still': lambda p: plan_figure(p, T, 0 * POSITION, RPY, FREE, title='t'),
    'plan, long': lambda p: plan_figure(p, T, POSITION * [300, 1, 1], RPY, title='t'),
    'helix': lambda p: helix_figure(
        p, T, POSITION, fit_steady_turn(T, POSITION, VELOCITY, RPY[:, 2]), title='t'
    ),
    'helix, still': lambda p: helix_figure(p, T, 0 * POSITION, title='t'),
    'efforts': lambda p: efforts_figure(
        p, T, RPY, 1500 + 100 * RPY, title='t', names=('a', 'b', 'c')
    ),
    'efforts, unknown': lambda p: efforts_figure(p, T, RPY * np.nan, 1500 + RPY, title='t'),
    'efforts, none': lambda p: efforts_figure(p, T, np.zeros((N, 0)), np.zeros((N, 0)), title='t'),
    'balance': lambda p: balance_figure(p, [LEVEL], title='t'),
    'balance, two': lambda p: balance_figure(p, [LEVEL, LEVEL], title='t'),
}


@pytest.mark.parametrize('name', PICTURES)
def test_pictures(name, tmp_path):
    path = tmp_path / 'picture.png'
    PICTURES[name](path)
    width, height, ink = drawn(path)
    assert width == 1200
    assert 300 <= height <= 1750
    assert 0.001 < ink < 0.6


def test_a_picture_that_cannot_be_written_gives_one_line(tmp_path):
    with pytest.raises(RecordingError, match='cannot be written'):
        balance_figure(tmp_path / 'none' / 'a.png', [LEVEL], title='t')


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    code = (
        'import sys; import marine_sim_ros.analysis.path_figures as f, numpy as np\n'
        "assert not any(m.startswith('matplotlib') for m in sys.modules)\n"
        "f.helix_figure(sys.argv[1], np.arange(9.0), np.eye(9)[:, :3], title='t')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        'import matplotlib; assert matplotlib.rcParams == matplotlib.rcParamsDefault or '
        "matplotlib.rcParams['font.size'] != 12\n"
    )
    subprocess.run([sys.executable, '-c', code, tmp_path / 'a.png'], check=True)


def test_the_trail_is_the_last_20_s_each_tenth():
    t = np.arange(0, 60.0001, 0.005)
    age, place = trail_samples(t, np.stack([t, 2 * t, -t], axis=1))
    assert len(age) == 201
    assert age[0] == pytest.approx(20)
    assert age[-1] == 0
    assert place[:, 0] == pytest.approx(60 - age)
    assert place[:, 1] == pytest.approx(2 * (60 - age))
    age, place = trail_samples(t[:1001], np.stack([t, t, t], axis=1)[:1001])
    assert len(age) == 51
    assert place[0] == pytest.approx(0)


def test_balance_is_where_the_lever_is_upright():
    offset = np.subtract(LEVEL.center_of_buoyancy, LEVEL.center_of_gravity)
    pitch = -math.atan2(offset[0], math.hypot(offset[1], offset[2]))
    roll = math.atan2(offset[1], offset[2])
    case = Balance(
        'trim', LEVEL.center_of_gravity, LEVEL.center_of_buoyancy, roll, pitch, (1, 1, 1)
    )
    assert case.lever == pytest.approx([0, 0, np.linalg.norm(offset)], abs=1e-12)
