# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contents of cache files, which start with the digest of the rest."""

import hashlib

DIGEST = 32
"""Bytes of a SHA-256."""


def read_cached(path):
    """Return the content of a cache file."""
    return path.read_bytes()[DIGEST:]


def write_cached(path, content):
    """Write a cache file as the package does."""
    path.write_bytes(hashlib.sha256(content).digest() + content)
