# marine_sim_ros in a workspace of ROS 2 Jazzy, or of another distribution.
#
#   docker build --tag marine_sim_ros .
#   docker build --tag marine_sim_ros:lyrical --build-arg ROS_DISTRO=lyrical .
#   docker run --rm -it --network host --ipc host marine_sim_ros
#   docker run --rm -it --network host --ipc host marine_sim_ros \
#       ros2 launch marine_sim_ros bluerov2.launch.py scenario:=dive
#
# --network and --ipc host let nodes outside the container see its topics.
# The workflow file lints and builds it. Without Docker, its last stage has run in a chroot.

# Versions are those of the ROS distribution (DL3008); the base image knows its user (DL3066).
# hadolint global ignore=DL3008,DL3066

# What the nodes need at run time: the rosdep keys of package.xml and nothing else.
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO} AS runtime
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /home/ubuntu/ws
COPY package.xml src/marine_sim_ros/package.xml
RUN apt-get update \
    && rosdep update --rosdistro "$ROS_DISTRO" \
    && rosdep install --from-paths src --ignore-src --default-yes --dependency-types exec \
    && rm -rf /var/lib/apt/lists/*

# The dev container: test dependencies too; the repository is mounted, not copied.
FROM runtime AS dev
RUN apt-get update \
    && rosdep install --from-paths src --ignore-src --default-yes \
    && apt-get install --yes --no-install-recommends python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/* src \
    && chown --recursive ubuntu:ubuntu /home/ubuntu/ws
USER ubuntu

# The simulator, built by a user who is not root.
FROM runtime
COPY --chown=ubuntu:ubuntu . src/marine_sim_ros
RUN chown ubuntu:ubuntu . src
USER ubuntu
RUN . "/opt/ros/$ROS_DISTRO/setup.bash" && colcon build
COPY --chmod=755 scripts/docker_entrypoint.sh /docker_entrypoint.sh
ENTRYPOINT ["/docker_entrypoint.sh"]
CMD ["ros2", "launch", "marine_sim_ros", "bluerov2.launch.py"]
