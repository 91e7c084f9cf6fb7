# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes that have one right answer."""

from __future__ import annotations

from marine_sim_ros.doctor.diagnostic import Edit
from marine_sim_ros.doctor.extents import numbers
from marine_sim_ros.model.xml import Element

__all__ = ['as_elements', 'opposite_numbers', 'relative_density', 'renamed', 'scaled_mesh']


def opposite_numbers(element: Element) -> Edit | None:
    """Turn the signs of a diagonal whose numbers are all negative or zero."""
    words = (element.text or '').split()
    values = numbers(element.text, 6)
    if values is None or values.max() > 0 or len(element):
        return None
    text = ' '.join(w.lstrip('-') for w in words)
    return Edit(element, f'<{element.tag}> is {text}: signs turned', text=text)


def as_elements(element: Element, names: list[str]) -> Edit | None:
    """Make elements of attributes that nobody reads; None where an element is there already."""
    if any(element.find(name) is not None for name in names):
        return None
    values = {name: str(element.get(name)) for name in names}
    return Edit(
        element,
        f'<{element.tag}>: attributes {", ".join(names)} made elements',
        attributes=dict.fromkeys(names),
        children=values,
    )


def renamed(element: Element, tag: str) -> Edit:
    """Give an element the name that was meant."""
    return Edit(element, f'<{element.tag}> is now <{tag}>', tag=tag)


def scaled_mesh(element: Element) -> Edit:
    """Read a mesh as millimetres."""
    scale = '0.001 0.001 0.001'
    return Edit(
        element, f'mesh {element.get("filename")} scaled to metres', attributes={'scale': scale}
    )


def relative_density(element: Element, value: float) -> Edit:
    """Give a density in kg/m³ relative to water."""
    text = f'{value / 1000:g}'
    return Edit(element, f'<density> {value:g} kg/m³ is now {text}', attributes={'value': text})
