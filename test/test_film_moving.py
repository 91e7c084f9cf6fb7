# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What moves in films besides vehicles: pictures of a film are those that a camera recorded."""

import numpy as np
import pytest
from conftest import marine_sim, vehicle_of

from marine_sim_ros.analysis.film_sources import read_motion
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

AROUND = """
water: {kind: fresh}
payloads:
  - {name: far, shape: sphere, radius: 0.1, position: [1.4, 0.3, -10.2], mass: 5, material: steel}
  - {name: brick, shape: box, size: [0.2, 0.1, 0.06], position: [0.62, 0.0, -10.1], mass: 2}
"""
GRIPS = """
duration: 2.0
initial: {position: [0, 0, -10], rpy: [0, 0, 0]}
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500]}
  - {at: 0.1, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], gripper: close}
  - {at: 0.2, pwm: [1550, 1450, 1500, 1500, 1400, 1500, 1500, 1500],
     joints: {shoulder: 0.6, wrist: 0.5}}
  - {at: 1.2, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], gripper: open}
"""
FLEET = """
vehicles:
  - {vehicle: SEEING, name: seeing, initial: {position: [0, 0, -2.0]}}
  - {vehicle: bluerov2_heavy, name: heavy, arguments: {arm: true, tether: fathom}, scenario: MOVES,
     initial: {position: [1.2, 0.0, -2.1], rpy: [0, 0, 1.6]}}
"""
HELD = """
water: {kind: fresh}
payloads:
  - {name: brick, shape: box, size: [0.2, 0.1, 0.06], position: [1.19, 0.62, -2.2], mass: 2}
"""
MOVES = """
duration: 1.0
segments:
  - {at: 0.0, pwm: [1560, 1500, 1560, 1500, 1440, 1450, 1560, 1550], gripper: close,
     joints: {shoulder: 1.2}}
"""


@pytest.fixture(autouse=True)
def _packages(renderer):
    pytest.importorskip('rosbags')


def seeing(path, vehicle, **arguments):
    """Write a shipped vehicle with a small camera before it; return the path."""
    spec = (
        '<sensor type="camera" name="front" link="base_link" rate="5"><origin xyz="0.3 -0.3 0.1" '
        'rpy="0 0.2 0.3"/><width>160</width><height>120</height></sensor></robot>'
    )
    path.write_text(vehicle_of(vehicle, **arguments).urdf.replace('</robot>', spec))
    return path


def recorded_and_rendered(folder, name, environment):
    """Return the pictures (n, h, w, 3) that a bag has of a camera, and those of a film."""
    pillow = pytest.importorskip('PIL.Image')
    found = []
    for kind, more in (('recorded', ['--recorded']), ('film', ['--environment', environment])):
        out = environment.with_name(kind)
        marine_sim(
            'render', folder, '--namespace', name, '--camera', 'front', '--fps', 5,
            '--no-overlay', *more, '--frames', out,
        )  # fmt: skip
        found.append(np.stack([np.asarray(pillow.open(path)) for path in sorted(out.iterdir())]))
    return found


def differing(a, b, by):
    """Return the share (n,) of numbers of n pictures that differ by more."""
    return np.mean(np.abs(a.astype(int) - b) > by, axis=(1, 2, 3))


@pytest.mark.long
def test_bodies_of_a_film_are_where_they_were_in_the_run(tmp_path):
    for name, text in (('around', AROUND), ('grips', GRIPS)):
        (tmp_path / f'{name}.yaml').write_text(text)
    vehicle = seeing(tmp_path / 'heavy.urdf', 'bluerov2_heavy', arm='true')
    code, _ = marine_sim(
        'simulate', vehicle, '--scenario', tmp_path / 'grips.yaml', '--environment',
        tmp_path / 'around.yaml', '--record', tmp_path / 'run',
    )  # fmt: skip
    assert code == 0
    environment = load_environment(str(tmp_path / 'around.yaml'))
    own = vehicle_of(str(vehicle))
    run = simulate(own, load_scenario(str(tmp_path / 'grips.yaml')), environment=environment)
    _, motions = read_motion(str(tmp_path / 'run'), {})
    (brick,) = (motion for name, motion in motions.items() if name.endswith('brick'))
    found = run.bodies['/bodies/brick'].position
    for i in [*range(0, len(run.time), 7), 10]:  # back in time too
        assert brick.state(run.time[i]).position == pytest.approx(found[i], abs=1e-9)
    assert np.ptp(found, axis=0).min() > 0.005
    recorded, rendered = recorded_and_rendered(tmp_path / 'run', '', tmp_path / 'around.yaml')
    assert len(recorded) == len(rendered) == 11
    assert differing(recorded, rendered, 1).max() < 1e-3
    assert differing(recorded[:1], recorded[5:6], 20)[0] > 0.02


@pytest.mark.ros
def test_a_camera_sees_what_moves_of_another_vehicle_as_a_film_shows_it(processes, tmp_path):
    for name, content in (('moves', MOVES), ('held', HELD)):
        (tmp_path / f'{name}.yaml').write_text(content)
    vehicle = seeing(tmp_path / 'seeing.urdf', 'simple_rov')
    text = FLEET.replace('SEEING', str(vehicle)).replace('MOVES', str(tmp_path / 'moves.yaml'))
    (tmp_path / 'fleet.yaml').write_text(text)
    process = processes.marine_sim(
        'run', '--fleet', tmp_path / 'fleet.yaml', '--duration', 1.0, '--composed', '--dt', 0.02,
        '--environment', tmp_path / 'held.yaml', '--record', tmp_path / 'run',
    )  # fmt: skip
    output, _ = process.communicate()
    assert 'Traceback' not in output
    assert 'silent' not in output
    recorded, rendered = recorded_and_rendered(tmp_path / 'run', 'seeing', tmp_path / 'held.yaml')
    assert len(recorded) == len(rendered) == 6
    assert differing(recorded, rendered, 1).max() < 1e-3
    assert differing(recorded[:1], recorded[-1:], 20)[0] > 0.005
