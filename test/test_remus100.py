# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""REMUS 100 beside three foreign programs, run outside the repository.

Speed by rpm: PythonVehicleSimulator c717e073 (Fossen, MIT), ``remus100.dynamics`` with constant
rpm and fins at 0, 120 s, steps of 0.02 s. Turns and dives: AUV_model.py of
Psarhadi/AUV-Autonomous-Underwater-Vehicle-Six-DOF-Simulation 86d9ec65, Prestero's coefficients,
with B = W, K_pp −0.13, m 30.48 kg, and drag ahead, thrust and torque of this vehicle in its place.

Fossen's two programs, PythonVehicleSimulator and MSS 736a3d12 (GNU Octave 7.3,
``remus100(x, [δ 0 n]', 0, 0, 0)``, Euler steps of 0.02 s, lags of 0.1 and 1 s, 240 s), leave out
two terms: the Coriolis forces of added mass in yaw and pitch, so the Munk moment, and the flow
that a turning hull brings to its rudder. ``Program`` has their coefficients, with these terms and
without.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.registry import FORCES
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.physics.force import ForceModel
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

MAX_RPM, FOREIGN_RPM, FOREIGN_SPEED = 1525.0, 1000.0, 1.67407
FOREIGN_TURNS = {5: (1.14741, 8.2044), 10: (1.13923, 6.6563)}
"""Rudder in ° -> mean speed in m/s and radius in m from 30 to 60 s, 700 rpm, from 1.1 m/s."""
FOREIGN_DIVES = {2: (0.5982, 17.292), 4: (0.8501, 23.735)}
"""Planes in ° -> depth in m and pitch in ° after 4 s, 1000 rpm, from 1.6 m/s, lag 0.1 s."""


@dataclass(frozen=True)
class Program:
    """Coefficients of one of Fossen's programs, as it prints them.

    Attributes:
        length: semi-axis a of the spheroid, where the fins are, m; b is 0.11875 of it.
        mass: kg.
        inertia: about the centre of mass, I_x and I_z = I_y, kg m².
        added: A_11, A_22 = A_33, A_44, A_55 = A_66, kg and kg m².
        damping: linear, of the six axes; what vanishes with speed is left out.
        cross_flow: drag coefficient of a strip.
    """

    length: float
    mass: float
    inertia: tuple[float, float]
    added: tuple[float, float, float, float]
    damping: tuple[float, ...]
    cross_flow: float

    @property
    def urdf(self):
        """URDF without fins: 21 strips across, K_T and K_Q linear, a tenth of the torque."""
        ix, iz = self.inertia
        a11, a22, a44, a66 = self.added
        strip = 0.5 * 1026 * 0.19 * self.cross_flow * 0.08
        drag = 0.5 * 1026 * 0.42 * math.pi * (0.11875 * self.length) ** 2
        strips = ''.join(
            f'<drag_element xyz="{-0.8 + 0.08 * i:.2f} 0 0" axis="0 1 0" quadratic="{strip}"/>'
            for i in range(21)
        )
        return f"""<robot name="program">
  <link name="base_link"><inertial><origin xyz="0 0 -0.02"/><mass value="{self.mass}"/>
    <inertia ixx="{ix}" ixy="0" ixz="0" iyy="{iz}" iyz="0" izz="{iz}"/></inertial></link>
  <buoyancy><volume>{self.mass / 1026}</volume><height>0.19</height></buoyancy>
  <hydrodynamics><water_density>1026</water_density>
    <added_mass>{a11} {a22} {a22} {a44} {a66} {a66}</added_mass>
    <linear_damping>{' '.join(map(str, self.damping))}</linear_damping>
    <quadratic_damping>{drag} 0 0 0 0 0</quadratic_damping>{strips}</hydrodynamics>
  <thrusters><thruster name="propeller" direction="cw">
    <origin xyz="-0.72 0 0" rpy="0 1.5707963267948966 0"/><diameter>0.14</diameter>
    <thrust_deduction>0.1</thrust_deduction><time_constant>1.0</time_constant>
    <propeller max_speed="{MAX_RPM}" wake="0.056">
      <open_water>0 0.4566 0.0070 0.6632 0.1798 0.00312</open_water></propeller>
  </thruster></thrusters></robot>"""

    def forces(self, rudder, *, munk, local_flow):
        """Return a force: the rudder at an angle (rad), and the terms as the program has them.

        Args:
            munk: whether the Coriolis forces of added mass stay in yaw and pitch.
            local_flow: whether the rudder turns with the hull in the flow.
        """
        rate, stern = 0.5 * 1026 * 2 * 0.00665 * 0.5, -self.length

        def step(vehicle, state, environment, inputs, memory, /, *, dt):
            u, v, w, _, q, r = state.velocity.tolist()
            angle = rudder - math.atan2(v + stern * r, u) if local_flow else rudder
            square = rate * (u * u + v * v)
            side = square * angle
            wrench = np.array([-square * rudder * rudder, side, 0.0, 0.0, 0.0, stern * side])
            if not munk:
                a11, a22 = self.added[:2]
                p1, p2, p3 = a11 * u, a22 * v, a22 * w
                wrench += [p3 * q - p2 * r, p1 * r, -p1 * q, 0.0, p1 * w - p3 * u, p2 * u - p1 * v]
            return wrench, memory

        return ForceModel('program', step)


PROGRAMS = {
    'PythonVehicleSimulator': Program(
        0.8, 31.029385, (0.112016, 4.027769), (0.838909, 29.437637, 0.033605, 3.42621),
        (0.0, 0.0, 3.02335, 0.58852, 10.787, 7.453979), 1.1977,
    ),
    'MSS': Program(
        0.80768, 31.9005, (0.11734, 4.2207), (0.8633, 30.294, 0.035249, 3.5939),
        (0.0, 3.1097, 3.1097, 0.6108, 11.2056, 7.8146), 0.8,
    ),
}  # fmt: skip
TURNS = {
    ('PythonVehicleSimulator', 5): (1.16660, 52.5020),
    ('PythonVehicleSimulator', 10): (1.15992, 30.6557),
    ('MSS', 5): (1.15919, 47.4063),
    ('MSS', 10): (1.15170, 27.4587),
}
"""Program and rudder in ° -> speed in m/s and radius in m of a steady turn at 700 rpm."""
SPEEDS = {
    ('PythonVehicleSimulator', 1000): 1.67407,
    ('PythonVehicleSimulator', 1525): 2.55365,
    ('MSS', 1000): 1.66420,
    ('MSS', 1525): 2.53961,
}


def run_program(monkeypatch, name, rpm, rudder, *, munk=False, local_flow=False):
    """Return speed in m/s and yaw rate in rad/s of the last 30 s of 120."""
    program = PROGRAMS[name]
    force = program.forces(math.radians(rudder), munk=munk, local_flow=local_flow)
    known = FORCES.of_extensions
    monkeypatch.setattr(FORCES, 'of_extensions', lambda names: (*known(names), force))
    scenario = parse_scenario(
        f'duration: 120\ninitial: {{position: [0, 0, -100]}}\n'
        f'segments: [{{at: 0, pwm: [{1500 + 400 * rpm / MAX_RPM:.6f}]}}]',
        'program',
    )
    start = replace(scenario, velocity=(1.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    return _steady(simulate(load_vehicle(program.urdf), start, dt=0.08), slice(1125, None), 30)


def _steady(run, later, span):
    yaw = np.unwrap([float(rpy_from_quaternion(q)[2]) for q in run.orientation[later]])
    speed = float(np.mean(np.linalg.norm(run.velocity[later, :3], axis=1)))
    return speed, (yaw[-1] - yaw[0]) / span


@pytest.mark.parametrize(('name', 'rpm'), SPEEDS)
def test_speed_on_the_coefficients_of_a_program_is_that_of_the_program(monkeypatch, name, rpm):
    speed, rate = run_program(monkeypatch, name, rpm, 0)
    assert speed == pytest.approx(SPEEDS[name, rpm], rel=0.005)
    assert abs(rate) < 1e-3


@pytest.mark.parametrize(('name', 'rudder'), TURNS)
def test_a_turn_without_munk_moment_is_that_of_the_program(monkeypatch, name, rudder):
    speed, rate = run_program(monkeypatch, name, 700, rudder)
    assert (speed, -speed / rate) == pytest.approx(TURNS[name, rudder], rel=0.02)


@pytest.mark.parametrize(
    ('terms', 'radius'),
    [
        ({'munk': True}, 1.696),
        ({'local_flow': True}, 109.95),
        ({'munk': True, 'local_flow': True}, 1.699),
    ],
)
def test_what_the_programs_leave_out_makes_the_difference(monkeypatch, terms, radius):
    speed, rate = run_program(monkeypatch, 'PythonVehicleSimulator', 700, 5, **terms)
    assert -speed / rate == pytest.approx(radius, rel=0.02)


def steer(vehicle, rpm, speed, duration, dt, *, rudder=0.0, planes=0.0):
    """Return a run with constant rpm and deflections in degrees."""
    ru, pl = np.radians([rudder, planes])
    scenario = parse_scenario(
        f'duration: {duration}\ninitial: {{position: [0, 0, -100]}}\nsegments:\n'
        f'  - {{at: 0, pwm: [{1500 + 400 * rpm / MAX_RPM:.6f}], fins: {{rudder_upper: {ru:.6f}, '
        f'rudder_lower: {ru:.6f}, plane_port: {pl:.6f}, plane_starboard: {pl:.6f}}}}}',
        'steer',
    )
    start = replace(scenario, velocity=(speed, 0.0, 0.0, 0.0, 0.0, 0.0))
    return simulate(vehicle, start, dt=dt)


def test_speed_by_rpm_is_that_of_the_foreign_program():
    scenario = parse_scenario(
        'duration: 25.0\ninitial: {position: [0, 0, -12]}\n'
        'segments: [{at: 0, control: {surge: 2.0, z: -12.0, yaw: 0.0}}]',
        'ahead',
    )
    start = replace(scenario, velocity=(1.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    run = simulate(vehicle_of('remus100'), start, dt=0.04)
    u, v, w = run.velocity[-1, :3]
    assert max(abs(v), abs(w)) < 0.01  # straight
    assert run.position[-1, 2] == pytest.approx(-12.0, abs=0.05)
    rpm = (float(run.pwm[-1, 0]) - 1500) / 400 * MAX_RPM
    assert u / rpm == pytest.approx(FOREIGN_SPEED / FOREIGN_RPM, rel=0.01)


@pytest.mark.parametrize('rudder', FOREIGN_TURNS)
def test_a_turn_is_that_of_the_foreign_program(rudder):
    speed, radius = FOREIGN_TURNS[rudder]
    run = steer(vehicle_of('remus100'), 700, 1.1, 60, 0.04, rudder=rudder)
    found, rate = _steady(run, slice(750, None), 30)
    assert rate < 0  # positive rudder: to starboard
    assert found == pytest.approx(speed, rel=0.02)
    assert found / -rate == pytest.approx(radius, rel=0.02)


@pytest.mark.parametrize('planes', FOREIGN_DIVES)
def test_a_dive_is_that_of_the_foreign_program(planes):
    depth, pitch = FOREIGN_DIVES[planes]
    text = vehicle_of('remus100').urdf.replace('<time_constant>1.0</time_constant>', '')
    run = steer(load_vehicle(text), 1000, 1.6, 4.0, 0.01, planes=-planes)
    down = float(np.degrees(rpy_from_quaternion(run.orientation[-1])[1]))
    assert down == pytest.approx(pitch, rel=0.03)
    # The place of the hull's lift: at −0.233 m 5 % less, at 0 m 10 % more than the foreign depth.
    assert -100 - run.position[-1, 2] == pytest.approx(depth, rel=0.04)


@pytest.mark.ros
def test_a_survey_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'remus100', '--scenario', 'lawn_mower', '--duration', 2, '--dt', 0.02
    )
