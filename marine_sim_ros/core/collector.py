# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Python's garbage collector while a program starts."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ['no_collections']


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no cycles meanwhile: what is loaded stays, and to look it through takes an eighth.

    They are collected again afterwards, whatever was before: a fork starts where its parent was.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
