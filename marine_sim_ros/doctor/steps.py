# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps that a simulation of the vehicle can take, by the rules of ``sim/safe_step.py``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.safe_step import drag_rates, drag_step_limit, safe_step
from marine_sim_ros.sim.simulation import DEFAULT_STEP

__all__ = ['drag_step', 'step', 'step_line']


def drag_step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """λ T < 1 at the default step; this package's own integrator treats the drag as implicit."""
    rates = drag_rates(context.vehicle)
    limit = drag_step_limit(context.vehicle)
    axis = AXES[int(np.argmax(rates))]
    element = context.root.find('hydrodynamics')
    if limit < DEFAULT_STEP / 20:
        yield context.warning(
            element,
            f'its drag in {axis} is so large that a step of {limit * 1e3:.2g} ms would '
            'be needed to see it act',
            f'check the damping and the inertia in {axis}',
        )
    elif limit < DEFAULT_STEP:
        yield context.hint(
            element,
            f'explicit drag that is one sample old is stable below {limit * 1e3:.3g} ms '
            f'only ({axis} at 3 rad/s or 1.5 m/s); the default step is {DEFAULT_STEP * 1e3:g} ms',
            'keep implicit_drag on and lockstep on, as they are by default',
        )


def step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The default step is safe in calm water."""
    limit, reason = safe_step(context.vehicle)
    if limit < DEFAULT_STEP:
        yield context.warning(
            context.root,
            f'steps above {limit * 1e3:.2g} ms are not safe: {reason}; the default is '
            f'{DEFAULT_STEP * 1e3:g} ms',
            'check the <height> of <buoyancy>, the damping in yaw and the thrust, or take a '
            'shorter --dt',
        )


def step_line(vehicle: Vehicle, environment: Environment) -> str:
    """Return which steps are safe, in calm water and in an environment with waves."""
    calm, reason = safe_step(vehicle)
    text = f'steps: safe up to {calm * 1e3:.3g} ms in calm water: {reason}'
    if environment.waves is None:
        return text
    rough, reason = safe_step(vehicle, environment)
    where = environment.name or 'these waves'
    return f'{text}; up to {rough * 1e3:.3g} ms in {where}: {reason}'
