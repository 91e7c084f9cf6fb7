# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies of an environment, moved without a vehicle."""

from dataclasses import replace

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.sim.body_simulation import BodySimulation

DT = 0.005


def environment(text, **changes):
    return replace(parse_environment(text, 'bodies.yaml'), **changes)


def run(env, duration, dt=DT):
    """Return the states of the bodies at every tick, by name."""
    world, ticks = BodySimulation(env, dt), []
    for k in range(round(duration / dt) + 1):
        world.tick(round(k * dt * 1e9), env, {})
        ticks.append(world.states)
    return {n: State(*map(np.stack, zip(*(t[n] for t in ticks), strict=True))) for n in ticks[0]}


def momentum(env, states, tick):
    """Return linear and angular momentum about the origin of map, and kinetic energy."""
    total, energy = np.zeros(6), 0.0
    for body in env.free_bodies:
        own = State(*(x[tick] for x in states[body.name]))
        turn, p = rotation_matrix(own.orientation), body.vehicle.mass_matrix @ own.velocity
        linear = turn @ p[:3]
        total += np.concatenate([linear, turn @ p[3:] + np.cross(own.position, linear)])
        energy += own.velocity @ p / 2
    return total, energy
