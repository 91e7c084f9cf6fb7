# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mutated files of other simulators: each imports into a usable vehicle, or is one clear line."""

import numpy as np
import pytest
from conftest import examples
from foreign import (
    CAMERA,
    DVL,
    IMU,
    SDF,
    STONEFISH,
    STONEFISH_SENSORS,
    UUV,
    UUV_SENSORS,
    VRX,
    imported,
    sensors_on_robot,
    sensors_on_sdf,
)
from hypothesis import given
from test_fuzz_urdf import memory, mutated, usual

from marine_sim_ros import MarineSimError

EXAMPLES = 250
FORMATS = {
    'sdf': (SDF, '.sdf'),
    'sdf sensors': (sensors_on_sdf(CAMERA.format('camera'), DVL, IMU), '.sdf'),
    'uuv': (UUV, '.urdf'),
    'uuv sensors': (UUV.replace('</robot>', UUV_SENSORS), '.urdf'),
    'vrx': (VRX, '.urdf'),
    'stonefish': (STONEFISH, '.scn'),
    'stonefish sensors': (sensors_on_robot(STONEFISH_SENSORS), '.scn'),
}

__all__ = ['memory']  # a fixture, used by all tests of this module


@pytest.mark.long
@pytest.mark.timeout(300 + 2 * examples(EXAMPLES))
@pytest.mark.filterwarnings('error::RuntimeWarning')  # it would be a second line
@pytest.mark.parametrize('name', FORMATS)
def test_mutated_files(name, tmp_path):
    original, suffix = FORMATS[name]

    @usual(EXAMPLES, seconds=60)
    @given(mutated(original))
    def check(text):
        message = vehicle = None
        try:
            _, vehicle = imported(
                tmp_path, text.encode('utf-8', 'replace').decode(), suffix, cameras=True
            )
        except MarineSimError as error:
            message = str(error)
        if vehicle is None:
            assert message.strip()
            assert '\n' not in message
            return
        assert np.all(np.isfinite(vehicle.mass_matrix))
        assert np.min(np.linalg.eigvalsh(vehicle.mass_matrix)) > 0
        assert np.all(np.isfinite(vehicle.damping.linear))
        assert np.all(np.isfinite(vehicle.thrusters.effectiveness))

    check()
