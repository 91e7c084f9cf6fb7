# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether faults can happen to a vehicle."""

from __future__ import annotations

from collections.abc import Sequence

from marine_sim_ros.core.choices import meant
from marine_sim_ros.faults.kinds import (
    BarometerDrift,
    BarometerDropout,
    BarometerSpikes,
    Battery,
    Fault,
    SensorFault,
    ThrusterFault,
    kind_of,
)
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['BAROMETER', 'unfit']

BAROMETER = (BarometerDropout, BarometerDrift, BarometerSpikes)


def unfit(faults: Sequence[Fault], vehicle: Vehicle) -> str:
    """Return a sentence about the first fault that a vehicle cannot have, or nothing."""
    known = vehicle.thrusters.names
    for fault in faults:
        if isinstance(fault, ThrusterFault) and fault.thruster not in known:
            return (
                f'thruster {fault.thruster!r} is unknown; {meant(fault.thruster, known)}'
                f'expected one of those of {vehicle.name}: {", ".join(known) or "none"}'
            )
        if isinstance(fault, BAROMETER) and vehicle.barometer is None:
            return f'{kind_of(fault)}: {vehicle.name} has no barometer'
        names = [sensor.name for sensor in vehicle.sensors]
        if isinstance(fault, SensorFault) and fault.sensor not in names:
            return (
                f'sensor {fault.sensor!r} is unknown; {meant(fault.sensor, names)}'
                f'expected one of those of {vehicle.name}: {", ".join(names) or "none"}'
            )
    batteries = sum(isinstance(fault, Battery) for fault in faults)
    if batteries > 1:
        return 'has two batteries; expected one'
    if batteries and vehicle.thrusters.voltage is not None:
        return (
            f'battery: the supply is held at {vehicle.thrusters.voltage:g} V; expected either '
            'the fault or the option voltage'
        )
    return ''
