# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic modem: bytes to other vehicles of the fleet, and ranges by acknowledgement.

The network (:mod:`~marine_sim_ros.sensors.packet_network`) has the propagation: delays, losses,
and ranges from travel times. The modem puts its vehicle's packets in and hands over one received
packet or range at each tick.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustic_network import ACOUSTIC, Modem
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.packet_network import (
    Delivery,
    Medium,
    ModemNetwork,
    ModemSettings,
    OutgoingData,
    Participant,
)
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    unknown_rates,
)

__all__ = ['MODEM', 'exchange_packets', 'packet_fields', 'packet_readings']

_MAX_NAME_LENGTH = 64
"""Characters of the name of a vehicle."""


@dataclass
class _Memory:
    """The network, and the deliveries to a modem that it has not published yet."""

    network: ModemNetwork
    waiting: deque[Delivery]


def modem_participant(
    sensor: Sensor,
    seed: int,
    position: np.ndarray,
    orientation: np.ndarray,
    environment: Environment,
    outbox: OutgoingData = (),
) -> Participant:
    """Return the participant of the network that stands for the modem of a vehicle.

    Args:
        seed: of its vehicle.
        position: (3,) of its vehicle, map, m.
        orientation: (4,) of its vehicle.
        outbox: destinations and bytes that it was asked to send at this tick.
    """
    point = in_map(position, orientation, sensor.position[None, :])[0]
    axis = rotation_matrix(orientation) @ sensor.rotation[:, 0]
    wet = bool(point[2] < environment.elevation(point))
    return Participant(sensor.spec, sensor.name, seed, point, axis, wet, outbox)


def exchange_packets(
    medium: Medium,
    sensor: Sensor,
    memory: _Memory | None,
    stamp: int,
    state: State,
    environment: Environment,
    inputs: SensorInputs,
    seed: int,
) -> tuple[Readings, _Memory]:
    """Return one packet or range that the modem hands over at a tick, and its memory.

    Args:
        medium: in which its packets travel.

    The other arguments are those of ``exchange`` of a :class:`.SensorModel`.
    """
    memory = memory or _Memory(ModemNetwork(medium), deque())
    own_name = environment.own.strip('/')
    outbox = inputs.outbox or ()
    modems = {
        own_name: modem_participant(
            sensor, seed, state.position, state.orientation, environment, outbox
        )
    }
    for body in environment.bodies:
        for other in (s for s in body.sensors if s.kind == sensor.kind):
            name = body.name.strip('/')
            modems[name] = modem_participant(
                other, body.seed, body.position, body.orientation, environment, body.outbox
            )
    for name, delivery in memory.network.advance(stamp / NANOSECONDS, modems, environment):
        if name == own_name:
            memory.waiting.append(delivery)
    received = memory.waiting.popleft() if memory.waiting else None
    if received is not None and math.isfinite(received.range):
        distance = float(
            add_lasting_errors(sensor, 'range', np.array(received.range), stamp, seed)
        )
        step = sensor.spec.range_step
        received = received._replace(range=round(distance / step) * step if step else distance)
    return packet_readings(sensor.spec, received), memory


def packet_readings(modem: ModemSettings, delivery: Delivery | None) -> Readings:
    """Return a delivery as numbers: characters and bytes one by one, then NaN."""
    source = np.full(_MAX_NAME_LENGTH, np.nan)
    data = np.full(int(modem.packet_size), np.nan)
    size = distance = ratio = time = math.nan
    if delivery is not None:
        letters = delivery.source.encode()[:_MAX_NAME_LENGTH]
        source[: len(letters)] = list(letters)
        ratio, distance, time = delivery.ratio, delivery.range, delivery.time
        if delivery.data is not None:
            size = min(len(delivery.data), len(data))
            data[: int(size)] = list(delivery.data[: int(size)])
    return {
        'source': source,
        'size': np.array(size),
        'data': data,
        'range': np.array(distance),
        'snr': np.array(ratio),
        'time': np.array(time),
    }


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return no reading: what a modem has depends on the ticks before."""
    del state, environment, inputs
    return packet_readings(sensor.spec, None)


def _bytes(values: np.ndarray) -> bytes:
    return bytes(values[np.isfinite(values)].astype(np.uint8))


def packet_fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the bytes of a packet; its layout has who sent it, and when its last bit came."""
    del sensor
    if not np.isfinite(readings['size']):
        return None
    size = int(readings['size'])
    source = _bytes(readings['source']).decode(errors='replace')
    second, nanosecond = divmod(round(float(readings['time']) * NANOSECONDS), NANOSECONDS)
    sender = {'label': source, 'size': size, 'stride': size}
    return {
        'layout': {'dim': [sender, {'label': 'stamp', 'size': second, 'stride': nanosecond}]},
        'data': np.frombuffer(_bytes(readings['data']), np.uint8),
    }


def _range_fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the range of the vehicle that has acknowledged a packet."""
    del sensor
    if not np.isfinite(readings['range']):
        return None
    source = _bytes(readings['source']).decode(errors='replace')
    distance = np.array([float(readings['range'])])
    return {'name': [source], 'position': distance, **unknown_rates(1)}


MODEM = SensorModel(
    'modem',
    _measure,
    exchange=partial(exchange_packets, ACOUSTIC),
    spec=Modem,
    topics=(
        SensorTopic('received', 'std_msgs/msg/UInt8MultiArray', packet_fields),
        SensorTopic('range', 'sensor_msgs/msg/JointState', _range_fields),
    ),
    needs=('outbox',),
    sees=True,
    rate=20.0,
    slowest=20.0,
    label='Acoustic modem',
    quiet='silence',
)
