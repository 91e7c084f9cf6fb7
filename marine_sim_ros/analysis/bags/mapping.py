# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Role and vehicle of each topic of a bag: by this package's names, or by ``--map``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from marine_sim_ros.analysis.bags.roles import DRIVERS, LAST_DRIVERS, OURS, accepted, role_of
from marine_sim_ros.analysis.bags.vehicle import Channel, VehicleRecord
from marine_sim_ros.core.errors import ParameterError, RecordingError

__all__ = ['check_maps', 'parse_maps', 'suggestion', 'vehicles_of']

_SHOWN = 4
"""Topics that are suggested for one of ours."""


def parse_maps(texts: Sequence[str]) -> dict[str, str]:
    """Return the topics of ``OURS:=THEIRS`` texts: theirs -> ours.

    Raises:
        ParameterError: not of that form, one of theirs twice, or a name that is not ours.
    """
    result: dict[str, str] = {}
    for text in texts:
        ours, sign, theirs = (part.strip() for part in text.partition(':='))
        if not (ours and sign and theirs):
            raise ParameterError(f'--map {text}: expected OURS:=THEIRS, as in odom:=/rov/odometry')
        if _split(ours)[1] is None:
            known = ', '.join([*OURS, 'wrench/SOURCE', 'drag/KIND'])
            raise ParameterError(
                f'--map {text}: {ours} is not a topic of this package; expected {known}'
            )
        theirs = '/' + theirs.lstrip('/')
        if theirs in result:
            raise ParameterError(f'--map {text}: {theirs} is mapped twice; expected it once')
        result[theirs] = ours
    return result


def check_maps(maps: Mapping[str, str], there: Collection[str]) -> None:
    """Raise ParameterError where a mapped topic (theirs -> ours) is not among those there are."""
    for theirs, ours in maps.items():
        if theirs not in there:
            raise ParameterError(
                f'--map {ours}:={theirs}: no bag has {theirs}; expected one of '
                + ', '.join(sorted(there))
            )


def suggestion(topics: Mapping[str, str]) -> str:
    """Return the topics (name -> type) that --map could name, by our names; empty for none."""
    words = []
    for ours in ('odom', 'thrusters/pwm', 'barometer/pressure'):
        kinds = accepted(role_of(ours) or '')
        could = [topic for topic, kind in sorted(topics.items()) if kind in kinds]
        words += [f'--map {ours}:={topic}' for topic in could[:_SHOWN]]
        if len(could) > _SHOWN:
            words.append(f'({len(could) - _SHOWN} more of {ours})')
    return ' '.join(words)


def _split(topic: str) -> tuple[str, str | None]:
    """Return namespace and our name in it; None: it is none of ours."""
    parts = topic.strip('/').split('/')
    for i in range(max(0, len(parts) - 2), len(parts)):
        name = '/'.join(parts[i:])
        if role_of(name) is not None:
            return '/'.join(parts[:i]), name
    return '', None


def vehicles_of(
    topics: Mapping[str, str], maps: Mapping[str, str], where: str
) -> dict[str, VehicleRecord]:
    """Return the vehicles of a bag, still empty, from its topics (name -> type).

    A topic counts when both name and type fit. Names in ``maps`` without a namespace belong to
    the only vehicle there is, else to one named by the namespace of the mapped topics.

    Raises:
        RecordingError: a mapped topic whose type cannot be what it is said to be.
    """
    found: dict[str, dict[str, str]] = {}
    mapped: dict[str, str] = {}
    for topic, message_type in topics.items():
        ours = maps.get(topic)
        if ours is not None:
            namespace, name = _split(ours)
            role = role_of(name or '') or ''
            if message_type not in accepted(role):
                raise RecordingError(
                    f'{where}: {topic} is {message_type}; expected of {ours}: '
                    + ', '.join(accepted(role))
                )
            if ours.startswith('/') or namespace:
                found.setdefault(namespace, {})[name or ''] = topic
            else:
                mapped[name or ''] = topic
            continue
        namespace, name = ('', None) if _driver(topic)[1] else _split(topic)
        if name is not None and message_type in accepted(role_of(name) or ''):
            found.setdefault(namespace, {}).setdefault(name, topic)
    _add_drivers(found, topics, maps, DRIVERS)
    known = {name for names in found.values() for name in names} | set(mapped)
    if 'odom' not in known:
        _add_drivers(found, topics, maps, LAST_DRIVERS)
    # Any robot has joints: alone they make no vehicle.
    found = {n: names for n, names in found.items() if set(names) != {'joint_states'}}
    if mapped:
        own = _owner(found, mapped)
        found.setdefault(own, {}).update(mapped)
    result = {}
    for namespace, names in found.items():
        record = VehicleRecord(namespace)
        for name, topic in names.items():
            record.add(Channel(name, topic, topics[topic], role_of(name) or ''))
        result[namespace] = record
    return dict(sorted(result.items()))


def _driver(topic: str) -> tuple[str, str]:
    """Return namespace and name of a topic of a common driver; empty where it is none."""
    for name in (*DRIVERS, *LAST_DRIVERS):
        if f'/{topic.strip("/")}'.endswith(f'/{name}'):
            return topic.strip('/').removesuffix(name).strip('/'), name
    return '', ''


def _add_drivers(
    found: dict[str, dict[str, str]],
    topics: Mapping[str, str],
    maps: Mapping[str, str],
    drivers: Mapping[str, str],
) -> None:
    """Add the topics of common drivers, as of MAVROS, where a vehicle has none of ours."""
    for driver, ours in drivers.items():
        for topic, message_type in topics.items():
            namespace, name = _driver(topic)
            known = name == driver and topic not in maps
            if known and message_type in accepted(role_of(ours) or ''):
                found.setdefault(namespace, {}).setdefault(ours, topic)


def _owner(found: Mapping[str, Mapping[str, str]], mapped: Mapping[str, str]) -> str:
    if len(found) == 1:
        return next(iter(found))
    topic = mapped.get('odom') or next(iter(mapped.values()))
    return topic.strip('/').split('/')[0] if topic.count('/') > 1 else ''
