# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes thrusts, rotor speeds, power and supply of the thrusters, beside their wrench."""

from __future__ import annotations

from array import array

from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray

from marine_sim_ros.physics.thrusters import ThrusterOutput
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.forces.servo_commands import ServoPublisher
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp
from marine_sim_ros.sim.step import supply_of

__all__ = ['ThrusterOutputs']


class ThrusterOutputs:
    """Publishes thrusters/state, thrusters/power, and what else the vehicle or a sensor needs."""

    def __init__(self, node: SuiteNode) -> None:
        """Create the publishers."""
        self._state_message = JointState(name=list(node.vehicle.thrusters.names))
        self._state = node.publisher(topics.THRUSTER_STATE)
        self._power = node.publisher(topics.THRUSTER_POWER)
        azimuths = node.vehicle.thrusters.azimuths
        self._azimuths = ServoPublisher(node, azimuths, topics.AZIMUTH_STATE)
        self._supply_message = JointState(name=list(topics.SUPPLY))
        needed = 'supply' in topics.sensor_needs(node.vehicle)
        self._supply = node.publisher(topics.THRUSTER_SUPPLY) if needed else None

    def publish(self, stamp: int, output: ThrusterOutput) -> None:
        """Publish the output of a tick with its stamp in ns."""
        if self._state.wanted:
            state = self._state_message
            set_stamp(state.header.stamp, stamp)
            state.effort = output.thrust.tolist()
            state.velocity = output.rotor_speed.tolist()
            self._state.publish(state)
        if self._power.wanted:
            self._power.publish(Float32MultiArray(data=output.power.tolist()))
        self._azimuths.publish(stamp, output.azimuths)
        if self._supply is not None:
            set_stamp(self._supply_message.header.stamp, stamp)
            # An array is taken as it is; of a list each number is checked.
            supply = supply_of(output.power, output.voltage, output.used)
            self._supply_message.position = array('d', supply.tolist())
            self._supply.publish(self._supply_message)
