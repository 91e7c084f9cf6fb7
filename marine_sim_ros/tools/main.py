# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK

"""The ``marine_sim`` command: parser and dispatch."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from marine_sim_ros import __version__
from marine_sim_ros.core.errors import MarineSimError, exit_code
from marine_sim_ros.core.startup import paused_garbage_collection
from marine_sim_ros.tools.command_line import (
    Parser,
    discard_output,
    escape_unencodable_output,
    print_error,
)
from marine_sim_ros.tools.list import is_requested, print_completions

__all__ = ['main']

COMMANDS = {
    'run': 'Run the node graph of a vehicle or a fleet: one process per node, in lockstep.',
    'simulate': 'Run a scenario in this process, without ROS; same trajectory as run.',
    'compile': 'Compile the programs of --engine jax ahead, and keep them.',
    'sweep': 'Run a scenario many times with varied parameters; write a dataset and a report.',
    'dataset': 'Make labelled camera and sonar pictures by a plan, for COCO, YOLO and a bag.',
    'console': 'Show a recorded bag in a browser, with a time slider; needs no ROS.',
    'teleop': 'Drive a vehicle with the keyboard, and a gamepad if there is one, from a terminal.',
    'experiment': 'Run a manoeuvre with set-points, and compare it with published results.',
    'train': 'Fly lessons in the console, with a live score and a debriefing; keep results.',
    'mission': 'Fly a mission with a scripted pilot, or take a recorded run, and score it.',
    'doctor': "Find mistakes in a vehicle's description before anything runs.",
    'validate': 'Run standard manoeuvres of a vehicle, and compare them with published values.',
    'analyze': 'Analyse bags, without ROS: an HTML report, metrics and tables; compare several.',
    'render': 'Make a film of a bag, without ROS: from a camera of the vehicle, or behind it.',
    'record-bridge': 'Replay a bag to drivers: its topics speak protocols of real instruments.',
    'identify': 'Find drag, added mass and rotor lag of the vehicle that made a bag, without ROS.',
    'import': 'Convert a vehicle of Gazebo, UUV Simulator, VRX or Stonefish to our URDF.',
    'survey': 'Plan the lines of a survey over a polygon, and write them as a scenario.',
    'terrain': 'Make an environment of a place from GeoTIFF, NetCDF, an ASCII grid or soundings.',
    'import-world': 'Convert a world of SDF (Gazebo) or Stonefish to an environment file.',
    'export-sdf': 'Write the SDF model of a vehicle, for Gazebo.',
    'export-map': "Write a map of an environment at a depth, for Nav2's map server.",
    'export-ros2-control': 'Write the URDF of a vehicle with <ros2_control>, for its controllers.',
    'demo': 'Show a dive in this process, as a ROS graph and in the browser, in two minutes.',
    'list': 'List names to choose from: vehicles, environments, scenarios, controllers, ...',
    'bench': 'Measure the speed of steps in this process and of ticks of the node graph.',
}
"""Summary of each command's module; kept here, as some modules take a second to import."""

INTERRUPTED = 130
"""Exit code of a command that ctrl-C ends before its result is complete, as of shells."""

KEPT = {
    'simulate': 'nothing was kept',
    'dataset': 'complete frames are kept in --out, and the same command goes on from them',
    'sweep': 'complete blocks are kept in --out, and the same command goes on from them',
}
"""Results that remain after a command is interrupted."""


def parser(arguments: Sequence[str]) -> Parser:
    """Return the parser of all commands, with the options of the requested one."""
    result = Parser(
        prog='marine_sim',
        description='Simulate underwater and surface vehicles, with ROS 2 or without.',
        epilog='Begin with marine_sim demo; marine_sim COMMAND --help lists its options.',
    )
    result.add_argument('--version', action='version', version=f'marine_sim {__version__}')
    commands = result.add_subparsers(dest='command', metavar='COMMAND', required=True)
    asked = next((name for name in arguments if name in COMMANDS), '')
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == asked:
            module = import_module(f'marine_sim_ros.tools.{name.replace("-", "_")}')
            module.add_arguments(command)
            command.set_defaults(execute=module.execute, refuse=command.refuse)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Exit codes: 0 done, 1 the run or check failed, 2 bad input, 130 ended by ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else arguments
    escape_unencodable_output()
    if is_requested():
        print_completions(parser)
    try:
        if not given:
            parser(given).print_help(sys.stderr)
            sys.exit(2)
        with paused_garbage_collection():
            known = parser(given)
            gc.freeze()  # what is imported stays: a collection need not look it through
        options, unknown = known.parse_known_args(given)
        if unknown:
            options.refuse(unknown)
        code = options.execute(options)
        sys.stdout.flush()
    except MarineSimError as error:
        print_error(error)
        code = exit_code(error)
    except ModuleNotFoundError as error:
        code = _report_missing(error)
    except BrokenPipeError:
        discard_output()
        code = 0
    except OSError as error:
        print_error(error)
        discard_output()
        code = 1
    except MemoryError as error:
        print_error(error)
        code = 1
    except KeyboardInterrupt:
        command = next((word for word in given if word in COMMANDS), 'marine_sim')
        print_error(f'{command}: interrupted; {KEPT.get(command, "its result is not complete")}')
        code = INTERRUPTED
    sys.exit(code)


def _report_missing(error: ModuleNotFoundError) -> int:
    """Print one line about a package that this Python has not, and return the exit code."""
    from marine_sim_ros.core.extras import missing_package
    from marine_sim_ros.core.ros_needed import check_packages

    package = (error.name or '').split('.')[0]
    if package in ('', 'marine_sim_ros'):
        raise error
    try:
        check_packages()
        raise missing_package(package, 'marine_sim')
    except MarineSimError as told:
        print_error(told)
        return exit_code(told)


if __name__ == '__main__':
    main()
