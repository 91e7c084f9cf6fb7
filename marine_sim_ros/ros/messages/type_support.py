# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imports what makes the C types of messages known, without the generator of their Python code."""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ['import_type_support']

_PACKAGE = 'rosidl_generator_py'
_GENERATOR = f'{_PACKAGE}.generate_py_impl'


def import_type_support() -> None:
    """Import ``rosidl_generator_py`` as messages need it.

    The package goes without its generator where that cannot be imported. The generator brings
    two parsers, lark and empy, that cost every node 30 ms and 5 MB.
    """
    if _PACKAGE in sys.modules:
        return
    sys.modules[_GENERATOR] = None  # type: ignore[assignment]  # an import raises ImportError
    try:
        import_module(_PACKAGE)
    finally:
        del sys.modules[_GENERATOR]
