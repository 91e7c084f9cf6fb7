# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes of the environment in a graph: they begin in all nodes with the same state."""

from __future__ import annotations

import time as wall
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.changes import EnvironmentChange, changes_text, parse_change
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.internals import create_delayed_service
from marine_sim_ros.ros.dynamics.state_node import StateNode
from marine_sim_ros.sensors import sensor_nodes

__all__ = ['EnvironmentChanger']

CHANGE_TIMEOUT = 5.0
"""s of wall time that the nodes of a run may take to learn of a change."""
MAX_WAITING_CHANGES = 64
"""Changes that wait for the next state."""
_OBSERVERS = ('recorder', 'console', 'markers')
"""Nodes that need not run."""
_BODY_OWNER = 'contact'


class _Request(NamedTuple):
    """Change of the environment, YAML, and a function that gets its refusal, or an empty text."""

    text: str
    reply: Callable[[str], None]


class EnvironmentChanger:
    """Changes of the environment that all nodes apply from the same tick on.

    A change begins at the next state that is published. That state is published when every node
    has answered that it knows the change, by its parameter ``environment_changes``. The node that
    moves the bodies is asked first about a change of them: if it refuses, nothing changes. Of a
    fleet, the state node that publishes the clock decides, and asks the state nodes of its
    followers, each of which asks its own nodes: their next state waits for the clock.
    """

    def __init__(self, node: StateNode) -> None:
        """Subscribe; the changes that the run starts with return with a reset."""
        self._node = node
        self._initial = node.environment.changes
        self._asked: tuple[EnvironmentChange, ...] | None = self._initial
        followers = (f'{name}/{node.get_name()}' for name in node.values['followers'] if name)
        self._needed = {*node.wrench_sources, *sensor_nodes(node.vehicle), *followers}
        controllers = [model.executable for model in CONTROLLERS.values()]
        self._clients = {
            name: node.create_client(SetParameters, f'{name}/set_parameters')
            for name in sorted({*self._needed, *controllers, *_OBSERVERS})
        }
        self._waiting: deque[_Request] = deque()
        self._active: _Request | None = None
        self._message: SetParameters.Request | None = None
        self._unasked: set[str] = set()
        self._unanswered: set[str] = set()
        self._refusals: list[str] = []
        self._since = 0.0
        self._finish: Callable[[str], None] = self._finish_all
        self._to_leader: Any = None
        if leader := node.values['leader']:
            change = topics.ENVIRONMENT_CHANGE
            self._to_leader = node.publisher(replace(change, name=f'{leader}/{change.name}'))
        node.listen(topics.ENVIRONMENT_CHANGE, self._on_change)
        if node.environment.free_bodies and node.values['owns_bodies']:
            guarded = node.guard('reset_bodies', self._on_reset_bodies)
            create_delayed_service(node, Trigger, 'reset_bodies', guarded)

    @property
    def _is_asking(self) -> bool:
        return bool(self._unasked or self._unanswered)

    def awaits_nodes(self) -> bool:
        """Begin the changes that wait; return whether a node does not know the newest yet."""
        while self._waiting and not self._is_asking:
            self._active = self._waiting.popleft()
            self._begin(self._active.text)
        return self._is_asking

    def restart(self) -> None:
        """Return to the changes of the start, for a new run."""
        self._unasked, self._unanswered = set(), set()
        if self._active is not None:
            self._asked = None  # the node that moves the bodies may know its change
            self._answer('the run was reset')
        while self._waiting:
            self._waiting.popleft().reply('the run was reset')
        if self._asked is None or self._node.environment.changes != self._initial:
            self._set(self._initial)

    def _on_change(self, message: String) -> None:
        if self._to_leader is not None:
            self._to_leader.publish(message)
        else:
            self._add(_Request(message.data, self._report_refusal))

    def _report_refusal(self, refusal: str) -> None:
        if refusal:
            self._node.warn_throttled(f'{refusal}; ignored')

    def _on_reset_bodies(
        self, _: Trigger.Request, response: Trigger.Response, send: Callable[[Any], None]
    ) -> None:
        """Put the free bodies and joints back, by a change that recordings have."""

        def reply(refusal: str) -> None:
            done = f'bodies and joints are as at the start from {self._node.time:.3f} s on'
            response.success, response.message = not refusal, refusal or done
            send(response)

        self._add(_Request('{reset_bodies: true}', reply))

    def _add(self, request: _Request) -> None:
        """Queue a change for the next state; the check for it begins at once if none is due."""
        if len(self._waiting) >= MAX_WAITING_CHANGES:
            name = topics.ENVIRONMENT_CHANGE.name
            request.reply(f'{name}: {MAX_WAITING_CHANGES} changes wait already; send fewer')
            return
        self._waiting.append(request)
        self.check()

    def _begin(self, text: str) -> None:
        """Check a change, and ask the node that moves the bodies about it, or have all take it."""
        node, where = self._node, topics.ENVIRONMENT_CHANGE.name
        try:
            change = parse_change(text, where, node.stamp / NANOSECONDS)
            if change.changes_bodies and not node.values['owns_bodies']:
                raise ParameterError(
                    f'{where}: Gazebo moves the bodies; expected no change of them'
                )
            changes = (*node.environment.changes, change)
            node.environment.with_changes(changes)
        except MarineSimError as error:
            self._answer(str(error))
            return
        if change.changes_bodies and _BODY_OWNER in self._needed:
            self._ask({_BODY_OWNER}, changes, partial(self._finish_check, changes))
        else:
            self._set(changes)

    def _finish_check(self, changes: tuple[EnvironmentChange, ...], refusal: str) -> None:
        """Have all nodes take changes unless the node that moves the bodies has refused them."""
        if not refusal:
            self._set(changes)
            return
        if self._asked is not None:  # where it did not answer in time, it may take them later
            self._clients[_BODY_OWNER].call_async(_request(self._asked))
        self._answer(refusal)

    def _set(self, changes: tuple[EnvironmentChange, ...]) -> None:
        """Set the parameter of this node, which then asks all others."""
        (result,) = self._node.set_parameters([_parameter(changes)])
        if not result.successful:
            self._answer(result.reason)

    def ask_all(self) -> None:
        """Ask all nodes to take new changes that this node has taken, if any."""
        if self._asked == (changes := self._node.environment.changes):
            return
        self._asked = changes
        names = {n for n in self._clients if n in self._needed or self._is_ready(n)}
        self._ask(names, changes, self._finish_all)

    def remind(self, name: str) -> None:
        """Tell a node that is back of the changes of the run: it may have restarted."""
        if self._asked is None or self._asked == self._initial:
            return
        if self._is_asking:
            self._clients[name].call_async(_request(self._asked))
        else:
            self._ask({name}, self._asked, self._finish_all)

    def leave_out(self, names: Collection[str]) -> None:
        """Do not wait for nodes that are lost: they learn of the changes when they are back."""
        if self._finish == self._finish_all and self._is_asking:
            self._unasked.difference_update(names)
            self._unanswered.difference_update(names)
            if not self._is_asking:
                self._complete()

    def _finish_all(self, refusal: str) -> None:
        """Report that all nodes have taken the changes, or which have not."""
        if refusal:
            self._node.warn_throttled(
                f'change of the environment: {refusal}; the run goes on, and is not the same as '
                'its replay',
                error=True,
            )
        if self._active is not None:
            text = changes_text(self._node.environment.changes[-1:])[1:-1]
            self._node.get_logger().info(f'{topics.ENVIRONMENT_CHANGE.name}: {text}')
            self._answer('')

    def _answer(self, refusal: str) -> None:
        """End the active request: refused, or done where the text is empty."""
        request, self._active = self._active, None
        if request is not None:
            request.reply(refusal)

    def _ask(
        self,
        names: set[str],
        changes: tuple[EnvironmentChange, ...],
        finish: Callable[[str], None],
    ) -> None:
        """Ask nodes to take changes; when all have answered, call a function with refusals."""
        self._message = _request(changes)
        self._unasked, self._unanswered, self._refusals = names, set(), []
        self._finish, self._since = finish, wall.monotonic()
        self.check()

    def _is_ready(self, name: str) -> bool:
        return bool(self._clients[name].service_is_ready())

    def check(self) -> None:
        """Begin changes; ask the nodes that have been discovered; after the time-out, give up."""
        if not self._node.published:
            self.awaits_nodes()
        for name in [n for n in sorted(self._unasked) if self._is_ready(n)]:
            self._unasked.discard(name)
            self._unanswered.add(name)
            future = self._clients[name].call_async(self._message)
            future.add_done_callback(partial(self._on_answer, name, self._message))
        if self._is_asking and wall.monotonic() - self._since > CHANGE_TIMEOUT:
            late = ', '.join(sorted(self._unasked | self._unanswered))
            self._refusals.append(f'no answer from {late}')
            self._unasked, self._unanswered = set(), set()
            self._complete()

    def _on_answer(self, name: str, message: Any, future: Any) -> None:
        if message is not self._message or name not in self._unanswered:
            return
        answer = future.result()
        for result in () if answer is None else answer.results:
            if not result.successful:
                self._refusals.append(f'{name} refused: {result.reason}')
        self._unanswered.discard(name)
        if not self._is_asking:
            self._complete()

    def _complete(self) -> None:
        self._finish('; '.join(self._refusals))
        self._node.publish_when_due()


def _parameter(changes: tuple[EnvironmentChange, ...]) -> Parameter:
    return Parameter('environment_changes', value=changes_text(changes))


def _request(changes: tuple[EnvironmentChange, ...]) -> Any:
    return SetParameters.Request(parameters=[_parameter(changes).to_parameter_msg()])
