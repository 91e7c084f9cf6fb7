# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters tick by tick, with faults that may change from one to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.random import stamp_words
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.battery import battery_voltage
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.faults.tables import ActiveFaults, tables_of
from marine_sim_ros.faults.thrust import faulty_thrusters, propulsion_at_rest
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import ThrusterOutput

__all__ = ['LiveThrusters']


class LiveThrusters:
    """The thrusters of a vehicle and their memory.

    Attributes:
        stamp: stamp of the last tick, ns, or None before the first.
        voltage: voltage of the battery, V, or None without one.
        tables: what is wrong with them, or None.
    """

    def __init__(self, vehicle: Vehicle, seed: int) -> None:
        """Start at rest and without faults; the seed is of what is drawn."""
        self._vehicle, self._seed = vehicle, seed
        self.tables = tables_of((), ())
        self.restart()

    def restart(self) -> None:
        """Come to rest, as in the first tick."""
        self._memory = propulsion_at_rest(self._vehicle, np.zeros(6))
        self.stamp: int | None = None
        self.voltage: float | None = None

    def take(self, faults: Sequence[Fault]) -> None:
        """Let these faults happen, and no others."""
        self.tables = tables_of(faults, self._vehicle.thrusters.names, self._seed)

    def _acting(self, stamp: int) -> ActiveFaults:
        if self.tables is None:
            return ActiveFaults()  # and not None: past commands are kept for a later fault
        return self.tables.at(np, stamp / NANOSECONDS, stamp_words(np.array(stamp)))

    @property
    def loses(self) -> bool:
        """Whether a command that is sent now gets lost."""
        lost = self._acting(self.stamp or 0).lost
        return lost is not None and bool(lost)

    def step(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        pwm: np.ndarray,
        *,
        per_tick: bool,
        timeout: float,
        azimuths: np.ndarray | None = None,
    ) -> ThrusterOutput:
        """Return what the thrusters do at a stamp, ns.

        Args:
            stamp: not before that of the last tick.
            state: state of the vehicle.
            environment: environment at that time.
            pwm: pulse widths (n,), µs.
            per_tick: whether they were sent for this tick and may be lost in it.
            timeout: s without a command after which the thrusters stop.
            azimuths: angles (k,) that the azimuths go to, rad; None: 0.
        """
        dt = 0.0 if self.stamp is None else (stamp - self.stamp) / NANOSECONDS
        self.stamp, acting = stamp, self._acting(stamp)
        if not per_tick:
            acting = acting._replace(lost=None)
        output, self._memory = faulty_thrusters(
            self._vehicle,
            state,
            environment,
            self._memory,
            acting,
            pwm=pwm,
            dt=dt,
            period=dt,
            timeout=timeout,
            azimuths=azimuths,
        )
        known, self.voltage = self._memory.faults, None
        if acting.battery is not None and known is not None:
            self.voltage = float(battery_voltage(acting.battery, known.load, known.used))
        return output
