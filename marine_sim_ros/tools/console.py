# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Show a recorded bag in a browser, with a time slider; needs no ROS."""

from __future__ import annotations

import argparse
import threading

from marine_sim_ros.bags.vehicle_record import parse_maps
from marine_sim_ros.console.page.links import listen, read_token, require_pages
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.tools.command_line import show_waiting
from marine_sim_ros.tools.options import add_recorded_arguments, add_trust_option

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    add_recorded_arguments(parser)
    add_trust_option(parser)
    parser.add_argument(
        '--compare', action='append', default=[], metavar='BAG',
        help='another run of the same lesson, such as your best: its points and its path; may be '
        'repeated',
    )  # fmt: skip
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to listen on (default 127.0.0.1)'
    )
    parser.add_argument(
        '--port', type=int, default=8060, help='port; 0: any free port (default 8060)'
    )
    parser.add_argument(
        '--token-file',
        default='',
        metavar='FILE',
        help='file with the token of the page, 32 letters or more, that only you can read '
        '(default: a new token at each start)',
    )


def execute(options: argparse.Namespace) -> int:
    """Serve the bag until ctrl-C."""
    require_pages()
    token = read_token(options.token_file) if options.token_file else ''
    listen(options.host, options.port).close()  # what cannot be is told before the bag is read
    from marine_sim_ros.console.page.recorded import replay_application
    from marine_sim_ros.console.page.server import Server

    with show_waiting(f'opening {options.bag}: its vehicle and its messages ...'):
        replay = Replay(
            options.bag,
            vehicle=options.vehicle,
            environment=options.environment,
            namespace=options.namespace,
            maps=parse_maps(options.maps),
            compare=options.compare,
        )
    label = options.bag.rstrip('/').rsplit('/', 1)[-1]
    server = Server(replay_application(replay, label), options.host, options.port, token)
    print(f'console at {server.address}', flush=True)
    threading.Thread(target=replay.read_once, daemon=True).start()
    try:
        while server.is_alive:
            threading.Event().wait(0.2)
    except KeyboardInterrupt:  # the way in which it ends
        pass
    finally:
        server.close()
        replay.close()
    return 0
