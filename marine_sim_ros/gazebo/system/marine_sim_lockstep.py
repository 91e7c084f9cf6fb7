# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep system inside Gazebo's server: publishes states and waits for their wrenches.

Loaded by gz::sim::systems::PythonSystemLoader, by the server's own Python, so that it imports
nothing but the standard library and Gazebo's bindings, and those only in :func:`get_system`.

SDF parameters (of the plugin, in a world): ``model`` and ``link``, whose origin the wrench is
about; ``bodies``, scoped names ``model::link`` of the links of free bodies, if there are any;
``probe``, a sensor of each link at its origin, whose state is published; ``period``, ns between
two wrenches, a multiple of the physics step; ``lockstep``, true or false.
Publishes, of each link, ``/model/<model>/seat/state`` (gz.msgs.Odometry: world pose, body
velocity, stamp of the state) at every period, again every 0.25 s while nobody answers, and
``/model/<model>/seat/status`` (gz.msgs.StringMsg) of the vehicle.
Subscribes, of each link, ``/model/<model>/seat/wrench`` (gz.msgs.Wrench: body axes, stamp of the
state that it answers).
In lockstep the step waits for all wrenches of its stamp. Without it the newest wrenches hold, and
only the first are waited for, so that nothing falls before the forces are there. Where the physics
step is shorter than the period, a wrench holds in body axes over all its steps.
Failure: an error in here would leave the world running without forces, so it ends the server with
exit code 1; a model that is missing is reported as a status, and the world goes on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = [
    'Exchange',
    'Gazebo',
    'LockstepSystem',
    'SteppedLink',
    'end_failed',
    'get_system',
    'system_of',
]

_BINDINGS = 'marine_sim_bindings'
POLL_PERIOD = 0.02
"""s; how soon a wait notices that the server is to end."""
REPUBLISH_PERIOD = 0.25
"""s; who comes late, or lost a message, gets the state once more."""


class Exchange:
    """Hands wrenches from the thread that hears them to the one that steps the world."""

    def __init__(self) -> None:
        """Start without a wrench."""
        self._condition = threading.Condition()
        self.clear()

    def clear(self) -> None:
        """Forget what came: the world was reset."""
        with self._condition:
            self.stamp = -1
            self.wrench: Any = None

    def offer(self, stamp: int, wrench: Any) -> None:
        """Take a wrench that answers the state of a stamp, ns."""
        with self._condition:
            self.stamp, self.wrench = stamp, wrench
            self._condition.notify()

    def wait(self, stamp: int, stopped: Callable[[], bool], again: Callable[[], None]) -> Any:
        """Return the wrench of a stamp, or None when it is time to end.

        Args:
            stamp: stamp of the reported state, ns.
            stopped: whether the server is to end.
            again: called every 0.25 s without an answer.
        """
        due = time.monotonic() + REPUBLISH_PERIOD
        with self._condition:
            while self.stamp != stamp:
                if stopped():
                    return None
                self._condition.wait(POLL_PERIOD)
                if self.stamp != stamp and time.monotonic() >= due:
                    due += REPUBLISH_PERIOD
                    again()
            return self.wrench


class SteppedLink:
    """A link whose state is published, and which takes a wrench.

    Attributes:
        name: scoped name, ``model::link``.
        exchange: wrenches that answer its states.
        probe: sensor at its origin, as a link of Gazebo's.
        pose: pose of the probe at this step.
        wrench: force and torque of this period, body axes; None: nothing yet.
    """

    def __init__(self, gz: Any, name: str, probe: str) -> None:
        """Wait for ``find``."""
        self._gz, self.name, self._probe_name = gz, name, probe
        self.model, _, self._link_name = name.partition('::')
        self.exchange = Exchange()
        self.probe: Any = None
        self.pose: Any = None
        self.wrench: Any = None
        self._link: Any = None
        self._publisher: Any = None

    def connect(self, node: Any) -> None:
        """Open the topics of its states and wrenches."""
        topic = f'/model/{self.model}/seat'
        self._publisher = node.advertise(f'{topic}/state', self._gz.Odometry)
        node.subscribe(self._gz.Wrench, f'{topic}/wrench', self._on_wrench)

    def close(self) -> None:
        """Let go of the topics."""
        self._publisher = None

    def restart(self) -> None:
        """Forget a world that was reset: it has lost what was added to the probe."""
        self.exchange.clear()
        self.wrench = self._link = None

    def find(self, world: Any, ecm: Any) -> bool:
        """Read the pose; return whether the link, which may come, go and come back, is there."""
        if self._link is None or not self._link.valid(ecm):
            self._link = None
            gz = self._gz
            model = world.model_by_name(ecm, self.model)
            entity = gz.none
            if model != gz.none:
                entity = gz.Model(model).link_by_name(ecm, self._link_name)
            if entity == gz.none:
                return False
            link = gz.Link(entity)
            sensor = link.sensor_by_name(ecm, self._probe_name)
            if sensor == gz.none:
                raise LookupError(f'no sensor {self._probe_name} on {self.name}')
            # Gazebo's Python has velocities for links alone; they are components of any entity.
            self._link, self.probe = link, gz.Link(sensor)
            self.probe.enable_velocity_checks(ecm, True)
        self.pose = self.probe.world_pose(ecm)
        return True

    def message(self, stamp: int, ecm: Any) -> Any:
        """Return the state at a stamp, ns."""
        message = self._gz.Odometry()
        message.header.stamp.sec, message.header.stamp.nsec = divmod(stamp, 10**9)
        position, rotation = self.pose.pos(), self.pose.rot()
        at, orientation = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = position.x(), position.y(), position.z()
        orientation.x, orientation.y, orientation.z, orientation.w = (
            rotation.x(),
            rotation.y(),
            rotation.z(),
            rotation.w(),
        )
        for target, vector in (
            (message.twist.linear, self.probe.world_linear_velocity(ecm)),
            (message.twist.angular, self.probe.world_angular_velocity(ecm)),
        ):
            if vector is not None:  # before the first step there is none
                body = rotation.rotate_vector_reverse(vector)
                target.x, target.y, target.z = body.x(), body.y(), body.z()
        return message

    def publish(self, message: Any) -> None:
        """Publish a state."""
        self._publisher.publish(message)

    def exert(self, ecm: Any) -> None:
        """Exert the wrench, if there is one, over this step."""
        if self.wrench is not None:
            rotate = self.pose.rot().rotate_vector
            force, torque = self.wrench
            self._link.add_world_wrench(ecm, rotate(force), rotate(torque))

    def _on_wrench(self, message: Any) -> None:
        stamp = message.header.stamp
        self.exchange.offer(stamp.sec * 10**9 + stamp.nsec, message)


class LockstepSystem:
    """The system; ``gz`` brings Gazebo's classes, so that a test can bring others."""

    name = 'marine_sim_lockstep'
    wanted = 'wrench'

    def __init__(self, gz: Any) -> None:
        """Wait for ``configure``."""
        self._gz = gz
        self._world: Any = None
        self._links: list[SteppedLink] = []
        self._stopped = False
        self._reported_at = 0.0

    def configure(self, entity: Any, sdf: Any, ecm: Any, event_manager: Any) -> None:
        """Read the parameters and open the topics."""
        del ecm, event_manager
        try:
            self._open(entity, sdf)
        except Exception as error:
            self._fail(error)

    def _open(self, entity: Any, sdf: Any) -> None:
        gz = self._gz
        self._world = gz.World(entity)
        self.model, self.period = sdf.get_string('model'), int(sdf.get_string('period'))
        self.lockstep = sdf.get_string('lockstep') == 'true'
        bodies = (sdf.get_string('bodies') or '').split()
        names = [f'{self.model}::{sdf.get_string("link")}', *bodies]
        self._links = [SteppedLink(gz, name, sdf.get_string('probe')) for name in names]
        self.vehicle = self._links[0]
        node = self._node = gz.Node()
        self._status = node.advertise(f'/model/{self.model}/seat/status', gz.StringMsg)
        self._connect(node)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_interrupt)
        kind = 'lockstep' if self.lockstep else 'free running'
        sys.stderr.write(f'{self.name}: {", ".join(names)}, {kind}\n')

    def _connect(self, node: Any) -> None:
        """Open the topics of states and wrenches."""
        for link in self._links:
            link.connect(node)

    def pre_update(self, info: Any, ecm: Any) -> None:
        """Exert the wrenches of this step."""
        try:
            self._step(info, ecm)
        except Exception as error:  # it would silently take the forces away
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Tell an error, and end the server."""
        traceback.print_exception(error)
        end_failed()

    def reset(self, info: Any, ecm: Any) -> None:
        """Start anew with the world."""
        del info, ecm
        for link in self._links:
            link.restart()

    def shutdown(self) -> None:
        """Let go of the topics."""
        self._stopped = True
        self._node = self._status = None
        for link in self._links:
            link.close()

    def _step(self, info: Any, ecm: Any) -> None:
        if info.paused:
            self._publish_status(f'paused at {_nanoseconds(info.sim_time) * 1e-9:.3f} s')
            return
        if self._stopped:
            return
        for link in self._links:
            if not link.find(self._world, ecm):
                self._publish_status(f'no link {link.name} in this world')
                return
        stamp = _nanoseconds(info.sim_time) - _nanoseconds(info.dt)
        if stamp % self.period == 0:
            self._decide(stamp, ecm)
        for link in self._links:
            link.exert(ecm)

    def _decide(self, stamp: int, ecm: Any) -> None:
        """Get the wrenches of a period; none when it is time to end."""
        messages = [(link, link.message(stamp, ecm)) for link in self._links]

        def publish() -> None:
            for link, message in messages:
                link.publish(message)

        publish()
        vector = self._gz.vector
        for link in self._links:
            answer = self._answer(link, stamp, publish)
            link.wrench = None if answer is None else (vector(answer.force), vector(answer.torque))

    def _answer(self, link: SteppedLink, stamp: int, publish: Callable[[], None]) -> Any:
        """Return the answer to the state of a link; None when it is time to end.

        Args:
            stamp: ns.
            publish: publishes the states of the stamp once more.
        """
        exchange = link.exchange
        if not self.lockstep and exchange.wrench is not None:
            return exchange.wrench

        def publish_again() -> None:
            publish()
            self._publish_status(f'waiting for the {self.wanted} of {stamp * 1e-9:.3f} s')

        return exchange.wait(stamp, lambda: self._stopped, publish_again)

    def _on_interrupt(self, number: int, frame: Any) -> None:
        """End the wait, then the server: this took the place of the server's own handler."""
        del number, frame
        self._end()

    def _end(self) -> None:
        self._stopped = True
        os.kill(os.getpid(), signal.SIGTERM)

    def _publish_status(self, text: str) -> None:
        """Publish a status, at most every quarter of a second."""
        now = time.monotonic()
        if now - self._reported_at >= REPUBLISH_PERIOD and self._status is not None:
            self._reported_at = now
            self._status.publish(self._gz.StringMsg(data=text))


def _nanoseconds(duration: Any) -> int:
    """Return a timedelta in ns; it has whole µs."""
    microseconds = (duration.days * 86400 + duration.seconds) * 10**6 + duration.microseconds
    return int(microseconds) * 1000


class Gazebo:
    """Gazebo's classes."""

    def __init__(self) -> None:
        """Import them; raises ImportError where one is missing."""
        # In Gazebo's server this file is no part of a package, and that one is beside it.
        found = import_module(f'{__package__}.{_BINDINGS}' if __package__ else _BINDINGS)
        sim, transport = found.binding('gz.sim'), found.binding('gz.transport')
        self.none = sim.K_NULL_ENTITY
        self.Link, self.Model, self.World = sim.Link, sim.Model, sim.World
        self.Node, self.SubscribeOptions = transport.Node, transport.SubscribeOptions
        self.Bytes, self.Odometry = found.message('Bytes'), found.message('Odometry')
        self.StringMsg, self.Wrench = found.message('StringMsg'), found.message('Wrench')
        self.Vector3d = found.binding('gz.math').Vector3d

    def vector(self, message: Any) -> Any:
        """Return a vector of a message as one to compute with."""
        return self.Vector3d(message.x, message.y, message.z)


def end_failed() -> None:
    """End the server with exit code 1; asked to stop by a signal, it would return 0."""
    sys.stderr.flush()
    os._exit(1)


def system_of(make: Callable[[], LockstepSystem], name: str, expected: str) -> LockstepSystem:
    """Return a system; where something cannot be imported, say so in one line, and end."""
    try:
        return make()
    except ImportError as error:
        reason = str(error).strip().splitlines()[0]
        sys.stderr.write(f'ERROR: {name}: {reason}; expected {expected}\n')
        end_failed()
        raise


def get_system() -> LockstepSystem:
    """Return the system; the loader calls this."""
    return system_of(
        lambda: LockstepSystem(Gazebo()),
        LockstepSystem.name,
        "Gazebo's Python bindings: of Harmonic, python3-gz-sim8 and python3-sdformat14",
    )
