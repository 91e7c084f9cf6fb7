# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub and ArduRover as software in the loop: start and end of the process."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from marine_sim_ros.autopilot.channels import CUSTOM, SKID_STEERING
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.core.processes import end_child

__all__ = [
    'MAV_TYPES',
    'Firmware',
    'FirmwareSettings',
    'command_by_hand',
    'find_firmware',
    'firmware_fault',
    'firmware_of',
    'parameter_files',
]

NONE = 'none'
TERMINATION_GRACE = 1.0
"""s until it is killed: it does not see a signal while it waits for the physics."""
START = 1767225600
"""Unix time at which it starts, 2026-01-01: its GPS then tells the same time in every run."""
PARAMETERS = {
    'vectored': ('bluerov2',),
    'vectored_6dof': ('heavy',),
    'vectored_6dof_90deg': ('heavy', 'vectored_6dof_90deg'),
    **{
        frame: ('bluerov2', frame)
        for frame in ('bluerov1', 'simplerov_3', 'simplerov_4', 'simplerov_5')
    },
    SKID_STEERING: (SKID_STEERING,),
}
"""Shipped files by the frame; of a parameter that two have the later counts."""
MAV_TYPES = {'ArduSub': (12,), 'ArduRover': (10, 11)}
"""MAV_TYPE in the heartbeat of each firmware: submarine; ground rover, surface boat."""


def firmware_of(frame: str) -> str:
    """Name of the firmware that has a frame: ArduSub or ArduRover."""
    return 'ArduRover' if frame == SKID_STEERING else 'ArduSub'


def firmware_fault(name: str, frame: str, mav_type: int) -> str:
    """Return one line on a firmware that does not have a vehicle's frame, or ''.

    Args:
        name: the vehicle's.
        frame: ArduPilot's frame; empty or custom: any firmware may have it.
        mav_type: MAV_TYPE of the firmware's heartbeat.
    """
    wanted = firmware_of(frame)
    if frame in ('', CUSTOM) or mav_type in MAV_TYPES[wanted]:
        return ''
    found = next((it for it, types in MAV_TYPES.items() if mav_type in types), 'another one')
    return (
        f'{name} has the frame {frame} of {wanted}, and the firmware is {found} (MAV_TYPE '
        f'{mav_type}); expected the path of {wanted.lower()} as --ardusub'
    )


@dataclass(frozen=True)
class FirmwareSettings:
    """Settings of the firmware's start.

    Attributes:
        frame: ArduPilot's frame, as ``vectored``.
        address: address at which it finds the simulator.
        port: UDP port of the simulator.
        instance: number of the vehicle, from 0; the system of MAVLink is one more.
        home: latitude and longitude of the origin of map, degrees; its altitude is 0.
        ground_station: UDP address of the ground station, ``host:port``.
        companion: UDP address of a companion program, likewise.
        rate: frames per second.
        navigation: ``gps``: the firmware's own; ``dvl``: VISION_POSITION_DELTA; ``usbl``:
            GPS_INPUT beside it.
        navigator: UDP address from which that comes; empty: nobody.
    """

    frame: str
    address: str
    port: int
    instance: int
    home: tuple[float, float]
    ground_station: str
    companion: str
    rate: float
    navigation: str = 'gps'
    navigator: str = ''

    @property
    def program(self) -> str:
        """Name of the firmware that has the frame."""
        return firmware_of(self.frame).lower()

    def prepare(self, program: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command line, and variables of its environment.

        Args:
            program: path of the firmware.
            folder: where it runs, and files that it reads may be written to.
        """
        shipped = parameter_files(self.frame, self.navigation)
        origin = folder / 'origin.param'
        values = zip(('LAT', 'LON', 'ALT'), (*self.home, 0.0), strict=True)
        text = ''.join(f'ORIGIN_{name} {value:.7f}\n' for name, value in values)
        origin.write_text(text, encoding='ascii')  # for navigation without GPS
        return firmware_command(program, self, [*shipped, origin]), {}


def find_firmware(given: str, program: str = 'ardusub') -> str | None:
    """Return the path of the firmware, or None where somebody else is to start it.

    Args:
        given: path; empty: the program on PATH, where it is; ``none``: do not look for it.
        program: name of the firmware.

    Raises:
        ParameterError: a path that is no executable.
    """
    if given == NONE:
        return None
    found = shutil.which(given or program)
    if given and found is None:
        option = 'px4' if program == 'px4' else 'ardusub'
        raise ParameterError(f'{option} is {given!r}; expected an executable file, or none')
    return None if found is None else str(Path(found).resolve())


def parameter_files(frame: str, navigation: str) -> list[Path]:
    """Return the shipped parameters for a frame and a way of navigation.

    Raises:
        ParameterError: none ship for it.
    """
    if frame not in PARAMETERS:
        what = f'the frame {frame}' if frame else 'this vehicle'
        raise ParameterError(
            f'ArduPilot: no parameters ship for {what}; expected one of the frames '
            f'{", ".join(PARAMETERS)}, or --ardusub none and a firmware that you start with '
            'parameters of your own'
        )
    names = [*PARAMETERS[frame], *([] if navigation == 'gps' else [navigation])]
    return [resource_folder('config') / 'ardusub' / f'{name}.param' for name in names]


def firmware_command(
    program: str, settings: FirmwareSettings, files: Sequence[Path | str]
) -> list[str]:
    """Return the command line.

    Args:
        program: path of the firmware.
        settings: how it is started.
    """
    latitude, longitude = settings.home
    return [
        program,
        '--model',
        f'JSON:{settings.address}',
        '--instance',
        str(settings.instance),
        '--sim-port-out',
        str(settings.port),
        '--sysid',
        str(settings.instance + 1),
        '--home',
        f'{latitude:.7f},{longitude:.7f},0,0',
        '--speedup',
        '1',
        '--rate',
        f'{settings.rate:g}',
        '--start-time',
        str(START),
        '--wipe',
        '--synthetic-clock',
        '--serial0',
        f'udpclient:{settings.ground_station}',
        '--serial1',
        f'udpclient:{settings.companion}',
        '--serial2',
        f'udpclient:{settings.navigator}' if settings.navigator else 'none',
        '--defaults',
        ','.join(map(str, files)),
    ]


def command_by_hand(settings: FirmwareSettings) -> str:
    """Return the command line for a person who starts the firmware."""
    shipped = settings.frame in PARAMETERS
    files: Sequence[Path | str] = (
        parameter_files(settings.frame, settings.navigation) if shipped else ('YOUR.param',)
    )
    command = ' '.join(firmware_command(settings.program, settings, files))
    return command if shipped else f'{command}; YOUR.param sets FRAME_CONFIG and its motors'


class FirmwareStart(Protocol):
    """How a firmware is started."""

    @property
    def program(self) -> str:
        """Name of the program."""

    def prepare(self, program: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command line of a program that runs in a folder, and its variables."""


def _die_with_parent() -> None:
    """Let the firmware end with this process, however that ends (Linux: PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Firmware:
    """The process of the firmware, in a folder of its own for its parameters and logs."""

    def __init__(self, program: str, settings: FirmwareStart) -> None:
        """Start it."""
        self._stopped = False
        self.folder = Path(tempfile.mkdtemp(prefix=f'{settings.program}_'))
        self.log = self.folder / f'{settings.program}.log'
        try:
            command, variables = settings.prepare(program, self.folder)
        except ParameterError:
            self.folder.rmdir()
            raise
        with self.log.open('wb') as output:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == 'linux' else None,
            )

    @property
    def failure(self) -> str:
        """Last output of a firmware that has ended by itself; else empty."""
        if self._stopped or self._process.poll() is None:
            return ''
        lines = self.log.read_text(encoding='utf-8', errors='replace').strip().splitlines()
        last = lines[-1].strip() if lines else 'it wrote nothing'
        return f'exit code {self._process.returncode}: {last} ({self.log})'

    def stop(self) -> None:
        """End it; its folder stays where it had ended by itself."""
        if self.failure:
            return
        self._stopped = True
        end_child(self._process, TERMINATION_GRACE)
        shutil.rmtree(self.folder, ignore_errors=True)
