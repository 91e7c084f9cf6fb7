# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dask workers as jobs of SLURM, for `marine_sim sweep --scheduler`; prints the address.

Runs on a login node, in a Python environment that the compute nodes see too:
``pip install 'marine_sim_ros[sweep]' dask-jobqueue``. Ctrl-C ends scheduler and jobs.
"""

import argparse
import signal

from dask_jobqueue import SLURMCluster


def main() -> None:
    """Start scheduler and jobs, and wait."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--jobs', type=int, default=4, help='jobs to ask for (4)')
    parser.add_argument('--cores', type=int, default=8, help='cores, and workers, of a job (8)')
    parser.add_argument('--memory', default='16GB', help='memory of a job (16GB)')
    parser.add_argument('--walltime', default='02:00:00', help='longest time of a job (02:00:00)')
    parser.add_argument('--queue', help='partition; default: that of the cluster')
    parser.add_argument('--interface', help='network interface of the nodes, such as ib0')
    parser.add_argument('--script', action='store_true', help='print the job script and end')
    options = parser.parse_args()
    cluster = SLURMCluster(
        cores=options.cores,
        processes=options.cores,  # a run is one thread; the engine shares no interpreter
        memory=options.memory,
        walltime=options.walltime,
        queue=options.queue,
        interface=options.interface,
        job_script_prologue=['export OPENBLAS_NUM_THREADS=1'],
    )
    if options.script:
        print(cluster.job_script())
        return
    cluster.scale(jobs=options.jobs)
    print(f'marine_sim sweep SWEEP --scheduler {cluster.scheduler_address}', flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        cluster.close()


if __name__ == '__main__':
    main()
