# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Docks before an AprilTag: camera, OpenCV's detector, set-points for the controller.

Subscribes: camera/image, camera/camera_info, odom.
Publishes: cmd_pose, the place before the marker, each time that the marker is seen.
Calls: arm, once. The controller closes the loop; the last set-point holds while no marker is seen.

    python examples/docking/dock.py --ros-args -r __ns:=/bluerov2
"""

from __future__ import annotations

import math

import cv2
import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from std_srvs.srv import SetBool

KEPT = 400
"""Odometry messages, among which that of a picture is looked for: pictures come later."""
OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""v_body = R v_camera of a camera that looks ahead (REP 103)."""
_SHADES = np.arange(256) / 255
LINEAR = np.round(
    255 * np.where(_SHADES <= 0.04045, _SHADES / 12.92, ((_SHADES + 0.055) / 1.055) ** 2.4)
).astype(np.uint8)
"""Light of sRGB values: in them white looks wider than it is, and the marker farther away."""


def stamp_of(header: Header) -> int:
    """Return a stamp in ns."""
    return int(header.stamp.sec) * 10**9 + int(header.stamp.nanosec)


def rotation(x: float, y: float, z: float, w: float) -> np.ndarray:
    """Return the rotation matrix (3, 3) of a unit quaternion."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


class Dock(Node):
    """Goes before the marker and faces it."""

    def __init__(self) -> None:
        """Subscribe, and arm the controller when it is there."""
        super().__init__('dock')
        self._number = int(self.declare_parameter('marker_id', 3).value)
        self._size = float(self.declare_parameter('marker_size', 0.25).value)
        self._away = float(self.declare_parameter('distance', 0.8).value)
        self._mount = np.array(self.declare_parameter('camera_position', [0.21, 0.0, 0.01]).value)
        settings = cv2.aruco.DetectorParameters()
        settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
        book = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
        self._detector = cv2.aruco.ArucoDetector(book, settings)
        half = self._size / 2
        self._corners = half * np.array([[-1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0.0]])
        self._lens: tuple[np.ndarray, np.ndarray] | None = None
        self._poses: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._goal = self.create_publisher(PoseStamped, 'cmd_pose', 10)
        self.create_subscription(Odometry, 'odom', self._on_odom, 100)
        self.create_subscription(CameraInfo, 'camera/camera_info', self._on_info, 10)
        self.create_subscription(Image, 'camera/image', self._on_image, 1)
        self._arm = self.create_client(SetBool, 'arm')
        self._armed = self.create_timer(0.2, self._try_to_arm)

    def _try_to_arm(self) -> None:
        if self._arm.service_is_ready():
            self._arm.call_async(SetBool.Request(data=True))
            self._armed.cancel()

    def _on_odom(self, message: Odometry) -> None:
        p, q = message.pose.pose.position, message.pose.pose.orientation
        pose = np.array([p.x, p.y, p.z]), rotation(q.x, q.y, q.z, q.w)
        self._poses[stamp_of(message.header)] = pose
        if len(self._poses) > KEPT:
            del self._poses[next(iter(self._poses))]

    def _on_info(self, message: CameraInfo) -> None:
        self._lens = np.array(message.k).reshape(3, 3), np.array(message.d)

    def _on_image(self, message: Image) -> None:
        pose = self._poses.get(stamp_of(message.header))
        if self._lens is None or pose is None:
            return
        pixels = np.frombuffer(message.data, np.uint8).reshape(message.height, message.width, 3)
        found = self._marker(cv2.cvtColor(LINEAR[pixels], cv2.COLOR_RGB2GRAY))
        if found is None:
            self.get_logger().info('the marker is not seen', throttle_duration_sec=5.0)
            return
        (place, turn), (marker, axes) = pose, found
        seen = place + turn @ (self._mount + OPTICAL @ marker)
        outward = turn @ OPTICAL @ axes[:, 2]
        self._go(seen, outward, message.header.stamp)

    def _marker(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the place (3,) in m and the axes (3, 3) of the marker, optical frame, or None."""
        corners, numbers, _ = self._detector.detectMarkers(image)
        if numbers is None or self._number not in numbers:
            return None
        index = numbers.ravel().tolist().index(self._number)
        assert self._lens is not None
        known, turn, place = cv2.solvePnP(
            self._corners, corners[index][0], *self._lens, flags=cv2.SOLVEPNP_IPPE_SQUARE
        )
        return (place[:, 0], cv2.Rodrigues(turn)[0]) if known else None

    def _go(self, marker: np.ndarray, outward: np.ndarray, stamp: object) -> None:
        """Command the place before a marker, which faces outward (3,), at its height, in map."""
        yaw = math.atan2(-outward[1], -outward[0])
        goal = PoseStamped()
        goal.header.frame_id, goal.header.stamp = 'map', stamp
        goal.pose.position.x = float(marker[0] - self._away * math.cos(yaw))
        goal.pose.position.y = float(marker[1] - self._away * math.sin(yaw))
        goal.pose.position.z = float(marker[2])
        goal.pose.orientation.z = math.sin(yaw / 2)
        goal.pose.orientation.w = math.cos(yaw / 2)
        self._goal.publish(goal)


def main() -> None:
    """Run the node."""
    rclpy.init()
    try:
        rclpy.spin(Dock())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
