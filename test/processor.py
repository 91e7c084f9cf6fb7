# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits that a busy machine does not reach earlier: of processor time, or grown with the load."""

import os
import time
from functools import wraps

PATIENCE = 300.0
"""s; of what has to come, however busy the machine is: a hang reaches it, and nothing slow."""


def limited(seconds):
    """Return a decorator of a test of hypothesis: a limit on the processor time of each example.

    hypothesis's own deadline counts the clock, and with it what other processes do meanwhile.
    """

    def limit(test):
        example = test.hypothesis.inner_test

        @wraps(example)
        def timed(*arguments, **named):
            start = time.process_time()
            example(*arguments, **named)
            used = time.process_time() - start
            assert used <= seconds, f'an example took {used:.1f} s of a processor'

        test.hypothesis.inner_test = timed
        return test

    return limit


def slowed(seconds):
    """Return a limit on the clock, s: longer where more processes run than there are cores."""
    return seconds * max(1.0, os.getloadavg()[0] / os.cpu_count())
