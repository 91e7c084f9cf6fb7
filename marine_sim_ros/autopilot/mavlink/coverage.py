# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages, commands and mission items of ArduSub 4.5, and what this vehicle does with them.

The code answers by this table, and docs/reference/mavlink.md is written from it. Source of the
rows: ArduSub 4.5.0, ArduSub/GCS_Mavlink.cpp, libraries/GCS_MAVLink/GCS_Common.cpp and
libraries/AP_Mission/AP_Mission.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.autopilot.mavlink.mission import CAMERA_ITEMS
from marine_sim_ros.autopilot.mavlink.mission import ITEMS as FLOWN

__all__ = ['COMMANDS', 'Row', 'DONE', 'MAVLINK_MESSAGES', 'MISSION_ITEMS', 'REFUSED']

DONE, REFUSED, IGNORED = 'done', 'refused', 'ignored'
"""Done as ArduSub does it but for the note; refused at once by the protocol's answer, if it has
one, and a status text; ignored without an answer, for the reason in the note."""


@dataclass(frozen=True)
class Row:
    """A message, command or item.

    Attributes:
        name: MAVLink's name, without MAV_CMD_.
        result: done, refused or ignored.
        note: fields that count, differences from ArduSub, or the reason.
        uses: numbers of the parameters of a command that must not be NaN.
    """

    name: str
    result: str
    note: str = ''
    uses: tuple[int, ...] = ()


def _rows(result: str, note: str, names: str) -> tuple[Row, ...]:
    return tuple(Row(name, result, note) for name in names.split())


MAVLINK_MESSAGES = (
    Row('HEARTBEAT', DONE, 'after a silence of `ground_station_timeout`, `FS_GCS_ENABLE` counts'),
    Row('COMMAND_LONG', DONE, 'the commands below; COMMAND_ACK after it was done'),
    Row('COMMAND_INT', DONE, 'the same commands; x and y in 1e-7 degrees'),
    Row('SET_MODE', DONE, 'with COMMAND_ACK of command 11, as ArduSub answers'),
    Row('MANUAL_CONTROL', DONE,
        'from SYSID_MYGCS alone: x, y, z, r, buttons, buttons2 with the gain; s and t (µs) where '
        'enabled_extensions has bit 0 and 1 (ArduSub: always); 32767 leaves an axis as it is '
        '(ArduSub: full stick); aux1 to aux6 are ignored, as there'),
    Row('RC_CHANNELS_OVERRIDE', DONE,
        'from SYSID_MYGCS alone: channels 1 to 18, each for RC_OVERRIDE_TIME; 65535 leaves one as '
        'it is, 0 (above 8: 65534) releases it, and a released channel is neutral; widths outside '
        '800 to 2200 µs are refused'),
    Row('SET_POSITION_TARGET_LOCAL_NED', DONE,
        'GUIDED; LOCAL_NED, LOCAL_OFFSET_NED, BODY_NED, BODY_OFFSET_NED, BODY_FRD; positions, '
        'velocities, yaw, yaw_rate. Bits of the mask count axis by axis (ArduSub: all three '
        'together); accelerations are refused'),
    Row('SET_POSITION_TARGET_GLOBAL_INT', DONE,
        'GUIDED; GLOBAL, GLOBAL_RELATIVE_ALT and their _INT; also yaw and yaw_rate, which ArduSub '
        'ignores. ALT_HOLD: alt alone. TERRAIN_ALT is refused'),
    Row('SET_ATTITUDE_TARGET', DONE,
        'ALT_HOLD: q for 5 s, with bit 6 of the mask. GUIDED: q and thrust as climb rate for 1 s. '
        'Body rates are refused'),
    Row('REQUEST_DATA_STREAM', DONE, 'groups of ArduSub, with the messages that are sent here'),
    *_rows(DONE, '', 'PARAM_REQUEST_LIST'),
    Row('PARAM_REQUEST_READ', DONE,
        'an unknown name is answered with NaN and a status text (ArduSub: not at all)'),
    Row('PARAM_SET', DONE,
        'answered with the value that holds, and a status text where it is refused'),
    Row('MISSION_COUNT', DONE,
        'the items below, 1000 at most; no fences, no rally points. In AUTO the new mission is '
        'flown at once. It starts at its beginning (ArduSub: at the number that was flown last '
        'while a mission is begun)'),
    Row('MISSION_ITEM', DONE, 'in an upload; with current 2 or 3 it is refused'),
    Row('MISSION_ITEM_INT', DONE, 'in an upload; with current 2 or 3 it is refused'),
    *_rows(DONE, '', 'MISSION_REQUEST_LIST MISSION_REQUEST MISSION_REQUEST_INT '
           'MISSION_SET_CURRENT'),
    Row('MISSION_CLEAR_ALL', DONE,
        'refused while a mission is begun, also after AUTO was left: its end, or disarming, ends '
        'it'),
    Row('TIMESYNC', DONE, 'answered with simulated time'),
    Row('GIMBAL_MANAGER_SET_PITCHYAW', DONE, 'pitch and pitch_rate tilt the camera'),
    Row('MISSION_WRITE_PARTIAL_LIST', REFUSED, 'upload the mission whole'),
    Row('SET_GPS_GLOBAL_ORIGIN', REFUSED, 'the origin is the environment\'s; sent back as it is'),
    Row('AUTOPILOT_VERSION_REQUEST', DONE),
    Row('SETUP_SIGNING', REFUSED, 'the key is a file: `--ground-station-key`'),
    *_rows(REFUSED, 'there are no logs of the firmware; record a bag',
           'LOG_REQUEST_LIST LOG_REQUEST_DATA LOG_ERASE LOG_REQUEST_END REMOTE_LOG_BLOCK_STATUS'),
    *_rows(REFUSED, 'no such hardware',
           'FILE_TRANSFER_PROTOCOL DEVICE_OP_READ DEVICE_OP_WRITE SERIAL_CONTROL DIGICAM_CONTROL '
           'MOUNT_CONFIGURE MOUNT_CONTROL GIMBAL_MANAGER_SET_ATTITUDE LED_CONTROL PLAY_TUNE '
           'CAN_FRAME CANFD_FRAME CAN_FILTER_MODIFY LANDING_TARGET SECURE_COMMAND'),
    *_rows(REFUSED, 'no fences, rally points or terrain',
           'FENCE_POINT FENCE_FETCH_POINT RALLY_POINT RALLY_FETCH_POINT TERRAIN_DATA '
           'TERRAIN_CHECK'),
    *_rows(REFUSED, 'the controller knows the true state; there is no estimator to be told',
           'GPS_RTCM_DATA GPS_INPUT HIL_GPS GPS_INJECT_DATA VISION_POSITION_DELTA '
           'VISION_POSITION_ESTIMATE GLOBAL_VISION_POSITION_ESTIMATE VICON_POSITION_ESTIMATE '
           'ODOMETRY ATT_POS_MOCAP VISION_SPEED_ESTIMATE OPTICAL_FLOW DISTANCE_SENSOR '
           'OBSTACLE_DISTANCE OBSTACLE_DISTANCE_3D'),
    *_rows(IGNORED, 'an answer, a report or a request of others that needs none',
           'COMMAND_ACK MISSION_ACK PARAM_VALUE STATUSTEXT SYSTEM_TIME SYS_STATUS '
           'NAMED_VALUE_FLOAT CAMERA_INFORMATION GIMBAL_REPORT GIMBAL_DEVICE_INFORMATION '
           'GIMBAL_DEVICE_ATTITUDE_STATUS GOPRO_HEARTBEAT DATA96 EFI_STATUS ADSB_VEHICLE '
           'UAVIONIX_ADSB_OUT_CFG UAVIONIX_ADSB_OUT_DYNAMIC '
           'UAVIONIX_ADSB_TRANSCEIVER_HEALTH_REPORT OSD_PARAM_CONFIG OSD_PARAM_SHOW_CONFIG '
           'OPEN_DRONE_ID_ARM_STATUS OPEN_DRONE_ID_OPERATOR_ID OPEN_DRONE_ID_SELF_ID '
           'OPEN_DRONE_ID_BASIC_ID OPEN_DRONE_ID_SYSTEM OPEN_DRONE_ID_SYSTEM_UPDATE '
           'SECURE_COMMAND_REPLY'),
)  # fmt: skip
"""Messages that ArduSub takes from a ground station."""

_NO_HARDWARE = 'no such hardware'
_NO_CAMERA = 'no camera is triggered (ArduSub: accepted)'
COMMANDS: dict[int, Row] = {
    17: Row('NAV_LOITER_UNLIM', DONE, 'mode POSHOLD'),
    21: Row('NAV_LAND', DONE, 'mode SURFACE, which becomes ALT_HOLD at the surface'),
    115: Row('CONDITION_YAW', DONE, 'angle, rate, direction, relative; fails but in GUIDED '
             'and AUTO (ArduSub: accepted)',
             (1, 2, 3, 4)),
    176: Row('DO_SET_MODE', DONE, 'STABILIZE, ALT_HOLD, AUTO, GUIDED, SURFACE, POSHOLD, MANUAL; '
             'ACRO, CIRCLE, MOTOR_DETECT and SURFTRAK fail', (1, 2)),
    178: Row('DO_CHANGE_SPEED', DONE, 'm/s between waypoints, until the mode changes', (2,)),
    185: Row('DO_FLIGHTTERMINATION', DONE, 'disarms', (1,)),
    192: Row('DO_REPOSITION', DONE, 'in GUIDED, or with flag 1 of parameter 2 '
             '(ArduSub: unsupported)', (2, 5, 6, 7)),
    224: Row('DO_SET_MISSION_CURRENT', DONE, 'item, and 1: counters of jumps anew', (1,)),
    300: Row('MISSION_START', DONE, 'armed and with a mission'),
    400: Row('COMPONENT_ARM_DISARM', DONE, 'acknowledged when the controller has answered; '
             'disarming ends the mission, as there', (1,)),
    410: Row('GET_HOME_POSITION', DONE),
    510: Row('GET_MESSAGE_INTERVAL', DONE, 'MESSAGE_INTERVAL', (1,)),
    511: Row('SET_MESSAGE_INTERVAL', DONE, 'those that are sent here; others of the dialect are '
             'UNSUPPORTED', (1, 2)),
    512: Row('REQUEST_MESSAGE', DONE, 'messages that are sent here; others fail', (1,)),
    520: Row('REQUEST_AUTOPILOT_CAPABILITIES', DONE, 'AUTOPILOT_VERSION'),
    1000: Row('DO_GIMBAL_MANAGER_PITCHYAW', DONE, 'pitch and its rate tilt the camera, NaN: as it '
              'is; yaw is denied'),
    601: Row('DO_JUMP_TAG', REFUSED, 'no tags; DO_SET_MISSION_CURRENT'),
    179: Row('DO_SET_HOME', REFUSED, 'home is the origin of map, from the environment'),
    201: Row('DO_SET_ROI', REFUSED, 'CONDITION_YAW turns'),
    195: Row('DO_SET_ROI_LOCATION', REFUSED, 'CONDITION_YAW turns'),
    197: Row('DO_SET_ROI_NONE', REFUSED, 'CONDITION_YAW turns'),
    198: Row('DO_SET_ROI_SYSID', REFUSED, 'CONDITION_YAW turns'),
    181: Row('DO_SET_RELAY', REFUSED, _NO_HARDWARE),
    182: Row('DO_REPEAT_RELAY', REFUSED, _NO_HARDWARE),
    183: Row('DO_SET_SERVO', REFUSED, 'RC_CHANNELS_OVERRIDE moves lights, tilt and gripper'),
    184: Row('DO_REPEAT_SERVO', REFUSED, 'RC_CHANNELS_OVERRIDE moves lights, tilt and gripper'),
    204: Row('DO_MOUNT_CONFIGURE', REFUSED, 'channel 8 tilts the camera'),
    205: Row('DO_MOUNT_CONTROL', REFUSED, 'channel 8 tilts the camera'),
    209: Row('DO_MOTOR_TEST', REFUSED, 'the controller drives the thrusters'),
    211: Row('DO_GRIPPER', REFUSED, 'channel 11 moves it'),
    207: Row('DO_FENCE_ENABLE', REFUSED, 'no fences'),
    218: Row('DO_AUX_FUNCTION', REFUSED, _NO_HARDWARE),
    202: Row('DO_DIGICAM_CONFIGURE', REFUSED, _NO_CAMERA),
    203: Row('DO_DIGICAM_CONTROL', REFUSED, _NO_CAMERA),
    206: Row('DO_SET_CAM_TRIGG_DIST', REFUSED, _NO_CAMERA),
    216: Row('DO_SPRAYER', REFUSED, _NO_HARDWARE),
    241: Row('PREFLIGHT_CALIBRATION', REFUSED, 'nothing to calibrate'),
    245: Row('PREFLIGHT_STORAGE', REFUSED, 'parameters last for the run'),
    246: Row('PREFLIGHT_REBOOT_SHUTDOWN', REFUSED, 'end the run instead'),
    401: Row('RUN_PREARM_CHECKS', REFUSED, 'none'),
    42006: Row('FIXED_MAG_CAL_YAW', REFUSED, 'nothing to calibrate'),
    42424: Row('DO_START_MAG_CAL', REFUSED, 'nothing to calibrate'),
    42425: Row('DO_ACCEPT_MAG_CAL', REFUSED, 'nothing to calibrate'),
    42426: Row('DO_CANCEL_MAG_CAL', REFUSED, 'nothing to calibrate'),
    42428: Row('DO_SEND_BANNER', DONE, 'a status text'),
    42007: Row('SET_EKF_SOURCE_SET', REFUSED, 'there is no estimator'),
    42651: Row('BATTERY_RESET', REFUSED, _NO_HARDWARE),
}  # fmt: skip
"""Commands of COMMAND_LONG and COMMAND_INT by number. Refused: COMMAND_ACK with UNSUPPORTED."""

_SKIPPED = '; ArduSub 4.5 skips it (Bad alt frame)'
_OFTEN_SKIPPED = f'{_SKIPPED[:-1]}, by the bits of its numbers)'
_NOTES = {
    16: 'parameter 1: s to stay; reached within WPNAV_RADIUS; 0 as place or altitude: as it is; '
        'ArduSub 4.5 skips places in the frames 0, 2 and 5 (Bad alt frame)',
    17: 'for ever',
    18: 'turns, radius (negative: counterclockwise)',
    19: 'parameter 1: s',
    20: f'to the origin of map at the surface{_SKIPPED}',
    21: 'to the place at this depth, then to the surface',
    93: f'parameter 1: s; a time of day is not simulated{_OFTEN_SKIPPED}',
    112: f's{_OFTEN_SKIPPED}',
    114: f'm from the next waypoint{_OFTEN_SKIPPED}',
    115: f'angle, rate, direction, relative{_OFTEN_SKIPPED}',
    177: 'item, times; −1: for ever',
    **dict.fromkeys(CAMERA_ITEMS, 'passed: no camera is triggered, which a status text says'),
    178: f'parameter 2: m/s{_SKIPPED} unless parameter 1 is 1 and parameter 3 is −1',
}  # fmt: skip
MISSION_ITEMS: dict[int, Row] = {
    **{number: Row(name, DONE, _NOTES[number]) for number, name in FLOWN.items()},
    **{number: Row(name, REFUSED, 'MISSION_ACK with UNSUPPORTED') for number, name in {
        22: 'NAV_TAKEOFF', 30: 'NAV_CONTINUE_AND_CHANGE_ALT', 31: 'NAV_LOITER_TO_ALT',
        82: 'NAV_SPLINE_WAYPOINT', 92: 'NAV_GUIDED_ENABLE', 179: 'DO_SET_HOME',
        181: 'DO_SET_RELAY', 183: 'DO_SET_SERVO', 189: 'DO_LAND_START', 201: 'DO_SET_ROI',
        205: 'DO_MOUNT_CONTROL',
        211: 'DO_GRIPPER', 222: 'DO_GUIDED_LIMITS', 600: 'JUMP_TAG', 601: 'DO_JUMP_TAG',
    }.items()},
}  # fmt: skip
"""Items of a mission by number."""
