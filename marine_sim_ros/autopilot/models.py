# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Autopilots as controllers: programs that send the pulse widths themselves."""

from __future__ import annotations

from marine_sim_ros.autopilot.channels import ARDUSUB_ELEMENT, FrameElement, read_element
from marine_sim_ros.control.controller_model import ControllerModel

__all__ = ['ARDUSUB']

ARDUSUB = ControllerModel(
    'ardusub',
    label='ArduSub',
    executable='ardusub',
    element=ARDUSUB_ELEMENT,
    read_element=read_element,
    parts=FrameElement,
    options=('ardusub', 'autopilot_instance', 'autopilot_address', 'ground_station', 'navigation'),
)
"""The firmware of the BlueROV2, as software in the loop."""
