# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flight modes, messages and errors in the logs of ArduPilot.

Source: ArduPilot, libraries/AP_Logger/AP_Logger.h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marine_sim_ros.autopilot.firmware import MAV_TYPES
from marine_sim_ros.core.extras import require

__all__ = ['LogEvent', 'dataflash_event', 'mode_names', 'status_text']

_SUBSYSTEM_NAMES = """
main, radio, compass, optical flow, radio failsafe, battery failsafe, GPS failsafe,
ground station failsafe, fence failsafe, flight mode, GPS, crash check, flip, autotune, parachute,
EKF check, EKF failsafe, barometer, CPU load, ADSB failsafe, terrain, navigation,
terrain failsafe, EKF primary, thrust loss, sensors failsafe, leak failsafe, pilot input failsafe,
vibration failsafe, internal error, dead reckoning failsafe
"""
_SUBSYSTEMS = [name.strip() for name in _SUBSYSTEM_NAMES.split(',')]
"""Names of ERR.Subsys, from 1 on (LogErrorSubsystem)."""
_EVENTS = {
    10: 'armed',
    11: 'disarmed',
    15: 'armed automatically',
    25: 'home set',
    60: 'height of the EKF reset',
    62: 'yaw of the EKF reset',
    163: 'surfaced',
    164: 'no longer at the surface',
    165: 'at the bottom',
    166: 'no longer at the bottom',
}
"""Texts of EV.Id (LogEvent)."""
_SEVERITIES = ('emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug')
"""Names of STATUSTEXT.severity, from 0 on."""


@dataclass(frozen=True)
class LogEvent:
    """Event in a log of an autopilot.

    Attributes:
        stamp: ns.
        kind: mode, message, error or event.
        text: text of the autopilot, or the names of its codes.
    """

    stamp: int
    kind: str
    text: str


def mode_names(path: Path) -> Callable[[int, int], str]:
    """Return a function of MAV_TYPE and number that names flight modes in the log of a path.

    Modes are ArduRover's for rovers and boats, else ArduSub's.
    """
    utility = require('pymavlink.mavutil', f'{path}: a log of ArduPilot')

    def name(mav_type: int, number: int) -> str:
        is_rover = mav_type in MAV_TYPES['ArduRover']
        modes = utility.mode_mapping_rover if is_rover else utility.mode_mapping_sub
        return str(modes.get(number, f'mode {number}'))

    return name


def dataflash_event(m: Any, stamp: int, mode_name: Callable[[int], str]) -> LogEvent:
    """Return the event of a message MODE, MSG, ERR or EV with a stamp in ns."""
    kind = m.get_type()
    if kind == 'MODE':
        return LogEvent(stamp, 'mode', mode_name(int(getattr(m, 'ModeNum', m.Mode))))
    if kind == 'MSG':
        return LogEvent(stamp, 'message', str(m.Message))
    if kind == 'EV':
        return LogEvent(stamp, 'event', _EVENTS.get(int(m.Id), f'event {m.Id}'))
    number, code = int(m.Subsys), int(m.ECode)
    is_named = 1 <= number <= len(_SUBSYSTEMS)
    name = _SUBSYSTEMS[number - 1] if is_named else f'subsystem {number}'
    return LogEvent(stamp, 'error', f'{name}: {f"error {code}" if code else "resolved"}')


def status_text(severity: int, text: str, stamp: int) -> LogEvent:
    """Return the event of a STATUSTEXT."""
    is_named = 0 <= severity < len(_SEVERITIES)
    name = _SEVERITIES[severity] if is_named else str(severity)
    kind = 'error' if is_named and severity <= _SEVERITIES.index('error') else 'message'
    return LogEvent(stamp, kind, f'{name}: {text}')
