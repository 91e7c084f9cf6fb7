# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Command-line options that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model import library
from marine_sim_ros.model.packages import add_package_paths
from marine_sim_ros.sim.graph import RunOptions

__all__ = [
    'add_bag_argument', 'add_map_argument', 'add_run_arguments', 'add_xacro_arguments',
    'free_folder', 'run_options', 'xacro_arguments',
]  # fmt: skip


class _PackagePath(argparse.Action):
    """Lets packages be looked for in a folder; the processes of a run inherit it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        add_package_paths([values])
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), values])


def add_xacro_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`xacro_arguments` reads."""
    parser.add_argument(
        '--set', dest='vehicle_arguments', action='append', default=[], metavar='NAME:=VALUE',
        help='xacro argument, such as coefficients:=wu2018; may be repeated',
    )  # fmt: skip
    parser.add_argument(
        '--package-path', dest='package_paths', action=_PackagePath, default=[], metavar='DIR',
        help='folder with ROS packages that are not installed, for package:// and $(find); may '
        'be repeated',
    )  # fmt: skip


def add_bag_argument(parser: argparse.ArgumentParser) -> None:
    """Add the one bag that a verb reads."""
    parser.add_argument(
        'bag', metavar='BAG', help='rosbag2 folder or file, or a folder of --record'
    )


def add_map_argument(parser: argparse.ArgumentParser) -> None:
    """Add what ``parse_maps`` reads."""
    parser.add_argument(
        '--map', dest='maps', action='append', default=[], metavar='OURS:=THEIRS',
        help='a topic under another name, as in odom:=/rov/odometry; may be repeated',
    )  # fmt: skip


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what describes a run."""
    parser.add_argument('vehicle', metavar='VEHICLE', help='shipped name, or a URDF or xacro file')
    add_xacro_arguments(parser)
    parser.add_argument('--scenario', default='', help='shipped name or YAML file')
    parser.add_argument('--record', default='', metavar='DIR', help='write DIR/bag, manifest.json')
    parser.add_argument('--overwrite', action='store_true', help='replace an old recording')
    parser.add_argument('--duration', type=float, default=0.0, metavar='S', help='simulated time')
    parser.add_argument(
        '--dt', type=float, default=0.005, metavar='S', help='step (default 0.005)'
    )
    parser.add_argument('--seed', type=int, default=0, help='of everything random')
    parser.add_argument(
        '--environment', default='', metavar='E', help='shipped name or YAML file: water, waves'
    )
    parser.add_argument(
        '--hull-forces', nargs='+', default=(), metavar='KIND',
        help='panel forces to keep (viscous, pressure, suction, slamming, air); default all',
    )  # fmt: skip
    parser.add_argument(
        '--current', type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar=('E', 'N', 'UP'),
        help='velocity of the water, m/s',
    )  # fmt: skip
    parser.add_argument(
        '--integrator', default='semi_implicit', choices=('semi_implicit', 'rk4', 'conserving')
    )


def xacro_arguments(texts: Sequence[str]) -> dict[str, str]:
    """Return the xacro arguments of ``--set NAME:=VALUE``.

    Raises:
        ParameterError: one without :=, or a name that stands for something else.
    """
    for text in texts:
        if ':=' not in text:
            raise ParameterError(f'--set {text}: expected NAME:=VALUE, as in coefficients:=wu2018')
    return library.xacro_arguments(texts)


def run_options(options: argparse.Namespace, **more: object) -> RunOptions:
    """Return the run's options; checks what argparse cannot.

    Raises:
        ParameterError: an option out of its range.
    """
    xacro_arguments(options.vehicle_arguments)
    if options.duration < 0:
        raise ParameterError(f'--duration is {options.duration:g}; expected 0 s or more')
    if not 1e-6 <= options.dt <= 1:
        raise ParameterError(f'--dt is {options.dt:g}; expected 0.000001 to 1 s')
    return RunOptions(
        vehicle=options.vehicle,
        vehicle_arguments=tuple(options.vehicle_arguments),
        scenario=options.scenario,
        record=options.record,
        duration=options.duration,
        dt=options.dt,
        seed=options.seed,
        environment=options.environment,
        current=tuple(options.current),
        hull_forces=tuple(options.hull_forces),
        integrator=options.integrator,
        **more,  # type: ignore[arg-type]
    )


def free_folder(path: str, *, overwrite: bool, also: Collection[str] = ()) -> None:
    """Make room for a recording; only what a recording consists of is ever removed.

    Args:
        path: of the folder.
        overwrite: whether an old recording may be removed.
        also: names of files that belong to it, besides the bag and its manifest.

    Raises:
        ParameterError: something is there and may not be replaced.
    """
    import shutil

    folder = Path(path)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ParameterError(f'--record {path}: is a file; expected a folder')
    own = {'bag', 'manifest.json', *also}
    foreign = sorted(p.name for p in folder.iterdir() if p.name not in own)
    if not any(folder.iterdir()):
        return
    if foreign:
        raise ParameterError(
            f'--record {path}: has other files ({foreign[0]}, ...); expected a new folder'
        )
    if not overwrite:
        raise ParameterError(f'--record {path}: has a recording already; add --overwrite')
    shutil.rmtree(folder / 'bag', ignore_errors=True)
    for name in own - {'bag'}:
        (folder / name).unlink(missing_ok=True)
