#!/usr/bin/env python3
# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Checks what must hold before a version is released; prints one line for each fault.

    scripts/check_release.py v0.2.0

The tag, package.xml, the package and the newest section of CHANGELOG.md must name one version, and
the maintainer's address must be one that can receive mail. Uses the standard library alone.

Exit codes: 0 it may be released, 1 faults, 2 bad input.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def release_faults(root, tag):
    """Return the faults (a line each) of a release by that tag."""
    manifest = ElementTree.fromstring((root / 'package.xml').read_text(encoding='utf-8'))
    package = (root / 'marine_sim_ros' / '__init__.py').read_text(encoding='utf-8')
    changelog = (root / 'CHANGELOG.md').read_text(encoding='utf-8')
    versions = {
        'package.xml': manifest.findtext('version'),
        'marine_sim_ros/__init__.py': _first(r"^__version__ = '([^']+)'", package),
        'CHANGELOG.md, newest release': _first(r'^## \[?(\d[\w.]*)', changelog),
    }
    faults = [
        f'{place} has version {found}; expected {tag[1:]}, as in the tag {tag}'
        for place, found in versions.items()
        if found != tag[1:]
    ]
    unreleased = _first(r'^## Unreleased\n((?:(?!^## )[^\n]*\n)*)', changelog)
    if unreleased and unreleased.strip():
        faults.append('CHANGELOG.md has entries under Unreleased; move them to the release')
    for maintainer in manifest.iter('maintainer'):
        address = maintainer.get('email', '')
        if not re.fullmatch(r'[^@\s]+@[^@\s]+\.[^@\s]+', address) or address.endswith(
            ('.invalid', '.example', '.test', '.localhost')
        ):
            faults.append(
                f'package.xml: the maintainer {maintainer.text} has the address {address!r}; '
                'expected one that receives mail'
            )
    return faults


def _first(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else None


def main():
    """Check, and return the exit code."""
    if len(sys.argv) != 2 or not re.fullmatch(r'v\d+\.\d+\.\d+', sys.argv[1]):
        print(f'usage: {sys.argv[0]} vMAJOR.MINOR.PATCH', file=sys.stderr)
        return 2
    faults = release_faults(ROOT, sys.argv[1])
    for fault in faults:
        print(f'ERROR: {fault}', file=sys.stderr)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
