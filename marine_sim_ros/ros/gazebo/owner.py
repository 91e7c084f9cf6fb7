# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What owners of a state that Gazebo moves have in common: its states, pauses, resets, silence."""

from __future__ import annotations

import time as wall
from typing import Any

from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.gazebo.delivery import DELIVERIES, IN_SERVER
from marine_sim_ros.gazebo.ticks import Arrival, TickAccount
from marine_sim_ros.ros.base.parameters import Parameter
from marine_sim_ros.ros.gazebo.transport import Place, Transport
from marine_sim_ros.ros.owners.state_owner import StateOwner
from marine_sim_ros.ros.ticks.pacing import Pacer

__all__ = ['PARAMETERS', 'GazeboOwner']

PARAMETERS = (
    Parameter('delivery', IN_SERVER, 'transport of wrenches to Gazebo', choices=DELIVERIES[1:]),
    Parameter('world', 'default', "name of Gazebo's world"),
    Parameter('link', 'bluerov2::base_link', 'scoped name of the link that takes the wrench'),
    Parameter('impulse_ratio', 1.0, 'physics steps of Gazebo in a simulation step', 1.0, 1e4),
    Parameter(
        'gazebo_timeout',
        3.0,
        'wall time after which a silent Gazebo is reported',
        0.1,
        1e6,
        unit='s',
    ),
    Parameter(
        'start_timeout', 60.0, 'wall time that Gazebo may take to start', 0.1, 1e6, unit='s'
    ),
)


class GazeboOwner(StateOwner):
    """Takes the states of Gazebo in place of an integrator's, and answers each.

    Attributes:
        account: account of the states that came.
        transport: how they come, and how answers go.
    """

    transport: Transport

    def follow(self, kind: Any) -> None:
        """Take states by a transport; to be called when the node is made."""
        values = self.values
        if not values['lockstep']:
            self.pacer = Pacer(0.0)  # Gazebo keeps the pace
        self.account = TickAccount(self._step)
        self._awaits = True
        self._heard = wall.monotonic()
        self._sent: tuple[int, Any] = (-1, None)
        place = Place(
            values['world'],
            values['link'],
            self._initial,
            self._step,
            values['lockstep'],
            values['impulse_ratio'],
        )
        self.transport = kind(self, place, self.on_gazebo)
        self.get_logger().info(f'wrenches go to Gazebo {values["delivery"]}')
        self.create_timer(0.5, self._watch_gazebo, clock=self.wall_clock)

    def idle(self) -> Any:
        """Return an answer under which nothing acts on the vehicle but Gazebo."""
        raise NotImplementedError

    def held(self) -> bool:
        """Return whether the next state of Gazebo is still missing."""
        return self._awaits or super().held()

    def on_pace(self) -> None:
        """Leave the pace to Gazebo."""

    def answer(self, answer: Any) -> None:
        """Give Gazebo the answer to the present state, and wait for the state after it."""
        self._sent = (self.stamp, answer)
        self._awaits, self.published = True, False
        self._heard = wall.monotonic()
        self.transport.send(self.stamp, self.state, answer)

    def on_gazebo(self, stamp: int, state: State) -> None:
        """Take a state of Gazebo."""
        self._heard = wall.monotonic()
        arrival = self.account.take(stamp)
        if arrival is Arrival.AGAIN:
            if self._sent[0] == stamp:  # the answer was lost, or has crossed with the question
                self.transport.send(stamp, state, self._sent[1])
            return
        if arrival is Arrival.BACK:
            self.get_logger().info(f'Gazebo went back to {stamp / NANOSECONDS:.3f} s: a new run')
            self.on_reset()
            self.pacer.restart()
        elif arrival is Arrival.LATE and self.values['lockstep']:
            self.warn_throttled(f'{self.account.lost} ticks of Gazebo never came')
        self.health.update(ticks_lost=self.account.lost, resets=self.account.resets)
        self._awaits = False
        self.stamp = stamp - self._step
        self.advance(state)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        super()._on_pause(request, response)
        self.transport.pause(paused=self.paused)
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        response.success = self.transport.restart()
        control = f'/world/{self.values["world"]}/control'
        response.message = f'{control} {"was called" if response.success else "is not there"}'
        if response.success and not self._awaits:  # it cannot be reset in the middle of a step
            self.transport.send(self.stamp, self.state, self.idle())
        return response

    def _watch_gazebo(self) -> None:
        """Report when Gazebo is silent although its state is due."""
        self.transport.look()
        silent = wall.monotonic() - self._heard
        if not self._awaits or self.finished:
            return
        if self.account.stamp < 0 and silent > self.values['start_timeout']:
            self.fail(
                f'nothing from Gazebo for {silent:.0f} s; expected gz sim with the world '
                f'{self.values["world"]!r} and ros_gz_bridge'
            )
        elif self.account.stamp >= 0 and silent > self.values['gazebo_timeout']:
            self.warn_throttled(
                f'nothing from Gazebo for {silent:.0f} s at {self.time:.3f} s: '
                'is it paused, or gone?',
                error=True,
            )
