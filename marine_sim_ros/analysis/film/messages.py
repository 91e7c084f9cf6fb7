# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a topic of a bag, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from marine_sim_ros.analysis.bags.reading import bag_path, opened
from marine_sim_ros.core.stamps import NANOSECONDS, header_stamp

__all__ = ['messages_of']


def messages_of(bag: str, topic: str) -> Iterator[tuple[float, Callable[[], Any]]]:
    """Yield the stamp in s of each message, and what deserialises it.

    Args:
        bag: path of the bag.
        topic: name of a topic of messages with a header.

    Raises:
        RecordingError: the bag cannot be read.
    """
    with opened(bag_path(bag), bag) as reader:
        connections = [c for c in reader.connections if c.topic == topic]
        for connection, _, data in reader.messages(connections):
            yield (
                header_stamp(data) / NANOSECONDS,
                partial(reader.deserialize, data, connection.msgtype),
            )
