# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Single numbers of a URDF by their path: ``link[base_link]/inertial/mass@value``."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml import etree

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.yaml_file import short_text
from marine_sim_ros.model import xml

__all__ = ['with_number']

_STEP = re.compile(r'([A-Za-z_][\w.-]*)(?:\[([^\]"]+)\])?')
_END = re.compile(r'([A-Za-z_][\w.-]*)?(?:\[(\d+)\])?')


def _xpath(path: str, place: str) -> str:
    """Return the XPath of elements; ``[NAME]`` is an attribute, ``[2]`` the second one."""
    steps = []
    for step in place.split('/'):
        match = _STEP.fullmatch(step)
        if match is None:
            raise ModelError(
                f'{path}: {step!r} is no element; expected a path such as '
                'link[base_link]/inertial/mass@value'
            )
        name, which = match[1], match[2]
        chosen = '' if which is None else f'[{which}]' if which.isdigit() else f'[@name="{which}"]'
        steps.append(name + chosen)
    return '/'.join(steps)


def with_number(text: str, path: str, change: Callable[[float], float]) -> str:
    """Return a URDF with one of its numbers changed.

    A path has elements from the robot down, with their name or their place among their like
    where there are several, an ``@``, the attribute (the element's own text without one), and
    where there are several numbers an index from 0: ``link[base_link]/inertial/origin@xyz[2]``,
    ``hydrodynamics/quadratic_damping@[0]``.

    Args:
        text: URDF, xacro expanded.
        path: path to the number.
        change: function from the old number to the new one.

    Raises:
        ModelError: the path leads to no number, or to several.
    """
    place, separator, end = path.partition('@')
    path = short_text(path)
    root = xml.parse(text, path)
    match = _END.fullmatch(end)
    if not separator or match is None:
        raise ModelError(f'{path}: expected an @ and an attribute at its end, as in mass@value')
    try:
        found = root.findall(_xpath(path, place))
    except (SyntaxError, ValueError):  # as of link[0]: places count from 1
        raise ModelError(f'{path} leads nowhere; expected places from 1, as in link[1]') from None
    if len(found) != 1:
        raise ModelError(
            f'{path}: {len(found)} elements of the URDF are there; expected one, chosen by its '
            'name as in link[base_link]'
        )
    element, attribute = found[0], match[1]
    old = element.text if attribute is None else element.get(attribute)
    words = (old or '').split()
    index = int(match[2] or 0)
    if index >= len(words) or (match[2] is None and len(words) != 1):
        raise ModelError(
            f'{path}: there are {len(words)} numbers; expected '
            + ('one, or an index as in origin@xyz[2]' if match[2] is None else 'a lower index')
        )
    try:
        number = float(words[index])
    except ValueError:
        raise ModelError(f'{path}: {words[index]!r} is there; expected a number') from None
    words[index] = repr(float(change(number)))
    if attribute is None:
        element.text = ' '.join(words)
    else:
        element.set(attribute, ' '.join(words))
    return etree.tostring(root, encoding='unicode')
