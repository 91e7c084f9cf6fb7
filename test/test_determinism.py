# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The same run has the same bits whatever threads BLAS is given, and whoever loads NumPy first."""

import os
import subprocess
import sys

import pytest
from graph import run_everywhere

pytestmark = pytest.mark.versions
VEHICLES = ('bluerov2', 'bluerov2_heavy', 'investigator90', 'simple_rov', 'surface_vessel')
LATE = """
import numpy, numpy.linalg
numpy.linalg.solve(numpy.eye(6), numpy.eye(6))
from marine_sim_ros.tools.main import main
main()
"""


def environment(cache, threads=None):
    clean = {k: v for k, v in os.environ.items() if not k.endswith('_NUM_THREADS')}
    clean['XDG_CACHE_HOME'] = str(cache)  # nothing is taken over from another run
    return clean | ({} if threads is None else {'OPENBLAS_NUM_THREADS': str(threads)})


def hash_of(vehicle, environment, how=('-m', 'marine_sim_ros.tools.main')):
    done = subprocess.run(
        [sys.executable, *how, 'simulate', vehicle, '--scenario', 'dive', '--duration', '1'],
        env=environment,
        capture_output=True,
        text=True,
    )
    lines = [s for s in done.stdout.splitlines() if s.startswith('trajectory_sha256')]
    assert lines, done.stdout + done.stderr
    return lines[0]


@pytest.mark.long
@pytest.mark.parametrize('vehicle', VEHICLES)
def test_the_threads_of_blas_change_no_bit(vehicle, tmp_path):
    found = {hash_of(vehicle, environment(tmp_path / str(n), n)) for n in (1, 2)}
    found.add(hash_of(vehicle, environment(tmp_path / 'late', 2), ('-c', LATE)))
    assert len(found) == 1


@pytest.mark.ros
def test_processes_composed_and_simulate_agree(processes, tmp_path):
    run_everywhere(processes, tmp_path, 'investigator90', '--scenario', 'dive', '--duration', 0.5)


def test_import_leaves_blas_one_thread_though_numpy_was_first():
    code = (
        'import numpy as np; import marine_sim_ros; a = np.random.default_rng(0)\n'
        'import time; m = a.normal(size=(1200, 1200)); m @ m\n'
        'wall, cpu = time.perf_counter(), time.process_time()\n'
        'for _ in range(3): m @ m\n'
        'print((time.process_time() - cpu) / (time.perf_counter() - wall))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code],
        env=environment('/nonexistent', 2),
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 1.2  # CPU time per time on the clock
