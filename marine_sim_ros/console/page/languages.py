# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Languages of the pilot's pages: a catalogue of messages for each, from the English one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client, ui

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import parse_yaml

__all__ = [
    'LANGUAGES',
    'LANGUAGE_COOKIE',
    'browser_messages',
    'catalogue',
    'choose_language',
    'language_menu',
    'read_messages',
    'tr',
    'translated_lesson',
]

LANGUAGES = {'en': 'English', 'de': 'Deutsch', 'es': 'Español', 'ja': '日本語', 'zh': '中文'}
"""Codes (ISO 639-1) and names of the languages, each in itself."""
LANGUAGE_COOKIE = 'marine_sim_language'
_FOLDER = Path(__file__).parent / 'languages'
_of_client: WeakKeyDictionary[Client, str] = WeakKeyDictionary()


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Return messages and texts of lessons by the English ones; English has none of its own."""
    if language == 'en':
        return {}
    return read_messages(language) | read_messages(f'lessons_{language}')


def read_messages(name: str) -> dict[str, str]:
    """Return the messages of one file of a catalogue."""
    path = _FOLDER / f'{name}.yaml'
    messages = parse_yaml(path.read_text(encoding='utf-8'), str(path), ParameterError)
    return {str(key): str(value) for key, value in messages.items()}


def choose_language(client: Client) -> str:
    """Return the language of a page: the chosen one, else the first that its browser accepts."""
    request = client.request
    chosen = request.cookies.get(LANGUAGE_COOKIE, '')
    asked = re.findall(r'[a-z]{2}(?=[-,;]|$)', request.headers.get('accept-language', '')[:200])
    found = next((code for code in (chosen, *asked) if code in LANGUAGES), 'en')
    _of_client[client] = found
    return found


def _language() -> str:
    try:
        return _of_client.get(ui.context.client, 'en')
    except RuntimeError:  # no page is being built
        return 'en'


def tr(text: str, **values: Any) -> str:
    """Return a message in the language of the current page, with values for its placeholders."""
    found = catalogue(_language()).get(text, text)
    return found.format(**values) if values else found


def translated_lesson(lesson: Mapping[str, Any]) -> dict[str, Any]:
    """Return a lesson as pages draw it, with its texts in the language of the current page.

    A lesson that does not ship keeps the texts of its file.
    """
    tasks = [
        {**task, **{key: tr(task[key]) for key in ('name', 'text', 'hint')}}
        for task in lesson['tasks']
    ]
    words = {key: tr(lesson[key]) for key in ('title', 'briefing')}
    return {**lesson, **words, 'tasks': tasks}


def browser_messages() -> dict[str, str]:
    """Return the messages of the current page for its scripts."""
    return dict(catalogue(_language()))


_CHOICES = {
    language: f'document.cookie = "{LANGUAGE_COOKIE}={language}; path=/; SameSite=Strict; '
    'max-age=31536000"; location.reload()'
    for language in LANGUAGES
}
"""Script by language: the browser keeps it, and loads the page anew."""


def language_menu() -> None:
    """Add the menu of languages; the page loads anew in the one that is chosen."""

    def choose(event: Any) -> None:
        if event.value in _CHOICES:
            ui.run_javascript(_CHOICES[event.value])

    menu = ui.select(LANGUAGES, value=_language(), on_change=choose).classes('languages')
    menu.props('dense options-dense borderless').props['aria-label'] = 'Language'
    menu.mark('language')
