# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What recorders write to: a folder of their own, or that of a fleet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.parameter import Parameter

from marine_sim_ros.bags.storage import unwritable
from marine_sim_ros.bags.writer import Manifest
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages.topics import Topic
from marine_sim_ros.ros.recording.fleet_recording import FleetRecording
from marine_sim_ros.ros.recording.ros2_bag import Ros2Bag
from marine_sim_ros.ros.recording.suite_bag import SuiteBag

__all__ = ['RecorderFiles', 'recorders']

RECORDERS = {'suite': SuiteBag, 'ros2_bag': Ros2Bag}


class RecorderFiles:
    """The bag and the manifest of one recorder, in a folder."""

    def __init__(self, node: SuiteNode, folder: Path, fleet: FleetRecording | None) -> None:
        """Open nothing yet."""
        self._node, self._first, self._fleet = node, folder, fleet
        self._part = 0

    @property
    def folder(self) -> Path:
        """The folder of the part that is written: the first's, or ``reset_1`` and so on in it."""
        return self._first / f'reset_{self._part}' if self._part else self._first

    @property
    def splits(self) -> bool:
        """Whether a run that is reset gets a recording for each part.

        The bag of a fleet has several clocks, and that of `ros2 bag record` has times of receipt.
        """
        return self._fleet is None and self._node.values['recorder'] == 'suite'

    def begin_part(self) -> None:
        """Let what comes go into a folder of its own.

        Raises:
            RecordingError: it cannot be made.
        """
        self._part += 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from None

    def bag(self, named: Mapping[str, Topic]) -> SuiteBag | Ros2Bag:
        """Return the bag for topics, by full name.

        Raises:
            RecordingError: it cannot be made, or nothing that writes bags is installed.
        """
        path = self.folder / 'bag'
        if self._fleet is not None:
            return SuiteBag(self._node, path, named, self._fleet)
        return RECORDERS[self._node.values['recorder']](self._node, path, named)

    def write_manifest(self, manifest: Manifest, more: Mapping[str, Any]) -> None:
        """Write the manifest, or its part of that of a fleet; ``more`` joins it.

        Raises:
            RecordingError: it cannot be written.
        """
        path = self.folder / 'manifest.json'
        if self._fleet is None:
            manifest.write(path, **more)
        else:
            own = manifest.content(**more)
            self._fleet.write_manifest(path, self._node.get_namespace(), own)


def recorders(
    kind: Callable[..., SuiteNode], words: Sequence[str]
) -> list[Callable[[], SuiteNode]]:
    """Return what makes the recorders of a process.

    Args:
        kind: class of the recorder.
        words: command line: for a fleet the name of the node, then namespace and parameters of
            each recorder as JSON.
    """
    if not words:
        return [kind]
    fleet = FleetRecording()
    return [partial(_recorder, kind, fleet, json.loads(text)) for text in words[1:]]


def _recorder(
    kind: Callable[..., SuiteNode], fleet: FleetRecording, told: dict[str, Any]
) -> SuiteNode:
    values = [Parameter(name, value=value) for name, value in told['parameters'].items()]
    return kind(fleet=fleet, parameter_overrides=values, namespace=told['namespace'])
