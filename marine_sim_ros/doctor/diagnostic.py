# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an examination says: how bad, what, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from marine_sim_ros.model.xml import Element

__all__ = ['Edit', 'Diagnostic', 'Place', 'Severity']


class Severity(str, Enum):
    """How bad it is."""

    ERROR = 'error'
    WARNING = 'warning'
    HINT = 'hint'


@dataclass(frozen=True)
class Place:
    """Where it stands; line 0 is the whole file, ``element`` as a person would point at it."""

    file: str
    line: int = 0
    element: str = ''

    def __str__(self) -> str:
        """Return ``file:line: <element>``, as far as each is known."""
        start = f'{self.file}:{self.line}' if self.line else self.file
        return f'{start}: {self.element}' if self.element else start


@dataclass(frozen=True, eq=False)
class Edit:
    """A change of one element that has one right answer.

    Attributes:
        element: element of the description.
        tells: description of the change.
        attributes: new values by name; None removes one.
        text: new text, or None to leave it.
        children: elements to add, by name, with their texts.
        tag: new name of the element, or '' to leave it.
    """

    element: Element
    tells: str
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    text: str | None = None
    children: Mapping[str, str] = field(default_factory=dict)
    tag: str = ''


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """One thing that an examination found.

    Attributes:
        severity: error: it will not do what was meant; warning: hardly meant so; hint: know it.
        message: the finding, with its numbers.
        place: where.
        advice: advice on how to fix it.
        check: name of the check that found it.
        edit: the change that ``--fix`` makes, or None.
    """

    severity: Severity
    message: str
    place: Place
    advice: str
    check: str = ''
    edit: Edit | None = None
