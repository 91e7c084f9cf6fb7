# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples for clusters say what Dask understands."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
import yaml
from conftest import ROOT

FOLDER = ROOT / 'examples' / 'clusters'


@pytest.mark.skipif(not find_spec('distributed'), reason='dask: not installed (extra sweep)')
def test_dask_has_the_commands_of_the_kubernetes_example():
    spec = yaml.safe_load((FOLDER / 'kubernetes.yaml').read_text())['spec']
    for part in ('scheduler', 'worker'):
        (container,) = spec[part]['spec']['containers']
        program, verb, *options = container['args']
        assert program == 'dask'
        call = [sys.executable, '-m', program, verb, '--help']
        said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        for option in (o for o in options if o.startswith('--')):
            assert option in said
    ports = {
        port['name']: port['containerPort']
        for port in spec['scheduler']['spec']['containers'][0]['ports']
    }
    assert {p['targetPort'] for p in spec['scheduler']['service']['ports']} == set(ports)


def test_a_job_of_slurm_has_a_worker_for_each_core():
    pytest.importorskip('dask_jobqueue')
    done = subprocess.run(
        [sys.executable, FOLDER / 'slurm.py', '--script', '--cores', '3', '--queue', 'short'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert '#SBATCH --cpus-per-task=3' in done.stdout
    assert '#SBATCH -p short' in done.stdout
    assert '--nworkers 3' in done.stdout
    assert '--nthreads 1 ' in done.stdout
