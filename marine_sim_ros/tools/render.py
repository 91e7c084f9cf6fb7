# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make a film of a recorded run, from a camera of the vehicle or from behind it; needs no ROS.

Pictures are rendered anew; with ``--recorded`` they are those of the bag.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from marine_sim_ros.analysis.film import (
    CHASE,
    Cast,
    Film,
    FilmCamera,
    FilmFrame,
    FilmOutput,
    FrameFolder,
    VideoFile,
    camera_of,
    chase_camera,
    frame_stamps,
    recorded_frames,
    render_frames,
)
from marine_sim_ros.analysis.film_sources import (
    RecordedMotion,
    read_motion,
    recorded_pictures,
    recorded_tether,
)
from marine_sim_ros.bags.description import bodies_of, recorded_environment, recorded_vehicle
from marine_sim_ros.bags.reading import Bag
from marine_sim_ros.bags.vehicle_record import parse_maps
from marine_sim_ros.core.errors import MarineSimError, ParameterError, RecordingError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.tools.command_line import check_writable, print_warnings, progress_bar
from marine_sim_ros.tools.options import add_option, add_recorded_arguments, parse_set_options

__all__ = ['add_arguments', 'execute']

_FRAME_SIZE = (1280, 720)
"""Of the pictures of the chase camera."""
_RATE = 30.0
"""Hz, of the chase camera."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    add_recorded_arguments(parser)
    add_option(parser, 'vehicle_arguments')
    parser.add_argument(
        '-o', '--output', default='', metavar='FILE', help='film, such as dive.mp4'
    )
    parser.add_argument(
        '--frames',
        default='',
        metavar='FOLDER',
        help='folder for PNG files, without overlay; recorded depths are 16 bit in mm',
    )
    parser.add_argument(
        '--camera',
        default='',
        metavar='NAME',
        help=f"camera of the vehicle, or {CHASE}: from behind (default: the vehicle's first "
        f'camera, else {CHASE})',
    )
    parser.add_argument(
        '--recorded',
        action='store_true',
        help='show the pictures that the bag has of the camera, in place of rendering them',
    )
    parser.add_argument(
        '--size', default='', metavar='WxH', help="pixels (default: the camera's, 1280x720)"
    )
    parser.add_argument(
        '--fps',
        type=float,
        metavar='HZ',
        help="pictures a second, 0.1 to 240 (default: the camera's rate, 30)",
    )
    parser.add_argument(
        '--speed',
        type=float,
        default=1.0,
        metavar='X',
        help='seconds of the run in one second of the film, 0.001 to 1e6: above 1 a time-lapse, '
        'below 1 slow motion (default: 1)',
    )
    parser.add_argument(
        '--start', type=float, default=0.0, metavar='S', help='begin, s of the run (default: 0)'
    )
    parser.add_argument(
        '--end', type=float, default=None, metavar='S', help='end, s of the run (default: its end)'
    )
    parser.add_argument(
        '--no-overlay',
        action='store_true',
        help='leave time, depth and heading out of the film; --frames never has them',
    )


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before the bag is read."""
    if not (options.output or options.frames):
        raise ParameterError('render: nowhere to write; expected -o FILE.mp4 or --frames FOLDER')
    if options.fps is not None and not 0.1 <= options.fps <= 240:
        raise ParameterError(f'--fps {options.fps:g}: expected 0.1 to 240 Hz')
    if not 1e-3 <= options.speed <= 1e6:
        raise ParameterError(f'--speed {options.speed:g}: expected 0.001 to 1e6')
    if options.recorded and (options.size or options.vehicle or options.environment):
        raise ParameterError(
            '--recorded: pictures are as they were recorded; expected no --size, --vehicle or '
            '--environment'
        )
    if options.output:
        check_writable(Path(options.output), '-o', parents=True)


def execute(options: argparse.Namespace) -> int:
    """Render every picture."""
    _check(options)
    with ExitStack() as stack:
        # What is missing is told before the bag is read.
        video = None
        if options.output:
            video = VideoFile(Path(options.output), overlay=not options.no_overlay)
        with progress_bar('reading') as reading:
            bag, motions = read_motion(options.bag, parse_maps(options.maps), reading)
        name = _name(options, bag, motions)
        shown, found = _picture_source(options, bag, motions, name)
        rate = Fraction(options.fps or found).limit_denominator(1000)
        times = frame_stamps(
            motions[name], float(rate) / options.speed, options.start, options.end
        )
        outputs: list[FilmOutput] = []
        if video is not None:
            video.rate = rate
            outputs.append(video)
        if options.frames:
            outputs.append(FrameFolder(Path(options.frames)))
        for output in outputs:
            stack.callback(output.close)
        told = stack.enter_context(progress_bar('rendering', quiet=0.0))
        count = 0
        told(0.0)
        for frame in shown(times):
            count += 1
            for output in outputs:
                output.add(frame)
            told(count / len(times))
    print(f'{count} pictures at {float(rate):g} Hz: {options.output or options.frames}')
    return 0


def _size(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    width, separator, height = text.lower().partition('x')
    if not (separator and width.isdecimal() and height.isdecimal()):
        raise ParameterError(f'--size {text!r}: expected pixels as 1280x720')
    size = int(width), int(height)
    if not all(2 <= n <= 4096 for n in size):
        raise ParameterError(f'--size {text!r}: expected 2 to 4096 pixels along each side')
    return size


def _name(options: argparse.Namespace, bag: Bag, motions: dict[str, RecordedMotion]) -> str:
    """Return the namespace of the vehicle of the film."""
    name = options.namespace.strip('/') or next(iter(motions))
    if name not in motions:
        known = ', '.join(motions)
        raise RecordingError(f'{bag.path}: has no vehicle {name!r} with odom; it has {known}')
    return name


def _picture_source(
    options: argparse.Namespace, bag: Bag, motions: dict[str, RecordedMotion], name: str
) -> tuple[Callable[[np.ndarray], Iterator[FilmFrame]], float]:
    """Return the source of pictures at stamps in s, and the rate of its camera, Hz."""
    if not options.recorded:
        film, rate = _film(options, bag, motions, name)
        return partial(render_frames, film), rate
    pictures = recorded_pictures(bag, name, options.camera)
    origin = _origin(bag, name)
    return partial(recorded_frames, pictures, motions[name], origin=origin), pictures.rate


def _origin(bag: Bag, name: str) -> Origin:
    """Return the origin of a recording's map; where it is not known, that of a map to north."""
    try:
        return recorded_environment(bag, name).origin
    except MarineSimError as error:
        print_warnings([f'{error}; headings are told as if the y axis of map pointed north'])
        return Origin()


def _film(
    options: argparse.Namespace, bag: Bag, motions: dict[str, RecordedMotion], name: str
) -> tuple[Film, float]:
    """Return the film, and the rate of its camera, Hz."""
    size, vehicle = _size(options.size), _vehicle(options, bag, name)
    sensor = camera_of(vehicle, options.camera)
    looks = Appearance(vehicle)
    print_warnings(looks.warnings)
    camera, rate = chase_camera(looks.parts(), *(size or _FRAME_SIZE)), _RATE
    if sensor is not None:
        spec = sensor.spec
        if size:
            spec = replace(spec, width=float(size[0]), height=float(size[1]))
        camera = FilmCamera(spec, sensor, camera.radius)
        rate = 1e9 / sensor.period if sensor.period else _RATE
    around = options.environment
    environment = run_environment(around) if around else recorded_environment(bag, name)

    def cast(one: str, known: Vehicle, seen: Appearance) -> Cast:
        motion, tether = motions[one], recorded_tether(bag, one, known)
        if tether is None and 'tether' in known.extensions:
            print_warnings(
                [
                    f'{one}: its tether is not shown: the bag has no tether/shape; expected a '
                    'recording of marine_sim run or simulate'
                ]
            )
        return Cast(motion, seen, known.thrusters, tether)

    others = {}
    bodies = bodies_of(environment)
    for other in (one for one in motions if one != name):
        described = bodies.get(other) or recorded_vehicle(bag, other)
        if described is not None:
            others[other] = cast(other, described, Appearance(described))
    main = cast(name, vehicle, looks)
    return Film(camera, main, others, environment), rate


def _vehicle(options: argparse.Namespace, bag: Bag, name: str) -> Vehicle:
    arguments = parse_set_options(options.vehicle_arguments)
    if options.vehicle:
        return load_vehicle(options.vehicle, **arguments)
    if arguments:
        raise ParameterError('--set: needs --vehicle, for the recorded one is as it was recorded')
    vehicle = recorded_vehicle(bag, name)
    if vehicle is None:
        raise RecordingError(
            f'{bag.path}: does not say which vehicle {name!r} is; expected --vehicle'
        )
    return vehicle
