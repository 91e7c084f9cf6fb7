# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages for bags that others might have written, and reports on bags."""

import json

import numpy as np
import pytest

from marine_sim_ros.tools.main import main

MAVROS = 'std_msgs/Header header\nuint16[] channels\n'


def header(types, stamp):
    time = types['builtin_interfaces/msg/Time'](sec=stamp // 10**9, nanosec=stamp % 10**9)
    return types['std_msgs/msg/Header'](stamp=time, frame_id='map')


def odometry(types, stamp, pose, velocity):
    vector, none = types['geometry_msgs/msg/Vector3'], np.zeros(36)
    x, y, z, *q = map(float, pose)
    v = [float(n) for n in velocity]
    pose = types['geometry_msgs/msg/Pose'](
        types['geometry_msgs/msg/Point'](x, y, z), types['geometry_msgs/msg/Quaternion'](*q)
    )
    twist = types['geometry_msgs/msg/Twist'](vector(*v[:3]), vector(*v[3:]))
    return types['nav_msgs/msg/Odometry'](
        header(types, stamp),
        'base_link',
        types['geometry_msgs/msg/PoseWithCovariance'](pose, none),
        types['geometry_msgs/msg/TwistWithCovariance'](twist, none),
    )


def analyze(*arguments):
    """Run the command; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(['analyze', *map(str, arguments)])
    return ended.value.code


def page_charts(text):
    """Return what a report has to draw."""
    start = text.index('type="application/json">') + len('type="application/json">')
    return json.loads(text[start : text.index('</script>', start)])
