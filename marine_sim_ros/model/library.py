# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds a vehicle by name or path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from marine_sim_ros.core.errors import ModelError, ParameterError, no_file, no_such_name
from marine_sim_ros.core.files import expand_home, resource_folder
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.registry import VEHICLES
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.geometry.mesh_files import MESH_SUFFIXES
from marine_sim_ros.model.hull import check_terms
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'known_vehicles',
    'load_vehicle',
    'vehicle_folder',
    'vehicle_of_text',
    'vehicle_names',
    'vehicle_of',
    'vehicle_path',
    'check_description',
    'parse_xacro_arguments',
    'read_argument_texts',
]

_OPTIONS = ('hull_forces', 'voltage')
_SUFFIXES = ('.urdf.xacro', '.urdf')
_SHAPES = (
    *MESH_SUFFIXES,
    *('.glb', '.gltf', '.ply', '.3mf', '.fbx', '.blend', '.step', '.stp', '.iges', '.igs'),
    *('.sldprt', '.sldasm', '.f3d', '.fcstd', '.ipt', '.iam', '.dwg', '.dxf', '.3dm'),
)
"""Suffixes of meshes and CAD models."""
_FOREIGN = ('.usd', '.usda', '.usdc', '.usdz')


def vehicle_names() -> list[str]:
    """Return the names of the vehicles: shipped, and from other packages."""
    return sorted(
        {
            p.name.removesuffix(s)
            for folder in _folders()
            for s in _SUFFIXES
            for p in folder.glob('*' + s)
            if p.is_file()
        }
    )


def _folders() -> list[Path]:
    """Return the folders of vehicles: those of this package, then of plug-ins."""
    return [resource_folder('urdf'), *VEHICLES.values()]


def vehicle_folder(location: ModuleType | str | Path, owner: str) -> Path:
    """Return the folder of URDF files that an entry of another package names.

    Args:
        location: path, or package that contains the files.
        owner: what has the entry; the registry names it in its own words.

    Raises:
        ModelError: there is no such folder.
    """
    del owner
    if isinstance(location, ModuleType):
        from importlib import resources

        location = str(resources.files(location))
    folder = Path(location)
    if not folder.is_dir():
        raise ModelError(f'{folder} is no folder; expected one of URDF files')
    return folder


def check_description(path: Path) -> None:
    """Refuse a file that holds shapes alone, by its suffix.

    Raises:
        ModelError: it is a mesh or a CAD model.
    """
    suffix = path.suffix.lower()
    if suffix in _SHAPES:
        use = f'<mesh filename="{path.name}"/> in the <collision> and <visual> of its base_link'
        if suffix not in MESH_SUFFIXES:
            use = f'it, exported as {", ".join(MESH_SUFFIXES)}, as <mesh> in its <collision>'
        raise ModelError(
            f'{path}: is a shape, without mass and thrusters; expected a URDF: write one with '
            f'{use} (docs/how-to/hulls.md)'
        )


def vehicle_path(name_or_path: str) -> Path:
    """Return the file of a vehicle, from its shipped name or a path.

    Raises:
        ModelError: neither a file nor a shipped name.
    """
    if '/' not in name_or_path:
        for path in (f / (name_or_path + s) for f in _folders() for s in _SUFFIXES):
            if path.is_file():
                return path
    path = expand_home(name_or_path)
    if path.is_file():
        check_description(path)
        return path
    if path.is_dir():
        raise ModelError(f'vehicle {name_or_path!r} {no_file(path, _SUFFIXES)}')
    raise ModelError(no_such_name('vehicle', name_or_path, vehicle_names(), path, _SUFFIXES))


def parse_xacro_arguments(texts: Iterable[str]) -> dict[str, Any]:
    """Return the xacro arguments of texts ``name:=value``; empty ones are passed over.

    Raises:
        ParameterError: a text without ``:=``, or a name that stands for something else here.
    """
    result: dict[str, Any] = {}
    for text in filter(None, texts):
        name, separator, value = text.partition(':=')
        if not separator or not name:
            raise ParameterError(f'vehicle argument {text!r}; expected name:=value')
        if name in ('progress', 'name_or_path'):  # arguments of load_vehicle
            raise ParameterError(f'vehicle argument {name!r} cannot be a xacro argument here')
        if name in _OPTIONS:
            raise ParameterError(
                f'vehicle argument {text!r}: {name} is no xacro argument; expected the option '
                f'--{name.replace("_", "-")} (launch files, nodes: {name})'
            )
        result[name] = value
    return result


def read_argument_texts(reader: YamlReader) -> tuple[str, ...]:
    """Read a list of xacro arguments, ``name:=value`` each, from a configuration file.

    Raises:
        MarineSimError: not a list of such texts.
    """
    for item in reader.items():
        if not isinstance(item.value, str) or ':=' not in item.value:
            raise item.error(f' is {item.value!r}; expected name:=value, as in arm:=false')
    return tuple(str(item.value) for item in reader.items())


def load_vehicle(
    name_or_path: str | Path,
    *,
    voltage: float | None = None,
    hull_forces: Sequence[str] | None = None,
    base_link: str = '',
    progress: ReportProgress = no_progress,
    **arguments: str,
) -> Vehicle:
    """Return a vehicle by its shipped name, the path of a URDF or xacro file, or URDF text.

    Args:
        name_or_path: ``'bluerov2'``, ``'my.urdf.xacro'``, or a text that starts with ``<``.
        voltage: supply voltage of the thrusters, V; default: that of their curves, of several
            the highest.
        hull_forces: kinds of panel forces to keep, of ``model.hull.FORCE_TERMS``; default: all.
        base_link: name of the body's link; default: ``base_link``, or the one that is found by
            :func:`~marine_sim_ros.model.kinematics.base_link_of`.
        progress: function that is called with the completed share of long work, 0 to 1; it is not
            called without long work.
        **arguments: xacro arguments, such as ``coefficients='wu2018'``.

    Raises:
        ModelError: it cannot be found, read or used; one line says what, where, and why.
    """
    from marine_sim_ros.model.foreign import check_native
    from marine_sim_ros.model.urdf import vehicle_from_urdf
    from marine_sim_ros.model.xacro_expansion import BASE_ARGUMENT, expand_description

    text = str(name_or_path)
    if text.lstrip().startswith('<'):
        if arguments:
            raise ModelError('robot_description: a URDF text takes no xacro arguments')
        made = vehicle_from_urdf(text, voltage=voltage, base_link=base_link, progress=progress)
        return _select_hull_forces(made, hull_forces)
    path = vehicle_path(text)
    if path.suffix in _FOREIGN:
        raise ModelError(
            f'{path}: is no URDF; import it first: marine_sim import {path} -o {path.stem}.urdf'
        )
    settings = {k: str(v) for k, v in arguments.items()}
    if base_link:
        settings[BASE_ARGUMENT] = base_link
    description = expand_description(path, settings)
    vehicle = vehicle_from_urdf(
        description.text,
        source=description.source,
        voltage=voltage,
        base=path.parent,
        base_link=base_link,
        progress=progress,
        check=partial(check_native, path),
    )
    return _select_hull_forces(vehicle, hull_forces)


known_vehicles: dict[Any, Vehicle] = {}
"""Vehicles that :func:`vehicle_of` has loaded, by all of its parameters."""


def vehicle_of(parameters: Mapping[str, Any], progress: ReportProgress = no_progress) -> Vehicle:
    """Return the vehicle that the parameters of a node name, loaded once in a process.

    It is loaded anew where its file has changed, not where only a file that it includes has.

    Args:
        parameters: ``vehicle`` or ``robot_description``, and if they are there ``voltage``,
            ``hull_forces`` and ``vehicle_arguments``, as texts ``name:=value``.
        progress: function that is called with the completed share of long work.

    Raises:
        MarineSimError: it cannot be found, read or used.
    """
    source = parameters.get('robot_description') or parameters['vehicle']
    voltage = parameters.get('voltage') or None
    hull_forces = tuple(filter(None, parameters.get('hull_forces', ())))
    arguments = parse_xacro_arguments(parameters.get('vehicle_arguments', ()))
    version = 0 if source.lstrip().startswith('<') else vehicle_path(source).stat().st_mtime_ns
    key = source, version, voltage, hull_forces, tuple(arguments.items())
    if key not in known_vehicles:
        known_vehicles[key] = load_vehicle(
            source,
            voltage=voltage,
            hull_forces=hull_forces or None,
            progress=progress,
            **arguments,
        )
    return known_vehicles[key]


def vehicle_of_text(name_or_path: str, text: str, base_link: str) -> Vehicle:
    """Return the vehicle of a URDF text; its meshes are relative to another description.

    Args:
        name_or_path: the other one: a shipped name or the path of a URDF or xacro file.
        text: URDF, xacro expanded.
        base_link: name of the body's link.

    Raises:
        ModelError: it cannot be found, read or used.
    """
    from marine_sim_ros.model.urdf import vehicle_from_urdf

    path = vehicle_path(name_or_path)
    return vehicle_from_urdf(text, source=str(path), base=path.parent, base_link=base_link)


def _select_hull_forces(vehicle: Vehicle, hull_forces: Sequence[str] | None) -> Vehicle:
    if hull_forces is None:
        return vehicle
    check_terms(hull_forces)
    if vehicle.hull is None:
        return vehicle
    return replace(vehicle, hull=vehicle.hull.with_terms(tuple(hull_forces)))
