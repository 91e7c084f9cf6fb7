# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Takes the film of a recorded run: pictures are rendered from what the bag says, or are in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.analysis.film.cameras import FilmCamera
from marine_sim_ros.analysis.film.motion import Motion
from marine_sim_ros.analysis.film.overlay import overlay_text
from marine_sim_ros.analysis.film.payloads import RecordedPayloads
from marine_sim_ros.analysis.film.recorded import RecordedPictures
from marine_sim_ros.analysis.film.tether import RecordedTether
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.origin import Origin
from marine_sim_ros.model.propellers import propeller_turns
from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.sdf.appearance import Appearance
from marine_sim_ros.sensors.camera.camera import picture
from marine_sim_ros.sensors.camera.own_looks import (
    NO_SURFACES,
    moved_payloads,
    payload_bodies,
    tether_body,
)

__all__ = ['Cast', 'Film', 'film_times', 'frames', 'recorded_frames']

MOST_PICTURES = 1e7
"""Of a film: four days at 30 Hz."""
_EPOCH = 1e8
"""s; stamps beyond are of a wall clock, and are shown since the start."""


@dataclass(frozen=True, eq=False)
class Cast:
    """A vehicle of a film.

    Attributes:
        motion: how it moved.
        looks: how it looks.
        thrusters: whose rotors turn its propellers.
        tether: of it, or None.
        payloads: that it moves, or None: they stay where they are declared.
    """

    motion: Motion
    looks: Appearance
    thrusters: ThrusterSet
    tether: RecordedTether | None = None
    payloads: RecordedPayloads | None = None

    def parts(self, time: float) -> tuple[Part, ...]:
        """Return the visible parts in the frame of the body at a stamp in s."""
        speed = self.motion.rotors(time, self.thrusters)
        turns = None if speed is None else propeller_turns(self.thrusters, speed, time)
        return self.looks.parts_at(self.motion.joints(time), turns)


@dataclass(frozen=True, eq=False)
class Film:
    """What a film is made of.

    Attributes:
        camera: what it is taken with.
        main: the vehicle that carries the camera, or that it follows.
        others: further vehicles, by name.
        environment: water and scene.
    """

    camera: FilmCamera
    main: Cast
    others: dict[str, Cast]
    environment: Environment


def film_times(motion: Motion, rate: float, start: float, end: float | None) -> np.ndarray:
    """Return the stamps (n,) of pictures, s.

    Args:
        motion: of the vehicle.
        rate: pictures a second.
        start: of the film, s since the first odometry.
        end: of the film, s since the first odometry; None: the last one.

    Raises:
        ParameterError: there is nothing between.
    """
    first, last = float(motion.stamps[0]), float(motion.stamps[-1])
    duration = last - first
    stop = duration if end is None else min(end, duration)
    if not 0 <= start <= stop:
        raise ParameterError(
            f'--start {start:g} --end {stop:g}: no picture between; the run has {duration:g} s'
        )
    count = (stop - start) * rate
    if not count < MOST_PICTURES:
        raise ParameterError(
            f'--start {start:g} --end {stop:g}: {count:.3g} pictures; expected fewer than '
            f'{MOST_PICTURES:g}, by --start, --end and --fps'
        )
    return first + start + np.arange(int(count + 1e-6) + 1) / rate


class FilmFrame(NamedTuple):
    """A picture (h, w, 3) uint8, or recorded depth or labels (h, w), and its overlay's text."""

    image: np.ndarray
    text: str


def frames(film: Film, times: np.ndarray) -> Iterator[FilmFrame]:
    """Yield the pictures at stamps (n,) in s.

    Raises:
        MissingPackageError: what renders is missing.
    """
    zero = _zero(film.main.motion)
    for time in times.tolist():
        state = film.main.motion.state(time)
        eye, turn = film.camera.pose(state)
        around = replace(
            film.environment.at(time - zero),
            looks=partial(film.main.parts, time),
            bodies=tuple(_bodies(film, time)),
        )
        image = picture(film.camera.spec, around, state, eye, turn, time - zero).image
        text = overlay_text(time - zero, state, film.environment.origin)
        yield FilmFrame(image, text)


def recorded_frames(
    pictures: RecordedPictures, motion: Motion, times: np.ndarray, *, origin: Origin
) -> Iterator[FilmFrame]:
    """Yield the recorded pictures at stamps (n,) in s, from the first one on.

    Args:
        pictures: of the bag.
        motion: of the vehicle, for the overlay.
        times: s.
        origin: of the map, for the heading in the overlay.

    Raises:
        RecordingError: a picture cannot be decoded.
    """
    zero = _zero(motion)
    for time, image in pictures.at(times):
        yield FilmFrame(image, overlay_text(time - zero, motion.state(time), origin))


def _zero(motion: Motion) -> float:
    """Return the stamp, s, that a film shows as 0."""
    first = float(motion.stamps[0])
    return first if first > _EPOCH else 0.0


def _bodies(film: Film, time: float) -> Iterator[Body]:
    """Yield what else is seen at a stamp in s: the other vehicles, payloads, and tethers."""
    for name, one in film.others.items():
        state, looks = one.motion.state(time), partial(one.parts, time)
        yield Body(name, *NO_SURFACES, state.position, state.orientation, looks=looks)
    every, payloads = (film.main, *film.others.values()), film.environment.payloads
    poses = [one.payloads.at(time) for one in every if one.payloads is not None]
    yield from payload_bodies(payloads, moved_payloads(payloads, poses))
    for number, one in enumerate(every):
        if one.tether is not None:
            yield tether_body(one.tether.at(time), one.tether.diameter, number)
