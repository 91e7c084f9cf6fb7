# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Identifies the set tank2025 of the BlueROV2 Heavy, and judges all sets on what no fit has seen.

``.venv/bin/python docs/scripts/judge_tank.py FOLDER [--fit | --bounds | --by-recording]``

FOLDER holds the six recordings of a tank with motion capture: the files
``residual_modelling/data_and_plots/dictfiles_plot/rosbag2_2025_05_27-*_data_all.npz`` of
github.com/SAABmarine-MEX/saabmarineMEX_learning at commit dda3f3d3b64e. They have no licence and
are not part of this repository. Without ``--fit`` the shipped set is judged.

Three recordings are fitted, three are held back. The choice was made from the commands that they
contain, before any model had been compared: of each pair of like recordings (surge, sway and
heave only; all axes at a quarter; all axes at a half and more) one is in either half.

Stretches that turn over count less in the fit, for there a little decides to which side a vehicle
falls. The means of the fitted half's steps of one stick (config/validation/bluerov2_heavy.yaml)
are in it too, as runs from rest. The search begins at the numbers that it found before and says
how far it goes from there: from the priors it may end in another valley. What it finds turns over
in heave at full sticks; tank2025 has other drag and lift there (judge_heave.py).

``--bounds`` says what is left to gain: with couplings of added mass, a place of the markers and
steps told when the tank told them, it fits the fitted half, and then the held half itself, which
no prediction may do.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.stick_mixing import ardusub_manual_pwm
from marine_sim_ros.core.schema import number_at
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import Propulsion
from marine_sim_ros.identification.motion_fit import fit_motion
from marine_sim_ros.identification.parameters import DELAY, FITS, ORIGIN
from marine_sim_ros.identification.prediction import BEFORE, Stretches, stretches_of
from marine_sim_ros.identification.recording import MotionRecording
from marine_sim_ros.identification.table_recordings import COLUMN_MAPS, recording_of_table
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin
from marine_sim_ros.tools.identify import print_motion_fit
from marine_sim_ros.validation.cards import load_published
from marine_sim_ros.validation.propulsion import EFFORTS
from marine_sim_ros.validation.rest import DIRECTIONS

FITTED = ('11_40_38', '11_57_50', '12_04_31')
HELD = ('11_10_52', '11_46_03', '12_09_45')
SETS = ('tank2025', 'von_benzon2022', 'maker', 'bluerov2_gz', 'orca3', 'wu2018')
LATE = {'tank2025': -0.004}
USUALLY_LATE = 0.109
"""s, by which the recordings' commands come late. Fits find it with the rotors' lag, earlier ones
0.034 s with 0.173 s, and 0.044 s with 0.165 s of a diagonal model; the published sets, whose lag
is 0.1 s, get the difference as delay."""
COUPLED = """
parameters:
  - {name: added mass surge-pitch, path: ["added_mass[0,4]", "added_mass[4,0]"], unit: kg m, prior: 0.4, deviation: 0.4, limits: [-2, 2]}
  - {name: added mass heave-pitch, path: ["added_mass[2,4]", "added_mass[4,2]"], unit: kg m, prior: 0, deviation: 0.4, limits: [-2, 2]}
  - {name: added mass sway-roll, path: ["added_mass[1,3]", "added_mass[3,1]"], unit: kg m, prior: -0.2, deviation: 0.4, limits: [-2, 2]}
  - {name: x of the markers, path: "origin[0]", unit: m, prior: 0, deviation: 0.03, limits: [-0.2, 0.2]}
  - {name: height of the markers, path: "origin[2]", unit: m, prior: 0, deviation: 0.05, limits: [-0.2, 0.2]}
"""  # noqa: E501
"""Beside those of tank2025; priors of the added mass: panels on what is drawn of the vehicle."""


class Case(NamedTuple):
    """A fit.

    Attributes:
        name: of the set that it makes.
        coefficients: those to start from.
        file: parameters.
        more: text of further ones.
        half: recordings to fit; the means of steps are of FITTED, and join its fits only.
        in_time: whether the means of steps are those of the tank's time, or of the fourth second.
    """

    name: str
    coefficients: str
    file: str
    more: str = ''
    half: tuple[str, ...] = FITTED
    in_time: bool = False


CASES = (
    Case('as fitted', 'tank2025', 'bluerov2_heavy'),
    Case('diagonal', 'von_benzon2022', 'diagonal'),
)
BOUNDS = (
    Case('coupled', 'tank2025', 'bluerov2_heavy', COUPLED, in_time=True),
    Case('held half itself', 'tank2025', 'bluerov2_heavy', COUPLED, HELD),
)
FITTED_DRAG = {'linear': (6.95, 6.95), 'quadratic': (0.0, 0.0), 'mixed': (19.81, 31.71)}
FITTED_LIFT, FITTED_HEIGHT = (-41.63, 35.22), (0.1843, 0.1929)
"""Drag of heave, lift by u w and its height, fore and aft, where tank2025 differs from the fit."""
STRETCH = 4.0
"""s, of the fit."""
OVER, MEANS = 0.3, 4.0
"""Weights of stretches that turn over, and of the means of steps."""
HEAVES_ENDED = {0.5: 2.9, 0.75: 2.4, -0.5: 2.1, -0.75: 1.7}
OTHERS_ENDED = 2.9
"""s from the beginning to the end of the fitted half's steps at 50 and 75 %, in the mean; those at
25 % last 4 s and more."""
ONLY_HELD = '62'
"""Efforts that only the half that was held back has."""
STEP = 0.02
DEEP = np.array([0.0, 0.0, -500.0])
HORIZONS = (1.0, 5.0)
SHOWN = ('u', 'v', 'w', 'p', 'q', 'r', 'roll', 'pitch')


def recordings(folder: Path, names: Sequence[str], vehicle: Vehicle) -> list[MotionRecording]:
    """Return the recordings of some files."""
    columns = COLUMN_MAPS.load('saabmarine2025')
    found = sorted(folder.glob('rosbag2_2025_05_27-*_data_all.npz'))
    chosen = [path for path in found if any(name in path.name for name in names)]
    if len(chosen) != len(names):
        raise SystemExit(f'{folder}: has {len(chosen)} of the {len(names)} recordings')
    return [recording_of_table(path, columns, vehicle.thrusters) for path in chosen]


def followed(vehicle: Vehicle, stretches: Stretches, late: float) -> State:
    """Return the open-loop motion from every start at the times of the samples (l + 1, s, ...)."""
    environment, count = Environment(), len(stretches.source)
    row = np.arange(count)

    def sent(at: float) -> np.ndarray:
        time, pwm = stretches.sent, stretches.pwm
        place = np.clip((time < at).sum(axis=1) - 1, 0, time.shape[1] - 2)
        if stretches.held:
            return np.asarray(pwm[row, place + (time[:, -1] < at)])
        share = (at - time[row, place]) / (time[row, place + 1] - time[row, place])
        share = np.clip(share, 0.0, 1.0)[:, None]
        return np.asarray(pwm[row, place] * (1 - share) + pwm[row, place + 1] * share)

    state = State(np.tile(DEEP, (count, 1)), stretches.orientation[:, 0], stretches.velocity[:, 0])
    none = np.zeros((count, len(vehicle.thrusters)))
    rotors = none
    before = (1e3, 0.2, 0.1, 0.1, 0.05, 0.05)
    for i, wait in enumerate(before):
        at = -sum(before[i + 1 :]) - wait / 2 if i else -0.5
        rotors = thrusters(vehicle, state, environment, rotors, pwm=sent(at - late), dt=wait)[1]
    memory = begin(vehicle, environment, state)._replace(propulsion=Propulsion(rotors))
    times = stretches.time[:, BEFORE:]
    result = State(*(np.zeros((times.shape[1], count, n)) for n in (3, 4, 6)))
    for field, value in zip(result, state, strict=True):
        field[0] = value
    stepping = Stepping(STEP)
    steps = int(np.ceil(times.max() / STEP))
    for i in range(steps):
        old = memory.state
        _, memory = advance(
            vehicle,
            environment,
            memory,
            StepCommands(sent((i + 0.5) * STEP - late)),
            stepping,
            since=STEP,
        )
        new = memory.state
        share = times / STEP - i
        for sample in range(1, times.shape[1]):
            here = (share[:, sample] > 0) & (share[:, sample] <= 1)
            if here.any():
                part = share[here, sample][:, None]
                for field, a, b in zip(result, old, new, strict=True):
                    field[sample, here] = a[here] * (1 - part) + b[here] * part
    return result


def angles(orientation: np.ndarray) -> np.ndarray:
    """Return roll and pitch (..., 2), degrees."""
    return np.degrees(np.asarray(rpy_from_quaternion(orientation))[..., :2])


def every_error(
    vehicle: Vehicle, held: Sequence[MotionRecording], seconds: float, late: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors (n, 8) at the end of predictions from every start, and their recordings (n,).

    m/s, rad/s, degrees.
    """
    stretches = stretches_of(held, seconds, every=1)
    moved = followed(vehicle, stretches, late)
    good = stretches.trusted[:, 0] & stretches.trusted[:, -1]
    velocity = moved.velocity[-1] - stretches.velocity[:, -1]
    turn = angles(moved.orientation[-1]) - angles(stretches.orientation[:, -1])
    turn = (turn + 180) % 360 - 180
    return np.concatenate([velocity, turn], axis=1)[good], stretches.source[good]


def rms(every: np.ndarray) -> np.ndarray:
    """Return the RMS (8,) of errors (n, 8)."""
    return np.sqrt(np.mean(every**2, axis=0))


def row(name: str, values: np.ndarray) -> str:
    """Return a row in Markdown of a name and numbers (8,) in the order of SHOWN."""
    shown = [f'{v:.3f}' for v in values[:6]] + [f'{v:.1f}' for v in values[6:]]
    return f'| {name} | ' + ' | '.join(shown) + ' |'


def by_recording(vehicles: dict[str, Vehicle], held: Sequence[MotionRecording]) -> str:
    """Return which recordings the errors after five seconds come from, and their medians."""
    lines = ['| after 5 s | ' + ' | '.join(SHOWN) + ' |', '|---|' + '--:|' * 8]
    for name, vehicle in vehicles.items():
        every, source = every_error(vehicle, held, HORIZONS[-1], LATE.get(name, USUALLY_LATE))
        lines.append(row(f'{name}, median', np.median(np.abs(every), axis=0)))
        for number, known in enumerate(held):
            own, text = source == number, known.name.removeprefix('rosbag2_2025_05_27-')[:8]
            lines.append(row(f'{name}, {text}, RMS', rms(every[own])))
            if name != SETS[0]:
                continue
            share = np.sum(every[own] ** 2, axis=0) / np.sum(every**2, axis=0)
            shares = ' | '.join(f'{100 * each:.0f} %' for each in share)
            lines.append(f'| {100 * np.mean(own):.0f} % of starts, of the squares | {shares} |')
    return '\n'.join(lines)


def weighed(stretches: Stretches) -> Stretches:
    """Return stretches with a weight for each sample and channel."""
    weight = stretches.trusted.astype(float)
    weight[stretches.up[:, :, 2].min(axis=1) < 0.3] *= OVER
    return stretches._replace(trusted=np.repeat(weight[..., None], 9, axis=2))


def means() -> dict[tuple[str, float], dict[str, float]]:
    """Return the fitted half's means of steps, by stick and effort."""
    found: dict[tuple[str, float], dict[str, float]] = {}
    for reference in load_published('bluerov2_heavy').references:
        for axis, ways in DIRECTIONS.items():
            for sense, way in zip((1, -1), ways, strict=True):
                for name, effort in EFFORTS.items():
                    start = f'stick_{axis}_{way}_{name}_'
                    if name == ONLY_HELD or reference.doubt:
                        continue
                    if reference.quantity.startswith(start):
                        quantity = reference.quantity.removeprefix(start)
                        mean = (reference.low + reference.high) / 2
                        mean *= sense if quantity == 'speed' else 1
                        found.setdefault((axis, sense * effort), {})[quantity] = mean
    return found


def ended(axis: str, effort: float) -> float:
    """Return when the tank's steps of one stick ended, s; their means are of the last second."""
    if abs(effort) < 0.4:
        return 4.0
    return HEAVES_ENDED.get(effort, 4.0) if axis == 'heave' else OTHERS_ENDED


def from_rest(stretches: Stretches, vehicle: Vehicle, in_time: bool) -> Stretches:
    """Return stretches and, in the same shape, steps of one stick with their means at the end."""
    count = stretches.time.shape[1]
    length = count - BEFORE
    time = (np.arange(count) - BEFORE) * (4.0 / (length - 1))
    steps = means()
    shape = (len(steps), length)
    many = stretches.sent.shape[1]
    sent = np.linspace(time[0], time[-1], many)
    pwm = np.full((len(steps), many, len(vehicle.thrusters)), 1500.0)
    up, velocity, weight = np.zeros((*shape, 3)), np.zeros((*shape, 6)), np.zeros((*shape, 9))
    up[..., 2], weight[:, 0] = 1.0, 10.0
    for i, ((axis, effort), values) in enumerate(steps.items()):
        number, last = BODY_AXES.index(axis), ended(axis, effort) if in_time else 4.0
        late = np.abs(time[BEFORE:] - last + 0.5) < 0.5 + 1e-9
        pwm[i, sent >= -1e-9] = ardusub_manual_pwm(
            vehicle.thrusters, effort * (np.arange(6) == number)
        )
        for quantity, value in values.items():
            if quantity in ('pitch', 'roll'):
                channel = ('pitch', 'roll').index(quantity)
                up[i, late, channel] = np.sin(np.radians(value))
            else:
                channel = 3 + (5 if quantity == 'yaw_rate' else number)
                velocity[i, late, channel - 3] = value
            weight[i, late, channel] = MEANS
    level = np.tile([0.0, 0.0, 0.0, 1.0], (*shape, 1))
    times, sends = np.tile(time, (len(steps), 1)), np.tile(sent, (len(steps), 1))
    none = np.full(len(steps), -1)
    added = (none, none, times, sends, pwm, level, up, velocity, weight)
    pairs = zip(stretches[:-1], added, strict=True)
    return Stretches._make((*(np.concatenate(pair) for pair in pairs), stretches.held))


def table(rows: dict[str, dict[float, np.ndarray]]) -> str:
    """Return errors of all sets in Markdown."""
    lines = ['| set | s | ' + ' | '.join(SHOWN) + ' |', '|---|--:|' + '--:|' * 8]
    for name, by_horizon in rows.items():
        for seconds, values in by_horizon.items():
            lines.append(row(f'{name} | {seconds:g}', values))
    return '\n'.join(lines)


def as_fitted(vehicle: Vehicle) -> Vehicle:
    """Return the Heavy with tank2025 as the fit found it, before heave was kept upright."""
    elements, lift = vehicle.damping.elements, vehicle.damping.lift
    assert elements is not None
    assert lift is not None
    changed = {name: getattr(elements, name).copy() for name in FITTED_DRAG}
    for name, (fore, aft) in FITTED_DRAG.items():
        changed[name][4:6], changed[name][6:8] = fore, aft
    coefficients, center = lift.coefficients.copy(), lift.center.copy()
    coefficients[:2, 1, 2], center[:2, 2] = FITTED_LIFT, FITTED_HEIGHT
    lift = replace(lift, coefficients=coefficients, center=center)
    damping = replace(vehicle.damping, elements=replace(elements, **changed), lift=lift)
    return replace(vehicle, damping=damping)


def fitted(folder: Path, case: Case) -> tuple[Vehicle, float, Any]:
    """Return the Heavy with the numbers of a fit, its delay, and where that puts the markers."""
    name = case.name
    vehicle = load_vehicle('bluerov2_heavy', coefficients=case.coefficients)
    if case.coefficients == SETS[0]:
        vehicle = as_fitted(vehicle)
    if vehicle.thrusters.thrust_deduction is None:
        none = np.zeros(len(vehicle.thrusters))
        vehicle = replace(vehicle, thrusters=replace(vehicle.thrusters, thrust_deduction=none))
    known = recordings(folder, case.half, vehicle)
    more = FITS.parse(case.more, name) if case.more else ()
    parameters = (*FITS.load(case.file), *more)
    before = {DELAY: LATE.get(case.coefficients, 0.0), **dict.fromkeys(ORIGIN, 0.0)}
    start = np.array(
        [
            before[p.paths[0]] if p.paths[0] in before else number_at(vehicle, p.paths[0])
            for p in parameters
        ]
    )
    with precision('float64'):
        stretches = weighed(stretches_of(known, STRETCH))
        if case.half == FITTED:
            stretches = from_rest(stretches, vehicle, case.in_time)
        found = fit_motion(vehicle, parameters, stretches, start=start)
    print_motion_fit(vehicle, found)
    moved = np.abs(found.values - start) / np.array([p.deviation for p in parameters])
    far = int(np.argmax(moved))
    print(
        f'{name}: from the start, {np.median(moved):.2f} deviations of the priors in the median, '
        f'{moved[far]:.2f} at most ({parameters[far].name})'
    )
    own = {p.paths[0]: v for p, v in zip(parameters, found.values.tolist(), strict=True)}
    place = np.array([own.get(path, 0.0) for path in ORIGIN])
    return found.vehicle(vehicle), own[DELAY], place


def seen_from(known: Sequence[MotionRecording], place: np.ndarray) -> list[MotionRecording]:
    """Return recordings whose velocities are of base_link, if the tracked point is at a place."""
    result = []
    for r in known:
        velocity = r.velocity.copy()
        velocity[:, :3] -= np.cross(velocity[:, 3:], place)
        result.append(replace(r, velocity=velocity))
    return result


def main() -> None:
    """Fit where asked, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument('--fit', action='store_true', help='identify tank2025 and a diagonal set')
    choice.add_argument('--bounds', action='store_true', help='what more terms would gain')
    choice.add_argument('--by-recording', action='store_true', help='errors by held recording')
    options = parser.parse_args()
    vehicles = {name: load_vehicle('bluerov2_heavy', coefficients=name) for name in SETS}
    late, places = dict(LATE), {}
    if options.bounds:
        vehicles = {'tank2025': vehicles['tank2025']}
    for case in CASES if options.fit else BOUNDS if options.bounds else ():
        vehicles[case.name], late[case.name], places[case.name] = fitted(options.folder, case)
    held = recordings(options.folder, HELD, vehicles['tank2025'])
    if options.by_recording:
        print(by_recording(vehicles, held))
        return
    rows = {}
    for name, vehicle in vehicles.items():
        own = seen_from(held, places.get(name, np.zeros(3)))
        delay = late.get(name, USUALLY_LATE)
        rows[name] = {s: rms(every_error(vehicle, own, s, delay)[0]) for s in HORIZONS}
    print(table(rows))


if __name__ == '__main__':
    main()
