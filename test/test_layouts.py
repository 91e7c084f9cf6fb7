# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layouts of RViz, Foxglove and PlotJuggler show topics and fields that there are."""

import json
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from xml.etree import ElementTree as ET

import pytest
import yaml
from conftest import OF_BOATS, OPTIONAL_SENSORS, ROOT

from marine_sim_ros import load_vehicle
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.sensors import SENSORS

qos = pytest.importorskip('rclpy.qos', reason='ros: not on this machine')

from marine_sim_ros.ros import topics  # noqa: E402
from marine_sim_ros.ros.launching.arguments import SHIPPED_NAMESPACE, VIEWER_LAYOUTS, viewer_layout  # noqa: E402

SHOWS = {
    'MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'RobotModel': 'std_msgs/msg/String',
    'Odometry': 'nav_msgs/msg/Odometry',
    'Path': 'nav_msgs/msg/Path',
    'Pose': 'geometry_msgs/msg/PoseStamped',
    'Range': 'sensor_msgs/msg/Range',
    'LaserScan': 'sensor_msgs/msg/LaserScan',
    'PointCloud2': 'sensor_msgs/msg/PointCloud2',
    'Image': 'sensor_msgs/msg/Image',
    'PoseWithCovariance': 'geometry_msgs/msg/PoseWithCovarianceStamped',
}
"""Message type of each display of rviz_default_plugins that has a topic."""
ATTITUDE = 'of an IMU that estimates its attitude, which no shipped vehicle has'
NUMBERS = 'RViz has no display for it; it is a curve in Foxglove and PlotJuggler'
ROW = 'a picture of one row; scan has its first return'
ROWS = 'a picture of one row for each ping; the console draws the waterfall'
SAME = 'the same picture as fan, in a type that the viewer does not show'
POINTS = 'the same detections as points, in a type that the viewer does not show'
POINTS_3D = 'points in space; PlotJuggler shows curves'
PICTURE = 'a picture; PlotJuggler shows curves'
CALIBRATION = 'numbers that do not change'
ON_REQUEST = 'only where the element asks for it'
WATER = dict.fromkeys(
    (
        *(f'ctd/{name}' for name in ('temperature', 'pressure', 'conductivity', 'salinity')),
        'ctd/density',
        'ctd/sound_speed',
        'optode/oxygen',
        'fluorometer/chlorophyll',
        'transmissometer/attenuation',
    ),
    'of an optional instrument; analyze and the console show it',
)
MODEM = dict.fromkeys(
    ('modem/received', 'modem/range', 'optical_modem/received'),
    'of an optional modem; the console shows it',
)
BEACONS = dict.fromkeys(
    (
        'hydrophone/direction',
        'hydrophone/delays',
        'hydrophone/level',
        'lbl/ranges',
        'pinger/fix',
        'ins/odometry',
    ),
    'of an optional instrument; analyze and the console show it',
)
SOUNDERS = dict.fromkeys(
    ('echo_sounder/range', 'echo_sounder/confidence', 'profiler/scan'),
    'of an optional instrument; RViz, analyze and the console show it',
)
CURRENT = dict.fromkeys(
    ('adcp/profile', 'adcp/beams', 'adcp/water_track'),
    'velocities of layers, for which the viewers have no display; the console draws them',
)
CAMERA = {
    'camera/image/compressed': 'the same picture as image',
    'camera/depth': ON_REQUEST,
    'camera/segmentation': ON_REQUEST,
    'camera/right/image': ON_REQUEST,
    'camera/right/image/compressed': ON_REQUEST,
    'camera/right/camera_info': ON_REQUEST,
    'barometer/pose': ON_REQUEST,
}
LEFT_OUT = {
    'rviz': {
        **dict.fromkeys(
            (
                'imu/data_raw',
                'magnetometer/field',
                'barometer/pressure',
                'barometer/temperature',
                'battery/state',
                'leak/detected',
                'thermometer/temperature',
                'altimeter/confidence',
                'echo_sounder/confidence',
                'dvl/twist',
                'dvl/beams',
                'dvl/figure_of_merit',
                'usbl/polar',
                'pinger/polar',
            ),
            NUMBERS,
        ),
        **CAMERA,
        **WATER,
        **MODEM,
        **CURRENT,
        **BEACONS,
        'camera/camera_info': CALIBRATION,
        'imu/data': ATTITUDE,
        'gps/fix': 'RViz has no display for it; it is a map in Foxglove',
        'scanning_sonar/echo': ROW,
        'echo_sounder/profile': ROW,
        'profiler/profile': ROW,
        'echo_sounder/image': ROW,
        'profiler/image': ROW,
        'imaging_sonar/image': SAME,
        'multibeam/detections': POINTS,
        'side_scan/scan': ROWS,
        'side_scan/image': ROWS,
    },
    'foxglove': {
        **CAMERA,
        **CURRENT,
        **SOUNDERS,
        **BEACONS,
        **WATER,
        **MODEM,
        'pinger/polar': ON_REQUEST,
        'imu/data': ATTITUDE,
        'scanning_sonar/echo': ROW,
        'echo_sounder/profile': ROW,
        'profiler/profile': ROW,
        'echo_sounder/image': ROW,
        'profiler/image': ROW,
        'imaging_sonar/image': SAME,
        'multibeam/detections': POINTS,
        'side_scan/scan': ROWS,
        'side_scan/image': ROWS,
    },
    'plotjuggler': {
        **dict.fromkeys(CAMERA, PICTURE),
        **CURRENT,
        **SOUNDERS,
        **BEACONS,
        **WATER,
        **MODEM,
        'pinger/polar': ON_REQUEST,
        'barometer/pose': ON_REQUEST,
        'camera/image': PICTURE,
        'camera/camera_info': CALIBRATION,
        'imu/data': ATTITUDE,
        'scanning_sonar/echo': PICTURE,
        'echo_sounder/profile': PICTURE,
        'profiler/profile': PICTURE,
        'echo_sounder/image': PICTURE,
        'profiler/image': PICTURE,
        'imaging_sonar/fan': PICTURE,
        'imaging_sonar/image': PICTURE,
        'multibeam/points': POINTS_3D,
        'sonar_3d/points': POINTS_3D,
        'multibeam/detections': POINTS,
        'side_scan/scan': ROWS,
        'side_scan/image': ROWS,
    },
}
"""Topics of sensors that a layout does not show, and why."""
NUMERIC = ('double', 'float', 'uint16', 'boolean')
QUATERNION_EXTRAS = ('roll_deg', 'pitch_deg', 'yaw_deg')
"""What PlotJuggler adds to every quaternion."""


@cache
def known():
    """Return every topic of the suite by full name."""
    named = [t for t in vars(topics).values() if isinstance(t, topics.Topic)]
    rov = load_vehicle('investigator90')
    sources = wrench_sources(rov, load_environment('pool'))
    named += topics.topics_to_record(rov, components=True, controller=True, sources=sources)
    named += topics.sensor_topics(
        load_vehicle('bluerov2', **dict.fromkeys(OPTIONAL_SENSORS, 'true'))
    )
    return {
        t.name if t.name.startswith('/') else f'{SHIPPED_NAMESPACE}/{t.name}': t for t in named
    }


def field(message_class, path):
    """Return the type of a field, ``pose.position.x`` or ``data[3]``."""
    head, _, rest = path.partition('.')
    name, index = re.fullmatch(r'(\w+)(?:\[(\d+)\])?', head).groups()
    fields = message_class.get_fields_and_field_types()
    assert name in fields, f'{message_class.__name__} has {sorted(fields)}, and no {name}'
    kind = re.sub(r'^sequence<(.*)>$|\[\d+\]$', r'\1', fields[name])
    assert (index is not None) == (kind != fields[name]), f'{path}: {fields[name]}'
    if not rest:
        return kind
    package, _, inner = kind.partition('/')
    return field(getattr(import_module(f'{package}.msg'), inner), rest)


def absent(text):
    """Return whether a path is of a topic whose type is not installed, so nothing can be said."""
    beams = text.startswith(f'{SHIPPED_NAMESPACE}/dvl/beams')
    return beams and find_spec('marine_acoustic_msgs') is None


def topic_and_rest(text):
    """Split ``/bluerov2/odom/pose/...`` at the longest topic that starts it."""
    fitting = [name for name in known() if text.startswith((f'{name}/', f'{name}.'))]
    assert fitting, f'{text} starts with no topic of the suite'
    name = max(fitting, key=len)
    return known()[name], text[len(name) + 1 :]


def displays():
    content = yaml.safe_load(
        (ROOT / 'config' / VIEWER_LAYOUTS['rviz']).read_text(encoding='utf-8')
    )
    return content['Visualization Manager']


def rviz_topics():
    for display in displays()['Displays']:
        for key in ('Topic', 'Description Topic'):
            if key in display:
                yield display['Class'].split('/')[1], display[key]


def test_rviz_shows_topics_of_the_right_type_that_it_can_hear():
    shown = list(rviz_topics())
    assert {s['Value'].removeprefix(f'{SHIPPED_NAMESPACE}/') for _, s in shown} >= {
        'markers',
        'scene/markers',
        'contact/markers',
        'robot_description',
        'odom',
    }
    for display, settings in shown:
        topic = known()[settings['Value']]
        assert topic.type_name == SHOWS[display]
        durability = settings['Durability Policy'].upper().replace(' ', '_')
        reliability = settings['Reliability Policy'].upper().replace(' ', '_')
        wanted = qos.QoSProfile(
            depth=settings['Depth'],
            durability=qos.DurabilityPolicy[durability],
            reliability=qos.ReliabilityPolicy[reliability],
        )
        compatible, reason = qos.qos_check_compatible(topic.qos, wanted)
        assert compatible != qos.QoSCompatibility.ERROR, f'{settings["Value"]}: {reason}'
        if topic.qos is topics.LATCHED:  # sent once: a viewer that comes late wants it too
            assert durability == 'TRANSIENT_LOCAL'


def test_rviz_is_fixed_in_the_map_and_shows_tf():
    content = displays()
    assert content['Global Options']['Fixed Frame'] == 'map'
    assert 'rviz_default_plugins/TF' in {d['Class'] for d in content['Displays']}


def test_foxglove_shows_topics_and_fields_that_there_are():
    content = json.loads(
        (ROOT / 'config' / VIEWER_LAYOUTS['foxglove']).read_text(encoding='utf-8')
    )
    panels = content['configById']
    plotted = 0
    for panel in panels.values():
        for path in (p for p in panel.get('paths', ()) if not absent(p['value'])):
            topic, rest = topic_and_rest(path['value'])
            assert field(topic.type, rest) in NUMERIC, path['value']
            plotted += 1
        for name in panel.get('topics', ()):
            assert name in known()
        for layer in panel.get('layers', {}).values():
            assert 'topic' not in layer or layer['topic'] in known()
        assert panel.get('topicToRender', '/diagnostics') in known()
        assert panel.get('followTopic', '/diagnostics') in known()
        assert panel.get('imageMode', {}).get('imageTopic', '/diagnostics') in known()
        if 'publish' in panel:
            assert panel['publish']['poseTopic'] in known()
    assert plotted > 20

    def leaves(node):
        if isinstance(node, str):
            return [node]
        return [] if node is None else leaves(node['first']) + leaves(node['second'])

    placed = leaves(content['layout'])
    placed += [
        p for v in panels.values() for tab in v.get('tabs', ()) for p in leaves(tab['layout'])
    ]
    assert sorted(placed) == sorted(panels)


def test_plotjuggler_shows_topics_and_fields_that_there_are():
    root = ET.parse(ROOT / 'config' / VIEWER_LAYOUTS['plotjuggler']).getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) == len(set(curves)) > 20
    needed = set()
    for curve in (c for c in curves if not absent(c)):
        topic, rest = topic_and_rest(curve)
        needed.add(f'{SHIPPED_NAMESPACE}/{topic.name}')
        inner, _, last = rest.rpartition('/')
        if last in QUATERNION_EXTRAS:
            assert field(topic.type, inner.replace('/', '.')) == 'geometry_msgs/Quaternion'
        else:
            assert field(topic.type, rest.replace('/', '.')) in NUMERIC
    (selected,) = root.iter('selected_topics')
    chosen = set(selected.get('value').split(';'))
    assert {topic for topic in chosen if not absent(topic)} == needed
    for splitter in root.iter('DockSplitter'):
        assert int(splitter.get('count')) == len(splitter) == len(splitter.get('sizes').split(';'))


@pytest.mark.parametrize('viewer', VIEWER_LAYOUTS)
def test_every_topic_of_a_sensor_is_shown_or_left_out_for_a_reason(viewer):
    carried = load_vehicle('bluerov2', **dict.fromkeys(OPTIONAL_SENSORS, 'true')).sensors
    names = {sensor.kind: sensor.name for sensor in carried}
    assert set(names) == set(SENSORS) - OF_BOATS
    wanted = {f'{name}/{t.name}' for k, name in names.items() for t in SENSORS[k].topics}
    text = (ROOT / 'config' / VIEWER_LAYOUTS[viewer]).read_text(encoding='utf-8')
    shown = {t for t in wanted if re.search(rf'{SHIPPED_NAMESPACE}/{t}(?![\w])', text)}
    left_out = LEFT_OUT[viewer]
    assert all(left_out.values())
    assert shown | set(left_out) == wanted, 'show it, or say in LEFT_OUT why not'
    assert shown & set(left_out) == set()


@pytest.mark.parametrize('viewer', VIEWER_LAYOUTS)
@pytest.mark.parametrize('vehicle', vehicle_names())
def test_a_layout_for_another_namespace_names_its_topics_only(viewer, vehicle):
    shipped = viewer_layout(viewer, SHIPPED_NAMESPACE).read_text(encoding='utf-8')
    text = viewer_layout(viewer, f'/{vehicle}').read_text(encoding='utf-8')
    assert text.count(f'/{vehicle}/') == shipped.count(f'{SHIPPED_NAMESPACE}/') > 5
    assert vehicle == 'bluerov2' or '/bluerov2/' not in text
