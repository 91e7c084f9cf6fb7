# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layouts of RViz, Foxglove and PlotJuggler show topics and fields that there are."""

import json
import re
from importlib import import_module
from xml.etree import ElementTree as ET

import pytest
import yaml
from conftest import ROOT

from marine_sim_ros import load_vehicle
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics import wrench_sources

qos = pytest.importorskip('rclpy.qos', reason='ros: not on this machine')

from marine_sim_ros.ros import topics  # noqa: E402
from marine_sim_ros.ros.layouts import LAYOUTS, SHIPPED_NAMESPACE, layout_for  # noqa: E402

SHOWS = {
    'MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'RobotModel': 'std_msgs/msg/String',
    'Odometry': 'nav_msgs/msg/Odometry',
    'Path': 'nav_msgs/msg/Path',
    'Pose': 'geometry_msgs/msg/PoseStamped',
    'Range': 'sensor_msgs/msg/Range',
    'LaserScan': 'sensor_msgs/msg/LaserScan',
    'Image': 'sensor_msgs/msg/Image',
}
"""Message type of each display of rviz_default_plugins that has a topic."""
QUATERNION_EXTRAS = ('roll_deg', 'pitch_deg', 'yaw_deg')
"""What PlotJuggler adds to every quaternion."""


def known():
    """Return every topic of the suite by full name."""
    named = [t for t in vars(topics).values() if isinstance(t, topics.Topic)]
    rov = load_vehicle('investigator90')
    sources = wrench_sources(rov, load_environment('pool'))
    named += topics.recorded(rov, components=True, controller=True, sources=sources)
    sensors = dict.fromkeys(('dvl', 'altimeter', 'scanning_sonar', 'imaging_sonar'), 'true')
    named += topics.sensor_topics(load_vehicle('bluerov2', **sensors))
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


def topic_and_rest(text):
    """Split ``/bluerov2/odom/pose/...`` at the longest topic that starts it."""
    fitting = [name for name in known() if text.startswith((f'{name}/', f'{name}.'))]
    assert fitting, f'{text} starts with no topic of the suite'
    name = max(fitting, key=len)
    return known()[name], text[len(name) + 1 :]


def displays():
    content = yaml.safe_load((ROOT / 'config' / LAYOUTS['rviz']).read_text(encoding='utf-8'))
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
    content = json.loads((ROOT / 'config' / LAYOUTS['foxglove']).read_text(encoding='utf-8'))
    panels = content['configById']
    plotted = 0
    for panel in panels.values():
        for path in panel.get('paths', ()):
            topic, rest = topic_and_rest(path['value'])
            assert field(topic.type, rest) in ('double', 'float', 'uint16'), path['value']
            plotted += 1
        for name in panel.get('topics', ()):
            assert name in known()
        for layer in panel.get('layers', {}).values():
            assert 'topic' not in layer or layer['topic'] in known()
        assert panel.get('topicToRender', '/diagnostics') in known()
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
    root = ET.parse(ROOT / 'config' / LAYOUTS['plotjuggler']).getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) == len(set(curves)) > 20
    needed = set()
    for curve in curves:
        topic, rest = topic_and_rest(curve)
        needed.add(f'{SHIPPED_NAMESPACE}/{topic.name}')
        inner, _, last = rest.rpartition('/')
        if last in QUATERNION_EXTRAS:
            assert field(topic.type, inner.replace('/', '.')) == 'geometry_msgs/Quaternion'
        else:
            assert field(topic.type, rest.replace('/', '.')) in ('double', 'float', 'uint16')
    (selected,) = root.iter('selected_topics')
    assert set(selected.get('value').split(';')) == needed
    for splitter in root.iter('DockSplitter'):
        assert int(splitter.get('count')) == len(splitter) == len(splitter.get('sizes').split(';'))


@pytest.mark.parametrize('viewer', LAYOUTS)
@pytest.mark.parametrize('vehicle', vehicle_names())
def test_a_layout_for_another_namespace_names_its_topics_only(viewer, vehicle):
    shipped = layout_for(viewer, SHIPPED_NAMESPACE).read_text(encoding='utf-8')
    text = layout_for(viewer, f'/{vehicle}').read_text(encoding='utf-8')
    assert text.count(f'/{vehicle}/') == shipped.count(f'{SHIPPED_NAMESPACE}/') > 5
    assert vehicle == 'bluerov2' or '/bluerov2/' not in text
