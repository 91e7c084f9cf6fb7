# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds mistakes in a vehicle's description before anything runs."""

from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.finding import Finding, Severity
from marine_sim_ros.doctor.patient import Patient, admit

__all__ = ['Finding', 'Patient', 'Severity', 'admit', 'examine']
