# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Queries of triangle surfaces as machine code that XLA's compiled programs call directly.

A program that calls Python for a query waits 100 µs and more for the interpreter; a call of
machine code takes 0.1 µs. XLA calls a *handler* with the address of a call frame, as its foreign
function interface defines it in ``xla/ffi/api/c_api.h``, major version 0. The handlers of
:mod:`~marine_sim_ros.geometry.bvh_kernels` are compiled once for all surfaces; each surface has a
function of a few instructions that calls a handler with the addresses of the surface's arrays.
Its name has a digest of these arrays, so a program from JAX's cache finds the same surface again.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from marine_sim_ros.geometry.bvh_kernels import answer_distances, answer_edges, compile_handler

__all__ = ['register_handlers']


_HANDLERS: dict[str, Callable[..., int]] = {'distances': answer_distances, 'edges': answer_edges}
_TYPES = float, np.int64, float, np.int32, np.int32, float, float, np.int32
"""Types of the arrays of a ``TriangleTree``."""


@cache
def _compiled_handler(name: str) -> Any:
    return compile_handler(_HANDLERS[name])


@cache
def _interface_version() -> int | None:
    """Return the interface's version as the word of two int32; None: another major version."""
    import jax

    header = Path(jax.ffi.include_dir()) / 'xla' / 'ffi' / 'api' / 'c_api.h'
    try:
        numbers = dict(re.findall(r'#define XLA_FFI_API_(MAJOR|MINOR) (\d+)', header.read_text()))
    except OSError:
        return None
    return int(numbers['MINOR']) << 32 if numbers.get('MAJOR') == '0' else None


_REGISTERED: dict[str, tuple[Any, ...]] = {}
"""Registered functions and the arrays that they use, which must outlive every program."""


def register_handlers(
    tree: Iterable[np.ndarray], closed: bool, thickness: float
) -> dict[str, str]:
    """Return the names by which XLA knows the handlers of a surface; empty: it accepts none.

    Args:
        tree: arrays of the surface's ``TriangleTree``.
        closed: whether it encloses a volume.
        thickness: of an open surface, m.
    """
    import jax

    version = _interface_version()
    if version is None:
        return {}
    arrays = [np.ascontiguousarray(a, kind) for a, kind in zip(tree, _TYPES, strict=True)]
    arrays.append(np.array([thickness]))
    digest = hashlib.sha256(bytes([closed]))
    for array in arrays:
        digest.update(array.data)
    names = {name: f'marine_sim_{name}_{digest.hexdigest()[:32]}' for name in _HANDLERS}
    for name, target in names.items():
        if target in _REGISTERED:
            continue
        sizes, addresses = [len(arrays[i]) for i in (0, 2, 6)], [a.ctypes.data for a in arrays]
        words = np.array([*sizes, *addresses[:-1], closed, addresses[-1], version], np.int64)
        engine = _bind(target, _compiled_handler(name).address, words.ctypes.data)
        pointer = ctypes.c_void_p(engine.get_function_address(target))
        jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(pointer), platform='cpu')
        _REGISTERED[target] = engine, words, arrays
    return names


def _bind(name: str, handler: int, surface: int) -> Any:
    """Return the engine of a function of a call frame that calls a handler with a surface."""
    word = ir.IntType(64)
    module = ir.Module(name=name)
    function = ir.Function(module, ir.FunctionType(word, [word]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    handler_type = ir.FunctionType(word, [word, word]).as_pointer()
    call = builder.call(
        builder.inttoptr(word(handler), handler_type), [*function.args, word(surface)]
    )
    builder.ret(call)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine
