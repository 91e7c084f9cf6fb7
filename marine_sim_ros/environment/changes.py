# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes of wind, current, tide, water and bodies from given times on: a timetable of a run.

A change holds until another one of the same quantity; before the first, the environment is what
its file says. So every node that knows the timetable has the same water at the same stamp.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.files import expand_home, read_text_file
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, special, truth
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml, short_text
from marine_sim_ros.environment.tide import Tide
from marine_sim_ros.environment.water_fields import (
    WaterPoint,
    layered_water,
    profile_columns,
    read_points,
)
from marine_sim_ros.model.tether import reel_of

__all__ = [
    'EnvironmentChange',
    'changes_content',
    'changes_text',
    'load_changes',
    'movable_bodies',
    'parse_change',
    'parse_changes',
]

MAX_CHANGES = 10_000
"""Changes of a run."""


@declaration(frozen=True)
class WindChange:
    """Change of the wind; what is left out stays."""

    speed: float | None = number(None, 0.0, 60.0, 'm/s', 'hourly mean speed 10 m up')
    from_direction: float | None = number(
        None, -360.0, 360.0, '°', 'compass bearing that it blows from'
    )


@declaration(frozen=True)
class CurrentChange:
    """Change of the steady current."""

    velocity: tuple[float, ...] = number(
        REQUIRED, -20.0, 20.0, 'm/s', 'velocity east, north, up', size=3
    )


@declaration(frozen=True)
class TideChange:
    """Change of the level of the surface."""

    offset: float = number(
        REQUIRED, -20.0, 20.0, 'm', 'level above that of the environment without changes'
    )


@declaration(frozen=True)
class WaterChange:
    """Change of the water; what is left out stays."""

    turbidity: float | None = number(None, 0.0, 100.0, '1/m', 'attenuation that particles add')
    profile: tuple[WaterPoint, ...] = special(
        read_points, (), 'layers: points over depth, as in an environment'
    )


@declaration(frozen=True)
class BodyChange:
    """New pose and velocity of a free body."""

    name: str = special(YamlReader.word, REQUIRED, 'name of a body that no joint holds')
    position: tuple[float, ...] = number(REQUIRED, -1e5, 1e5, 'm', 'position in map', size=3)
    rpy: tuple[float, ...] = special(
        YamlReader.angles, (0.0, 0.0, 0.0), 'roll, pitch and yaw', unit='rad'
    )
    velocity: tuple[float, ...] = number(
        (0.0, 0.0, 0.0), -50.0, 50.0, 'm/s', 'velocity, in the axes of the body'
    )


@declaration(frozen=True)
class WinchChange:
    """Speed of the winch of a free body's tether."""

    name: str = special(YamlReader.word, REQUIRED, 'name of a body whose <tether> has a <reel>')
    rate: float = number(REQUIRED, -100.0, 100.0, 'm/s', 'speed of the cable; below 0: hauls in')


def movable_bodies(environment: Any) -> list[str]:
    """Return the names of the bodies that a change can put elsewhere: no joint holds them."""
    joints = [joint for joint in environment.body_joints if not joint.mate]
    held = {name for joint in joints for name in (joint.child, joint.parent)}
    return [body.name for body in environment.free_bodies if body.name not in held]


def _read_names(reader: YamlReader) -> tuple[str, ...]:
    return tuple(item.word() for item in reader.items())


@declaration(frozen=True)
class EnvironmentChange:
    """Change of the environment from a time on, until another one of the same quantity."""

    start: float = number(REQUIRED, 0.0, 1e9, 's', 'start', name='at')
    wind: WindChange | None = nested(WindChange, 'wind; the environment needs one')
    current: CurrentChange | None = nested(CurrentChange, 'current')
    tide: TideChange | None = nested(TideChange, 'level of the surface')
    water: WaterChange | None = nested(WaterChange, 'optics and layers of the water')
    reset_bodies: bool = truth(False, 'free bodies and their joints are as at the start again')
    bodies: tuple[BodyChange, ...] = nested(
        BodyChange,
        'free bodies that are put elsewhere, absent ones too; their closed mates open',
        many=True,
    )
    remove: tuple[str, ...] = special(_read_names, (), 'names of bodies that are taken away')
    release: tuple[str, ...] = special(_read_names, (), 'names of joints that break')

    winches: tuple[WinchChange, ...] = nested(WinchChange, 'winches of free bodies', many=True)

    @property
    def changes_bodies(self) -> bool:
        """Whether it changes free bodies, their joints or winches."""
        listed = (self.bodies, self.remove, self.release, self.winches)
        return self.reset_bodies or any(listed)

    @property
    def changes_water(self) -> bool:
        """Whether it changes water or air."""
        return any(x is not None for x in (self.wind, self.current, self.tide, self.water))

    def fields(self, base: Any, before: Any) -> dict[str, Any]:
        """Return the fields of an environment that differ.

        Args:
            base: environment without changes.
            before: environment before this one.

        Raises:
            ParameterError: the environment cannot change so.
        """
        result: dict[str, Any] = {}
        if self.current is not None:
            result['current'] = base.origin.in_map(np.array(self.current.velocity))
        if self.tide is not None:
            none, table = np.zeros(0), np.zeros((4, 0))
            tide = base.tide or Tide(0.0, none, none, none, none, table, table)
            result['tide'] = replace(tide, mean=tide.mean + self.tide.offset)
        if self.water is not None:
            result |= self._changed_water(base, before)
        if self.wind is not None:
            result['wind'] = self._changed_wind(base, before)
        if self.changes_bodies:
            self._check_bodies(base)
            result['body_changes'] = (*before.body_changes, self)
        return result

    def _check_bodies(self, base: Any) -> None:
        names = [body.name for body in base.free_bodies]
        joints = {joint.name: joint for joint in base.body_joints}
        where = f'environment {base.name or "(none)"}'
        if not names:
            raise ParameterError(f'{where} has no bodies that could change')
        for key, name in (
            *(('bodies', change.name) for change in self.bodies),
            *(('remove', name) for name in self.remove),
        ):
            if name not in names:
                raise ParameterError(f'{key}: {name!r} is unknown; {expected_one_of(name, names)}')
            for joint in joints.values():
                if not joint.mate and name in (joint.child, joint.parent):
                    raise ParameterError(
                        f'{key}: joint {joint.name} holds {name}; expected a body that no joint '
                        'holds, or reset_bodies'
                    )
        for name in self.release:
            if name not in joints or joints[name].link >= 0:
                known = [n for n, joint in joints.items() if joint.link < 0]
                raise ParameterError(
                    f'release: {name!r} is unknown; {expected_one_of(name, known)}'
                )

        reeled = [body.name for body in base.free_bodies if reel_of(body.vehicle) is not None]
        for winch in self.winches:
            if winch.name not in reeled:
                raise ParameterError(
                    f'winches: {winch.name!r} has none; {expected_one_of(winch.name, reeled)}'
                )

    def _changed_water(self, base: Any, before: Any) -> dict[str, Any]:
        assert self.water is not None
        result: dict[str, Any] = {}
        water = before.fields
        if self.water.profile:
            if base.fields is not None and not base.fields.is_profile:
                raise ParameterError(
                    f'water.profile: the water of {base.name} comes from data or a function; '
                    'expected an environment with a profile, or with uniform water'
                )
            columns = profile_columns(self.water.profile)
            water = layered_water(columns, base.temperature, base.salinity, base.origin)
            result |= {'fields': water, 'water_density': None}
        if self.water.turbidity is not None:
            if water is not None and 'turbidity' in water.others:
                raise ParameterError('water.turbidity is that of the profile; expected none')
            result['optics'] = replace(base.optics, turbidity=self.water.turbidity)
        return result

    def _changed_wind(self, base: Any, before: Any) -> Any:
        assert self.wind is not None
        if before.wind is None:
            raise ParameterError(
                f'the environment {base.name or "(none)"} has no wind that could change; expected '
                'one with `wind: {speed: 0, from_direction: 0}`'
            )
        values = {name: x for name, x in asdict(self.wind).items() if x is not None}
        if 'from_direction' in values:
            values['yaw'] = base.origin.yaw(values['from_direction'] + 180.0)
        return replace(before.wind, **values)


def _content(text: str, where: str) -> Any:
    """Return the content of JSON, or else of YAML, which has no numbers such as 1e-05."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return parse_yaml(text, where, ParameterError)


def _read_change(reader: YamlReader) -> EnvironmentChange:
    """Return a change of a mapping.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    change = reader.read(EnvironmentChange)
    parts = (change.wind, change.current, change.tide, change.water)
    is_empty = all(part in (None, WindChange(), WaterChange()) for part in parts)
    if is_empty and not change.changes_bodies:
        raise reader.error(
            ': nothing changes; expected some of: bodies, current, release, remove, '
            'reset_bodies, tide, water, winches, wind'
        )
    return change


def parse_change(text: str, where: str, start: float) -> EnvironmentChange:
    """Return a change of a text without ``at``, which begins at a time, s.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    content = _content(text, where)
    if not isinstance(content, dict) or 'at' in content:
        raise ParameterError(
            f'{where}: is {short_text(content)}; expected a mapping without `at`: a change begins '
            'at once'
        )
    return _read_change(YamlReader(where, {**content, 'at': start}, ParameterError))


def parse_changes(text: str, where: str = 'changes') -> tuple[EnvironmentChange, ...]:
    """Return the changes of a text, a YAML list in the order of ``at``; empty: none.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    reader = YamlReader(where, (_content(text, where) if text else None) or [], ParameterError)
    changes = tuple(_read_change(item) for item in reader.items())
    if len(changes) > MAX_CHANGES:
        raise reader.error(f': {len(changes)} changes; expected up to {MAX_CHANGES}')
    if [c.start for c in changes] != sorted(c.start for c in changes):
        raise reader.error(': changes are not in the order of their "at"')
    return changes


def changes_content(changes: Sequence[EnvironmentChange]) -> list[dict[str, Any]]:
    """Return changes as lists and mappings, for JSON or YAML."""
    result = []
    for change in changes:
        content = _given(asdict(change))
        result.append({'at': content.pop('start'), **content})
    return result


def _given(value: Any) -> Any:
    """Return a record as mappings and lists, without what was left out."""
    if isinstance(value, dict):
        given = {k: v for k, v in value.items() if not (v is None or v is False or v == ())}
        return {k: _given(v) for k, v in given.items()}
    return [_given(v) for v in value] if isinstance(value, tuple) else value


def changes_text(changes: Sequence[EnvironmentChange]) -> str:
    """Return changes as a text that :func:`parse_changes` reads; empty for none."""
    return json.dumps(changes_content(changes)) if changes else ''


def load_changes(path: str | Path) -> tuple[EnvironmentChange, ...]:
    """Return the changes of a YAML file, or those of a recording by its folder.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    file = expand_home(path)
    if not file.is_dir():
        return parse_changes(read_text_file(file, ParameterError), str(path))
    manifest = file / 'manifest.json'
    try:
        content = json.loads(read_text_file(manifest, ParameterError))
        if vehicles := content.get('vehicles'):  # all of a fleet have the same
            content = next(iter(vehicles.values()))
        found = content['parameters']['changes']
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise ParameterError(
            f'{manifest}: has no list of changes; expected the recording of a run whose '
            'environment was changed'
        )
    return parse_changes(json.dumps(found), str(manifest))
