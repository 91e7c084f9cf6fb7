# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""``ros2 bag record`` as a child process of the recorder, and the messages that it lost."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.recording.bag_topics import bag_node
from marine_sim_ros.ros.topics import ODOM, TOTAL_WRENCH, Topic, sensor_ticks, sensor_topics

__all__ = [
    'Ros2Bag',
    'bag_counts',
    'check_ros2_bag',
    'missing_messages',
    'qos_overrides',
    'ros2_bag_command',
]

MAX_QUEUE = 5000
"""Depth of the subscription queue of each topic; the default of ten loses messages, and Fast DDS
allows no more."""
IDLE_SAMPLES, IDLE_PERIOD = 25, 0.02
"""Number of samples of its threads' states, and s between them."""
IDLE_FRACTION = 0.2
"""Fraction of busy samples below which ``ros2 bag record`` has nothing left to write."""
CLOSING_TIMEOUT = 20.0
"""s of wall time to write its queue, and again to close its bag."""


def check_ros2_bag() -> None:
    """Raise ParameterError where there is no ``ros2 bag record`` that writes MCAP."""
    if find_spec('ros2bag') is None or shutil.which('ros2') is None:
        raise ParameterError(
            'recorder:=ros2_bag: `ros2 bag` is not installed; expected recorder:=suite, or '
            f'`apt install {ros_packages("ros2bag", "rosbag2_storage_mcap")}` '
            '(rosdep keys ros2bag, rosbag2_storage_mcap)'
        )


def qos_overrides(topics: Mapping[str, Topic]) -> dict[str, dict[str, Any]]:
    """Return, by full topic name, what ``--qos-profile-overrides-path`` takes."""
    return {
        name: {
            'history': 'keep_last',
            'depth': MAX_QUEUE,
            'reliability': 'reliable',
            'durability': topic.subscriber_qos.durability.short_key,
        }
        for name, topic in topics.items()
    }


def ros2_bag_command(
    bag: Path, overrides: Path, names: Iterable[str], node_name: str
) -> list[str]:
    """Return the command line that records topics (full names) to a new folder."""
    return [
        'ros2',
        'bag',
        'record',
        '--storage',
        'mcap',
        '--output',
        str(bag),
        '--node-name',
        node_name,
        '--qos-profile-overrides-path',
        str(overrides),
        '--include-unpublished-topics',
        '--disable-keyboard-controls',
        '--topics',
        *names,
    ]


def bag_counts(bag: Path) -> dict[str, int]:
    """Return the number of messages of each topic in a bag's metadata.yaml.

    Raises:
        RecordingError: it has none that can be read.
    """
    try:
        content = yaml.safe_load((bag / 'metadata.yaml').read_text(encoding='utf-8'))
        return {
            entry['topic_metadata']['name']: int(entry['message_count'])
            for entry in content['rosbag2_bagfile_information']['topics_with_message_count']
        }
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise RecordingError(
            f'{bag}: has no metadata.yaml that can be read ({error}); '
            'expected `ros2 bag record` to write one when it ends'
        ) from None


def missing_messages(counts: Mapping[str, int], expected: Mapping[str, int]) -> dict[str, int]:
    """Return the number of missing messages by topic, where any are missing."""
    missing = {name: n - counts.get(name, 0) for name, n in expected.items()}
    return {name: n for name, n in missing.items() if n > 0}


class Ros2Bag:
    """Child process, which subscribes itself and writes messages at times of receipt.

    Attributes:
        topics: full names of the topics that the recorder has to subscribe to as well.
        settling: s of wall time between subscription and discovery by all publishers.
    """

    settling = 1.0

    def __init__(self, node: VehicleNode, bag: Path, topics: Mapping[str, Topic]) -> None:
        """Start it.

        Args:
            node: the recorder, in whose graph the topics are.
            bag: new folder of the bag.
            topics: topics to record, by full name.

        Raises:
            ParameterError: it is not installed.
            RecordingError: the bag exists, or its folder cannot be made.
        """
        check_ros2_bag()
        if bag.exists():
            raise RecordingError(f'{bag}: exists; expected a new folder')
        try:
            bag.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f'{bag.parent}: cannot be made: {error.strerror}') from None
        self._node, self._bag = node, bag
        self._name = bag_node(node.get_namespace())
        # A tick is complete when all forces are in the total, and the sensors have answered.
        tick_topics = {
            ODOM.name,
            TOTAL_WRENCH.name,
            *(t.name for t in sensor_topics(node.vehicle) if not t.sometimes),
            *(t.name for t in sensor_ticks(node.vehicle)),
        }
        self.topics = tuple(n for n, t in topics.items() if t.name in tick_topics)
        with tempfile.NamedTemporaryFile('w', suffix='.yaml', delete=False) as file:
            yaml.safe_dump(qos_overrides(topics), file)
        self._overrides = Path(file.name)
        # In a new session: ctrl-C reaches the recorder only, which lets it write its queue.
        self._process = subprocess.Popen(
            ros2_bag_command(self._bag, self._overrides, topics, self._name),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )

    @property
    def has_failed(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    def unsubscribed_topics(self, names: Iterable[str]) -> list[str]:
        """Return the topics that it has not subscribed to yet."""
        ends = self._node.get_subscriptions_info_by_topic
        return [n for n in names if self._name not in {end.node_name for end in ends(n)}]

    def write(self, name: str, stamp: int, data: bytes) -> None:
        """Do nothing: the child receives the message too."""

    def close(self, expected: Mapping[str, int]) -> dict[str, Any]:
        """Let it write its queue, and end it; return its entries of the manifest.

        Args:
            expected: messages by topic.

        Raises:
            RecordingError: it did not end.
        """
        if self.has_failed:  # reported before
            self._overrides.unlink(missing_ok=True)
            return {}
        self._settle()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(CLOSING_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise RecordingError(
                f'{self._bag}: `ros2 bag record` did not close it in {CLOSING_TIMEOUT:g} s; '
                'expected `ros2 bag reindex` to mend it'
            ) from None
        finally:
            self._overrides.unlink(missing_ok=True)
        missing = missing_messages(bag_counts(self._bag), expected)
        if missing:
            text = ', '.join(f'{name} {n} of {expected[name]}' for name, n in missing.items())
            self._node.get_logger().warning(f'`ros2 bag record` lost messages: {text}')
        return {'lost_messages': missing}

    def _settle(self) -> None:
        """Wait until it is idle, at most ``CLOSING_TIMEOUT``."""
        deadline = time.monotonic() + CLOSING_TIMEOUT
        while time.monotonic() < deadline and self._process.poll() is None:
            busy = 0
            for _ in range(IDLE_SAMPLES):
                busy += _is_busy(self._process.pid)
                time.sleep(IDLE_PERIOD)
            if busy < IDLE_FRACTION * IDLE_SAMPLES:
                return


def _is_busy(pid: int) -> bool:
    """Return whether a thread of a process runs, or waits for a core or a disk."""
    for stat in Path(f'/proc/{pid}/task').glob('*/stat'):
        with suppress(OSError):  # a thread that has just ended
            # The state follows the name, which is in brackets and may contain brackets.
            if stat.read_text().rpartition(') ')[2][:1] in 'RD':
                return True
    return False
