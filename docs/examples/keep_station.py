# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Learns to keep a station in a current that it does not see, by PPO of Stable-Baselines3.

    pip install stable-baselines3
    python docs/examples/keep_station.py -o out/station

64 BlueROV2s learn at once for a million steps; the policy is saved, its learning curve drawn, and
the policy is tried from starts that it has not seen. Source of the algorithm: Schulman et al.
2017, arXiv 1707.06347; implementation: https://github.com/DLR-RM/stable-baselines3.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from marine_sim_ros.gym.stable_baselines import VehiclePool, policy_of

TASK = 'StationKeeping'
VEHICLES, STEPS, TRIALS, EPISODE = 64, 1_000_000, 256, 300
SETTLED = 200
"""Step of an episode from which on the distance is counted: 20 s."""


def learned(
    steps: int, vehicles: int = VEHICLES, randomization: str = ''
) -> tuple[PPO, np.ndarray]:
    """Return a policy, and its learning curve (k, 2): steps, mean reward of an episode's step."""
    torch.set_num_threads(1)  # for a network so small more of them only wait for each other
    pool = VecMonitor(
        VehiclePool(TASK, vehicles, seed=1, vehicle='bluerov2', randomization=randomization)
    )
    agent = PPO(
        'MlpPolicy',
        pool,
        n_steps=128,
        batch_size=2048,
        n_epochs=10,
        gamma=0.98,
        learning_rate=lambda left: 1e-3 * left,
        policy_kwargs={'log_std_init': -0.5},
        seed=1,
        device='cpu',
    )
    curve: list[tuple[float, float]] = []

    def note(local: dict[str, Any], _: Any) -> bool:
        recent = local['self'].ep_info_buffer
        if recent and local['n_steps'] == 0:
            shares = [episode['r'] / EPISODE for episode in recent]
            curve.append((local['self'].num_timesteps, float(np.mean(shares))))
        return True

    agent.learn(steps, callback=note)
    return agent, np.array(curve)


def distances(agent: PPO, trials: int = TRIALS, randomization: str = '') -> np.ndarray:
    """Return the mean distances (trials,) from the station, m, after the first 20 s."""
    pool = VehiclePool(TASK, trials, seed=10_000, vehicle='bluerov2', randomization=randomization)
    seen, far = pool.reset(), []
    lost = np.zeros(trials, bool)
    for step in range(EPISODE - 1):
        action, _ = agent.predict(seen, deterministic=True)
        seen, _, ended, _ = pool.step(action)
        lost |= ended
        if step >= SETTLED:
            far.append(np.linalg.norm(seen[:, :3], axis=1))
    return np.where(lost, np.inf, np.mean(far, axis=0))


def main() -> None:
    """Learn, try and draw."""
    parser = argparse.ArgumentParser(description='Learn to keep a station.')
    parser.add_argument('-o', '--output', type=Path, default=Path('out/station'))
    parser.add_argument('--steps', type=int, default=STEPS)
    parser.add_argument('--randomization', default='', help='shipped name or path (default: none)')
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    agent, curve = learned(options.steps, randomization=options.randomization)
    agent.save(options.output / 'policy')
    (options.output / 'policy.json').write_text(policy_of(agent, 'bluerov2').to_json() + '\n')
    figure, axes = plt.subplots(figsize=(7, 3.5), layout='constrained')
    axes.plot(curve[:, 0] / 1e6, curve[:, 1])
    axes.set(xlabel='million steps', ylabel='mean reward of a step', ylim=(0, 1))
    axes.grid(alpha=0.3)
    figure.savefig(options.output / 'learning_curve.png', dpi=120)
    far = distances(agent, randomization=options.randomization)
    print(f'{TRIALS} unseen starts: median {np.median(far):.2f} m from the station')
    print(f'95 % within {np.quantile(far, 0.95):.2f} m; {np.isinf(far).sum()} lost')


if __name__ == '__main__':
    main()
