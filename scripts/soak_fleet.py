# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A soak of a fleet: many vehicles for a long time, memory flat, no tick lost, hashes as alone.

    python scripts/soak_fleet.py --vehicles 20 --duration 3600 --engine jax --real-time-factor 1
    python scripts/soak_fleet.py --duration 3600 --engine jax --wall 3600

Records a composed run of BlueROV2s in a grid that dive, each with its own noise, and samples the
memory of its processes. Then each vehicle's scenario is simulated alone. Exit code 1 where a tick
is missing, a trajectory differs, or memory grew by more than 5 % from the second quarter of the
run to the last. A run that --wall ends is compared as far as it came.

Needs 2.8 kB of disk for a tick of a vehicle: 40 GB for an hour of twenty. TMPDIR says where.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.core.processes import cpu_seconds, module_command, resident_memory
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.simulation import simulate

FLEET = """description: A soak
pattern: {{shape: grid, spacing: 3.0, position: [0.0, 0.0, -2.0]}}
vehicles: [{{vehicle: bluerov2, name: soaked, count: {count}, scenario: {scenario}}}]
"""
GROWTH = 0.05
RECORDED = 2800
"""Bytes of a recording for a tick of a BlueROV2."""
DT = 0.005


def hash_alone(run: RunOptions, ticks: int) -> str:
    """Return the hash of so many ticks of a vehicle that is simulated alone."""
    scenario = load_scenario(run.scenario)
    rpy = run.initial_rpy or scenario.rpy
    scenario = replace(scenario, position=run.initial_position, rpy=rpy)
    settings = {'seed': run.seed, 'duration': (ticks - 1) * DT}
    vehicle = load_vehicle(run.vehicle)
    if run.engine == 'numpy':
        return simulate(vehicle, scenario, **settings).sha256
    from marine_sim_ros.engine.compiled import simulate_compiled

    return simulate_compiled(vehicle, scenario, **settings)[0].sha256


def sampled(
    command: list[str], period: float, wall: float | None
) -> tuple[list[float], float, float]:
    """Run a command, at most so long (wall, s), as ctrl-C ends it.

    Returns:
        its memory over time (MB), its processor time and wall time (s).
    """
    memory, used, start = [], 0.0, time.monotonic()
    process = subprocess.Popen(command)
    while process.poll() is None:
        if wall is not None and time.monotonic() - start > wall:
            process.send_signal(signal.SIGINT)
            wall = None
        memory.append(resident_memory([process.pid]))
        used = max(used, cpu_seconds([process.pid]))
        time.sleep(period)
    return memory, used, time.monotonic() - start


def main() -> int:
    """Run the soak; print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--vehicles', type=int, default=20, help='1 to 100 (default 20)')
    parser.add_argument('--duration', type=float, default=60.0, help='simulated time, s')
    parser.add_argument('--engine', choices=('numpy', 'jax'), default='numpy')
    parser.add_argument('--scenario', default='dive', help='of every vehicle (default dive)')
    parser.add_argument(
        '--real-time-factor', type=float, default=0.0, help='0: as fast as it goes'
    )
    parser.add_argument('--wall', type=float, help='s of wall time after which it is ended')
    parser.add_argument('--period', type=float, default=2.0, help='s between looks at the memory')
    given = parser.parse_args()
    text = FLEET.format(count=given.vehicles, scenario=given.scenario)
    runs = fleet_runs(
        FLEETS.parse(text, 'soak'), RunOptions(duration=given.duration, engine=given.engine)
    )
    needed = RECORDED * len(runs) * given.duration / DT
    with tempfile.TemporaryDirectory() as folder:
        if needed > (free := shutil.disk_usage(folder).free):
            sys.stderr.write(
                f'ERROR: {folder}: {free / 1e9:.0f} GB free; expected {needed / 1e9:.0f} GB for '
                'the recording; set TMPDIR to a larger disk, or ask for a shorter --duration\n'
            )
            return 2
        file, record = Path(folder, 'soak.yaml'), Path(folder, 'recording')
        file.write_text(text, encoding='utf-8')
        command = module_command('marine_sim_ros.tools.main', 'run', '--fleet', str(file))
        command += ['--composed', '--engine', given.engine, '--record', str(record)]
        command += ['--duration', str(given.duration)]
        command += ['--real-time-factor', str(given.real_time_factor)]
        memory, used, wall = sampled(command, given.period, given.wall)
        told = json.loads((record / 'manifest.json').read_text(encoding='utf-8'))['vehicles']
    whole = round(given.duration / DT) + 1
    ticks = min(part['ticks'] for part in told.values()) if given.wall else whole
    # ctrl-C ends some vehicles a few ticks after others; a hash tells what is lost before.
    lost = {name: ticks - part['ticks'] for name, part in told.items() if part['ticks'] < ticks}
    run_of = {f'/{run.namespace}': run for run in runs}
    other = [
        name
        for name, part in told.items()
        if part['trajectory_sha256'] != hash_alone(run_of[name], part['ticks'])
    ]
    quarter = max(len(memory) // 4, 1)
    before, after = (
        statistics.median(part) for part in (memory[quarter : 2 * quarter], memory[-quarter:])
    )
    cost = 1e6 * used / (ticks * len(runs))
    print(f'{len(runs)} vehicles, {ticks} ticks in {wall:.0f} s; {cost:.0f} us CPU a vehicle-tick')
    print(f'memory: {before:.0f} MB in the second quarter, {after:.0f} MB in the last')
    print(f'ticks lost: {lost or "none"}; trajectories unlike those alone: {other or "none"}')
    failed = lost or other or len(told) != len(runs) or after > before * (1 + GROWTH)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
