# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A second run of one name in one ROS domain is refused, with the process of the first."""

import os
import sys

import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.tools import graph_run
from marine_sim_ros.tools.graph_run import claim_namespaces

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='abstract sockets are of Linux')
NAME = f'/claimed_{os.getpid()}'


def test_a_name_is_held_until_the_run_ends(monkeypatch):
    monkeypatch.setattr(graph_run, 'TERMINATION_GRACE', 0.0)
    monkeypatch.setenv('ROS_DOMAIN_ID', '7')
    expected = rf'{NAME}: another run \(process {os.getpid()}\).* ROS domain 7: end it'
    second = claim_namespaces([NAME])
    with claim_namespaces(['/other', NAME, NAME]), pytest.raises(ParameterError, match=expected):
        second.__enter__()
    with claim_namespaces([NAME]):
        pass


@pytest.mark.parametrize('other', [('ROS_DOMAIN_ID', '8'), ('ROS_DISCOVERY_SERVER', '::1')])
def test_runs_that_do_not_hear_each_other_may_have_one_name(monkeypatch, other):
    monkeypatch.setenv('ROS_DOMAIN_ID', '7')
    with claim_namespaces([NAME]):
        monkeypatch.setenv(*other)
        with claim_namespaces([NAME]):
            pass


def test_it_is_held_by_the_last_process_of_a_run(monkeypatch):
    """A run whose supervisor was killed still publishes."""
    monkeypatch.setattr(graph_run, 'TERMINATION_GRACE', 0.0)
    monkeypatch.setenv('ROS_DOMAIN_ID', '7')
    release, wait = os.pipe()[::-1]
    with claim_namespaces([NAME]):
        child = os.fork()
        if not child:
            os.close(release)
            os.read(wait, 1)
            os._exit(0)
    with pytest.raises(ParameterError, match=NAME), claim_namespaces([NAME]):
        pass
    monkeypatch.setattr(graph_run, 'TERMINATION_GRACE', 60.0)
    os.close(release)
    with claim_namespaces([NAME]):
        pass
    os.waitpid(child, 0)
