# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads vehicles in a fork of this process, for a quicker start and smaller nodes.

Who reads a description needs lxml, xacro and fifty modules of this package; who has the vehicle
needs none of them.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from marine_sim_ros.core.parent_process import as_parent, end_with_parent
from marine_sim_ros.core.progress import Progress
from marine_sim_ros.core.registry import CONTROLLERS, FORCES, SENSORS, VEHICLES
from marine_sim_ros.model.library import known_vehicles, vehicle_of
from marine_sim_ros.ros.launching.fork import can_fork, import_shared

__all__ = ['read_vehicles']


def read_vehicles(
    vehicles: Iterable[Mapping[str, Any]],
    progress: Progress,
    shared: Callable[[], None] = lambda: None,
) -> None:
    """Have :func:`~marine_sim_ros.model.library.vehicle_of` know vehicles.

    A fork reads them while this process imports what all nodes import. One that cannot be read, or
    cannot be handed over, is left to ``vehicle_of``, which says why. Without a fork nothing is
    done.

    Args:
        vehicles: parameters that name a vehicle each.
        progress: function that is called with the completed share of long work.
        shared: function that is called when all that nodes share is imported.
    """
    if not can_fork():
        return
    for registry in (FORCES, SENSORS, CONTROLLERS, VEHICLES):
        len(registry)  # what other packages bring is loaded, and what is wrong with it told, once
    end, start = os.pipe()
    parent = as_parent()
    pid = os.fork()
    if not pid:
        os.environ.update(parent)
        _read(vehicles, start)
    os.close(start)
    import_shared()
    shared()
    with open(end, 'rb') as file, suppress(EOFError, pickle.UnpicklingError):
        while not isinstance(told := pickle.load(file), dict):
            progress(told)
        known_vehicles.update(told)
    os.waitpid(pid, 0)


def _read(vehicles: Iterable[Mapping[str, Any]], pipe: int) -> NoReturn:
    """Write the vehicles to a pipe, after the shares of long work."""
    with suppress(BaseException):  # it is tried again where a message is due
        end_with_parent()
        with open(pipe, 'wb') as file:

            def tell(share: float) -> None:
                pickle.dump(share, file)
                file.flush()

            for parameters in vehicles:
                vehicle_of(parameters, tell)
            pickle.dump(known_vehicles, file)
    os._exit(0)
