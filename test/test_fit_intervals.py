# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Intervals of a fit are as wide as its errors scatter, where initial states were eliminated."""

import numpy as np
import pytest

from marine_sim_ros.identification.parameters import covariance

STRETCHES, LENGTH, CHANNELS, TRIALS = 40, 16, 3, 400


def test_variances_are_those_of_many_trials_although_initial_states_were_eliminated():
    # Linear least squares with white noise of 1: the variances are the diagonal of (JᵀJ)⁻¹.
    random = np.random.default_rng(1)
    time = np.linspace(-1, 1, LENGTH)
    smooth = np.stack([time**n for n in range(4)], axis=1)  # l, 4

    def shapes(count):
        factor = random.normal(size=(STRETCHES, 4, CHANNELS, count))
        return np.einsum('lf,sfck->slck', smooth, factor).reshape(STRETCHES, -1, count)

    basis = np.linalg.qr(shapes(5))[0]

    def projected(values):
        return values - basis @ (np.swapaxes(basis, 1, 2) @ values)

    jacobian = projected(shapes(3)).reshape(-1, 3)
    inverse = np.linalg.inv(jacobian.T @ jacobian)
    none = np.zeros(3)
    found, without = np.zeros((2, TRIALS, 3))
    for trial in range(TRIALS):
        noise = projected(random.normal(size=(STRETCHES, LENGTH * CHANNELS, 1))).reshape(-1)
        rest = noise - jacobian @ (inverse @ (jacobian.T @ noise))
        for result, given in ((found, basis), (without, None)):
            result[trial] = np.diag(covariance(jacobian, rest, STRETCHES, none, CHANNELS, given))
    true = np.diag(inverse)
    # The larger of two estimates is taken, each of 40 stretches: a tenth more in the mean.
    assert found.mean(axis=0) / true == pytest.approx(1.1, abs=0.15)
    assert (without.mean(axis=0) < 0.95 * found.mean(axis=0)).all()
