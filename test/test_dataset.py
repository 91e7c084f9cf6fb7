# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data sets: geometry of masks and boxes, formats read by others, broken-off runs, refusals."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import yaml

from marine_sim_ros.analysis.film import millimetres
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.dataset.frames import run_lengths, take_pictures
from marine_sim_ros.dataset.plan import parse_dataset_plan, setup_of
from marine_sim_ros.dataset.views import draw_frame, split_of
from marine_sim_ros.sensors.camera.camera import lens_of

PIL = pytest.importorskip('PIL.Image')
pytest.importorskip('moderngl')

PLAN = """
vehicle: bluerov2
arguments: {imaging_sonar: "true", camera: "true"}
environment: shallow_sand
sensors: [camera, imaging_sonar]
frames: 12
seed: 5
views: {targets: [ball, box, rod], distance: [1.5, 5.0], elevation: [0.0, 40.0], clearance: 0.4}
objects:
  - {name: ball, shape: sphere, radius: 0.3, material: white, count: [1, 2],
     area: [-8.0, -8.0, 2.0, 2.0], depth: [4.0, 8.0]}
  - {name: box, shape: box, size: [0.8, 0.5, 0.4], material: concrete, count: [1, 2],
     area: [-8.0, -8.0, 2.0, 2.0], scale: [0.7, 1.5], tilt: [0.0, 40.0]}
  - {name: rod, shape: cylinder, radius: 0.2, length: 1.1, material: steel,
     area: [-8.0, -8.0, 2.0, 2.0], tilt: [0.0, 90.0]}
  - {name: rov, vehicle: bluerov2, count: [0, 1], depth: [4.0, 6.0]}
water_types: [I, II, 1C]
parameters:
  environment.optics.turbidity: {low: 0.0, high: 0.2}
  sensor.camera.noise: {values: [0.0, 3.0]}
classes: {block: ["block_*", box], marker: [buoy, post]}
"""


def plan_of(text=PLAN, **changes):
    """Return a plan with some keys changed."""
    return parse_dataset_plan(yaml.safe_dump({**yaml.safe_load(text), **changes}), 'plan.yaml')


@pytest.fixture(scope='module')
def setup():
    return setup_of(plan_of())


@pytest.fixture(scope='module')
def drawn(setup):
    """Frames of the plan, and their pictures."""
    plan = plan_of()
    frames = [draw_frame(plan, setup, number) for number in range(14)]
    return [(frame, take_pictures(plan, setup, frame)) for frame in frames]


def corners(thing):
    """Return the corners (8, 3) of the box around a thing, map."""
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
    return thing.position + (signs * thing.size) @ rotation_matrix(thing.orientation).T


def pixels_of(frame, points):
    """Return the pixels (n, 2) of points of map by OpenCV's pinhole, or None behind the camera."""
    cv2 = pytest.importorskip('cv2')
    sensor = frame.sensors[0]
    rotation = rotation_matrix(frame.state.orientation)
    eye, axes = frame.state.position + rotation @ sensor.position, rotation @ sensor.rotation
    local = (points - eye) @ axes
    if np.any(local[:, 2] < 0.2):
        return None
    lens = lens_of(sensor.spec)
    found, _ = cv2.projectPoints(
        local, np.zeros(3), np.zeros(3), lens.matrix, np.array(lens.distortion[:5])
    )
    return found[:, 0]


def test_boxes_of_a_camera_are_where_opencv_projects_the_objects(drawn):
    """The hull of the projected corners of a box's own box is its mask, where nothing hides it."""
    cv2 = pytest.importorskip('cv2')
    compared = 0
    for frame, pictures in drawn:
        picture, things = pictures['camera'], {t.name: t for t in frame.things}
        for found in picture.annotations:
            thing = things[found['name']]
            points = pixels_of(frame, corners(thing))
            if not found['name'].startswith('box') or found['truncated'] or points is None:
                continue
            hull = cv2.convexHull(points.astype(np.float32))
            drawing = np.zeros(picture.numbers.shape, np.uint8)
            cv2.fillConvexPoly(drawing, np.rint(hull).astype(int), 1)
            mask = picture.numbers == found['number']
            assert not np.any(mask & (cv2.dilate(drawing, np.ones((3, 3))) == 0))
            seen_share = mask.sum() / drawing.sum()
            hidden = np.any(picture.numbers[drawing > 0] != found['number'])
            rests = (
                frame.environment.scene.ground(*thing.position[:2]) > corners(thing)[:, 2].min()
            )
            if seen_share > 0.5 and not hidden:
                compared += 1
                assert seen_share > 0.97
            assert hidden or rests or seen_share > 0.9
    assert compared or any(
        a['name'].startswith('box') for _, p in drawn for a in p['camera'].annotations
    )


def test_spheres_have_the_size_and_range_of_their_geometry(drawn):
    """A sphere of the radius R at d covers the solid angle 2 π (1 − √(1 − (R/d)²))."""
    compared = 0
    for frame, pictures in drawn:
        picture, sensor = pictures['camera'], frame.sensors[0]
        lens = lens_of(sensor.spec)
        rows, columns = np.mgrid[: lens.height, : lens.width]
        rays = lens.directions(np.stack([columns, rows], axis=-1).astype(float))
        for found in picture.annotations:
            if not found['name'].startswith('ball') or found['truncated']:
                continue
            distance = float(np.linalg.norm(found['position']))
            radius = found['size'][0] / 2
            axis = np.array(found['position']) / distance
            angle = math.asin(radius / distance)
            expected = rays @ axis > math.cos(angle)
            mask = picture.numbers == found['number']
            assert not np.any(mask & ~expected & (rays @ axis < math.cos(angle + 0.01)))
            if mask.sum() > 0.9 * expected.sum():
                compared += 1
                assert mask.sum() == pytest.approx(expected.sum(), rel=0.03)
                assert found['range'] == pytest.approx(distance - radius, abs=0.01)
    assert compared >= 3


def test_echoes_of_a_sonar_are_labelled_where_the_objects_are(drawn):
    """Each labelled pixel is within the ranges and azimuths of the box around the object."""
    compared = 0
    for frame, pictures in drawn:
        sensor, picture = frame.sensors[1], pictures['imaging_sonar']
        spec = sensor.spec
        rotation = rotation_matrix(frame.state.orientation)
        place, axes = frame.state.position + rotation @ sensor.position, rotation @ sensor.rotation
        height, width = picture.numbers.shape
        lowest = min(spec.max_range * math.cos(math.radians(spec.aperture) / 2), 0.0)
        pixel = (spec.max_range - lowest) / height
        for found in picture.annotations:
            thing = next(t for t in frame.things if t.name == found['name'])
            local = (corners(thing) - place) @ axes
            if np.any(local[:, 2] < 0.3) or found['name'] == 'pipeline':
                continue
            rows, columns = np.nonzero(picture.numbers == found['number'])
            ahead, right = (
                spec.max_range - (rows + 0.5) * pixel,
                (columns + 0.5 - width / 2) * pixel,
            )
            ranges = np.hypot(ahead, right)
            reach = np.linalg.norm(thing.size) / 2
            middle = np.linalg.norm(thing.position - place)
            slack = 3 * (spec.max_range - spec.min_range) / spec.bins + 2 * pixel
            assert ranges.min() > middle - reach - slack
            assert ranges.max() < middle + reach + slack
            compared += 1
    assert compared >= 5


def test_views_are_within_their_limits(setup):
    plan = plan_of()
    for number in range(40):
        frame = draw_frame(plan, setup, number)
        sensor, views = frame.sensors[0], plan.views
        rotation = rotation_matrix(frame.state.orientation)
        eye, axis = frame.state.position + rotation @ sensor.position, rotation @ sensor.rotation
        assert views.depth[0] <= -eye[2]
        scene = frame.environment.scene
        assert np.min(scene.surfaces(frame.state.position[None])[0]) >= views.clearance
        target = next(t for t in frame.things if t.name == frame.target)
        away = target.position - eye
        reach = np.linalg.norm(target.size) / 2
        assert views.distance[0] <= np.linalg.norm(away) + 1e-9
        assert np.linalg.norm(away) <= views.distance[1] + reach
        apart = math.acos(np.clip(axis[:, 2] @ away / np.linalg.norm(away), -1, 1))
        assert apart <= math.radians(views.off_axis[1]) + math.asin(
            min(reach / np.linalg.norm(away), 1.0)
        )
        names = [t.name for t in frame.things]
        assert len(names) == len(set(names))
        placed = [t for t in frame.things if t.name.split('_')[0] in ('ball', 'box', 'rod')]
        for i, one in enumerate(placed):
            for other in placed[:i]:
                radii = (np.linalg.norm(one.size) + np.linalg.norm(other.size)) / 2
                assert np.linalg.norm(one.position - other.position) >= radii


def test_a_frame_follows_from_plan_seed_and_number_alone(setup):
    one, again = (draw_frame(plan_of(), setup, 7) for _ in range(2))
    longer = draw_frame(plan_of(frames=1000), setup_of(plan_of(frames=1000)), 7)
    other = draw_frame(plan_of(seed=6), setup, 7)
    for frame in (again, longer):
        assert np.array_equal(frame.state.position, one.state.position)
        assert frame.values == one.values
    assert not np.array_equal(other.state.position, one.state.position)


def test_the_shares_of_the_splits_are_those_of_the_plan():
    plan = plan_of(split={'train': 0.6, 'val': 0.3, 'test': 0.1})
    counts = {name: 0 for name in ('train', 'val', 'test')}
    for number in range(2000):
        counts[split_of(plan, number)] += 1
    assert counts['train'] == pytest.approx(1200, abs=70)
    assert counts['val'] == pytest.approx(600, abs=70)


def test_what_the_water_hides_has_no_label():
    """In water that lets through 5 % of the light at 3 m nothing farther is labelled."""
    attenuation = -math.log(0.05) / 3.0
    plan = plan_of(
        parameters={'environment.optics.turbidity': {'values': [attenuation]}},
        water_types=['I'],
        sensors=['camera'],
        views={'targets': ['ball'], 'distance': [2.0, 6.0], 'off_axis': 0.0},
    )
    setup, far, near = setup_of(plan), 0, 0
    for number in range(12):
        frame = draw_frame(plan, setup, number)
        picture = take_pictures(plan, setup, frame)['camera']
        ranges = [a['range'] for a in picture.annotations]
        assert all(r < 3.0 for r in ranges)
        target = next(t for t in frame.things if t.name == frame.target)
        distance = np.linalg.norm(target.position - frame.state.position)
        near, far = near + bool(ranges), far + (distance > 4.0)
    assert near
    assert far


@pytest.mark.parametrize('seed', range(200))
def test_run_lengths_give_the_mask_back(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 12, 2))
    mask = rng.random(shape) < rng.choice([0.0, 0.3, 0.9, 1.0])
    lengths = run_lengths(mask)
    assert sum(lengths) == mask.size
    values = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    assert np.array_equal(values.reshape(shape[::-1]).T, mask)
    coco = pytest.importorskip('pycocotools.mask')
    height, width = (int(n) for n in shape)
    packed = coco.frPyObjects({'size': [height, width], 'counts': lengths}, height, width)
    assert np.array_equal(coco.decode(packed).astype(bool), mask)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'sensors': ['kamera']}, "sensors has 'kamera'; did you mean 'camera'"),
        ({'environment': 'still', 'objects': []}, 'nothing has that name'),
        ({'vehicle': 'simple_rov', 'arguments': {}, 'sensors': []}, 'no camera and no imaging'),
        ({'water_types': ['4C']}, "water_types has '4C'"),
        ({'split': {'train': 0.9}}, 'shares of 1.1 together; expected 1'),
        ({'frames': 0}, 'frames is 0; expected a number from 1'),
        ({'views': {'distance': [5.0, 2.0]}}, 'expected [lowest, highest]'),
        ({'views': {'distance': [1.0, 1e9]}}, 'expected a number from 0.05 to 1000 m'),
        ({'views': {'targets': ['bal']}}, "views.targets has 'bal'"),
        ({'parameters': {'sensor.sonar.noise': {'low': 0, 'high': 1}}}, 'expected sensor.NAME'),
        ({'parameters': {'vehicle.mass': {'low': 0, 'high': 1}}}, 'unknown parameter'),
        ({'parameters': {'environment.optics.turbdity': {'low': 0, 'high': 1}}}, 'turbidity'),
        ({'objects': [{'shape': 'sphere', 'radius': 1.0}]}, 'name'),
        ({'environment': 'still', 'objects': [{'name': 'rov', 'vehicle': 'bluerov2'}]}, 'depth'),
        ({'objects': [{'name': 'a', 'shape': 'sphere', 'radus': 1.0}]}, "unknown key 'radus'"),
        ({'objects': [{'name': 'a', 'shape': 'sphere', 'radius': 1, 'count': 1.5}]}, 'whole'),
        ({'objects': [{'name': 'post', 'shape': 'sphere', 'radius': 1}]}, 'names two things'),
        ({'views': {'distance': 900.0, 'elevation': 30.0}}, 'none of 500 poses'),
        ({'classes': {'terrain': ['ball']}}, "class 'terrain'"),
        (
            {'objects': [{'name': 'ball', 'shape': 'sphere', 'radius': 3, 'count': 9}]},
            'no room for ball',
        ),
    ],
)
def test_mistakes_in_a_plan_are_told_in_one_line(changes, message):
    changes = {'views': {'targets': '*'}, **changes}

    def draw():
        plan = plan_of(**changes)
        draw_frame(plan, setup_of(plan), 0)

    with pytest.raises(ParameterError) as told:
        draw()
    assert message in str(told.value)
    assert '\n' not in str(told.value)


# The command.


def command(*words):
    return [sys.executable, '-m', 'marine_sim_ros.tools.main', 'dataset', *map(str, words)]


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """A data set by two workers, with a bag."""
    folder = tmp_path_factory.mktemp('made')
    plan = folder / 'plan.yaml'
    plan.write_text(PLAN)
    out = folder / 'out'
    done = subprocess.run(
        command(plan, '-o', out, '--workers', 2, '--bag'), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return plan, out, done.stdout


def files_of(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob('*'))
        if p.is_file() and 'bag' not in p.parts
    }


def test_a_data_set_that_was_killed_goes_on_and_ends_with_the_same_bytes(made, tmp_path):
    plan, whole, _ = made
    out = tmp_path / 'out'
    first = subprocess.Popen(command(plan, '-o', out, '--workers', 1), start_new_session=True)
    deadline = time.monotonic() + 120
    while len(list((out / 'frames').glob('*.json'))) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    children = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    psutil.wait_procs(children, timeout=30)
    done = len(list((out / 'frames').glob('*.json')))
    assert 3 <= done < 12
    again = subprocess.run(
        command(plan, '-o', out, '--workers', 1), capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    one, other = files_of(whole), files_of(out)
    assert {n for n in other if not n.endswith('.tmp')} == set(one)
    assert all(other[name] == content for name, content in one.items())


def test_coco_yolo_and_masks_tell_the_same(made):
    tools = pytest.importorskip('pycocotools.coco')
    _, out, told = made
    total = 0
    for split in ('train', 'val', 'test'):
        coco = tools.COCO(str(out / 'camera' / f'coco_{split}.json'))
        names = yaml.safe_load((out / 'camera/data.yaml').read_text())['names']
        listed = (out / 'camera' / f'{split}.txt').read_text().split()
        assert sorted(i['file_name'] for i in coco.imgs.values()) == listed
        for image in coco.imgs.values():
            stem = f'{image["id"]:06d}'
            objects = np.asarray(PIL.open(out / 'camera/objects' / f'{stem}.png'))
            classes = np.asarray(PIL.open(out / 'camera/classes' / f'{stem}.png'))
            frame = json.loads((out / 'frames' / f'{stem}.json').read_text())
            lines = (out / 'camera/labels' / f'{stem}.txt').read_text().splitlines()
            found = coco.loadAnns(coco.getAnnIds(image['id']))
            described = frame['pictures']['camera']['objects']
            assert len(lines) == len(found) == len(described)
            for line, annotation, one in zip(lines, found, described, strict=True):
                mask = coco.annToMask(annotation).astype(bool)
                assert np.array_equal(mask, objects == one['number'])
                assert set(classes[mask]) == {annotation['category_id']}
                assert mask.sum() == annotation['area']
                rows, columns = np.nonzero(mask)
                left, top, width, height = annotation['bbox']
                assert (left, top) == (columns.min(), rows.min())
                assert (width, height) == (np.ptp(columns) + 1, np.ptp(rows) + 1)
                number, *shares = line.split()
                assert names[int(number)] == coco.cats[annotation['category_id']]['name']
                x, y, w, h = (float(s) for s in shares)
                assert x * image['width'] == pytest.approx(left + width / 2, abs=1e-3)
                assert y * image['height'] == pytest.approx(top + height / 2, abs=1e-3)
                assert w * image['width'] == pytest.approx(width, abs=1e-3)
                assert h * image['height'] == pytest.approx(height, abs=1e-3)
                total += 1
    assert total > 12
    assert '12 frames, 12 of them made' in told


def test_the_bag_has_what_the_sensors_publish(made):
    pytest.importorskip('rosbags')
    from rosbags.highlevel import AnyReader

    _, out, _ = made
    with AnyReader([out / 'bag']) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
        assert counts['/bluerov2/odom'] == counts['/bluerov2/camera/image'] == 12
        assert counts['/bluerov2/imaging_sonar/fan'] == counts['/bluerov2/camera/depth'] == 12
        for connection, stamp, raw in reader.messages():
            if connection.topic != '/bluerov2/camera/image':
                continue
            message = reader.deserialize(raw, connection.msgtype)
            picture = np.asarray(PIL.open(out / 'camera/images' / f'{stamp // 10**9:06d}.png'))
            shown = np.frombuffer(message.data, np.uint8)
            assert np.array_equal(shown.reshape(picture.shape), picture)


def test_another_plan_and_other_files_are_left_alone(made, tmp_path):
    plan, out, _ = made
    other = tmp_path / 'other.yaml'
    other.write_text(PLAN.replace('seed: 5', 'seed: 6'))
    for words, message in (
        ((other, '-o', out), 'holds another data set'),
        ((plan, '-o', plan.parent), 'has other files'),
        ((plan, '-o', out, '--frames', -1), "--frames: '-1'; expected 1 to"),
        (('wrek', '-o', tmp_path / 'x'), "did you mean 'wreck'"),
    ):
        done = subprocess.run(command(*words), capture_output=True, text=True)
        assert done.returncode == 2, done.stdout
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_depths_are_millimetres_up_to_sixteen_bits():
    depth = np.array([[0.0004, 1.2345, 65.535, 65.6, np.inf, 0.0]])
    assert millimetres(depth).tolist() == [[0, 1234, 65535, 0, 0, 0]]
