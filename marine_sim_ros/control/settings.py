# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as files: config/controllers/*.yaml."""

from __future__ import annotations

from marine_sim_ros.control.controller_model import ControllerModel, ControllerSettings, Law
from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'CONTROLLER_FILES',
    'ControllerSettings',
    'autopilot',
    'law_of',
    'load_controller',
    'model_of',
    'parse_controller',
]


def autopilot(name: str) -> ControllerModel | None:
    """Return the controller of a name where it is a program of its own, or None."""
    model: ControllerModel | None = CONTROLLERS.get(name)
    return model if model is not None and model.law is None else None


def model_of(settings: ControllerSettings) -> ControllerModel:
    """Return the kind of controller that has settings of this class."""
    for model in CONTROLLERS.values():
        if model.settings is not None and isinstance(settings, model.settings):
            return model  # type: ignore[no-any-return]
    raise ParameterError(f'no controller has settings of the class {type(settings).__name__}')


def law_of(settings: ControllerSettings, vehicle: Vehicle) -> Law:
    """Return the law of some settings for a vehicle."""
    law = model_of(settings).law
    assert law is not None
    return law(settings, vehicle)


def _controller(root: YamlReader) -> ControllerSettings:
    laws = {name: model.read for name, model in CONTROLLERS.items() if model.read is not None}
    if not isinstance(root.value, dict):
        raise root.error(f': expected a mapping with law: {" or ".join(laws)}')
    return laws[root.child('law').choice(tuple(laws))](root)


CONTROLLER_FILES = ConfigFiles('controllers', _controller)
load_controller, parse_controller = CONTROLLER_FILES.load, CONTROLLER_FILES.parse
