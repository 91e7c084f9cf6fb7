#!/usr/bin/env python3
# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imports published vehicles, checks and runs them, and writes the tables of vehicles.md.

Their sources are not part of this repository. FOLDER has one folder OWNER+NAME for each
repository of :data:`VEHICLES`, as ``git clone https://github.com/OWNER/NAME OWNER+NAME`` makes it.

    python docs/scripts/make_vehicles.py FOLDER [--only NAME ...] [--results FILE.json]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PAGE = ROOT / 'docs' / 'reference' / 'vehicles.md'
START, END = '<!-- imported -->', '<!-- /imported -->'


class Published(NamedTuple):
    """A published vehicle: its name here, format, file, and what import needs beside it.

    Of the trial of 20: the outcome of the first try, and what a user does then.
    """

    name: str
    kind: str
    file: str
    packages: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    first: str = ''
    step: str = ''


UUV = ('uuvsimulator+uuv_simulator',)
DAVE = ('Field-Robotics-Lab+dave', *UUV, 'uuvsimulator+eca_a9')
STONEFISH = 'markusbuchholz+stonefish_ros2_marine_robotics/sf_ws/src/cola2_stonefish_ros2'
DAVE_SDF = 'IOES-Lab+dave/models/dave_robot_models/description'
DRONES = 'vortexntnu+vortex-stonefish-sim/stonefish_sim/drones'
DAVE_URDF = 'Field-Robotics-Lab+dave/urdf/robots'
BLUE = 'Robotic-Decision-Making-Lab+blue/blue_description/description'

LRAUV = 'osrf+lrauv/lrauv_description/models'
EXPAND = 'expand model.sdf.in with description_generator.py of its package'
MBARI = (
    'zhw-github+Stonefish_Bluerov_Ardupilot_Simulation/MBARI-vehicles-sim-ros2/stonefish_ws/src'
)
SOSLAB = 'GSO-soslab+world_of_stonefish/world'
CUSUB = 'CU-Robosub+cusub/cusub_sim'
TALUY = 'itu-auv+auv-software/auv_sim/auv_sim_description'
FAROL = 'dsor-isr+farol_gazebo/farol_vehicles'
USV_SIM = 'disaster-robotics-proalertas+usv_sim_lsa/usv_sim/xacro'
PACKAGE = 'a package of UUV Simulator is not there'
BOTH = '`--package-path`; `--allow-undamped`: 540 N against 2 N at 1 m/s'

VEHICLES = (
    Published('BlueROV2 (bluerov2_ignition)', 'SDF',
              'clydemcqueen+bluerov2_ignition/models/bluerov2/model.sdf'),
    Published('BlueROV2 Heavy (bluerov2_ignition)', 'SDF',
              'clydemcqueen+bluerov2_ignition/models/bluerov2_heavy/model.sdf'),
    Published('Orca4', 'SDF', 'clydemcqueen+orca4/orca_description/models/orca4/model.sdf'),
    Published('BlueROV2 (dave)', 'SDF', f'{DAVE_SDF}/bluerov2/model.sdf'),
    Published('BlueROV2 Heavy (dave)', 'SDF', f'{DAVE_SDF}/bluerov2_heavy/model.sdf'),
    Published('RexROV (dave)', 'SDF', f'{DAVE_SDF}/rexrov/model.sdf'),
    Published('Slocum glider (dave)', 'SDF', f'{DAVE_SDF}/glider_slocum/model.sdf'),
    Published('BlueBoat (SITL_Models)', 'wave-sim SDF',
              'ArduPilot+SITL_Models/Gazebo/models/blueboat/model.sdf'),
    Published('Catamaran (SITL_Models)', 'wave-sim SDF',
              'ArduPilot+SITL_Models/Gazebo/models/catamaran/model.sdf', (),
              ('--allow-unpowered',)),
    Published('WAM-V (asv_wave_sim)', 'wave-sim SDF',
              'markusbuchholz+stonefish_ros2_marine_robotics/gz_ws/src/asv_wave_sim/'
              'gz-waves-models/models/wam-v/model.sdf'),
    Published('RoboBoat 1 (vrx)', 'VRX', 'osrf+vrx/vrx_gz/models/roboboat01/model.sdf'),
    Published('RoboBoat 2 (vrx)', 'VRX', 'osrf+vrx/vrx_gz/models/roboboat02/model.sdf'),
    Published('WAM-V (vrx)', 'VRX', 'osrf+vrx/vrx_urdf/wamv_gazebo/urdf/wamv_gazebo.urdf.xacro',
              ('osrf+vrx',)),
    Published('BlueROV2 (blue)', 'URDF, Gazebo', f'{BLUE}/bluerov2/config.xacro', (),
              ('--set', 'use_sim:=true')),
    Published('BlueROV2 Heavy (blue)', 'URDF, Gazebo', f'{BLUE}/bluerov2_heavy/config.xacro', (),
              ('--set', 'use_sim:=true')),
    Published('BlueROV2 (CentraleNantesROV)', 'URDF, Gazebo',
              'CentraleNantesROV+bluerov2/bluerov2_description/urdf/bluerov2.xacro'),
    Published('RexROV', 'UUV Simulator',
              'uuvsimulator+uuv_simulator/uuv_descriptions/robots/rexrov_default.xacro', UUV),
    Published('RexROV with sonar', 'UUV Simulator',
              'uuvsimulator+uuv_simulator/uuv_descriptions/robots/rexrov_sonar.xacro', UUV),
    Published('RexROV 2', 'UUV Simulator',
              'uuvsimulator+rexrov2/rexrov2_description/robots/rexrov2_default.xacro', UUV),
    Published('LAUV', 'UUV Simulator',
              'uuvsimulator+lauv_gazebo/lauv_description/robots/default.xacro',
              (*UUV, 'uuvsimulator+lauv_gazebo')),
    Published('ECA A9', 'UUV Simulator',
              'uuvsimulator+eca_a9/eca_a9_description/robots/eca_a9_default.urdf.xacro',
              (*UUV, 'uuvsimulator+eca_a9'), ('--allow-undamped',)),
    Published('Desistek SAGA', 'UUV Simulator',
              'uuvsimulator+desistek_saga/desistek_saga_description/robots/'
              'desistek_saga_default.xacro', (*UUV, 'uuvsimulator+desistek_saga')),
    Published('BlueROV2 (FletcherFT)', 'UUV Simulator',
              'FletcherFT+bluerov2/bluerov2_description/robots/default.xacro', UUV),
    Published('Sphere (test model)', 'UUV Simulator',
              'uuvsimulator+uuv_simulator/uuv_gazebo_plugins/uuv_gazebo_ros_plugins/test/models/'
              'sphere_vehicle/model.xacro', UUV),
    Published('RexROV (Plankton)', 'UUV Simulator',
              'Liquid-ai+Plankton/uuv_descriptions/robots/rexrov_default.xacro',
              ('Liquid-ai+Plankton',)),
    Published('Smilodon (dave)', 'UUV Simulator',
              f'{DAVE_URDF}/smilodon_description/urdf/smilodon.xacro', DAVE),
    Published('Caracara (dave)', 'UUV Simulator',
              f'{DAVE_URDF}/caracara_description/urdf/caracara.xacro', DAVE),
    Published('Caldus (dave)', 'UUV Simulator',
              f'{DAVE_URDF}/caldus_description/urdf/caldus.xacro', DAVE),
    Published('Girona 500', 'Stonefish', f'{STONEFISH}/scenarios/girona500_tank.scn'),
    Published('Girona 500 (stonefish)', 'Stonefish',
              'patrykcieslak+stonefish/Tests/Data/underwater_test.scn'),
    Published('Sparus II', 'Stonefish', f'{STONEFISH}/scenarios/sparus2_tank.scn'),
    Published('BlueROV (cola2)', 'Stonefish', f'{STONEFISH}/scenarios/bluerov.scn'),
    Published('BlueBoat (cola2)', 'Stonefish', f'{STONEFISH}/scenarios/blueboat.scn'),
    Published('BlueROV2 (stonefish_bluerov2)', 'Stonefish',
              'ricardoGrando+stonefish_bluerov2/scenarios/bluerov2_tank.scn'),
    Published('Sonobot', 'Stonefish', 'ricardoGrando+stonefish_bluerov2/scenarios/sonobot.scn'),
    Published('Orca (vortex)', 'Stonefish', f'{DRONES}/orca.scn'),
    Published('Nautilus (vortex)', 'Stonefish', f'{DRONES}/nautilus.scn'),
    Published('Freya (vortex)', 'Stonefish', f'{DRONES}/freya.scn'),
    Published('Cyberfish (vortex)', 'Stonefish', f'{DRONES}/cyberfish.scn'),
    Published('SAM', 'Stonefish',
              'smarc-project+smarc_stonefish_sims/sam_stonefish_sim/data/sam_auv/sam_auv.scn',
              (), ('--skip-missing',)),
    Published('BlueROV2 (workshop)', 'Stonefish',
              'GitSRealpe+roscon25_es_stonefish_workshop/bluerov_stonefish/scenarios/robot/'
              'bluerov.scn'),
    Published('Heron USV', 'UUV Simulator',
              'heron+heron/heron_description/urdf/heron.urdf.xacro', (),
              ('--set', 'simulation:=true', '--skip-missing')),
    Published('BlueROV2 (HKPolyU)', 'UUV Simulator',
              'HKPolyU-UAV+bluerov2/bluerov2_environ/robots/default.xacro',
              UUV),
    Published('Hybrid glider (WHOI)', 'UUV Simulator',
              'Field-Robotics-Lab+glider_hybrid_whoi/glider_hybrid_whoi_description/robots/'
              'glider_hybrid_whoi_default_kinematics.urdf.xacro', DAVE, ('--skip-missing',)),
    Published('Otter', 'usv_gazebo_plugins',
              'jhlenes+usv_simulator/otter_gazebo/urdf/otter_gazebo.urdf.xacro', (),
              ('--skip-missing',)),
    Published('BlueROV2 (bluerov_ffg)', 'freefloating',
              'freefloating-gazebo+bluerov_ffg/urdf/brov2.xacro'),
    Published('Girona 500 with ARM5E', 'freefloating',
              'freefloating-gazebo+freefloating_gazebo_demo/urdf/g500arm5e.xacro'),
    Published('BlueROV2 (ros_playground)', 'Gazebo classic',
              'patrickelectric+bluerov_ros_playground/model/BlueRov2/BlueRov2.sdf'),
    Published('BlueROV2 Heavy with camera (sim_thesis)', 'Gazebo classic',
              'alxmeen+bluerov_sim_thesis/models/uuv_bluerov2_heavy_cam/uuv_bluerov2_heavy_cam.sdf'),
    Published('BlueROV2 Heavy (PX4-gazebo-models)', 'SDF',
              'PX4+PX4-gazebo-models/models/uuv_bluerov2_heavy/model.sdf'),
    Published('BlueROV2 with Ping (bluerov2_n_gz)', 'SDF',
              'kogodemilade+bluerov2_n_gz/src/bluerov2_description/models/bluerov2_ping/model.sdf'),
    Published('Amarsmer', 'URDF, Gazebo',
              'Amarsmer+amarsmer/amarsmer_description/urdf/amarsmer.xacro', (),
              ('--set', 'thrusters:=thrusters_plasmar2')),
    Published('ATR ROV', 'URDF, Gazebo',
              'benedict-amoako+atr_rov_sim/src/atr_rov_description/urdf/atr_rov.urdf.xacro'),
    Published('BlueROV2 (HERO Lab)', 'Stonefish',
              'HERO-Lab-POSTECH+stonefish_sim/stonefish_description/scenarios/bluerov2_empty.scn'),
    Published('BlueBoat (HERO Lab)', 'Stonefish',
              'HERO-Lab-POSTECH+stonefish_sim/stonefish_description/data/robots/blueboat/'
              'blueboat.scn', (), ('--set', 'vehicle_name:=blueboat', '--set', 'xyz:=0 0 0',
              '--set', 'rpy:=0 0 0')),
    Published('ALPHA', 'Stonefish',
              'GSO-soslab+world_of_stonefish/world/ocean_img.scn.xacro',
              (), ('--set', 'robot_name:=alpha_img')),
    Published('RACE 2', 'Stonefish',
              'GSO-soslab+world_of_stonefish/world/ocean_race2.scn.xacro',
              (), ('--set', 'robot_name:=race2')),
    Published('BlueBoat (stonefish_core)', 'Stonefish',
              'Mariolopez31+blueboat_stonefish_core/scenarios/blueboat_lidar_T200.scn'),
    Published('Sailboat (CUHK-SZ)', 'usv_sim',
              'star-cuhksz+usv_sim_cuhksz/usv_sim/xacro/sailboat_cuhksz.xacro'),
    Published('Fish (dm_control)', 'MJCF',
              'google-deepmind+dm_control/dm_control/suite/fish.xml'),
    Published('Vectored test vehicle', 'freefloating',
              'freefloating-gazebo+freefloating_gazebo_demo/urdf/vectored.xacro'),
    Published('LRAUV Tethys equipped', 'SDF', f'{LRAUV}/tethys_equipped/model.sdf',
              ('osrf+lrauv',), (), 'refused: no links', EXPAND),
    Published('LRAUV Tethys in its world', 'SDF',
              'osrf+lrauv/lrauv_system_tests/worlds/buoyant_tethys.sdf', ('osrf+lrauv',), (),
              'refused: the model was not found below the repository', EXPAND),
    Published('LRAUV Tethys', 'SDF template', f'{LRAUV}/tethys/model.sdf', (), (),
              'refused: a template, of model.sdf.in', EXPAND),
    Published('Doc Ricketts (Gazebo)', 'URDF, Gazebo',
              'AlePuglisi+ROV-Ricketts-ros2/rov_ricketts_description/urdf/Ricketts.urdf.xacro',
              (), (), "refused: a negative volume; then afloat with 84 kN, not the source's"),
    Published('HippoCampus 3', 'hippo',
              'HippoCampusRobotics+hippo_simulation/hippo_sim/models/hippo3/urdf/hippo3.xacro',
              (), (), 'imported; 1 % of buoyancy lost, not named'),
    Published('BlueROV (hippo)', 'hippo',
              'HippoCampusRobotics+hippo_simulation/hippo_sim/models/bluerov/urdf/bluerov.xacro',
              (), ('--allow-undamped',), 'imported; 0.1 % of buoyancy lost, not named'),
    Published('DeepLeng', 'UUV Simulator',
              'MihirSPatil+Deep-Reinforcement-Learning-for-Continuous-Control-Docking-of-'
              'Autonomous-Underwater-Vehicles/deepleng_description_gazebo9+ubuntu18/robots/'
              'default.xacro', UUV, (), 'imported'),
    Published('Girona 500 with ARM5 (UWSim)', 'URDF',
              'uji-ros-pkg+underwater_simulation/uwsim/data/scenes/g500ARM5.urdf', (),
              ('--allow-unpowered',), 'imported',
              '`--allow-unpowered`: a picture without thrust, drag and shape'),
    Published('MOLA', 'Stonefish', f'{MBARI}/MOLA_AUV/mola_auv_sim/scenarios/tank.scn', (), (),
              'refused: test_tank.scn has no robot',
              'take the scenario that includes the robot, as the error says'),
    Published('Doc Ricketts (Stonefish)', 'Stonefish',
              f'{MBARI}/RICKETTS/ricketts_sim/scenarios/ocean.scn', (), (), 'imported'),
    Published('ALPHA standard', 'Stonefish', f'{SOSLAB}/tank.scn.xacro', (),
              ('--set', 'robot_name:=alpha_std'), 'imported'),
    Published('RACE', 'Stonefish', f'{SOSLAB}/ocean_race.scn.xacro', (),
              ('--set', 'robot_name:=race'), 'imported'),
    Published('ALPHA RISE', 'Stonefish', f'{SOSLAB}/ocean_rise.scn.xacro', (),
              ('--set', 'robot_name:=alpha_rise', '--model', 'alpha_rise'),
              'refused: two robots', '`--model alpha_rise`, as the error says'),
    Published('Oasis AUV', 'Stonefish', f'{SOSLAB}/under_ice.scn.xacro', (),
              ('--set', 'robot_name:=oasis'), 'imported'),
    Published('BlueROV (MarineGym)', 'USD',
              'Marine-RL+MarineGym/marinegym/robots/assets/usd/BlueROV/BlueROV.usd', (), (),
              'imported'),
    Published('ROV with thrusters (isaac_underwater)', 'USD',
              'leonlime+isaac_underwater/ROV_THRUSTERS.usd', (), ('--model', 'ROV'),
              'refused: two vehicles', '`--model ROV`'),
    Published('ROV (isaac_underwater)', 'USD', 'leonlime+isaac_underwater/ROV_TEST.usd', (),
              ('--model', 'Doc_Ricketts_ROV'), 'refused: a missing file was called outside',
              '`--model Doc_Ricketts_ROV`; its layer is not published'),
    Published('Submarine (mujoco_AUVC)', 'MJCF',
              'saipreetham99+mujoco_AUVC/model/sub/sub.xml', (), (),
              'refused: the mesh bluerov2.obj is not published'),
    Published('Swimmer (dm_control)', 'MJCF',
              'google-deepmind+dm_control/dm_control/suite/swimmer.xml', (), (),
              'refused: no free joint'),
    Published('Leviathan', 'UUV Simulator', f'{CUSUB}/leviathan_description/robots/default.xacro',
              UUV, ('--allow-undamped',), f'refused: {PACKAGE}', BOTH),
    Published('Triton', 'UUV Simulator', f'{CUSUB}/triton_description/robots/default.xacro',
              UUV, (), f'refused: {PACKAGE}', '`--package-path`'),
    Published('Taluy', 'UUV Simulator', f'{TALUY}/taluy_sim_description/urdf/taluy_sim.urdf.xacro',
              UUV, (), f'refused: {PACKAGE}; then with 35 N ahead, not 92', '`--package-path`'),
    Published('Taluy Mini', 'UUV Simulator',
              f'{TALUY}/taluy_mini_sim_description/urdf/taluy_mini_sim.urdf.xacro', UUV, (),
              f'refused: {PACKAGE}; then with 50 N ahead, not 130', '`--package-path`'),
    Published('Example AUV (SMaRC)', 'UUV Simulator',
              'smarc-project+smarc_simulations/smarc_auvs/models/example_auv/robots/'
              'example_auv_default.urdf.xacro', UUV, ('--skip-missing',), f'refused: {PACKAGE}',
              '`--package-path`, `--skip-missing`: its UUV Simulator is of 2016'),
    Published('ROV of the tutorial (Plankton)', 'UUV Simulator',
              'Liquid-ai+Plankton/uuv_tutorials/uuv_tutorial_rov_model/robots/'
              'rov_example_default.xacro', (), (), 'refused: two hyphens in a comment',
              'its xacro is no XML, for ROS neither'),
    Published('SubjuGator 9', 'plugins of MIL',
              'uf-mil+mil/SubjuGator/simulation/subjugator_gazebo/urdf/sub9.urdf.xacro',
              ('uf-mil+mil',), (), 'refused: a package is not there',
              'its numbers are ROS parameters of a launch file'),
    Published('BlueBoat (Amarsmer)', 'URDF, Gazebo',
              'Amarsmer+BlueBoat/blueboat_description/urdf/blueboat.xacro', (),
              ('--set', 'thrusters:=thrusters_uvr'), 'refused: an argument without default',
              '`--set thrusters:=thrusters_uvr`'),
    Published('Airboat', 'usv_sim', f'{USV_SIM}/airboat.xacro', (), (),
              'imported with 100 N, not 4.12 N'),
    Published('Differential boat', 'usv_sim', f'{USV_SIM}/diffboat.xacro', (), (),
              'imported with 100 N, not 11.5 N, of each thruster'),
    Published('Rudder boat', 'usv_sim', f'{USV_SIM}/rudderboat.xacro', (), (), 'imported'),
    Published('HippoCampus (PX4 classic)', 'Gazebo classic',
              'PX4+PX4-SITL_gazebo-classic/models/uuv_hippocampus/uuv_hippocampus.sdf', (), (),
              'imported'),
    Published('Boat (PX4 classic)', 'SDF template',
              'PX4+PX4-SITL_gazebo-classic/models/boat/boat.sdf', (), (),
              'refused: a template of Jinja', 'expand it with Jinja, as the error says'),
    Published('VTec S4', 'Gazebo classic',
              'vanttec+vanttec_uuv/src/uuv_description/models/uuv_s4/model.sdf', (), (),
              'refused: the file has only a comment', 'the vehicle is not published'),
    Published('Submarine (gz-sim)', 'SDF', 'gazebosim+gz-sim/examples/worlds/buoyancy.sdf', (),
              ('--model', 'submarine', '--allow-unpowered'),
              'refused: blades on a shaft that turns by a torque are not understood',
              '`--allow-unpowered`: without its propeller'),
    Published('RM3 (asv_wave_sim)', 'wave-sim SDF',
              'srmainwaring+asv_wave_sim/gz-waves-models/models/rm3_wec/model.sdf', (), (),
              'imported'),
    Published('CIRTESUB', 'Stonefish',
              'inesperez03+cirtesub_stonefish/scenarios/cirtesub_cirtesu_arucos.scn', (), (),
              'imported upside down, with 0.1 % of buoyancy too much, of open meshes'),
    Published('Peacetolero', 'Stonefish', 'slopezba+peacetolero_stonefish/scenarios/sea.scn', (),
              ('--allow-undamped',), 'refused: tank.scn has no robot',
              'sea.scn; `--allow-undamped`: it drives on the ground'),
    Published('Swimmer (Gymnasium)', 'MJCF',
              'Farama-Foundation+Gymnasium/gymnasium/envs/mujoco/assets/swimmer.xml', (), (),
              'imported'),
    Published('SILVER2', 'USD',
              'Joagai23+silver2_isaacsim/src/scenes/silver2_isaac_sim_terrestrial_environment.usd',
              ('Joagai23+silver2_isaacsim/src',), ('--allow-unpowered',),
              'refused: its layers are in a folder beside', '`--package-path`; it walks'),
    Published('WAM-V (gazebo_maritime)', 'SDF',
              'antpial+thesis_USV_gazebo/src/gazebo_maritime/models/wam-v/model.sdf', (), (),
              'refused: a quotation mark behind a number'),
    Published('MBZIRC USV', 'SDF', 'osrf+mbzirc/mbzirc_ign/models/mbzirc_usv_base/model.sdf', (),
              (), 'imported: a hull without thrusters'),
    Published('WAM-V (wamv_gz)', 'SDF', 'ymollard+wamv_gz/models/wamv/wamv.sdf', (), (),
              'imported'),
    Published('WAM-V (OUXT-Polaris)', 'URDF, Gazebo',
              'OUXT-Polaris+wamv_description/urdf/wamv.urdf.xacro', (), (),
              'refused: a file of it is empty', 'ROS cannot read it either'),
    Published('Barracuda', 'UUV Simulator',
              'usc-robosub+barracuda_ws/src/barracuda_description/urdf/barracuda.xacro', (), (),
              'imported'),
    Published('Medusa (farol)', 'UUV Simulator', f'{FAROL}/mblack_vehicle/robots/default.xacro',
              (), (), 'refused: a manager was read as a thruster'),
    Published('Delfim (farol)', 'UUV Simulator', f'{FAROL}/delfim_vehicle/robots/default.xacro',
              (), (), 'refused: a manager was read as a thruster'),
    Published('M-Vector (farol)', 'UUV Simulator', f'{FAROL}/mvector_vehicle/robots/default.xacro',
              (), (), 'refused: a manager was read as a thruster'),
    Published('VTec S3', 'VRX, SDF',
              'vanttec+vanttec_usv/src/usv_description/models/vtec_s3/model.sdf', (), (),
              'imported'),
    Published('BlueROV2 Heavy (simulation_bluerov)', 'Gazebo classic',
              'Zarbokk+simulation_bluerov/models/uuv_bluerov2_heavy/uuv_bluerov2_heavy.sdf', (),
              ('--skip-missing', '--allow-undamped'), 'refused: the include was not named',
              '`--skip-missing`: its sonar is not published; `--allow-undamped`: 283 N, 5 N drag'),
    Published('Lazershark', 'SDF', 'CabrilloRoboticsClub+robosub_ros/src/lazershark/'
              'lazershark_sim/robot/lazershark_sim_equipped.sdf', (), (),
              'refused: the include was not found'),
    Published('GBR', 'Stonefish', 'Joranikus+stonefish_simulator/src/stonefish_sim/scenarios/'
              'gbr_keyboard_demo.scn', (), (), 'imported in fresh water, without a word',
              'the scenario that includes it'),
    Published('Girona 500 with ECA 5E Micro', 'Stonefish', 'Alaashaarani+stonefish_rl/Resources/'
              'g500/scenarios/girona500_basic.scn', (), (),
              'refused: two robots; then without the parts whose meshes were not found',
              'the scenario that includes it'),
    Published('MA1', 'Stonefish', 'Andeshog+ma1-stonefish/ma1_sim/scenarios/demo.scn', (), (),
              'imported without its materials, which it named', 'the scenario that includes it'),
    Published('Cobalt', 'Gazebo classic',
              'PalouseRobosub+robosub_simulator/models/cobalt/model.sdf', (), (),
              'refused: its plugins are not known, its buoyancy lost',
              'its thrusters are ROS parameters'),
    Published('Dual thruster boat', 'URDF', 'MHSeals+mhseals_asv_sim/Assets/Robot Descriptions/'
              'dual_thruster_boat/dual_thruster_boat.urdf', (), (),
              'imported, and sinks with 2.1 kN', 'water and thrusters are scripts of Unity'),
    Published('RexROV 2 with two arms', 'UUV Simulator',
              'uuvsimulator+rexrov2/rexrov2_description/robots/rexrov2_oberon_arms.xacro',
              (*UUV, 'uuvsimulator+uuv_manipulators'), (), f'refused: {PACKAGE}',
              '`--package-path`'),
    Published('Wave glider (dave)', 'UUV Simulator',
              f'{DAVE_URDF}/glider_description/urdf/glider_wave_default.urdf.xacro', DAVE, (),
              f'refused: {PACKAGE}', '`--package-path`; all its plugins are comments'),
    Published('Swimmer 3D (rllab)', 'MJCF', 'rll+rllab/vendor/mujoco_models/swimmer3d.xml', (), (),
              'imported'),
    Published('Floating box (isaac_underwater)', 'USD',
              'leonlime+isaac_underwater/BUOYANCY_TEST.usd', (), (),
              'refused: 0.4 kg displace 1 t', 'its water is a script'),
)  # fmt: skip

CODES = (
    ('B', 'volumes by the collisions', r'of the collisions|no volume in the source'),
    ('S', 'floats by its shape', r'floats by their|whole cylinder'),
    ('T', 'largest thrust by rule', r'no largest thrust|as much thrust astern'),
    ('A', 'added mass: estimated, or made symmetric', r'added mass'),
    ('D', 'damping: estimated, or none', r'C_d|\|ν\||no damping|damping is positive|\|u\|'),
    ('ρ', 'density of the water', r'no density'),
    ('M', 'mass, inertia or material', r'inertia of a body|material|no <inertial>'),
    ('W', 'meshes wrapped or closed', r'wrapped|closed|turned|made one'),
)
"""Letter, meaning, and pattern of the assumptions that it stands for."""


VERDICT = re.compile('(moves|damps|floats): ')
"""First words of the three lines that end an import."""


def verb(*words: object) -> tuple[int, str, str]:
    """Run a verb of marine_sim in this process; return its exit code, output and messages."""
    from marine_sim_ros.tools.main import main as marine_sim

    out, told, code = io.StringIO(), io.StringIO(), 0
    folders = os.environ.pop('ROS_PACKAGE_PATH', None)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            marine_sim([str(word) for word in words])
    except SystemExit as ended:
        code = int(ended.code or 0)
    except Exception as error:
        code, told = 3, io.StringIO(f'{type(error).__name__}: {error}')
    finally:
        os.environ.pop('ROS_PACKAGE_PATH', None)
        if folders is not None:
            os.environ['ROS_PACKAGE_PATH'] = folders
    return code, out.getvalue(), told.getvalue()


def graph_hash(*words: object, folder: Path) -> tuple[str, str]:
    """Run the node graph in a process; return the hash of its trajectory and what it said."""
    environment = {
        **os.environ, 'PYTHONPATH': f'{ROOT}{os.pathsep}{os.environ.get("PYTHONPATH", "")}'
    }  # fmt: skip
    line = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'run', *map(str, words)]
    line += ['--composed', '--real-time-factor', '0', '--record', str(folder)]
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=400, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return '', 'not done after 400 s'
    manifest = folder / 'manifest.json'
    run = json.loads(manifest.read_text()) if manifest.is_file() else {}
    return run.get('trajectory_sha256', ''), (done.stdout + done.stderr)[-300:]


def _scenario(text: str, thrusters: int, folder: Path) -> Path:
    depth = 0.0 if '<buoyancy_material' in text else -3.0
    on = f', pwm: {[1600] * thrusters}' if thrusters else ''
    path = folder / 'push.yaml'
    path.write_text(
        f'duration: 0.6\ninitial: {{position: [0, 0, {depth}], rpy: [0.05, 0, 0]}}\n'
        f'segments: [{{at: 0.0}}, {{at: 0.1{on}}}]\n'
    )
    return path


def examine(vehicle: Published, sources: Path, *, graph: bool) -> dict[str, Any]:
    """Return one row: import, doctor, simulate and run of a vehicle."""
    row: dict[str, Any] = {'name': vehicle.name, 'kind': vehicle.kind}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        urdf = folder / 'vehicle.urdf'
        packages = [w for p in vehicle.packages for w in ('--package-path', sources / p)]
        code, _, told = verb(
            'import', sources / vehicle.file, '-o', urdf, *packages, *vehicle.arguments
        )
        lines = told.strip().splitlines()
        row['imported'] = code == 0
        if code:
            row['reason'] = lines[-1].replace(f'{sources}/', '') if lines else ''
            return row
        row['assumed'] = [line for line in lines if line.startswith('assumed: ')]
        row['dropped'] = [line for line in lines if line.startswith('not taken: ')]
        row['verdict'] = {line.partition(':')[0]: line for line in lines if VERDICT.match(line)}
        found = json.loads(verb('doctor', urdf, '--json', *packages)[1] or '{}')
        severities = [f['severity'] for f in found.get('findings', [])]
        row['errors'], row['warnings'] = severities.count('error'), severities.count('warning')
        row['findings'] = [
            f'{f["severity"]}: {f["check"]}: {f["message"]}'
            for f in found.get('findings', []) if f['severity'] != 'hint'
        ]  # fmt: skip
        text = urdf.read_text()
        row['sensors'] = text.count('<sensor ')
        push = _scenario(text, text.count('<thruster '), folder)
        code, said, told = verb('simulate', urdf, '--scenario', push, *packages)
        hashes = re.findall(r'trajectory_sha256 (\w+)', said)
        row['simulated'] = hashes[0] if code == 0 and hashes else ''
        row['message'] = '' if row['simulated'] else told[-300:]
        if graph and row['simulated']:
            row['run'], row['message'] = graph_hash(
                urdf, '--scenario', push, *packages, folder=folder / 'run'
            )
    return row


def _source(vehicle: Published, commits: dict[str, str]) -> str:
    """Return the name of a vehicle, linked to the file that was read."""
    folder, _, file = vehicle.file.partition('/')
    repository = folder.replace('+', '/', 1)
    if vehicle.kind == 'SDF template':
        file += '.jinja' if 'Jinja' in vehicle.first else '.in'
    return (
        f'[{vehicle.name}](https://github.com/{repository}/blob/{commits[folder]}/{quote(file)})'
    )


def _plain(text: str) -> str:
    """Return a text whose numbers have no exponents."""
    return re.sub(r'\d[\d.]*e[+-]\d+', lambda found: f'{float(found[0]):g}', text)


def _steady(moves: str, direction: str) -> str:
    """Return the thrust in a direction and the speed that it gives."""
    found = re.search(rf'([\d.e+-]+) N {direction} \(([^)]*)\)', moves)
    return f'{found[1]} N: {found[2]}' if found else '–'


def _alone(floats: str) -> str:
    """Return what a vehicle does when nothing pushes it."""
    if 'at the surface' in floats:
        return 'afloat'
    moves = re.search(r'it ((?:rises|sinks) [^;]+)', floats)
    return moves[1] if moves else 'neutral' if 'neutral' in floats else '–'


def verdicts(rows: list[dict[str, Any]], sources: dict[str, str]) -> str:
    """Return the table of what moves, damps and floats each vehicle."""
    lines = [
        '| vehicle | mass, kg | displaces, kg | moved by | ahead | up | drag at 1 m/s, N '
        '| alone |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for row in rows:
        name = sources[row['name']]
        if not row['imported']:
            lines.append(f'| {name} | refused | | | | | | |')
            continue
        verdict = row['verdict']
        moves, floats = verdict['moves'], verdict['floats']
        mass, water = re.findall(r'([\d.e+-]+) kg', floats)
        by = re.search(r'moves: ([^:(]+)', moves)
        drag = re.search(r'damps: (.*?) N at', verdict['damps'])
        line = (
            f'{mass} | {water} | {by[1].strip() if by else "–"} '
            f'| {_steady(moves, "ahead")} | {_steady(moves, "up")} '
            f'| {drag[1] if drag else "–"} | {_alone(floats)} |'
        )
        lines.append(f'| {name} | {_plain(line)}')
    return '\n'.join(lines) + '\n'


def readings(rows: list[dict[str, Any]]) -> str:
    """Return the table of how each vehicle was read and checked."""
    lines = [
        '| vehicle | format | sensors | doctor | simulate = run | assumed | not taken |',
        '|---|---|---|---|---|---|---|',
    ]
    for row in rows:
        if not row['imported']:
            lines.append(f'| {row["name"]} | {row["kind"]} | | | | refused | |')
            continue
        letters = ''.join(
            code for code, _, pattern in CODES
            if any(re.search(pattern, text) for text in row['assumed'])
        )  # fmt: skip
        same = row['simulated'] and row.get('run') == row['simulated']
        ran = 'yes' if same else 'simulate' if row['simulated'] and 'run' not in row else 'no'
        count, word = (row['errors'], 'error') if row['errors'] else (row['warnings'], 'warning')
        doctor = f'{count} {word}{"" if count == 1 else "s"}'
        lines.append(
            f'| {row["name"]} | {row["kind"]} | {row["sensors"]} | {doctor} | {ran} '
            f'| {letters or "–"} | {len(row["dropped"])} |'
        )
    legend = '; '.join(f'{code}: {meaning}' for code, meaning, _ in CODES)
    return '\n'.join(lines) + f'\n\nAssumed: {legend}.\n'


def refusals(rows: list[dict[str, Any]]) -> str:
    """Return one line for each vehicle that is refused."""
    lines = [
        f'- {row["name"]}: `{row["reason"].removeprefix("ERROR: ").partition(": ")[2]}`'
        for row in rows
        if not row['imported']
    ]
    return '\n'.join(['Refused:', '', *lines, '']) if lines else ''


def trial(rows: list[dict[str, Any]]) -> str:
    """Return the table of the trial: first outcome, what a user did, outcome now."""
    lines = ['| vehicle | first try | then | now |', '|---|---|---|---|']
    known = {vehicle.name: vehicle for vehicle in VEHICLES}
    for row in rows:
        vehicle = known[row['name']]
        if vehicle.first:
            floats = row['verdict']['floats'] if row['imported'] else 'refused'
            now = floats.removeprefix('floats: ')
            lines.append(f'| {row["name"]} | {vehicle.first} | {vehicle.step or "–"} | {now} |')
    return '\n'.join(lines) + '\n'


def commit_of(folder: Path) -> str:
    """Return the commit of a clone."""
    line = ['git', '-C', str(folder), 'rev-parse', 'HEAD']
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


def page_part(results: dict[str, Any]) -> str:
    """Return what the script writes into the page."""
    rows = [results[v.name] for v in VEHICLES if v.name in results]
    commits = {v.file.partition('/')[0]: results[v.name]['commit']
               for v in VEHICLES if v.name in results}  # fmt: skip
    sources = {v.name: _source(v, commits) for v in VEHICLES if v.name in results}
    listed = ', '.join(
        f'{folder.replace("+", "/", 1)} {commit[:10]}'
        for folder, commit in sorted(commits.items())
    )
    return '\n'.join([
        verdicts(rows, sources), 'How they were read:\n', readings(rows), refusals(rows),
        'Trial of vehicles that were chosen before the first was tried, unedited:\n', trial(rows),
        f'Commits of the sources: {listed}.\n',
    ])  # fmt: skip


def main() -> None:
    """Examine them all and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--only', nargs='*', default=[], help='names of vehicles')
    parser.add_argument('--results', type=Path, default=Path('vehicles.json'))
    parser.add_argument(
        '--run-every', type=int, default=1, metavar='N',
        help='start the node graph of every Nth vehicle, 0: of none (default: of all)',
    )  # fmt: skip
    parser.add_argument('--table', action='store_true', help='write the tables of old results')
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    if options.results.is_file():
        rows = json.loads(options.results.read_text())
    for i, vehicle in enumerate(VEHICLES):
        wanted = not options.only or vehicle.name in options.only
        if wanted and not options.table:
            graph = options.run_every > 0 and i % options.run_every == 0
            row = examine(vehicle, options.folder, graph=graph)
            if not graph and 'run' in rows.get(vehicle.name, {}):
                row['run'] = rows[vehicle.name]['run']  # compared with the new trajectory
            row['commit'] = commit_of(options.folder / vehicle.file.partition('/')[0])
            rows[vehicle.name] = row
            options.results.write_text(json.dumps(rows, indent=1))
            said = row.get('verdict', {}).get('floats', row.get('reason'))
            sys.stdout.write(f'{vehicle.name}: {said}\n')
            sys.stdout.flush()
    text = PAGE.read_text()
    if START in text:
        before, after = text.split(START)[0], text.split(END)[1]
        PAGE.write_text(f'{before}{START}\n{page_part(rows)}{END}{after}')


if __name__ == '__main__':
    main()
