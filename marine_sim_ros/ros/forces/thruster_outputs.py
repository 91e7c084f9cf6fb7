# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes thrusts, rotor speeds, power and supply of the thrusters, beside their wrench."""

from __future__ import annotations

from std_msgs.msg import Float32MultiArray

from marine_sim_ros.physics.thrusters import ThrusterOutput
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.forces.servo_commands import ServoPublisher
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.sim.step import supply_of

__all__ = ['ThrusterOutputs']


class ThrusterOutputs:
    """Publishes thrusters/state, thrusters/power, and what else the vehicle or a sensor needs."""

    def __init__(self, node: SuiteNode) -> None:
        """Create the publishers."""
        names = node.vehicle.thrusters.names
        self._state = JointPublisher(node, topics.THRUSTER_STATE, names)
        self._power = node.publisher(topics.THRUSTER_POWER)
        azimuths = node.vehicle.thrusters.azimuths
        self._azimuths = ServoPublisher(node, azimuths, topics.AZIMUTH_STATE)
        needed = 'supply' in topics.sensor_needs(node.vehicle)
        supply = topics.THRUSTER_SUPPLY
        self._supply = JointPublisher(node, supply, topics.SUPPLY) if needed else None

    def publish(self, stamp: int, output: ThrusterOutput) -> None:
        """Publish the output of a tick with its stamp in ns."""
        thrust, speed = output.thrust.tolist(), output.rotor_speed.tolist()
        self._state.publish(stamp, velocity=speed, effort=thrust)
        if self._power.wanted:
            self._power.publish(Float32MultiArray(data=output.power.tolist()))
        self._azimuths.publish(stamp, output.azimuths)
        if self._supply is not None:
            supply = supply_of(output.power, output.voltage, output.used)
            self._supply.publish(stamp, position=supply.tolist())
