# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller models: registry entry, control-law protocol, settings files, set-points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.state import State
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader, short_text
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'ATTITUDE',
    'CONTROLLER_FILES',
    'ControllerModel',
    'ControllerSettings',
    'Law',
    'POSITION',
    'RATES',
    'SETPOINT_QUANTITIES',
    'SPEEDS',
    'empty_setpoints',
    'find_autopilot',
    'find_controller_model',
    'load_controller',
    'make_law',
    'make_setpoints',
    'parse_controller',
]


# A controller is a law with settings, or a program that sends pulse widths itself.

ControllerSettings = Any
"""Settings of one kind of controller: an instance of its ``ControllerModel.settings``."""


class Law(Protocol):
    """From set-points and a state to a wrench; every engine runs it."""

    @property
    def error_diffusion(self) -> bool:
        """Whether the next ticks compensate thrust lost by rounding."""

    def begin(self, state: State, *, dt: float | None = None) -> Any:
        """Return the initial memory; with a step dt (s), of constant shapes."""

    def wrench(
        self, setpoint: Array, state: State, memory: Any, *, unachieved: Array, dt: Any
    ) -> tuple[Array, Any]:
        """Return the wrench (6,) about the centre of mass, and the next memory.

        Args:
            setpoint: set-points (12,), NaN where free.
            state: state of the vehicle.
            memory: memory, from :meth:`begin` or the previous step.
            unachieved: axes (6,) of which less was achieved than commanded: 1.0, else 0.0.
            dt: since the step before, s.
        """


@dataclass(frozen=True, eq=False)
class ControllerModel:
    """One kind of controller.

    Attributes:
        name: name of the controller; ``law`` in a controller file.
        settings: class of its settings, a declaration (core/schema.py).
        read: function that reads the settings of a controller file; None: they are as declared.
        label: display label.
        executable: the node that runs it; an autopilot that sends pulse widths itself has its own
            node, and neither settings nor a law.
        scalar: whether the compiled engine may compute the law number by number.
        element: URDF element at robot level that configures it; empty: none.
        read_element: function that reads that element with a
            :class:`~marine_sim_ros.model.xml.Reader`; its result is in ``vehicle.extensions``.
        parts: dataclass that declares attributes and children of that element, for doctor's
            checks; None: unchecked.
        options: options of a run that are parameters of its node.
        steers: whether a program commands steered actuators and the joints of an arm too, in each
            tick.
    """

    name: str
    settings: type | None = None
    read: Callable[[YamlReader], ControllerSettings] | None = None
    law: Callable[[ControllerSettings, Vehicle], Law] | None = None
    _: KW_ONLY
    label: str = ''
    executable: str = 'controller'
    scalar: bool = False
    element: str = ''
    read_element: Callable[[Any], Any] | None = None
    parts: type | None = None
    options: tuple[str, ...] = ()
    steers: bool = False


# Controllers as files: config/controllers/*.yaml.


def find_autopilot(name: str) -> ControllerModel | None:
    """Return the controller of a name if it is an external program, else None."""
    model: ControllerModel | None = CONTROLLERS.get(name)
    return model if model is not None and model.law is None else None


def find_controller_model(settings: ControllerSettings) -> ControllerModel:
    """Return the kind of controller that has settings of this class."""
    for model in CONTROLLERS.values():
        if model.settings is not None and isinstance(settings, model.settings):
            return model  # type: ignore[no-any-return]
    raise ParameterError(f'no controller has settings of the class {type(settings).__name__}')


def make_law(settings: ControllerSettings, vehicle: Vehicle) -> Law:
    """Return the law of some settings for a vehicle."""
    law = find_controller_model(settings).law
    assert law is not None
    return law(settings, vehicle)


def _read_controller(root: YamlReader) -> ControllerSettings:
    laws: dict[str, ControllerModel] = {n: m for n, m in CONTROLLERS.items() if m.settings}
    if not isinstance(root.value, dict):
        raise root.error(f': expected a mapping with law: {" or ".join(laws)}')
    law = root.child('law')
    if not isinstance(law.value, str) or law.value not in laws:
        raise law.error(
            f' is {short_text(law.value)}; {expected_one_of(law.value, tuple(laws))}; a law of '
            'your own is known once its package is installed, as by pip install -e .'
        )
    model = laws[law.value]
    if model.read is not None:
        return model.read(root)
    assert model.settings is not None
    return root.read(model.settings, 'law')


CONTROLLER_FILES = ConfigFiles('controllers', _read_controller)
load_controller, parse_controller = CONTROLLER_FILES.load, CONTROLLER_FILES.parse

# Set-points of the twelve controlled quantities: pose, velocity and turn rates.

SETPOINT_QUANTITIES = (
    # position in map, m
    'x',
    'y',
    'z',
    # attitude (ZYX), rad
    'roll',
    'pitch',
    'yaw',
    # velocity of base_link ahead, to port and up in the level frame, m/s
    'surge',
    'sway',
    'heave',
    # turn rates in the body frame, rad/s
    'roll_rate',
    'pitch_rate',
    'yaw_rate',
)
"""Names of set-points. The level frame has the vehicle's heading but neither its roll nor its
pitch, so that a vehicle that cannot hold its pitch still keeps its depth; the velocities of an
odometry are those of the body frame. Source: thesis "Real-Time ROV Motion Simulator", 4-1-1."""
POSITION, ATTITUDE, SPEEDS, RATES = (slice(i, i + 3) for i in (0, 3, 6, 9))


def empty_setpoints() -> np.ndarray:
    """Set-points (12,) that are all free (NaN)."""
    return np.full(len(SETPOINT_QUANTITIES), np.nan)


def make_setpoints(targets: Mapping[str, float]) -> np.ndarray:
    """Return set-points (12,) with some targets; the rest is free.

    Raises:
        ParameterError: a quantity that does not exist, or a target that is not finite.
    """
    result = empty_setpoints()
    for name, value in targets.items():
        if name not in SETPOINT_QUANTITIES:
            raise ParameterError(
                f'set-point {name!r} is unknown; {expected_one_of(name, SETPOINT_QUANTITIES)}'
            )
        if not np.isfinite(value):
            raise ParameterError(f'set-point {name} is {value}; expected a finite number')
        result[SETPOINT_QUANTITIES.index(name)] = value
    return result
