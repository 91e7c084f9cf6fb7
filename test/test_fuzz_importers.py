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
from foreign_kinds import (
    ACTUATORS,
    BARE,
    CLASSIC,
    FREEFLOATING,
    HIPPO,
    INCLUDED,
    INCLUDES,
    MATRIX,
    MJCF,
    MOTORS,
    PX4,
    SURFACES,
    USD,
)
from hypothesis import given
from test_fuzz_urdf import memory, mutated, usual

from marine_sim_ros import Environment, MarineSimError
from marine_sim_ros.core.state import State
from marine_sim_ros.doctor.verdict import judge_motion
from marine_sim_ros.importers import load
from marine_sim_ros.importers.usd import read_stage
from marine_sim_ros.physics.drag import drag

EXAMPLES, EXAMPLES_OF_KINDS = 250, 125
FORMATS = {
    'sdf': (SDF, '.sdf'),
    'sdf sensors': (sensors_on_sdf(CAMERA.format('camera'), DVL, IMU), '.sdf'),
    'uuv': (UUV, '.urdf'),
    'uuv sensors': (UUV.replace('</robot>', UUV_SENSORS), '.urdf'),
    'vrx': (VRX, '.urdf'),
    'stonefish': (STONEFISH, '.scn'),
    'stonefish sensors': (sensors_on_robot(STONEFISH_SENSORS), '.scn'),
}

KINDS = {
    'includes': (INCLUDES, '.sdf'),
    'px4': (PX4, '.sdf'),
    'motors': (MOTORS, '.sdf'),
    'hippo': (HIPPO, '.sdf'),
    'freefloating': (FREEFLOATING, '.urdf'),
    'classic': (CLASSIC, '.urdf'),
    'surfaces': (SURFACES, '.sdf'),
    'stonefish actuators': (ACTUATORS, '.scn'),
    'mjcf': (MJCF, '.xml'),
    'usd': (USD, '.usda'),
    'yaml beside': (MATRIX, '.yaml'),
}
PACKAGES = {'.xml': 'mujoco', '.usda': 'pxr'}

__all__ = ['memory']  # a fixture, used by all tests of this module


def check_outcome(folder, text, suffix):
    """Import a text: an error of one line, or a vehicle that a marine vehicle can be."""
    text = text.encode('utf-8', 'replace').decode()
    message = verdict = None
    try:
        if suffix == '.yaml':
            (folder / 'beside.yaml').write_text(text)
            text, suffix = BARE, '.sdf'
        description, vehicle = imported(folder, text, suffix, cameras=True)
        verdict = judge_motion(vehicle)
    except MarineSimError as error:
        message = str(error)
    if verdict is None:
        assert message.strip()
        assert '\n' not in message
        return 'refused'
    assert all('\n' not in line for line in (*description.dropped, *verdict.lines))
    assert np.all(np.isfinite(vehicle.mass_matrix))
    assert np.min(np.linalg.eigvalsh(vehicle.mass_matrix)) > 0
    assert np.all(np.isfinite(vehicle.damping.linear))
    assert np.all(np.isfinite(vehicle.thrusters.effectiveness))
    if verdict.flaws:
        return 'not written'
    pulses = np.array([1100.0, 1500.0, 1900.0])[:, None] * np.ones(len(vehicle.thrusters))
    assert np.all(np.isfinite(vehicle.thrusters.thrust_of_pwm(pulses)))
    for axis in range(6):
        for sign in (1.0, -1.0):
            state = State(
                np.array([0, 0, -50.0]), np.array([0, 0, 0, 1.0]), sign * np.eye(6)[axis]
            )
            against = float(np.asarray(drag(vehicle, state, Environment()))[axis]) * sign
            assert np.isfinite(against)
            assert against <= 1e-9
    return 'imported'


@pytest.mark.long
@pytest.mark.timeout(300 + 2 * examples(EXAMPLES))
@pytest.mark.filterwarnings('error::RuntimeWarning')  # it would be a second line
@pytest.mark.parametrize('name', [*FORMATS, *KINDS])
def test_mutated_files(name, tmp_path, monkeypatch):
    original, suffix = (FORMATS | KINDS)[name]
    if suffix in PACKAGES:
        pytest.importorskip(PACKAGES[suffix])
    monkeypatch.setattr(load, 'read_usd', read_stage)  # in this process, which is quick
    for file, content in INCLUDED.items() if name in KINDS else ():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)

    @usual(EXAMPLES if name in FORMATS else EXAMPLES_OF_KINDS, seconds=60)
    @given(mutated(original))
    def check(text):
        check_outcome(tmp_path, text, suffix)

    check()
