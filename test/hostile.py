# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle whose every name is a script, and a console of it in this process."""

import sys
from contextlib import contextmanager
from itertools import cycle
from xml.sax.saxutils import quoteattr

from marine_sim_ros.console.requests import Session
from marine_sim_ros.console.telemetry import SensorRows, force_colours, telemetry_frame
from marine_sim_ros.console.visuals import scene_visuals, vehicle_visuals
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS

RUN = 'document.body.dataset.ran=1'
SCRIPTS = (
    f'x" innerHTML="<img src=x onerror={RUN}>',
    f"x' innerHTML='<img src=x onerror={RUN}>",
    f'</script><script>{RUN}</script>',
    f'<svg onload={RUN}>',
    '{{ constructor.constructor("' + RUN + '")() }}',
    '${' + RUN + '}`+(' + RUN + ')+`',
    f' :title={RUN} v-html="{RUN}" onclick={RUN} ',
    f'<a href="javascript:{RUN}">b</a><b>*_|\n# [x](javascript:{RUN})',
)
"""Names that run where they are not escaped: in attributes, HTML, templates, links, Markdown."""

JOINT = """
<link name={link}><inertial><mass value="0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name={name} type="revolute"><parent link="base_link"/><child link={link}/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""
PLACE = """
<link name={link}/><joint name={name} type="fixed"><parent link="base_link"/>
<child link={link}/></joint>"""


def hostile(text, first=0):
    """Return a description in which each name is one of the scripts, in turn from the first."""
    names = cycle(SCRIPTS[first:] + SCRIPTS[:first])
    q = quoteattr
    text = text.replace('<robot name="simple_rov"', f'<robot name={q(next(names))}')
    for plain in ('port', 'starboard', 'lateral', 'vertical_port', 'vertical_starboard'):
        name = q(f'{plain} {next(names)}')
        text = text.replace(f'<thruster name="{plain}"', f'<thruster name={name}')
    joint = JOINT.format(name=q(f'joint {next(names)}'), link=q(f'arm {next(names)}'))
    places = (
        PLACE.format(name=q(f'{kind} {i}'), link=q(f'{kind} {name}'))
        for kind in ('light', 'camera')
        for i, name in enumerate(SCRIPTS)
    )
    sensors = ('<sensor name="imu" type="imu" link="base_link"/>',)
    return text.replace('</robot>', '\n'.join([joint, *places, *sensors, '</robot>']))


def session_of(path, name=''):
    """Return the session of a console with a frame of a vehicle; other texts are a name."""
    vehicle = load_vehicle(str(path))
    rows = SensorRows((s, SENSORS[s.kind].topics_of(s)) for s in vehicle.sensors)
    sources = [
        'thrusters',
        'drag',
        *([f'drag {name}', 'constructor', '__proto__'] if name else []),
    ]
    environment = Environment(
        scene=Scene(
            tuple(Plane(text, [0.0, 0.0, -5.0], [0.0, 0.0, 1.0]) for text in SCRIPTS),
            None,
            tuple(Obstacle(text, 'box', [1.0, 1.0, 1.0], [5.0, 0.0, -5.0]) for text in SCRIPTS),
        ),
        name=SCRIPTS[0],
    )
    look = vehicle_visuals(vehicle)
    scenery, shown = rows.scenery(), rows.frame(7.5, since=0.0)
    if name:  # descriptions do not have such names of sensors
        for one in (*look['sensors'], *scenery, *shown):
            one['name'] += name
    session = Session(
        {
            'look': look,
            'around': scene_visuals(environment),
            'colours': force_colours(),
            'sources': sources,
            'sensors': scenery,
            'videos': (f'video {name}',) if name else (),
        }
    )
    count = len(vehicle.thrusters.names)
    seen = {'odom': (1, 2, -3, 0, 0, 0, 1) + (0.1,) * 6, 'thrusters/pwm': (1600,) * count}
    seen |= {f'wrench/{source}': (3, 0, 4, 0, 0, 0) for source in sources}
    frame = telemetry_frame(7.5, seen, weight=98.0, vehicle=vehicle)
    session.frame = frame | {
        'energy': 0.0,
        'mode': {
            'output': 'pwm', 'gain': 0.5, 'faults': [], 'current': [0, 0, 0], 'switches': {},
            'trouble': '',
        },
        'lights': dict.fromkeys(session.scenery['look']['lights'], 0.0),
        'paused': False,
        'recording': False,
        'notice': name,
        'health': {'nodes': [{'node': name or 'a node', 'state': name or 'ok', 'message': name}]},
        'sensors': shown,
    }  # fmt: skip
    return session


def forget_pages():
    """Let NiceGUI, which has one application in a process, take the pages of another one."""
    from nicegui import core

    core.app.middleware_stack = None
    core.app.user_middleware.clear()


@contextmanager
def served(session, rate=20.0):
    """Serve the console of a session; one at a time in a process."""
    from marine_sim_ros.console.page.live import live_application
    from marine_sim_ros.console.page.server import Server

    forget_pages()
    server = Server(live_application(session, rate), '127.0.0.1', 0)
    try:
        yield server
    finally:
        server.close()


if __name__ == '__main__':  # a console of a description, until the standard input ends
    with served(session_of(sys.argv[1], SCRIPTS[int(sys.argv[2])])) as only:
        print(only.address, flush=True)
        sys.stdin.read()
