# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Console: serves the operator's page to browsers; all pages show the run, one steers.

Subscribes: odom, wrench/*, thrusters/*, barometer/*, controller/setpoints, joint_states,
altitude and leak of sensors (the newest of each, ``rate`` times a second of wall time);
/diagnostics; while a page shows the sensors, best effort, the topics of the vehicle's sensors, or
a camera's <name>/image/compressed; mission/score, where there is a lesson.
Publishes, for the operator: thrusters/pwm, cmd_vel or cmd_pose; cmd_path, joint_commands, lights
(Float32MultiArray, 0 to 1), /ocean_current.
Calls: arm, auto_depth, auto_heading, station_keeping, attach, detach, pause, step, reset, end;
sets ``faults`` of all nodes and ``free_axes`` of the controller; starts a recorder.
Parameters: the common ones, and those below.
Failure: an operator's page that is closed, hidden, or silent for 0.7 s stops: neutral pulse widths
or a zero velocity, and the controller is disarmed (``on_loss``). A page that returns within 10 s
continues, with the controller armed as before; after that, or if it is closed, it loses control.
The server runs in a thread; no node waits for it. Without the extra ``console`` the node ends with
exit code 2.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.storage import recording_parts
from marine_sim_ros.console.control_lease import LEASE_TIMEOUT, OPERATOR_TIMEOUT
from marine_sim_ros.console.page.links import require_pages
from marine_sim_ros.console.pilot_readings import pilot_readings
from marine_sim_ros.console.requests import Session
from marine_sim_ros.console.telemetry import Energy, force_colours, telemetry_frame
from marine_sim_ros.console.visuals import (
    chart_visuals,
    scenario_waypoints,
    scene_visuals,
    vehicle_visuals,
)
from marine_sim_ros.control.pilot import OUTPUT_MODES
from marine_sim_ros.core.processes import typed_command
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.physics.silt import SiltClouds, cloud_depths
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import WRENCH_SOURCES, NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.operators.commands import STICK_PARAMETERS
from marine_sim_ros.ros.operators.console_backend import ConsoleBackend
from marine_sim_ros.ros.operators.monitors import (
    SENSOR_TIMEOUT,
    GraphMonitor,
    SensorPanel,
    VideoMonitor,
)
from marine_sim_ros.ros.operators.run_changes import RecorderProcess
from marine_sim_ros.sim.mission import LIVE_SCORE, load_mission, mission_scenery
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['PARAMETERS', 'main']

PARAMETERS = (
    NodeParameter('host', '127.0.0.1', 'address to listen on'),
    option_parameter('console_port', name='port'),
    option_parameter('scenario', empty='none'),
    NodeParameter(
        'token_file',
        '',
        'file with the token of the link that steers, 32 letters or more, for its owner alone',
        empty='a new token at each start',
    ),
    NodeParameter('rate', 25.0, 'page updates per second of wall time', 1.0, 60.0, unit='Hz'),
    NodeParameter('output', 'pwm', 'output of the sticks at the start', choices=OUTPUT_MODES),
    NodeParameter(
        'operator_timeout',
        OPERATOR_TIMEOUT,
        "silence of the operator's page, wall time, until the thrusters are neutral",
        0.1,
        60.0,
        unit='s',
    ),
    NodeParameter(
        'lease_timeout',
        LEASE_TIMEOUT,
        'silence, wall time, until the page loses control; `operator_timeout` at least',
        0.1,
        600.0,
        unit='s',
    ),
    NodeParameter('gain', 0.5, 'fraction of full stick at the start', 0.0, 1.0),
    NodeParameter(
        'on_loss',
        'disarm',
        'reaction of the controller to a lost operator',
        choices=('disarm', 'hold'),
    ),
    NodeParameter(
        'recorder',
        '',
        'parameters of the recorder that the operator may start, JSON',
        empty='none may be started',
    ),
    NodeParameter(
        'recorded', '', 'folder that the run is recorded to', empty='it is not, or by the operator'
    ),
    NodeParameter('folder', 'out', "folder of the operator's recordings"),
    option_parameter('lesson', empty='none'),
    *STICK_PARAMETERS,
    WRENCH_SOURCES,
)

SLACK = 0.25
"""Fraction of the period of updates by which one may come early."""
NOTICE_DURATION = 5.0
"""s of wall time that a notice is shown."""
END_TIMEOUT, MIN_END_TIME = 3.0, 0.5
"""s of wall time after the end: maximum wait for pages to receive the final message, and the
minimum after closing a recording."""
HISTORY_QUANTITIES = ('time', 'position', 'rpy', 'velocity', 'rates', 'setpoints')
"""Quantities of past telemetry frames."""


class ConsoleNode(VehicleNode):
    """Node that serves the operator's page."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``console`` and start to serve."""
        super().__init__('console', PARAMETERS, **options)
        require_pages()
        from marine_sim_ros.console.page.links import read_token
        from marine_sim_ros.console.page.live import live_application
        from marine_sim_ros.console.page.server import Server

        token = read_token(path) if (path := self.values['token_file']) else ''
        look = vehicle_visuals(self.vehicle)
        for text in look['told']:
            self.warn_throttled(text)
        self._sensors, self._video = SensorPanel(self), VideoMonitor(self)
        lesson = self.values['lesson']
        mission = mission_scenery(load_mission(lesson)) if lesson else None
        self.session = Session(
            {
                'look': look,
                'around': scene_visuals(self.environment),
                'colours': force_colours(),
                'sources': self.wrench_sources,
                'sensors': self._sensors.scenery(),
                'videos': self._video.names,
                'mission': mission,
                'chart': chart_visuals(self.environment, self._waypoints(mission)),
            }
        )
        self._silt = SiltClouds(self.vehicle) if self.environment.sediment else None
        self._weight = self.vehicle.inertia.mass * (self.environment.gravity or STANDARD_GRAVITY)
        self._energy = Energy()
        self._score: dict[str, Any] | None = None
        if lesson:
            self.listen(topics.MISSION_SCORE, self._on_score)
        self._frame_count, self._due = 0, 0.0
        self._notice = ('', 0.0, '')
        self._period = period = 1.0 / self.values['rate']
        self.freeze_clock()
        self._monitor = GraphMonitor(self)
        self._recording = RecorderProcess(
            self, self.values['recorder'], self.values['folder'], self._notify
        )
        self._backend = ConsoleBackend(
            self, self.session, period, record=self._recording.switch, report=self._notify
        )
        self._server = Server(
            live_application(self.session, self.values['rate']),
            self.values['host'],
            self.values['port'],
            token,
        )
        self._server.announce(self.get_namespace().strip('/') or self.vehicle.name)
        self.session.wake = self._wake
        self._monitor.listen(self.guard('console', self._on_state))
        self.create_timer(period, self.guard('console', self._on_timer), clock=self.wall_clock)

    def _waypoints(self, mission: Mapping[str, Any] | None) -> list[tuple[str, list[float]]]:
        """Return name and position of the waypoints of the scenario and of the mission's tasks."""
        found = []
        if self.values['scenario']:
            scenario = load_scenario(self.values['scenario']).located(self.environment)
            found = scenario_waypoints(scenario)
        for task in () if mission is None else mission['tasks']:
            if points := [point for line in task['lines'] for point in line]:
                found.append((task['name'], np.mean(points, axis=0).tolist()))
        return found

    def warn_throttled(self, text: str, *, error: bool = False) -> None:
        """Log a warning as every node does, and show it to the pages."""
        super().warn_throttled(text, error=error)
        self._notice = (text, self._wall_time(), 'warning')

    def _notify(self, text: str, level: str = 'info', *, log: bool = True) -> None:
        """Show an event to the pages, and log it."""
        if log:
            logger = self.get_logger()
            _ = logger.warning(text) if level == 'warning' else logger.info(text)
        self._notice = (text, self._wall_time(), level)

    def _wall_time(self) -> float:
        return self.wall_clock.now().nanoseconds / NANOSECONDS

    def _on_score(self, message: Any) -> None:
        self._score = json.loads(message.data)

    def _wake(self) -> None:
        """Have what steers handled at once; called by the server's thread."""
        if self.executor is not None:
            self.executor.create_task(self.guard('console', self._on_requests))

    def _on_requests(self) -> None:
        if self.session.is_asked:
            self._backend.update(self._wall_time(), self._monitor)

    def _on_state(self) -> None:
        """Show a state that has just come, unless the rate of updates is reached."""
        if self._wall_time() > self._due - SLACK * self._period:
            self._tick()

    def _on_timer(self) -> None:
        """Update where no state has come in time, as in a pause."""
        if self._wall_time() > self._due + self._period / 2:
            self._tick()

    def _tick(self) -> None:
        self._due = max(self._due + self._period, self._wall_time())
        monitor, backend = self._monitor, self._backend
        monitor.poll()
        self.session.videos = self._video.poll(self.session.watched)
        backend.update(self._wall_time(), monitor)
        self._recording.check()
        if self._recording.is_saved:
            monitor.forget('recorder')
        if monitor.state is not None:
            self.set_clock(monitor.stamp)
            self._show(monitor.stamp / NANOSECONDS)

    def _show(self, time: float) -> None:
        monitor, backend = self._monitor, self._backend
        clock = self._wall_time()
        self._sensors.update(
            clock,
            time,
            monitor,
            watched=backend.has_viewers(clock),
            paused=bool(backend.paused),
            faults=backend.fault_injector.faults,
        )
        self.session.pictures = self._sensors.pictures
        now = telemetry_frame(time, monitor.rows, weight=self._weight, vehicle=self.vehicle)
        controls = backend.controls_state()
        if self._recording.closing:
            controls['unavailable']['record'] = f'{self._recording.directory} is being closed'
        elif self.values['recorded']:
            controls['unavailable']['record'] = f'the run is recorded to {self.values["recorded"]}'
        notice, level = self._run_report()
        now |= pilot_readings(monitor.rows, self.vehicle, time)
        now |= {
            'energy': self._energy.add(time, monitor.rows.get('thrusters/power', ())),
            'mode': controls,
            'lights': backend.lights,
            'paused': backend.paused,
            'recording': self._recording.running and self._recording.directory,
            'closing': self._recording.closing,
            'notice': notice or controls['trouble'],
            'notice_level': level,
            'health': monitor.health,
            'sensors': self._sensors.rows,
            'mission': self._score,
            'silt': self._silt_shown(time, now),
        }
        self._frame_count += 1
        if time < self.session.frame.get('time', 0.0):  # a reset; curves and path begin anew
            self.session.history.clear()
        if self._frame_count % 2 == 0 and time != self.session.frame.get('time'):
            self.session.history.append({name: now[name] for name in HISTORY_QUANTITIES})
        self.session.show(now)

    def _silt_shown(self, time: float, now: Mapping[str, Any]) -> list[list[float]]:
        """Return the clouds of silt at a time, s, as the view draws them.

        They follow from the newest frames, so that they are near those that cameras see.
        """
        sediment, state = self.environment.sediment, self._backend.state
        if self._silt is None or sediment is None or state is None:
            return []
        thrust = np.nan_to_num(np.array(now['thrust'], float))
        if thrust.shape != (len(self.vehicle.thrusters),):
            thrust = np.zeros(len(self.vehicle.thrusters))
        stamp = round(time * NANOSECONDS)
        rows = self._silt.advance(stamp, state, self.environment.at(time), thrust)
        return cloud_depths(rows, sediment.attenuation)

    def _run_report(self) -> tuple[str, str]:
        """Return the notice that pages show now, and its level: info or warning."""
        text, since, level = self._notice
        if self._wall_time() - since < NOTICE_DURATION:
            return text, level
        if self._recording.starting:
            return 'the recorder starts …', 'info'
        silence = self._monitor.silent_time
        stopped = silence >= SENSOR_TIMEOUT and not self._backend.paused
        return f'no message of the run for {silence:.0f} s' if stopped else '', 'warning'

    def _end_message(self) -> str:
        """Return the final text of pages: length of the run, recording and how to read it.

        A reset begins a new recording; the commands name the newest.
        """
        folder = self.values['recorded'] or self._recording.directory
        command = typed_command()
        lesson = self.session.scenery['mission']
        word = 'run' if lesson is None else 'lesson'
        text = f'The {word} has ended after {self.session.frame.get("time", 0.0):.1f} s.'
        if lesson is not None:
            text += f' {self._lesson_result(lesson)}'
        if not folder:
            return f'{text} It was not recorded.'
        saved = [str(folder), *map(str, recording_parts(Path(folder)))]
        replay = f'Replay: {command} console {saved[-1]}'
        if lesson is not None:
            debriefing = f'Debriefing, in a moment: {saved[-1]}/debriefing.png'
            return (
                f'{text}\n{debriefing}\n{replay}\nNext: fly it again, or another: {command} train'
            )
        report = f'Report: {command} analyze {saved[-1]} -o {saved[-1]}_report'
        return f'{text} Saved to {", ".join(saved)}\n{replay}\n{report}'

    def _lesson_result(self, lesson: Mapping[str, Any]) -> str:
        """Return score, medal and tasks of a lesson in words."""
        with suppress(OSError, ValueError):  # with ticks that came after the newest message
            self._score = json.loads((Path(self.values['recorded']) / LIVE_SCORE).read_bytes())
        if self._score is None:
            return f'{lesson["title"]}: nothing was scored.'
        medal = self._score['medal'] or f'no medal; bronze from {lesson["medals"]["bronze"]:g}'
        for task in self._score['tasks']:
            if task['state'] == 'running':
                task['state'] = 'failed'
        self.session.frame = {**self.session.frame, 'mission': self._score}
        text = f'{lesson["title"]}: {self._score["score"]:.1f} of 100 points, {medal}.'
        tasks: dict[bool, list[str]] = {True: [], False: []}
        for task in self._score['tasks']:
            tasks[task['state'] == 'done'].append(task['name'])
        for word, names in (('Done', tasks[True]), ('Not done', tasks[False])):
            text += f' {word}: {", ".join(names)}.' if names else ''
        return text

    def close(self) -> None:
        """Stop the vehicle if a page steers; report the end of the run to the pages."""
        deadline = time.monotonic() + END_TIMEOUT
        if self.session.lease.page:
            self._backend.halt()
        if (count := self._backend.slow_count) > 1:
            self.get_logger().info(f"the operator's page was slow {count} times")
        ending = {'notice': 'the run ends …', 'notice_level': 'info'}
        self.session.frame = {**self.session.frame, **ending}
        self._recording.close()
        self.session.ended = self._end_message()
        # A page that draws slowly reads its messages late: each closes its socket when it did.
        deadline = max(deadline, time.monotonic() + MIN_END_TIME)
        while self.session.listeners and time.monotonic() < deadline:
            time.sleep(0.02)
        self._server.close()
        self._monitor.close()
        self._sensors.close()
        self._video.close()


def main() -> None:
    """Run the executable."""
    run(ConsoleNode)


if __name__ == '__main__':
    main()
