# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits on processor time, and that no example of a test has another."""

import re
import time

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from processor import limited

EXAMPLES = settings(max_examples=2, database=None)


def test_an_example_that_waits_is_in_time():
    @limited(0.1)
    @EXAMPLES
    @given(st.just(0.2))
    def waits(seconds):
        time.sleep(seconds)

    waits()


def test_an_example_that_computes_is_not():
    @limited(0.1)
    @EXAMPLES
    @given(st.just(0.2))
    def computes(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    with pytest.raises(AssertionError, match=r'took 0\.\d s of a processor'):
        computes()


def test_an_example_in_time_fails_for_what_it_finds():
    @limited(10)
    @EXAMPLES
    @given(number=st.just(1))
    def finds(number):
        assert number == 2, 'found'

    with pytest.raises(AssertionError, match='found'):
        finds()


def test_no_example_is_limited_by_the_clock():
    limits = {
        path.name: found
        for path in (ROOT / 'test').glob('*.py')
        if (found := re.findall(r'\bdeadline=(?!None)[\w.]+', path.read_text()))
    }
    assert limits == {}
