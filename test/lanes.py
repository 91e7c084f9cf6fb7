# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Graph tests in a few workers, everything else in the others: hooks of pytest and pytest-xdist.

A graph test waits for its processes much of the time, and must not wait for a processor. Half of
the workers, the lanes, take the graph tests, file by file; the others compute what is left, with a
lower priority. A lane without graph tests computes too. `make test` starts two workers a core:
of three, graphs left so little to the others that these ran out of time.

A test with the marker `clock` holds a limit on the clock, and a page in a browser that draws
without graphics hears nothing of a run that has the processors: one lane runs these before all
others, one after the other, while no other lane runs a graph and the processors compute.
"""

import fcntl
import gc
import os
import sys
from functools import cache

import pytest

GRAPH = 'graph:'
"""What the groups of lanes begin with."""
LOW_PRIORITY = 5
"""Of what runs beside graphs, as a nice value: a third of the weight."""
ALONE = {'browser', 'clock', 'gazebo', 'ardusub'}


def markers_of(item):
    """Return the names of the markers of a test."""
    return {mark.name for mark in item.iter_markers()}


def in_lane(item):
    """Return whether a test runs in a lane."""
    return not markers_of(item).isdisjoint({'ros', *ALONE})


def is_alone(item):
    """Return whether a test runs while no other graph does."""
    return not markers_of(item).isdisjoint(ALONE)


def group_of(item):
    """Return the group of a test: those of a group run in one worker, one after the other."""
    return f'{GRAPH if in_lane(item) else ""}{"alone" if is_alone(item) else item.path.stem}'


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue('dist') != 'loadgroup':
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Lanes(LoadGroupScheduling):
        """Gives half of the workers graph tests, and the others none."""

        def _assign_work_unit(self, node):
            lane = node in self.nodes[len(self.nodes) // 2 :]
            graphs = [name for name in self.workqueue if name.startswith(GRAPH)]
            others = [name for name in self.workqueue if not name.startswith(GRAPH)]
            if not (names := (graphs or others) if lane else others):
                node.shutdown()
                return
            self.workqueue.move_to_end(names[0], last=False)
            super()._assign_work_unit(node)

    return Lanes(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Let one worker compile the modules of the tests, and the others read what it compiled.

    To compile all of them takes 25 s of a processor, in each worker that finds none compiled.
    What is collected stays to the end, so that to look for garbage in it is an eighth of the time.
    """
    gc.disable()
    try:
        return (yield from _collection(session))
    finally:
        gc.freeze()
        gc.enable()


def _collection(session):
    if not hasattr(session.config, 'workerinput') or sys.dont_write_bytecode:
        return (yield)
    folder = session.config._tmp_path_factory.getbasetemp().parent
    with (folder / 'collection').open('a') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        return (yield)


@cache
def lower_priority():
    """Let graphs go before what this process and its children compute; once."""
    os.nice(LOW_PRIORITY)


class Turn:
    """The right of this worker to run graphs: beside those of others, or alone."""

    def __init__(self):
        self.graphs = None

    def take(self, folder, *, alone):
        """Wait until a graph may run: at once beside others, or when no other one runs.

        Args:
            folder: a folder that all workers have.
            alone: whether it runs alone.
        """
        if self.graphs is not None:  # kept by the test before
            return
        self.graphs = (folder / 'graphs').open('a')
        with (folder / 'next').open('a') as following:
            # Who waits to be alone keeps others from coming in before.
            fcntl.flock(following, fcntl.LOCK_EX)
            fcntl.flock(self.graphs, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(following, fcntl.LOCK_UN)

    def give_back(self):
        """Let those in that wait to be alone, or for this one that was."""
        fcntl.flock(self.graphs, fcntl.LOCK_UN)  # not by closing: forks have the file too
        self.graphs.close()
        self.graphs = None


TURN = Turn()


@pytest.hookimpl(wrapper=True, tryfirst=True)  # so that no time limit counts the wait
def pytest_runtest_protocol(item, nextitem):
    if not hasattr(item.config, 'workerinput'):
        return (yield)
    if in_lane(item):
        folder = item.config._tmp_path_factory.getbasetemp().parent
        TURN.take(folder, alone=is_alone(item))
        try:
            return (yield)
        finally:
            if not (nextitem and is_alone(item) and is_alone(nextitem)):
                TURN.give_back()
    # Before a lane's first test of the others, all graph tests have been given to lanes.
    if any(map(in_lane, item.session.items)):
        lower_priority()
    return (yield)
