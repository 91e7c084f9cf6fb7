# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Availability of JAX, its compiler flags, its cache of programs, and the precision of numbers."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Any

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import cache_folder

__all__ = ['ROUNDING_OPTIONS', 'double_precision', 'precision', 'require_jax', 'wait_for_programs']

PRECISIONS = ('float64', 'float32')
_EXTRA_OPTIONS = '--xla_backend_extra_options='
_LOOP_OPTION = 'xla_cpu_small_while_loop_byte_threshold'
_LOOP_BYTES = 1 << 24
"""Bytes below which XLA compiles a loop into one function (1 kB by itself in JAX 0.10): a step so
takes a tenth of the time of a call for each operation. XLA reads it once, from XLA_FLAGS."""
ROUNDING_OPTIONS = (
    {'xla_cpu_max_isa': 'AVX'} if platform.machine().lower() in ('x86_64', 'amd64') else {}
)
"""AVX has no fused multiply-add (FMA). LLVM fuses a product and a sum wherever both stand
together, so with FMA the same step would have other last bits in another program. JAX from 0.7 on
ignores this option for a single program; there it is set in XLA_FLAGS, for all programs."""


@cache  # each call of a program calls this
def require_jax() -> None:
    """Check that JAX is installed; set the folder of its cache and its flags.

    Raises:
        MissingPackageError: no JAX.
    """
    jax = require('jax', "the engine 'jax'")
    flags = _with_loop_option(os.environ.get('XLA_FLAGS', ''))
    if jax.__version_info__ >= (0, 7):
        flags = _with_options(flags, ROUNDING_OPTIONS)
    os.environ['XLA_FLAGS'] = flags
    if jax.config.jax_compilation_cache_dir is None:
        folder = cache_folder('jax')
        if folder is not None:
            jax.config.update('jax_compilation_cache_dir', str(folder))
            jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.1)


def _with_loop_option(flags: str) -> str:
    """Return XLA_FLAGS with the option of :data:`_LOOP_BYTES`, unless the user has set it."""
    if _LOOP_OPTION in flags:
        return flags
    option = f'{_LOOP_OPTION}={_LOOP_BYTES}'
    if _EXTRA_OPTIONS in flags:
        return flags.replace(_EXTRA_OPTIONS, f'{_EXTRA_OPTIONS}{option},')
    return f'{flags} {_EXTRA_OPTIONS}{option}'.strip()


def _with_options(flags: str, options: Mapping[str, str]) -> str:
    """Return XLA_FLAGS with options that the user has not set."""
    additions = (f'--{name}={value}' for name, value in options.items() if name not in flags)
    return ' '.join((flags, *additions))


def precision(name: str) -> AbstractContextManager[Any]:
    """Return a context in which JAX counts in ``float64`` or ``float32``.

    Raises:
        ParameterError: another name, or no JAX.
    """
    if name not in PRECISIONS:
        raise ParameterError(f'precision is {name!r}; {expected_one_of(name, PRECISIONS)}')
    return double_precision(name == 'float64')


def double_precision(enabled: bool = True) -> AbstractContextManager[Any]:
    """Return a context in which JAX counts with 64 bits, or else with 32.

    Raises:
        MissingPackageError: no JAX.
    """
    require_jax()
    import jax

    if hasattr(jax, 'enable_x64'):  # from JAX 0.8 on
        context: AbstractContextManager[Any] = jax.enable_x64(enabled)
        return context
    from jax.experimental import enable_x64

    return enable_x64(enabled)


def wait_for_programs() -> None:
    """Make JAX run programs in the calling thread; call it before the first program runs.

    By default another thread runs them, and a call of 10 µs waits for two thread switches.
    """
    require_jax()
    import jax

    with suppress(AttributeError):  # a JAX without that option
        jax.config.update('jax_cpu_enable_async_dispatch', False)
