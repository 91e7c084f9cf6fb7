# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of numbers in pages of reference/ from their declarations.

``.venv/bin/python docs/scripts/make_numbers.py``
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markdown_tables import SETTING_HEAD, cell, code, declared_rows, setting_row, table
from marks import between

from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.registry import CONTROLLERS
from marine_sim_ros.core.schema import fields_of
from marine_sim_ros.dataset.plan import DatasetPlan, ObjectElement
from marine_sim_ros.environment.beacons import Beacon
from marine_sim_ros.environment.changes import EnvironmentChange
from marine_sim_ros.environment.environment import WaterOptics
from marine_sim_ros.environment.internal_waves import INTERNAL_WAVES
from marine_sim_ros.environment.reader import (
    CurrentElement,
    EnvironmentNumbers,
    IrregularWaves,
    OceanData,
    RegularWaves,
    WaterElement,
)
from marine_sim_ros.environment.sediment import Sediment
from marine_sim_ros.environment.tide import TideElement
from marine_sim_ros.environment.wind import Wind
from marine_sim_ros.faults.fault_types import FAULT_TYPES
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sweep.plan import SweepParameter, SweepPlan

REFERENCE = Path(__file__).resolve().parent.parent / 'reference'


def sensors_page(page: str) -> str:
    """Return the page of the sensors with the parameters of each kind between its marks."""
    for name, kind in SENSORS.items():
        if kind.spec:
            rows = map(setting_row, fields_of(kind.spec).values())
            page = between(page, name, table(SETTING_HEAD, rows).rstrip())
    return page


def faults_page(page: str) -> str:
    """Return the page of the faults with its kinds and their parameters between their marks."""
    kinds, parameters = [], []
    for name, kind in FAULT_TYPES.items():
        kinds.append((code(name), cell((kind.__doc__ or '').rstrip('.'))))
        fields = fields_of(kind)  # type: ignore[arg-type]  # a class can be hashed
        parameters += [(code(name), *setting_row(f)) for f in fields.values()]
    page = between(page, 'kinds', table(('kind', 'what goes wrong'), kinds).rstrip())
    return between(page, 'numbers', table(('kind', *SETTING_HEAD), parameters).rstrip())


def controllers_page(page: str) -> str:
    """Return the page of control with the settings of each controller between its marks."""
    for name, model in CONTROLLERS.items():
        if model.settings is not None:
            rows = declared_rows(model.settings)
            page = between(page, name, table(SETTING_HEAD, rows).rstrip())
    return page


def environments_page(page: str) -> str:
    """Return the page of environments with water, waves, current, wind, tide and origin."""
    parts: tuple[tuple[str, type], ...] = (
        ('', EnvironmentNumbers), ('water.', WaterElement), ('water.data.', OceanData),
        ('water.', WaterOptics),
        ('waves.', RegularWaves), ('waves.', IrregularWaves), ('current.', CurrentElement),
        ('wind.', Wind), ('tide.', TideElement),
    )  # fmt: skip
    rows = [row for prefix, kind in parts for row in declared_rows(kind, prefix)]
    page = between(page, 'water', table(SETTING_HEAD, dict.fromkeys(map(tuple, rows))).rstrip())
    rows = declared_rows(INTERNAL_WAVES.spec)
    page = between(page, 'internal_waves', table(SETTING_HEAD, rows).rstrip())
    page = between(page, 'changes', table(SETTING_HEAD, declared_rows(EnvironmentChange)).rstrip())
    page = between(page, 'sediment', table(SETTING_HEAD, declared_rows(Sediment)).rstrip())
    page = between(page, 'beacons', table(SETTING_HEAD, declared_rows(Beacon)).rstrip())
    return between(page, 'origin', table(SETTING_HEAD, declared_rows(Origin)).rstrip())


def sweeps_page(page: str) -> str:
    """Return the page of sweeps with the keys of a plan and of a parameter."""
    rows = declared_rows(SweepPlan) + declared_rows(SweepParameter, 'parameters.PATH.')
    return between(page, 'plan', table(SETTING_HEAD, rows).rstrip())


def datasets_page(page: str) -> str:
    """Return the page of data sets with the keys of a plan and of its objects."""
    rows = declared_rows(DatasetPlan) + declared_rows(ObjectElement, 'objects[].')
    return between(page, 'plan', table(SETTING_HEAD, rows).rstrip())


def missions_page(page: str) -> str:
    """Return the page of missions with the keys of a mission, its penalties and its tasks."""
    from marine_sim_ros.core.registry import MISSION_TASKS
    from marine_sim_ros.sim.mission import Mission

    rows = [
        [*row[:-1], '' if row[-1].startswith(('_', 'Penalties(')) else row[-1]]
        for row in declared_rows(Mission)
    ]
    page = between(page, 'mission', table(SETTING_HEAD, rows).rstrip())
    tasks = [
        row
        for name, kind in MISSION_TASKS.items()
        for row in declared_rows(kind.spec, f'{name}: ')
    ]
    return between(page, 'tasks', table(SETTING_HEAD, tasks).rstrip())


PAGES: dict[str, Callable[[str], str]] = {
    'control': controllers_page,
    'datasets': datasets_page,
    'environments': environments_page,
    'faults': faults_page,
    'missions': missions_page,
    'sensors': sensors_page,
    'sweeps': sweeps_page,
}
"""Function that writes the tables of each page of reference/ into its text."""


if __name__ == '__main__':
    for name, write in PAGES.items():
        file = REFERENCE / f'{name}.md'
        file.write_text(write(file.read_text(encoding='utf-8')), encoding='utf-8')
