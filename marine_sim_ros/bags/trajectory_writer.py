# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writer of the trajectories of ``simulate`` as recordings, without ROS."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marine_sim_ros.bags.description import Manifest, description_with_meshes
from marine_sim_ros.bags.storage import BagStorage, BagWriter, QoS, Thinning, storage
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.core.errors import RecordingError, RunError
from marine_sim_ros.core.progress import PROGRESS_INTERVAL, ReportProgress, no_progress
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.changes import changes_content, load_changes
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.sensors import SENSORS, Readings, SensorTopic, has_packets, needs_of
from marine_sim_ros.sim.mission_states import report_event
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.trajectory import Trajectory

if TYPE_CHECKING:
    from marine_sim_ros.engine.batch import Batch

__all__ = ['write_batch', 'write_parts', 'write_recording', 'write_views']


class _Messages:
    """Builds the messages of one tick."""

    def __init__(self, store: BagStorage, body_frame: str) -> None:
        self._make, self._fill = store.message, store.fill
        self.knows = lru_cache(maxsize=None)(store.knows)
        self.body_frame = body_frame

    def header(self, stamp: int, frame: str) -> Any:
        sec, nanosec = divmod(int(stamp), NANOSECONDS)
        time = self._make('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)
        return self._make('std_msgs/msg/Header', stamp=time, frame_id=frame)

    def vector(self, values: np.ndarray) -> Any:
        x, y, z = map(float, values)
        return self._make('geometry_msgs/msg/Vector3', x=x, y=y, z=z)

    def wrench(self, stamp: int, values: np.ndarray) -> Any:
        wrench = self._make(
            'geometry_msgs/msg/Wrench',
            force=self.vector(values[:3]),
            torque=self.vector(values[3:]),
        )
        header = self.header(stamp, self.body_frame)
        return self._make('geometry_msgs/msg/WrenchStamped', header=header, wrench=wrench)

    def odometry(self, stamp: int, state: State, frame: str) -> Any:
        x, y, z = map(float, state.position)
        qx, qy, qz, qw = map(float, state.orientation)
        velocity = state.velocity
        pose = self._make(
            'geometry_msgs/msg/Pose',
            position=self._make('geometry_msgs/msg/Point', x=x, y=y, z=z),
            orientation=self._make('geometry_msgs/msg/Quaternion', x=qx, y=qy, z=qz, w=qw),
        )
        twist = self._make(
            'geometry_msgs/msg/Twist',
            linear=self.vector(velocity[:3]),
            angular=self.vector(velocity[3:]),
        )
        covariance = np.zeros(36)
        return self._make(
            'nav_msgs/msg/Odometry',
            header=self.header(stamp, 'map'),
            child_frame_id=frame,
            pose=self._make(
                'geometry_msgs/msg/PoseWithCovariance', pose=pose, covariance=covariance
            ),
            twist=self._make(
                'geometry_msgs/msg/TwistWithCovariance', twist=twist, covariance=covariance
            ),
        )

    def acceleration(self, stamp: int, values: np.ndarray) -> Any:
        accel = self._make(
            'geometry_msgs/msg/Accel',
            linear=self.vector(values[:3]),
            angular=self.vector(values[3:]),
        )
        header = self.header(stamp, self.body_frame)
        return self._make('geometry_msgs/msg/AccelStamped', header=header, accel=accel)

    def text(self, data: str) -> Any:
        return self._make('std_msgs/msg/String', data=data)

    def pwm(self, values: np.ndarray) -> Any:
        layout = self._make('std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0)
        data = np.asarray(values, np.uint16)
        return self._make('std_msgs/msg/UInt16MultiArray', layout=layout, data=data)

    def floats(self, values: np.ndarray) -> Any:
        layout = self._make('std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0)
        data = np.asarray(values, np.float32)
        return self._make('std_msgs/msg/Float32MultiArray', layout=layout, data=data)

    def joints(self, stamp: int, names: Sequence[str], **values: np.ndarray) -> Any:
        kinds = ('position', 'velocity', 'effort')
        return self._make(
            'sensor_msgs/msg/JointState',
            header=self.header(stamp, ''),
            name=list(names),
            **{k: np.ascontiguousarray(values.get(k, ()), float) for k in kinds},
        )

    def path(self, stamp: int, points: np.ndarray) -> Any:
        header = self.header(stamp, 'map')
        upright = self._make('geometry_msgs/msg/Quaternion', x=0.0, y=0.0, z=0.0, w=1.0)
        poses = []
        for x, y, z in points.tolist():
            position = self._make('geometry_msgs/msg/Point', x=x, y=y, z=z)
            pose = self._make('geometry_msgs/msg/Pose', position=position, orientation=upright)
            poses.append(self._make('geometry_msgs/msg/PoseStamped', header=header, pose=pose))
        return self._make('nav_msgs/msg/Path', header=header, poses=poses)

    def reading(self, sensor: Sensor, part: SensorTopic, stamp: int, values: Any) -> Any:
        fields = {'header': self.header(stamp, part.frame_of(sensor))}
        if part.type == 'nav_msgs/msg/Odometry':
            fields['child_frame_id'] = sensor.frame
        return self._fill(part.type, {**values, **fields})


TETHER_PERIOD = 0.1
"""Time between two messages of a tether, s, as of the node tether."""

JointTopic = tuple[str, Sequence[str], dict[str, np.ndarray]]
"""Topic, names and values of quantities that are sent as JointState."""


def _joint_topics(vehicle: Vehicle, trajectory: Trajectory) -> list[JointTopic]:
    """Return all quantities that are sent as JointState."""
    result: list[JointTopic] = []
    if len(vehicle.thrusters):
        thrusters = {'effort': trajectory.thrust}
        if (rotors := trajectory.sensors.inputs.rotors) is not None:
            thrusters['velocity'] = rotors
        result.append(('thrusters/state', vehicle.thrusters.names, thrusters))
        if 'supply' in needs_of(vehicle):
            supply = {'position': trajectory.sensors.inputs.supply}
            result.append(('thrusters/supply', ('power', 'voltage', 'used'), supply))
    states: dict[str, tuple[tuple[str, ...], dict[str, np.ndarray]]] = {}
    for actuator in actuators_of(vehicle):
        if actuator.name in trajectory.actuators:
            names, parts = states.get(actuator.state_topic, ((), {}))
            columns = np.hsplit(trajectory.actuators[actuator.name], len(actuator.fields))
            for field, column in zip(actuator.fields, columns, strict=True):
                parts[field] = np.column_stack([parts[field], column]) if names else column
            states[actuator.state_topic] = (*names, *actuator.names(vehicle)), parts
        if actuator.command_topic and actuator.name in trajectory.commands:
            command = {actuator.command_field: trajectory.commands[actuator.name]}
            result.append((actuator.command_topic, actuator.names(vehicle), command))
    result.extend((topic, *state) for topic, state in states.items() if topic)
    if trajectory.targets is not None:
        result.append(
            ('controller/setpoints', SETPOINT_QUANTITIES, {'position': trajectory.targets})
        )
    for namespace, (joints, positions) in trajectory.body_joints.items():
        result.append((f'{namespace}/joint_states', joints, {'position': positions}))
    return result


class _Readings:
    """Readings of all sensors, delayed until their times of arrival."""

    def __init__(self, vehicle: Vehicle, make: _Messages) -> None:
        self._make = make
        self._waiting = {sensor: deque[tuple[int, int, Readings]]() for sensor in vehicle.sensors}

    def add(self, trajectory: Trajectory) -> None:
        """Add the readings of a part of a run."""
        for sensor, waiting in self._waiting.items():
            series = trajectory.sensors[sensor.name]
            stamps = zip(series.arrival.tolist(), series.stamp.tolist(), strict=True)
            for row, (arrival, stamp) in enumerate(stamps):
                if (readings := series.at(row)) is not None:
                    waiting.append((arrival, stamp, readings))

    def readings_until(self, tick: int, thinning: Thinning) -> Iterator[tuple[str, str, int, Any]]:
        """Yield topic, type, stamp (ns) and message of readings that arrive until a tick (ns)."""
        for sensor, waiting in self._waiting.items():
            rule = Thinning(0.0) if has_packets(sensor) else thinning
            while waiting and waiting[0][0] <= tick:
                _, stamp, readings = waiting.popleft()
                yield from self.messages(sensor, stamp, readings, rule)

    def messages(
        self, sensor: Sensor, stamp: int, readings: Readings, thinning: Thinning
    ) -> Iterator[tuple[str, str, int, Any]]:
        """Yield topic, type, stamp (ns) and message of each topic of a reading that is kept."""
        for part in SENSORS[sensor.kind].topics_of(sensor):
            if part.on_demand or not self._make.knows(part.type):
                continue
            fields, topic = part.fields(sensor, readings), f'{sensor.name}/{part.name}'
            if fields is not None and thinning.keeps(topic, stamp):
                message = self._make.reading(sensor, part, stamp, fields)
                yield topic, part.type, stamp, message


def write_recording(
    folder: Path,
    vehicle: Vehicle,
    settings: RunOptions,
    trajectory: Trajectory,
    progress: ReportProgress = no_progress,
    **entries: Any,
) -> None:
    """Write bag and manifest of a trajectory; ``entries`` are further settings of its manifest.

    ``progress`` is called regularly with the completed fraction.

    Raises:
        RecordingError: the folder cannot be written.
    """
    if trajectory.targets is not None and np.isnan(trajectory.targets).all():
        trajectory = replace(trajectory, targets=None)
    write_parts(folder, vehicle, settings, [trajectory], progress, **entries)


def write_parts(
    folder: Path,
    vehicle: Vehicle,
    settings: RunOptions,
    parts: Iterable[Trajectory],
    progress: ReportProgress = no_progress,
    **entries: Any,
) -> None:
    """Write bag and manifest of a run whose trajectory comes in parts.

    If a part raises a RunError, the parts before it are a complete recording.

    Args:
        folder: created if missing.
        parts: of :func:`marine_sim_ros.sim.simulation.simulate_blocks`.
        progress: function that is called regularly with the completed fraction of each part.
        **entries: further settings in the manifest.

    Raises:
        RecordingError: the folder cannot be written.
    """
    store = storage('a recording')
    manifest = Manifest({**asdict(settings), **entries}, vehicle)
    if settings.changes:
        manifest.note(changes=changes_content(load_changes(settings.changes)))
    folder.mkdir(parents=True, exist_ok=True)
    with closing(store.writer(folder / 'bag')) as writer:
        recording = _Recording(
            vehicle, store, folder / 'bag', writer, '/' + (settings.namespace or vehicle.name),
            settings.record_period,
        )  # fmt: skip
        try:
            for part in parts:
                manifest.add_ticks(part.stamp, part.states)
                recording.add(part, progress)
        except RunError:
            manifest.write(folder / 'manifest.json')
            raise
    manifest.write(folder / 'manifest.json')


def write_batch(folder: str | Path, batch: Batch) -> None:
    """Write bag and manifest of every vehicle of a batch, of its stored ticks.

    The files of vehicle 17 are ``000017/bag`` and ``000017/manifest.json``.

    Args:
        folder: a new or empty folder.
        batch: vehicles that were simulated with ``all_quantities=True``.

    Raises:
        MarineSimError: a folder that is not empty or cannot be written, or a batch that
            stores states only.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise RecordingError(f'{folder}: has files; expected a new folder')
    for i, (vehicle, options) in enumerate(zip(batch.vehicles, batch.options, strict=True)):
        write_recording(
            folder / f'{i:06d}',
            vehicle,
            options,
            batch.trajectory(i),
            engine='jax',
            precision=batch.dtype,
            every=str(batch.every),
        )


def write_views(
    folder: Path,
    vehicle: Vehicle,
    sensors: Sequence[Sensor],
    views: Iterable[tuple[int, State, Mapping[str, Readings]]],
) -> None:
    """Write a bag of poses of a vehicle that follow no motion, with readings of some sensors.

    Args:
        folder: created if missing; the bag is ``bag`` in it.
        sensors: sensors of the vehicle.
        views: stamp, ns, pose, and readings by the name of the sensor.

    Raises:
        RecordingError: the folder cannot be written.
    """
    store = storage('a bag')
    folder.mkdir(parents=True, exist_ok=True)
    with closing(store.writer(folder / 'bag')) as writer:
        namespace = '/' + vehicle.name
        recording = _Recording(vehicle, store, folder / 'bag', writer, namespace)
        for stamp, state, readings in views:
            recording.add_view(stamp, state, [(s, readings[s.name]) for s in sensors])


class _Recording:
    """Writes the messages of a run."""

    def __init__(
        self, vehicle: Vehicle, store: BagStorage, bag: Path, writer: BagWriter, namespace: str,
        period: float = 0.0,
    ) -> None:  # fmt: skip
        self._bag, self._thinning = bag, Thinning(period)
        self._tether_thinning = Thinning(max(period, TETHER_PERIOD))
        self._vehicle, self._store, self._writer = vehicle, store, writer
        self._namespace = namespace
        self._make = _Messages(store, vehicle.base_link)
        self._readings = _Readings(vehicle, self._make)
        self._records_acceleration = 'acceleration' in needs_of(vehicle)
        self._added: set[str] = set()

    def add(self, part: Trajectory, progress: ReportProgress) -> None:
        """Write a part of the run."""
        self._describe(int(part.stamp[0]))
        self._readings.add(part)
        joints = _joint_topics(self._vehicle, part)
        wrenches = {**part.sources, 'total': part.wrench}
        for i, stamp in enumerate(part.stamp.tolist()):
            if i % PROGRESS_INTERVAL == 0:
                progress(i / len(part.stamp))
            if self._thinning.keeps('motion', stamp):
                self._add_motion(part, i, stamp, wrenches)
                self._add_joints(joints, i, stamp)
            if part.cable is not None and self._tether_thinning.keeps('tether', stamp):
                assert part.tension is not None
                self._add_tether(part.cable[i], part.tension[i], stamp)
            if part.body_cables and self._tether_thinning.keeps('bodies', stamp):
                for namespace, points in part.body_cables.items():
                    self._add_shape(f'{namespace}/tether/shape', points[i], stamp)
            for topic, kind, measured, message in self._readings.readings_until(
                stamp, self._thinning
            ):
                self._write(topic, kind, measured, message)
            for target in (t for at, t in part.reports if at == stamp):
                text = self._make.text(report_event(stamp / NANOSECONDS, target))
                self._write('console/events', 'std_msgs/msg/String', stamp, text)

    def add_view(
        self, stamp: int, state: State, readings: Iterable[tuple[Sensor, Readings]]
    ) -> None:
        """Write a pose and readings of one stamp, ns."""
        self._describe(stamp)
        odometry = self._make.odometry(stamp, state, self._make.body_frame)
        self._write('odom', 'nav_msgs/msg/Odometry', stamp, odometry)
        for sensor, values in readings:
            for topic, kind, _, message in self._readings.messages(
                sensor, stamp, values, self._thinning
            ):
                self._write(topic, kind, stamp, message)

    def _describe(self, stamp: int) -> None:
        """Write the description of the vehicle before everything else."""
        if not self._added:
            text = self._make.text(description_with_meshes(self._vehicle, self._bag))
            self._write('robot_description', 'std_msgs/msg/String', stamp, text)

    def _add_motion(
        self, part: Trajectory, i: int, stamp: int, wrenches: Mapping[str, np.ndarray]
    ) -> None:
        """Write poses, acceleration, wrenches and thrusters of the i-th tick."""
        make, write = self._make, self._write
        moving = {f'{self._namespace}/odom': (part.states, make.body_frame)}
        moving |= {f'{n}/odom': (states, n.lstrip('/')) for n, states in part.bodies.items()}
        for topic, (states, frame) in moving.items():
            odometry = make.odometry(stamp, State(*(x[i] for x in states)), frame)
            write(topic, 'nav_msgs/msg/Odometry', stamp, odometry)
        if self._records_acceleration:
            change = make.acceleration(stamp, part.sensors.inputs.acceleration[i])
            write('acceleration', 'geometry_msgs/msg/AccelStamped', stamp, change)
        for name, values in wrenches.items():
            kind = 'geometry_msgs/msg/WrenchStamped'
            write(f'wrench/{name}', kind, stamp, make.wrench(stamp, values[i]))
        if len(self._vehicle.thrusters):
            kind = 'std_msgs/msg/UInt16MultiArray'
            write('thrusters/pwm', kind, stamp, make.pwm(part.pwm[i]))
            if part.power is not None:
                kind = 'std_msgs/msg/Float32MultiArray'
                write('thrusters/power', kind, stamp, make.floats(part.power[i]))

    def _add_joints(self, joints: Iterable[JointTopic], i: int, stamp: int) -> None:
        """Write all quantities of the i-th tick that are sent as JointState."""
        for topic, names, parts in joints:
            message = self._make.joints(stamp, names, **{k: v[i] for k, v in parts.items()})
            self._write(topic, 'sensor_msgs/msg/JointState', stamp, message)

    def _add_tether(self, points: np.ndarray, tension: np.ndarray, stamp: int) -> None:
        """Write the points (m, 3) along a tether, map, m, and its pull (2,) at the ends, N."""
        pull = self._make.joints(stamp, ('vehicle', 'anchor'), effort=tension)
        self._write('tether/tension', 'sensor_msgs/msg/JointState', stamp, pull)
        self._add_shape('tether/shape', points, stamp)

    def _add_shape(self, topic: str, points: np.ndarray, stamp: int) -> None:
        self._write(topic, 'nav_msgs/msg/Path', stamp, self._make.path(stamp, points))

    def _write(self, topic: str, kind: str, stamp: int, message: Any) -> None:
        name = topic if topic.startswith('/') else f'{self._namespace}/{topic}'
        if name not in self._added:
            self._added.add(name)
            self._writer.add(name, kind, QoS(depth=10, transient_local=False))
        self._writer.write(name, stamp, self._store.serialize(message, kind))
