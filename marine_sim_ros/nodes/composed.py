# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Composed: all nodes of a vehicle in one process on one executor; same topics, same result.

Takes the run's options (RunOptions of sim/options.py) as one JSON argument, because
each node needs parameters of its own; for a fleet one argument for each vehicle.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.parameter import Parameter

from marine_sim_ros.ros.bus import Bus
from marine_sim_ros.ros.fleet_recording import FleetRecording
from marine_sim_ros.ros.process import own_words, run
from marine_sim_ros.sim.graph import NodeSpec, describe
from marine_sim_ros.sim.options import RunOptions

__all__ = ['main']


def _make(spec: NodeSpec, bus: Bus, fleet: FleetRecording | None) -> Any:
    module = import_module(f'marine_sim_ros.nodes.{spec.executable}')
    kind = getattr(module, f'{spec.executable.title().replace("_", "")}Node')
    # The clock comes over the bus: one subscription to /clock per node would cost more than the
    # physics.
    parameters = {**spec.parameters, 'use_sim_time': False}
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    own = {'fleet': fleet} if spec.executable == 'recorder' else {}
    return kind(
        *spec.arguments, parameter_overrides=overrides, namespace=spec.namespace, bus=bus, **own
    )


def main() -> None:
    """Run the executable: ``composed OPTIONS_JSON... [--ros-args ...]``."""
    texts = own_words()
    if not texts:
        sys.stderr.write('ERROR: composed: expected the run options as one JSON argument\n')
        sys.exit(2)
    fleet = FleetRecording() if len(texts) > 1 else None
    bus = Bus()
    specs = [spec for text in texts for spec in describe(RunOptions.from_json(text))]
    rest = sys.argv[1 + len(texts) :]
    run(*(partial(_make, spec, bus, fleet) for spec in specs), args=rest, bus=bus)


if __name__ == '__main__':
    main()
