#!/usr/bin/env bash
# Run a command in the workspace of the Docker image.
set -e
# shellcheck source=/dev/null
. "$HOME/ws/install/setup.bash"
exec "$@"
