# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Films of recorded runs, decoded again: how many pictures, how large, and what is where."""

import io
import math
import sys
from itertools import pairwise

import numpy as np
import pytest
from bags import header, odometry

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.film import CHASE, camera_of, chase_camera, frame_stamps, overlay_text
from marine_sim_ros.analysis.film_sources import RecordedMotion, read_motion
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.library import vehicle_path
from marine_sim_ros.sensors.camera.camera import Camera, lens_of
from marine_sim_ros.tools.main import main

BALL = np.array([2.5, 0.3, -5.2])
ENVIRONMENT = f"""
water: {{kind: fresh}}
obstacles:
  - {{name: ball, shape: sphere, radius: 0.12, position: {BALL.tolist()}, material: white}}
"""
SCENARIO = """
duration: 1.5
initial: {position: [0, 0, -5], rpy: [0.05, -0.02, 0.0]}
segments:
  - {at: 0.0, pwm: [1400, 1400, 1600, 1600, 1500, 1500]}
"""


def verb(*arguments):
    """Run the command; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return ended.value.code


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Record a short run beside a white ball, without pictures."""
    pytest.importorskip('rosbags')
    folder = tmp_path_factory.mktemp('film')
    (folder / 'sea.yaml').write_text(ENVIRONMENT)
    (folder / 'run.yaml').write_text(SCENARIO)
    given = ['bluerov2', '--scenario', folder / 'run.yaml', '--environment', folder / 'sea.yaml']
    given += ['--set', 'coefficients:=maker']  # which turns the most
    assert verb('simulate', *given, '--record', folder / 'run') in (0, 1)
    return folder / 'run'


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize(('speed', 'pictures'), [(3.0, 3), (0.5, 13)])
def test_a_time_lapse_shows_the_run_in_less_time_and_slow_motion_in_more(
    run, tmp_path, capsys, speed, pictures
):
    """The run has 1.5 s: 0.5 s of a film three times as fast, 3 s of one at half its speed."""
    av = pytest.importorskip('av')
    film = tmp_path / 'film.mp4'
    given = ['--fps', 4, '--size', '160x120', '--speed', speed]
    assert verb('render', run, '-o', film, *given, '--environment', run.parent / 'sea.yaml') == 0
    assert f'{pictures} pictures at 4 Hz' in capsys.readouterr().out
    with av.open(str(film)) as container:
        assert float(container.streams.video[0].average_rate) == 4.0


@pytest.mark.usefixtures('renderer')
def test_a_film_shows_the_recorded_run(run, tmp_path, capsys):
    av = pytest.importorskip('av')
    film = tmp_path / 'film.mp4'
    camera = ['--vehicle', 'bluerov2', '--set', 'camera:=true', '--camera', 'camera']
    sea = ['--environment', run.parent / 'sea.yaml']
    assert verb('render', run, *camera, *sea, '-o', film, '--fps', 4, '--size', '320x180') == 0
    assert '7 pictures at 4 Hz' in capsys.readouterr().out
    with av.open(str(film)) as container:
        assert float(container.streams.video[0].average_rate) == 4.0
        seen = [frame.to_ndarray(format='rgb24') for frame in container.decode(video=0)]
    assert [image.shape for image in seen] == [(180, 320, 3)] * 7
    # The texts of any two pictures differ: there are white letters elsewhere.
    texts = [image[:16, :160].min(axis=-1) > 200 for image in seen]
    assert all(np.sum(a != b) > 3 for a, b in pairwise(texts))
    sensor = camera_of(load_vehicle('bluerov2', camera='true'), '')
    spec = Camera(
        width=320.0,
        height=180.0,
        field_of_view=sensor.spec.field_of_view,
        distortion=sensor.spec.distortion,
    )
    lens = lens_of(spec)
    _, motions = read_motion(str(run), {})
    motion = motions['bluerov2']
    places = []
    for image, time in zip(seen, frame_stamps(motion, 4.0, 0.0, None), strict=True):
        state = motion.state(time)
        turn = np.asarray(rotation_matrix(state.orientation))
        eye = state.position + turn @ sensor.position
        x, y, z = (turn @ sensor.rotation).T @ (BALL - eye)
        expected = lens.focal_length * lens.distort(np.array([[x, y]]) / z)[0]
        expected += np.array([319.0, 179.0]) / 2
        bright = image.astype(float).min(axis=-1)
        bright[:20] = 0  # the text
        rows, columns = np.nonzero(bright > 0.75 * bright.max())
        # Light comes from above, so the middle of what is bright is a little higher.
        assert columns.mean() == pytest.approx(expected[0], abs=2.0)
        assert rows.mean() == pytest.approx(expected[1], abs=8.0)
        places.append(expected)
    assert np.ptp(np.array(places), axis=0).max() > 10


@pytest.mark.usefixtures('renderer')
def test_frames_of_a_chase_camera_have_the_vehicle_in_the_middle(run, tmp_path):
    pillow = pytest.importorskip('PIL.Image')
    folder = tmp_path / 'frames'
    given = ['--camera', CHASE, '--size', '161x121', '--fps', 2, '--start', 0.5, '--no-overlay']
    given += ['--environment', run.parent / 'sea.yaml']
    assert verb('render', run, '--frames', folder, *given) == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names == ['frame_00001.png', 'frame_00002.png', 'frame_00003.png']
    image = np.asarray(pillow.open(folder / names[0])).astype(int)
    assert image.shape == (121, 161, 3)
    background = image[60, 5]
    assert np.abs(image[50:71, 70:91] - background).sum(axis=-1).mean() > 40


@pytest.fixture(scope='module', params=['raw', 'compressed'])
def seen_run(request, tmp_path_factory, renderer):
    """Record a short run with a small camera, and return the pictures of its bag."""
    folder = tmp_path_factory.mktemp('seen')
    (folder / 'sea.yaml').write_text(ENVIRONMENT)
    (folder / 'run.yaml').write_text(SCENARIO.replace(', 1500, 1500', ', 1500'))
    compressed = int(request.param == 'compressed')
    spec = (
        '<sensor type="camera" name="front" link="base_link" rate="10"><width>64</width>'
        f'<height>48</height><compressed>{compressed}</compressed></sensor>'
    )
    text = vehicle_path('simple_rov').read_text()
    (folder / 'seeing.urdf').write_text(text.replace('</robot>', f'{spec}</robot>'))
    given = [folder / 'seeing.urdf', '--scenario', folder / 'run.yaml']
    given += ['--environment', folder / 'sea.yaml', '--record', folder / 'run']
    assert verb('simulate', *given) in (0, 1)
    return folder / 'run', request.param


def test_recorded_pictures_are_those_of_the_bag(seen_run, tmp_path, capsys, monkeypatch):
    from rosbags.highlevel import AnyReader

    pillow = pytest.importorskip('PIL.Image')
    run, kind = seen_run
    monkeypatch.setitem(sys.modules, 'moderngl', None)  # nothing is rendered
    given = ['--recorded', '--no-overlay', '--start', 0.4, '--frames', tmp_path / 'frames']
    assert verb('render', run, *given) == 0
    assert '12 pictures at 10 Hz' in capsys.readouterr().out
    with AnyReader([run / 'bag']) as reader:
        found = [
            reader.deserialize(data, connection.msgtype)
            for connection, _, data in reader.messages()
            if connection.topic.endswith('/front/image' + '/compressed' * (kind != 'raw'))
        ]
    assert len(found) == 16
    names = sorted((tmp_path / 'frames').iterdir())
    assert len(names) == 12
    for name, message in zip(names, found[4:], strict=True):
        image = np.asarray(pillow.open(name))
        if kind == 'raw':
            expected = message.data.reshape(48, 64, 3)
        else:
            expected = np.asarray(pillow.open(io.BytesIO(message.data.tobytes())))
        assert np.array_equal(image, expected)
    # A slower film shows the newest one each time.
    given = ['--recorded', '--no-overlay', '--fps', 4, '--frames', tmp_path / 'slow']
    assert verb('render', run, '--camera', 'front', *given) == 0
    slow = np.asarray(pillow.open(tmp_path / 'slow/frame_00004.png'))
    assert np.array_equal(slow, np.asarray(pillow.open(names[3])))  # at 0.75 s that of 0.7 s


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['-o', 'a.mp4', '--recorded'], 'has no recorded pictures; its topics of pictures: none'),
        (['-o', 'a.mp4', '--recorded', '--size', '64x48'], 'no --size'),
        ([], '--frames FOLDER'),
        (['-o', 'film.gif'], '.mp4'),
        (['-o', 'a.mp4', '--size', 'large'], '1280x720'),
        (['-o', 'a.mp4', '--fps', '1000'], '0.1 to 240'),
        (['-o', 'a.mp4', '--fps', '0'], '0.1 to 240'),
        (['-o', 'a.mp4', '--speed', '0'], '0.001 to 1e6'),
        (['-o', 'a.mp4', '--speed', 'nan'], '0.001 to 1e6'),
        (['-o', 'a.mp4', '--camera', 'rear'], 'chase'),
        (['-o', 'a.mp4', '--start', '9'], '1.5 s'),
        (['-o', 'a.mp4', '--set', 'camera:=true'], '--vehicle'),
        (['-o', 'a.mp4', '--namespace', 'other'], 'bluerov2'),
    ],
)
def test_bad_requests_are_one_line(run, arguments, expected, capsys):
    pytest.importorskip('av')
    sea = ['--environment', run.parent / 'sea.yaml'] if '--start' in arguments else []
    assert verb('render', run, *arguments, *sea) == 2
    error = capsys.readouterr().err
    assert error.startswith('ERROR: ')
    assert expected in error
    assert len(error.splitlines()) == 1


def rows(motion, stamps, poses):
    """Give a motion rows of an odometry."""
    channel = type('Odometry', (), {'role': 'odom', 'labels': ()})()
    stamps = np.array(stamps)
    motion(channel, stamps, stamps, np.pad(np.array(poses, float), [(0, 0), (0, 6)]))


def test_poses_are_between_the_recorded_ones():
    motion = RecordedMotion()
    turns = [quaternion_from_rpy(0, 0, yaw) for yaw in (0.0, 0.4)]
    # The same attitude, with the other sign.
    rows(motion, [10**9, 2 * 10**9], [[0, 0, -1, *turns[0]], [1, 0, -2, *-turns[1]]])
    rows(motion, [15 * 10**8], [[9, 9, 9, 0, 0, 0, 0]])  # no attitude
    motion.finish()
    middle = motion.state(1.5)
    assert middle.position == pytest.approx([0.5, 0, -1.5])
    assert middle.orientation == pytest.approx(quaternion_from_rpy(0, 0, 0.2))
    assert motion.state(0.0).position == pytest.approx([0, 0, -1])
    assert motion.state(9.0).position == pytest.approx([1, 0, -2])
    assert frame_stamps(motion, 4.0, 0.25, None) == pytest.approx([1.25, 1.5, 1.75, 2.0])
    with pytest.raises(ParameterError, match='1 s'):
        frame_stamps(motion, 4.0, 2.0, None)


def test_the_overlay_tells_time_depth_and_heading():
    for yaw, heading in ((0.0, '090'), (90.0, '000'), (180.0, '270'), (-11.0, '101')):
        state = State(np.array([0, 0, -3.456]), quaternion_from_rpy(0, 0, math.radians(yaw)), 0)
        told = overlay_text(1.234, state, Origin())
        assert told == f'1.23 s   depth 3.46 m   heading {heading}°'


@pytest.mark.parametrize('depth', [0.0, 0.5, 20.0])
def test_the_chase_camera_is_behind_and_looks_at_the_vehicle(depth):
    parts = Appearance(load_vehicle('bluerov2')).parts()
    camera = chase_camera(parts, 640, 480)
    assert 0.2 < camera.radius < 0.5
    state = State(np.array([3.0, -2.0, -depth]), quaternion_from_rpy(0.3, 0.2, 1.0), np.zeros(6))
    eye, turn = camera.pose(state)
    assert turn.T @ turn == pytest.approx(np.eye(3))
    assert np.linalg.det(turn) == pytest.approx(1.0)
    x, y, z = turn.T @ (state.position - eye)
    assert (x, y) == pytest.approx((0, 0), abs=1e-12)
    assert z > 3 * camera.radius
    assert turn[2, 1] < 0  # y is down
    assert (eye[2] < 0) == (depth > camera.radius)


def test_a_bag_without_poses_is_told(tmp_path):
    with pytest.raises(RecordingError, match='does not exist'):
        read_motion(str(tmp_path / 'none'), {})


@pytest.fixture
def data_bag(tmp_path):
    """A bag with a motion, and depths and labels of a camera in both byte orders."""
    writing = pytest.importorskip('rosbags.rosbag2')
    typesys = pytest.importorskip('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    image_type = store.types['sensor_msgs/msg/Image']
    depth = np.array([[0.5, 2.0, 70.0], [np.inf, np.nan, 65.535]], '<f4')
    labels = np.array([[0, 1, 2], [300, 65535, 7]], '>u2')
    kinds = {'depth': (depth, '32FC1', 0), 'segmentation': (labels, '16UC1', 1)}
    plugin = writing.StoragePlugin.MCAP
    with writing.Writer(tmp_path / 'bag', version=9, storage_plugin=plugin) as writer:
        odom = writer.add_connection('/rov/odom', 'nav_msgs/msg/Odometry', typestore=store)
        topics = {
            name: writer.add_connection(
                f'/rov/front/{name}/image', 'sensor_msgs/msg/Image', typestore=store
            )
            for name in kinds
        }
        for i in range(3):
            stamp = i * 100_000_000
            moved = odometry(store.types, stamp, (0, 0, -1, 0, 0, 0, 1), (0,) * 6)
            writer.write(odom, stamp, store.serialize_cdr(moved, odom.msgtype))
            for name, (values, encoding, big) in kinds.items():
                padded = np.zeros((2, 16), np.uint8)  # rows may be longer than their pixels
                row = values.view(np.uint8).reshape(2, -1)
                padded[:, : row.shape[1]] = row
                head = header(store.types, stamp)
                message = image_type(head, 2, 3, encoding, big, 16, padded.reshape(-1))
                data = store.serialize_cdr(message, topics[name].msgtype)
                writer.write(topics[name], stamp, data)
    return tmp_path / 'bag'


def test_recorded_depths_and_labels_are_png_files_of_16_bit(data_bag, tmp_path, capsys):
    pillow = pytest.importorskip('PIL.Image')
    expected = {
        'depth': [[500, 2000, 0], [0, 0, 65535]],
        'segmentation': [[0, 1, 2], [300, 65535, 7]],
    }
    for name, wanted in expected.items():
        topic = f'front/{name}/image'  # as the vehicle names it; and in full below
        given = ['--recorded', '--camera', topic, '--frames', tmp_path / name]
        assert verb('render', data_bag, *given) == 0, capsys.readouterr().err
        files = sorted((tmp_path / name).iterdir())
        assert len(files) == 3
        for file in files:
            assert np.asarray(pillow.open(file)).tolist() == wanted


def test_a_film_of_depths_is_refused_in_one_line(data_bag, tmp_path, capsys):
    pytest.importorskip('av')
    given = ['--recorded', '--camera', '/rov/front/depth/image', '-o', tmp_path / 'a.mp4']
    assert verb('render', data_bag, *given) == 2
    assert 'expected --frames FOLDER, which has them as 16-bit PNG' in capsys.readouterr().err
    assert not (tmp_path / 'a.mp4').exists()


@pytest.mark.usefixtures('renderer')
def test_a_film_shows_the_tether_of_a_simulated_run(tmp_path, capsys, monkeypatch):
    (tmp_path / 'hang.yaml').write_text(
        'duration: 0.1\ninitial: {position: [0, 0, -3]}\nsegments: [{at: 0, axes: {}}]\n',
        encoding='utf-8',
    )
    given = ['bluerov2', '--set', 'tether:=fathom', '--set', 'tether_length:=6']
    run = tmp_path / 'run'
    given += ['--scenario', tmp_path / 'hang.yaml', '--dt', 0.02, '--record', run]
    assert verb('simulate', *given) == 0
    assert verb('render', run, '--frames', tmp_path / 'out', '--size', '80x60', '--fps', 10) == 0
    assert capsys.readouterr().err == ''
    picture, again = (tmp_path / name / 'frame_00001.png' for name in ('out', 'again'))
    monkeypatch.setattr('marine_sim_ros.tools.render.recorded_tether', lambda *_: None)
    film = ['render', run, '--frames', again.parent, '--size', '80x60', '--fps', 10]
    assert verb(*film) == 0
    assert (
        'bluerov2: its tether is not shown: the bag has no tether/shape' in capsys.readouterr().err
    )
    assert picture.read_bytes() != again.read_bytes()
