# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of a table of tests that cost much processor time: `make test-all` runs them."""

import pytest


def weekly(*values, **options):
    """Return a row of ``pytest.mark.parametrize`` that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.weekly, **options)
