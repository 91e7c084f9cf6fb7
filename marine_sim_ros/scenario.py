# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scripted runs: what is commanded when, where it starts, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from marine_sim_ros.control.allocation import AXES, PilotMixer
from marine_sim_ros.control.depth import depth_effort
from marine_sim_ros.errors import ScenarioError
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.resources import resource_folder
from marine_sim_ros.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.state import State

__all__ = ['Expectation', 'Scenario', 'Segment', 'load_scenario', 'scenario_names']


@dataclass(frozen=True)
class Segment:
    """A command that holds from a time on.

    Attributes:
        start: s.
        efforts: six stick efforts, −1 to 1 (FLU).
        depth: m to hold with the heave axis, or None.
        pwm: pulse widths for every thruster instead of efforts, or None.
    """

    start: float
    efforts: tuple[float, ...]
    depth: float | None
    pwm: tuple[float, ...] | None


@dataclass(frozen=True)
class Expectation:
    """A depth band (m) that must hold from one time to another (s)."""

    start: float
    end: float
    min_depth: float
    max_depth: float


@dataclass(frozen=True)
class Scenario:
    """A scripted run.

    Attributes:
        name: of the file.
        description: one line.
        duration: s.
        position: start, m, map.
        rpy: start attitude, rad.
        segments: in the order of their start.
        expectations: checked after the run.
    """

    name: str
    description: str
    duration: float
    position: tuple[float, float, float]
    rpy: tuple[float, float, float]
    segments: tuple[Segment, ...]
    expectations: tuple[Expectation, ...]

    def initial_state(self) -> State:
        """Return the state at rest the run starts from."""
        quaternion = quaternion_from_rpy(*self.rpy)
        return State(np.array(self.position), quaternion, np.zeros(6))

    def command(self, time: float, state: State, mixer: PilotMixer) -> np.ndarray:
        """Return the pulse widths (n,) in µs for a time (s) and a state."""
        segment = self.segments[0]
        for later in self.segments[1:]:
            if later.start > time:
                break
            segment = later
        if segment.pwm is not None:
            return np.array(segment.pwm)
        efforts = np.array(segment.efforts)
        if segment.depth is not None:
            rotation = rotation_matrix(state.orientation)
            climb_rate = float(rotation[2] @ state.velocity[:3])
            efforts[2] = depth_effort(-float(state.position[2]), climb_rate, segment.depth)
        return mixer.pwm(efforts)

    def check(self, vehicle: Vehicle) -> None:
        """Raise ScenarioError when the scenario does not fit a vehicle."""
        count = len(vehicle.thrusters)
        for segment in self.segments:
            if segment.pwm is not None and len(segment.pwm) != count:
                raise ScenarioError(
                    f'scenario {self.name}: the segment at {segment.start:g} s has '
                    f'{len(segment.pwm)} pulse widths; expected {count} for {vehicle.name}'
                )

    def verdicts(self, time: np.ndarray, z: np.ndarray) -> list[tuple[bool, str]]:
        """Return for each expectation whether it holds, and a sentence."""
        result = []
        for e in self.expectations:
            depth = -z[(time >= e.start - 1e-9) & (time <= e.end + 1e-9)]
            wanted = f'depth within {e.min_depth:g} to {e.max_depth:g} m'
            span = f'from {e.start:g} to {e.end:g} s'
            if not len(depth):
                result.append((False, f'{wanted} {span}: the run ended before'))
                continue
            ok = bool(depth.min() >= e.min_depth and depth.max() <= e.max_depth)
            found = f'{depth.min():.2f} to {depth.max():.2f} m'
            result.append((ok, f'{wanted} {span}: {found}'))
        return result


def scenario_names() -> list[str]:
    """Return the names of the scenarios that are shipped."""
    return sorted(p.stem for p in (resource_folder('config') / 'scenarios').glob('*.yaml'))


def _keys(where: str, mapping: Any, known: set[str], required: set[str]) -> Mapping[str, Any]:
    if not isinstance(mapping, dict):
        raise ScenarioError(f'{where}: expected a mapping with {", ".join(sorted(known))}')
    for key in mapping:
        if key not in known:
            raise ScenarioError(
                f'{where}: unknown key {key!r}; expected one of: {", ".join(sorted(known))}'
            )
    for key in sorted(required - set(mapping)):
        raise ScenarioError(f'{where}: {key!r} is missing')
    return mapping


def _number(where: str, value: Any, low: float = -1e9, high: float = 1e9) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not low <= value <= high:
        raise ScenarioError(f'{where} is {value!r}; expected a number from {low:g} to {high:g}')
    return float(value)


def _triple(where: str, value: Any) -> tuple[float, float, float]:
    if not isinstance(value, list) or len(value) != 3:
        raise ScenarioError(f'{where} is {value!r}; expected a list of three numbers')
    x, y, z = (_number(where, v) for v in value)
    return x, y, z


def _segment(where: str, value: Any) -> Segment:
    item = _keys(where, value, {'at', 'axes', 'depth', 'pwm'}, {'at'})
    axes = _keys(f'{where}: axes', item.get('axes') or {}, set(AXES), set())
    if 'pwm' in item and ('axes' in item or 'depth' in item):
        raise ScenarioError(f'{where}: has pwm and axes or depth; expected one kind of command')
    if 'depth' in item and 'heave' in axes:
        raise ScenarioError(f'{where}: has depth and axes.heave; both command the heave axis')
    pwm = item.get('pwm')
    if pwm is not None and not isinstance(pwm, list):
        raise ScenarioError(f'{where}: pwm is {pwm!r}; expected a list of pulse widths in µs')
    return Segment(
        start=_number(f'{where}: at', item['at'], 0.0),
        efforts=tuple(_number(f'{where}: {a}', axes.get(a, 0.0), -1.0, 1.0) for a in AXES),
        depth=_number(f'{where}: depth', item['depth']) if 'depth' in item else None,
        pwm=None if pwm is None else tuple(_number(f'{where}: pwm', p, 1100, 1900) for p in pwm),
    )


def _expectation(where: str, value: Any) -> Expectation:
    item = _keys(where, value, {'from', 'to', 'depth'}, {'from', 'to', 'depth'})
    band = item['depth']
    if not isinstance(band, list) or len(band) != 2:
        raise ScenarioError(f'{where}: depth is {band!r}; expected a list [min, max] in m')
    low, high = (_number(f'{where}: depth', v) for v in band)
    return Expectation(
        _number(f'{where}: from', item['from']), _number(f'{where}: to', item['to']), low, high
    )


def _list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ScenarioError(f'{where}: expected a list')
    return value


def parse_scenario(text: str, name: str) -> Scenario:
    """Return the scenario of a YAML text.

    Raises:
        ScenarioError: one line with what, where, and what was expected.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f'{name}: not valid YAML: {" ".join(str(error).split())}') from None
    known = {'description', 'duration', 'initial', 'segments', 'expect'}
    root = _keys(name, data, known, {'duration', 'segments'})
    initial = _keys(f'{name}: initial', root.get('initial') or {}, {'position', 'rpy'}, set())
    segments = tuple(
        _segment(f'{name}: segments[{i}]', s)
        for i, s in enumerate(_list(f'{name}: segments', root['segments']))
    )
    if not segments:
        raise ScenarioError(f'{name}: segments is empty; expected at least one')
    if [s.start for s in segments] != sorted(s.start for s in segments):
        raise ScenarioError(f'{name}: segments are not in the order of their "at"')
    return Scenario(
        name=Path(name).stem,
        description=str(root.get('description', '')),
        duration=_number(f'{name}: duration', root['duration'], 1e-3),
        position=_triple(f'{name}: initial.position', initial.get('position', [0, 0, 0])),
        rpy=_triple(f'{name}: initial.rpy', initial.get('rpy', [0, 0, 0])),
        segments=segments,
        expectations=tuple(
            _expectation(f'{name}: expect[{i}]', e)
            for i, e in enumerate(_list(f'{name}: expect', root.get('expect') or []))
        ),
    )


def load_scenario(name_or_path: str) -> Scenario:
    """Return a scenario by its shipped name or by the path of a YAML file.

    Raises:
        ScenarioError: it cannot be found, read or used.
    """
    path = resource_folder('config') / 'scenarios' / f'{name_or_path}.yaml'
    if '/' in name_or_path or not path.is_file():
        path = Path(name_or_path).expanduser()
    try:
        return parse_scenario(path.read_text(encoding='utf-8'), str(path))
    except UnicodeDecodeError:
        raise ScenarioError(f'{path}: not UTF-8 text') from None
    except OSError:
        raise ScenarioError(
            f'scenario {name_or_path!r} is neither a file nor a shipped scenario; '
            f'expected a path or one of: {", ".join(scenario_names())}'
        ) from None
