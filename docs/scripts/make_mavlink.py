# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes reference/mavlink.md from the tables by which a MAVLink vehicle answers.

``.venv/bin/python docs/scripts/make_mavlink.py``
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from marine_sim_ros.autopilot.mavlink.coverage import (
    COMMANDS,
    MAVLINK_MESSAGES,
    MISSION_ITEMS,
    Row,
)
from marine_sim_ros.autopilot.mavlink.parameters import VEHICLE_PARAMETERS
from marine_sim_ros.autopilot.mavlink.sticks import BUTTONS
from marine_sim_ros.autopilot.mavlink.streams import FAST, ON_REQUEST, STREAM_GROUPS

PAGE = Path(__file__).resolve().parent.parent / 'reference' / 'mavlink.md'
HEAD = """\
# MAVLink messages

What a vehicle of `--autopilot mavlink` does with each message, command and mission item that
ArduSub 4.5 takes. [ArduSub and MAVLink](../how-to/ardusub.md#our-controller-as-a-mavlink-vehicle)
has how to fly it.

- **done**: as ArduSub does it, but for the note.
- **refused**: at once, by the protocol's answer where it has one, and by a status text.
- **ignored**: without an answer, for the reason in the note.

Messages that ArduSub does not take are ignored here too. A number that is NaN or infinite is
refused, except where MAVLink defines NaN as "not set". Times are those of the simulation, but for
the rates of messages and the silence of a ground station, which are wall time.

`docs/scripts/make_mavlink.py` writes this page from the tables by which the code answers.
`test/mavlink_rows.py` has what ArduSub 4.5.0 was measured to answer, row by row, and where this
vehicle differs.
"""


def _row(*cells: object) -> str:
    return f'| {" | ".join(str(cell) for cell in cells)} |'


def _table(*heads: str) -> list[str]:
    return [_row(*heads), '|' + '---|' * len(heads)]


def _messages() -> Iterable[str]:
    """Return the rows of messages; those with the same result and reason are one row."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in MAVLINK_MESSAGES:
        groups.setdefault((row.result, row.note), []).append(row)
    for (result, note), rows in groups.items():
        yield _row(', '.join(f'`{row.name}`' for row in rows), result, note)


def page() -> str:
    """Return the page."""
    lines = [HEAD, '## Messages', '', *_table('message', 'what happens', 'note'), *_messages(), '']
    lines += ['## Commands', '', 'By `COMMAND_LONG` and `COMMAND_INT`; others are refused.', '']
    lines += _table('number', 'command', 'what happens', 'note')
    lines += [_row(n, f'`{r.name}`', r.result, r.note) for n, r in sorted(COMMANDS.items())]
    lines += ['', '## Mission items', '', 'Others are refused, which ends the upload.', '']
    lines += _table('number', 'item', 'what happens', 'note')
    lines += [_row(n, f'`{r.name}`', r.result, r.note) for n, r in sorted(MISSION_ITEMS.items())]
    lines += ['', '## Parameters', '', *_table('parameter', 'default', 'range', 'effect')]
    for p in VEHICLE_PARAMETERS:
        span = 'fixed' if p.is_fixed else f'{p.low:g} to {p.high:g}'
        lines.append(_row(f'`{p.name}`', f'{p.default:g}', span, p.text))
    lines += ['', '## Buttons', '', 'Of MANUAL_CONTROL, as ArduSub assigns them at first.', '']
    lines += _table('button', 'function', 'with shift')
    lines += [_row(k, a or '-', b or '-') for k, (a, b) in enumerate(BUTTONS)]
    lines += ['', '## Messages that are sent', '']
    lines += _table('stream', 'messages')
    lines += [_row(k, ', '.join(f'`{n}`' for n in names)) for k, names in STREAM_GROUPS.items()]
    lines += [_row('on request', ', '.join(f'`{n}`' for n in ON_REQUEST))]
    fast = ', '.join(f'`{n}`' for n in FAST)
    rate = '20 Hz (10 Hz with `--topics mavros`)'
    lines += ['', f'{fast} come at the rate of the node `mavlink`, {rate}; the others of a stream']
    lines += ['twice a second, and the heartbeat once. `SET_MESSAGE_INTERVAL` and']
    lines += ['`REQUEST_DATA_STREAM` change that.', '']
    return '\n'.join(lines)


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
