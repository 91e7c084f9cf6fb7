# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layers of a USD file, checked before they are composed: where they lie, how large they are.

The resolver of usd-core also looks into the working folder; so each name is resolved here first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_archive, check_file
from marine_sim_ros.model.trust import ReadableFolders

__all__ = ['check_layers', 'pxr', 'reason']

_MOST_LAYERS = 200
_MAX_BYTES = 100_000_000
_CLIPS = 'clips'


def pxr(name: str) -> Any:
    """Return a module of usd-core, such as ``Usd``.

    Raises:
        MissingPackageError: usd-core is not installed.
    """
    return require(f'pxr.{name}', 'import of USD')


def reason(error: Exception) -> str:
    """Return what an exception of usd-core says, in one line without its C++ places."""
    text = ' '.join(str(error).split())
    found = text.split(" : '")[1:]
    return '; '.join(part.split("'", 1)[0] for part in found)[:300] or text[:300]


def check_layers(path: Path) -> list[str]:
    """Check the layers that a file names, those of its layers too.

    Args:
        path: the file.

    Returns:
        The names of layers that are not there.

    Raises:
        ModelError: a layer lies outside the folder of the file, is no USD, or is too large; too
            many layers; names by expressions, or value clips, which are looked up later.
    """
    sdf = pxr('Sdf')
    folders = ReadableFolders(path)
    queue, seen, missing = [str(path.resolve())], set[str](), list[str]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > _MOST_LAYERS:
            raise ModelError(f'{path}: names more than {_MOST_LAYERS} layers')
        layer = _open(name, folders)
        if layer is None:
            missing.append(Path(name).name)
            continue
        for asset in layer.GetCompositionAssetDependencies():
            if asset.startswith('`'):
                raise ModelError(
                    f'{name}: the expression {asset} names a layer; expected the name of a file'
                )
            anchored = sdf.ComputeAssetPathRelativeToLayer(layer, asset)
            queue.append(sdf.Layer.SplitIdentifier(anchored)[0])
    return sorted(missing)


def _open(name: str, folders: ReadableFolders) -> Any:
    """Return a layer, or None where there is no such file.

    Raises:
        ModelError: it may not be read, or cannot be.
    """
    sdf, ar = pxr('Sdf'), pxr('Ar')
    found = str(ar.GetResolver().Resolve(name)) or name
    file = Path(ar.SplitPackageRelativePathOuter(found)[0])
    folders.check(file)
    if not file.exists():
        return None
    check_file(file, _MAX_BYTES, ModelError)
    if file.suffix == '.usdz':
        check_archive(file, _MAX_BYTES, ModelError)
    try:
        layer = sdf.Layer.FindOrOpen(name)
    except pxr('Tf').ErrorException as error:
        raise ModelError(f'{name}: is no USD: {reason(error)}') from None
    if layer is None:
        return None

    def refuse_clips(at: Any) -> None:
        spec = layer.GetObjectAtPath(at)
        if spec is not None and spec.HasInfo(_CLIPS):
            raise ModelError(f'{name}: <{at}> has value clips, which are not read')

    layer.Traverse(sdf.Path.absoluteRootPath, refuse_clips)
    return layer
