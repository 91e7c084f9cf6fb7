# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every message on docs/reference/messages.md is one that the package prints."""

import ast
import re
from functools import cache

import pytest
from conftest import ROOT

PAGE = ROOT / 'docs' / 'reference' / 'messages.md'
GAP = '…'
"""What stands for a part that varies."""


def template(node):
    """Return the text of a string in the source, with … for what is put in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else GAP
    if isinstance(node, ast.JoinedStr):
        return ''.join(template(part) for part in node.values)
    if isinstance(node, ast.BinOp):  # 'a' + b
        return template(node.left) + template(node.right)
    return GAP


@cache
def sources():
    return [path.read_text(encoding='utf-8') for path in (ROOT / 'marine_sim_ros').rglob('*.py')]


@cache
def templates(text):
    """Return the texts of all strings of a module, but for docstrings."""
    tree = ast.parse(text)
    alone = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    return tuple(
        re.sub(f'(?:%[srdg]|{GAP})+', GAP, template(node))
        for node in ast.walk(tree)
        if id(node) not in alone and isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)
    )


def messages():
    rows = re.findall(r'^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$', PAGE.read_text(), re.MULTILINE)
    assert len(rows) >= 20
    return rows


def is_printed(message):
    words = re.findall(r'\w{4,}', message)  # of modules with all of them, which are few to parse
    found = (text for text in sources() if all(word in text for word in words))
    return any(message.strip(GAP) in text for source in found for text in templates(source))


@pytest.mark.parametrize('message', [row[0] for row in messages()])
def test_the_package_prints_the_message(message):
    assert len(message.replace(GAP, '').strip()) > 10, 'too short to be compared'
    assert is_printed(message)


def test_another_message_is_not_found():
    assert not is_printed('this Python (…) has a flat tyre')


def test_each_message_stands_there_once_with_a_cause_and_a_remedy():
    names = [row[0] for row in messages()]
    assert len(names) == len(set(names))
    table = [line for line in PAGE.read_text().splitlines() if line.startswith('| `')]
    assert len(table) == len(names), 'a row has no three cells'
    assert all(len(cell) > 10 for row in messages() for cell in row[1:])
