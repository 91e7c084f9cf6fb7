# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep system inside Gazebo's server: publishes the state and waits for its wrench.

Loaded by gz::sim::systems::PythonSystemLoader, by the server's own Python, so that it imports
nothing but the standard library and Gazebo's bindings, and those only in :func:`get_system`.

SDF parameters (of the plugin, in a world): ``model`` and ``link``, whose origin the wrench is
about; ``probe``, a sensor of the link at its origin, whose state is published; ``period``, ns
between two wrenches, a multiple of the physics step; ``lockstep``, true or false.
Publishes ``/model/<model>/seat/state`` (gz.msgs.Odometry: world pose, body velocity, stamp of the
state) at every period, again every 0.25 s while nobody answers, and ``.../status``
(gz.msgs.StringMsg).
Subscribes ``/model/<model>/seat/wrench`` (gz.msgs.Wrench: body axes, stamp of the state that it
answers).
In lockstep the step waits for the wrench of its stamp. Without it the newest wrench holds, and
only the first is waited for, so that nothing falls before the forces are there. Where the physics
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

__all__ = ['Exchange', 'Gazebo', 'LockstepSystem', 'end_failed', 'get_system', 'system_of']

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


class LockstepSystem:
    """The system; ``gz`` brings Gazebo's classes, so that a test can bring others."""

    name = 'marine_sim_lockstep'
    wanted = 'wrench'

    def __init__(self, gz: Any) -> None:
        """Wait for ``configure``."""
        self._gz = gz
        self.exchange = Exchange()
        self._world: Any = None
        self._link: Any = None
        self._probe: Any = None
        self._last_wrench: Any = None
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
        self.model, self.link = sdf.get_string('model'), sdf.get_string('link')
        self.probe = sdf.get_string('probe')
        self.period = int(sdf.get_string('period'))
        self.lockstep = sdf.get_string('lockstep') == 'true'
        node = self._node = gz.Node()
        topic = f'/model/{self.model}/seat'
        self._status = node.advertise(f'{topic}/status', gz.StringMsg)
        self._connect(node, topic)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_interrupt)
        kind = 'lockstep' if self.lockstep else 'free running'
        sys.stderr.write(f'{self.name}: {topic[7:-5]}::{self.link}, {kind}\n')

    def _connect(self, node: Any, topic: str) -> None:
        """Open the topics of states and wrenches."""
        gz = self._gz
        self._state = node.advertise(f'{topic}/state', gz.Odometry)
        node.subscribe(gz.Wrench, f'{topic}/wrench', self._on_wrench)

    def pre_update(self, info: Any, ecm: Any) -> None:
        """Exert the wrench of this step."""
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
        self.exchange.clear()
        self._last_wrench = self._link = None  # the world has lost what was added to the probe

    def shutdown(self) -> None:
        """Let go of the topics."""
        self._stopped = True
        self._node = self._state = self._status = None

    def _step(self, info: Any, ecm: Any) -> None:
        if info.paused:
            self._publish_status(f'paused at {_nanoseconds(info.sim_time) * 1e-9:.3f} s')
            return
        link = self._find(ecm)
        if link is None or self._stopped:
            self._publish_status(f'no link {self.model}::{self.link} in this world')
            return
        stamp = _nanoseconds(info.sim_time) - _nanoseconds(info.dt)
        pose = self._probe.world_pose(ecm)
        if stamp % self.period == 0:
            self._last_wrench = self._decide(stamp, pose, ecm)
        if self._last_wrench is not None:
            rotate = pose.rot().rotate_vector
            force, torque = self._last_wrench
            link.add_world_wrench(ecm, rotate(force), rotate(torque))

    def _decide(self, stamp: int, pose: Any, ecm: Any) -> Any:
        """Return force and torque, body axes, for a state; None when it is time to end."""
        message = self._message(stamp, pose, ecm)
        self._publish(message)
        answer = self._answer(stamp, message)
        vector = self._gz.vector
        return None if answer is None else (vector(answer.force), vector(answer.torque))

    def _answer(self, stamp: int, message: Any) -> Any:
        if not self.lockstep and self.exchange.wrench is not None:
            return self.exchange.wrench

        def publish_again() -> None:
            self._publish(message)
            self._publish_status(f'waiting for the {self.wanted} of {stamp * 1e-9:.3f} s')

        return self.exchange.wait(stamp, lambda: self._stopped, publish_again)

    def _publish(self, message: Any) -> None:
        self._state.publish(message)

    def _find(self, ecm: Any) -> Any:
        """Return the link, which may come, go and come back, or None."""
        if self._link is not None and self._link.valid(ecm):
            return self._link
        self._link = None
        gz = self._gz
        model = self._world.model_by_name(ecm, self.model)
        entity = gz.Model(model).link_by_name(ecm, self.link) if model != gz.none else gz.none
        if entity != gz.none:
            link = gz.Link(entity)
            sensor = link.sensor_by_name(ecm, self.probe)
            if sensor == gz.none:
                raise LookupError(f'no sensor {self.probe} on {self.model}::{self.link}')
            # Gazebo's Python has velocities for links alone; they are components of any entity.
            self._link, self._probe = link, gz.Link(sensor)
            self._probe.enable_velocity_checks(ecm, True)
        return self._link

    def _message(self, stamp: int, pose: Any, ecm: Any) -> Any:
        message = self._gz.Odometry()
        message.header.stamp.sec, message.header.stamp.nsec = divmod(stamp, 10**9)
        position, rotation = pose.pos(), pose.rot()
        at, orientation = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = position.x(), position.y(), position.z()
        orientation.x, orientation.y, orientation.z, orientation.w = (
            rotation.x(),
            rotation.y(),
            rotation.z(),
            rotation.w(),
        )
        for target, vector in (
            (message.twist.linear, self._probe.world_linear_velocity(ecm)),
            (message.twist.angular, self._probe.world_angular_velocity(ecm)),
        ):
            if vector is not None:  # before the first step there is none
                body = rotation.rotate_vector_reverse(vector)
                target.x, target.y, target.z = body.x(), body.y(), body.z()
        return message

    def _on_wrench(self, message: Any) -> None:
        stamp = message.header.stamp
        self.exchange.offer(stamp.sec * 10**9 + stamp.nsec, message)

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
