# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Composed: all nodes of a vehicle in one process on one executor; same topics, same result.

Takes the run's options (RunOptions of sim/options.py) as one JSON argument, because
each node needs parameters of its own; for a fleet one argument for each vehicle.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rclpy.parameter import Parameter

from marine_sim_ros.ros.base.bus import Bus
from marine_sim_ros.ros.base.process import own_arguments, run
from marine_sim_ros.ros.fleet import SharedWorld
from marine_sim_ros.ros.force_node import CompiledGraph
from marine_sim_ros.ros.node_graph import NodeSpec, has_own_process, node_specs
from marine_sim_ros.sim.fleet import remote_namespaces
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options

if TYPE_CHECKING:
    from marine_sim_ros.ros.recording.recorders import FleetRecording

__all__ = ['main']

COMPILED_NODES = {
    'dynamics': ('dynamics.compiled_node', 'CompiledStateNode'),
    'gazebo_bridge': ('dynamics.compiled_node', 'CompiledGazeboNode'),
}
"""State nodes where one program computes all forces, in place of the executables' classes."""


def _make(
    spec: NodeSpec,
    bus: Bus,
    fleet: FleetRecording | None,
    world: SharedWorld | None,
    graph: CompiledGraph | None,
) -> Any:
    if graph is not None and spec.executable in COMPILED_NODES:
        module_name, name = COMPILED_NODES[spec.executable]
        node_class = getattr(import_module(f'marine_sim_ros.ros.{module_name}'), name)
    else:
        module = import_module(f'marine_sim_ros.nodes.{spec.executable}')
        node_class = getattr(module, f'{spec.executable.title().replace("_", "")}Node')
    # The clock comes over the bus: one subscription to /clock per node would cost more than the
    # physics.
    parameters = {**spec.parameters, 'use_sim_time': False}
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    options: dict[str, Any] = {'fleet': fleet} if spec.executable == 'recorder' else {}
    if spec.executable == 'contact':
        options['world'] = world
    if graph is not None and spec.name in (*COMPILED_NODES, *graph.sources):
        options['graph'] = graph
    if graph is not None and spec.executable == 'controller':
        options['step'] = graph.step
    return node_class(
        *spec.arguments,
        parameter_overrides=overrides,
        namespace=spec.namespace,
        bus=bus,
        **options,
    )


def _graph(options: RunOptions, specs: Sequence[NodeSpec]) -> CompiledGraph | None:
    """Return the shared graph of one vehicle's compiled forces."""
    if options.engine != 'jax':
        return None
    state_node = next(spec for spec in specs if spec.executable in COMPILED_NODES)
    return CompiledGraph(state_node.parameters['wrench_sources'], options.dt)


def _fleet_recording() -> FleetRecording:
    """Return the shared recording of a fleet; imported here, because it needs a bag writer."""
    from marine_sim_ros.ros.recording.recorders import FleetRecording

    return FleetRecording()


def main() -> None:
    """Run the executable: ``composed OPTIONS_JSON... [--ros-args ...]``."""
    texts = own_arguments()
    if not texts:
        sys.stderr.write('ERROR: composed: expected the run options as one JSON argument\n')
        sys.exit(2)
    fleet = _fleet_recording() if len(texts) > 1 else None
    runs = [RunOptions.from_json(text) for text in texts]
    world = SharedWorld() if environment_from_options(runs[0]).collisions else None
    bus = Bus(
        clock_is_here=any(run.clock == 'publish' for run in runs),
        elsewhere=tuple(f'{name}/' for name in remote_namespaces(runs)),
    )
    makers = [
        partial(_make, spec, bus, fleet, world, graph)
        for options in runs
        for specs in [node_specs(options)]
        for graph in [_graph(options, specs)]
        for spec in specs
        if not has_own_process(spec, options)
    ]
    run(*makers, bus=bus)


if __name__ == '__main__':
    main()
