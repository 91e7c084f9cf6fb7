# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of recorded surveys, read by the programs that hydrographers read them with."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from test_ray_sensors import DOWN, ideal, noisy, sensor_of

from marine_sim_ros.analysis.survey_files import (
    SideScanPings,
    ground_positions,
    make_mosaic,
    map_projection,
    side_scan_pings,
)
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.side_scan import bin_ranges, scan_line
from marine_sim_ros.tools.main import main

SONAR = sensor_of('side_scan', 'starfish_450f', turn=DOWN, max_range=35.0)
HEIGHT = 8.0
FLOOR = Plane('floor', [0, 0, -40.0], [0, 0, 1], 'sand')


def track_over(*things, rpy=(0.0, 0.0, 0.0)):
    """Return pings 8 m above a level bottom, 0.15 m apart along x, 40 of them."""
    environment = Environment(scene=Scene((FLOOR,), None, things))
    place = np.array([[0.15 * i, 0.0, HEIGHT - 40.0] for i in range(40)])
    lines = [
        scan_line(
            SONAR.spec,
            noisy(SONAR, ideal(SONAR, environment, tuple(p), rpy), i * 100_000_000)['intensity'],
        )
        for i, p in enumerate(place)
    ]
    turn = np.tile(quaternion_from_rpy(*rpy), (len(place), 1))
    return SideScanPings(
        np.arange(len(place)) * 100_000_000,
        np.array(lines),
        place,
        turn,
        rotation_matrix(turn) @ SONAR.rotation,
        np.full(len(place), HEIGHT),
    )


@pytest.mark.parametrize('roll', [0.0, 0.2, -0.35])
def test_pixels_lie_on_the_bottom(roll):
    """y = ∓√(r² − h²) to port and starboard, whatever the roll; none above the bottom."""
    pings = track_over(rpy=(roll, 0.0, 0.0))
    places, ranges = ground_positions(SONAR, pings)[3], bin_ranges(SONAR.spec)
    far = ranges > HEIGHT
    away = np.sqrt(ranges[far] ** 2 - HEIGHT**2)
    port, starboard = places[: len(ranges)][::-1], places[len(ranges) :]
    assert port[far, 1] == pytest.approx(away, abs=1e-6)
    assert starboard[far, 1] == pytest.approx(-away, abs=1e-6)
    assert port[far, 0] == pytest.approx(0.45)
    assert np.isnan(port[~far]).all()


def test_a_pitched_beam_meets_the_bottom_ahead():
    """The beams' plane, pitched down by p from straight down: x = h tan p to the middle."""
    pings = track_over(rpy=(0.0, -0.1, 0.0))
    places, bins = ground_positions(SONAR, pings)[0], len(bin_ranges(SONAR.spec))
    valid = np.isfinite(places[bins:, 0])
    assert places[bins:, 0][valid] == pytest.approx(HEIGHT * math.tan(0.1), abs=1e-6)


def test_a_mosaic_shows_a_pipe_blocks_and_their_shadows():
    """Shadows are y h/(H − h) long behind the far edge y of a block h high, within 5 %."""
    high = Obstacle('high', 'box', [2.0, 1.0, 2.0], [3.0, 12.0, -39.0], material='concrete')
    low = Obstacle('low', 'box', [2.0, 2.0, 1.2], [3.0, -18.0, -39.4], material='concrete')
    lying = quaternion_from_rpy(0.0, math.pi / 2, 0.0)
    pipe = Obstacle(
        'pipe', 'cylinder', [1.0, 1.0, 40.0], [0.0, -10.0, -39.5], lying, material='steel'
    )
    mosaic = make_mosaic(SONAR, track_over(high, low, pipe))
    rows, columns = mosaic.pixels.shape
    x = mosaic.origin[0] + mosaic.spacing * np.arange(columns)
    y = mosaic.origin[1] + mosaic.spacing * np.arange(rows)
    profile = mosaic.pixels[:, np.abs(x - 3.0) < 0.7].astype(float).mean(axis=1)

    def shadow(near, far):
        dark = np.abs(y[(profile < 55) & (y > near) & (y < far)])
        return dark.min() - mosaic.spacing / 2, dark.max() + mosaic.spacing / 2

    # Dark begins before the far edge: the top of a block is nearer than the bottom below it.
    assert shadow(11.0, 25.0)[1] - 12.5 == pytest.approx(12.5 * 2.0 / (HEIGHT - 2.0), rel=0.05)
    assert shadow(-30.0, -17.0)[1] - 19.0 == pytest.approx(19.0 * 1.2 / (HEIGHT - 1.2), rel=0.05)
    # The ray that touches the pipe: its shadow ends where tan(a) h = y, a = atan(d/v) + asin(R/l).
    line = math.hypot(10.0, 7.5)
    end = HEIGHT * math.tan(math.atan2(10.0, 7.5) + math.asin(0.5 / line))
    assert shadow(-15.0, -9.0)[1] == pytest.approx(end, rel=0.02)
    assert shadow(-15.0, -9.0)[1] - 10.0 == pytest.approx(end - 10.0, rel=0.05)
    beside = mosaic.pixels[np.abs(np.abs(y) - 5) < 1]
    assert np.mean(beside == 0) < 1e-3  # no gaps between pings


def test_a_projection_is_the_plane_of_map_near_its_origin():
    pyproj = pytest.importorskip('pyproj')
    origin = Origin(latitude=59.9, longitude=10.7)
    points = np.array([[0.0, 0.0, 0.0], [10_000.0, 0.0, 0.0], [-3000.0, 9000.0, 0.0]])
    latitude, longitude = origin.coordinates(points)
    project = pyproj.Transformer.from_crs('EPSG:4326', map_projection(origin), always_xy=True)
    found = np.stack(project.transform(longitude, latitude), axis=-1)
    assert found == pytest.approx(points[:, :2], abs=0.02)
    assert found[0] == pytest.approx([0, 0], abs=1e-6)


SENSORS_OF_A_SURVEY = (
    '<sensor type="multibeam" preset="seabat_7125"><beams>128</beams>'
    '<origin xyz="0.2 0 -0.1" rpy="3.14159265358979 0 0"/></sensor>'
    '<sensor type="side_scan" preset="starfish_450f"><bins>300</bins>'
    '<origin rpy="3.14159265358979 0 0"/></sensor></robot>'
)


@pytest.fixture(scope='module')
def survey(tmp_path_factory):
    """Return the folder of a run of 2 s over rock, and its report with all files."""
    for package in ('rasterio', 'pyxtf', 'laspy'):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp('survey')
    urdf, world = folder / 'surveyor.urdf', folder / 'rock.yaml'
    text = (ROOT / 'urdf' / 'torpedo_auv.urdf').read_text(encoding='utf-8')
    urdf.write_text(text.replace('</robot>', SENSORS_OF_A_SURVEY), encoding='utf-8')
    world.write_text(
        'terrain: {generator: rock, depth: 26.0, relief: 6.0, size: [128.0, 128.0], '
        'spacing: 0.5, seed: 2, material: rock}\n'
        'origin: {latitude: 59.9, longitude: 10.7, heading: 30.0}\n',
        encoding='utf-8',
    )
    files = ['--grid', '--mosaic', '--xtf', '--kmall', '--cloud']
    given = ['--vehicle', str(urdf), '--environment', str(world), '--table', 'none']
    for command in (
        ['simulate', str(urdf), '--scenario', 'lawn_mower', '--duration', '2', '--environment',
         str(world), '--record', str(folder / 'run')],
        ['analyze', str(folder / 'run'), '-o', str(folder / 'out'), *given, *files, 'las'],
        ['analyze', str(folder / 'run'), '-o', str(folder / 'ply'), *given, '--cloud', 'ply'],
    ):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(command)
    assert ended.value.code == 0
    return folder


@pytest.mark.long
def test_pyxtf_reads_the_lines_that_were_sent(survey):
    import pyxtf

    vehicle, world = (
        load_vehicle(survey / 'surveyor.urdf'),
        load_environment(str(survey / 'rock.yaml')),
    )
    sonar = next(s for s in vehicle.sensors if s.kind == 'side_scan')
    sent = side_scan_pings(str(survey / 'run'), '/torpedo_auv', sonar, world)
    header, packets = pyxtf.xtf_read(str(survey / 'out' / 'side_scan_run_side_scan.xtf'))
    pings = packets[pyxtf.XTFHeaderType.sonar]
    assert len(pings) == len(sent.stamps) == 20
    assert header.NavUnits == pyxtf.XTFNavUnits.latlon.value
    for ping, line, stamp, altitude in zip(
        pings, sent.lines, sent.stamps, sent.altitude, strict=True
    ):
        assert np.array_equal(np.concatenate(ping.data), line)
        assert ping.NavFixMilliseconds == stamp // 1_000_000
        assert ping.SensorPrimaryAltitude == pytest.approx(altitude, abs=1e-4)
        assert ping.SensorYcoordinate == pytest.approx(59.9, abs=1e-3)
        assert [c.NumSamples for c in ping.ping_chan_headers] == [300, 300]
        assert ping.NumBytesThisRecord % 64 == 0
    # It goes along x of map, of which the y axis points to 30 degrees.
    assert pings[-1].SensorHeading == pytest.approx(120.0, abs=5.0)
    assert pyxtf.concatenate_channel(pings, header, 0, weighted=False).shape == (20, 300)


@pytest.mark.long
def test_rasterio_places_the_grid_and_its_errors(survey):
    import rasterio

    metrics = json.loads((survey / 'out' / 'metrics.json').read_text(encoding='utf-8'))
    numbers = metrics['bathymetry']['run']['multibeam']
    world = load_environment(str(survey / 'rock.yaml'))
    with rasterio.open(survey / 'out' / 'bathymetry_run_multibeam.tif') as grid:
        height, count, error = grid.read()
        assert np.nansum(count) == numbers['soundings']
        rms = np.sqrt(np.nanmean(error**2))
        assert rms == pytest.approx(numbers['grid_rms'], rel=1e-3)
        assert rms < 0.1
        row, column = np.argwhere(np.isfinite(height))[37]
        east, north = grid.xy(row, column)
        x, y, _ = world.origin.in_map(np.array([east, north, 0.0]))
        assert height[row, column] - error[row, column] == pytest.approx(
            world.scene.ground(x, y), abs=1e-4
        )
        assert grid.crs.to_dict()['lat_0'] == pytest.approx(59.9)
    assert list(numbers['percentiles']) == ['50', '90', '95', '99']
    assert np.all(np.diff(list(numbers['percentiles'].values())) > 0)
    with rasterio.open(survey / 'out' / 'mosaic_run_side_scan.tif') as mosaic:
        assert mosaic.dtypes == ('uint8',)
        assert np.mean(mosaic.read(1) > 0) > 0.3
    assert (survey / 'out' / 'mosaic_run_side_scan.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.long
def test_clouds_are_the_soundings(survey):
    import laspy

    table = np.loadtxt(survey / 'out' / 'bathymetry_run_multibeam.xyz')
    las = laspy.read(survey / 'out' / 'cloud_run_multibeam.las')
    content = (survey / 'ply' / 'cloud_run_multibeam.ply').read_bytes()
    head, _, body = content.partition(b'end_header\n')
    assert f'element vertex {len(las.x)}'.encode() in head
    ply = np.frombuffer(body, '<f8').reshape(-1, 5)
    assert np.column_stack([las.x, las.y, las.z]) == pytest.approx(ply[:, :3], abs=0.00051)
    assert np.asarray(las.level) == pytest.approx(ply[:, 3], rel=1e-6)
    assert np.asarray(las.gps_time) == pytest.approx(ply[:, 4])
    assert ply[:, 2].mean() == pytest.approx(table[:, 2].mean(), abs=0.5)


def test_bad_options_are_one_line(tmp_path, capsys):
    for options, expected in ((['--spacing', '0'], '0.01 to 1000'), (['--cloud', 'laz'], 'las')):
        with pytest.raises(SystemExit) as ended:
            main(['analyze', str(tmp_path), *options])
        assert ended.value.code == 2
        assert expected in capsys.readouterr().err


@pytest.mark.long
def test_a_run_without_sonars_says_that_there_are_no_files(tmp_path, capsys):
    pytest.importorskip('rasterio')
    run = str(tmp_path / 'run')
    for command in (
        ['simulate', 'bluerov2', '--scenario', 'excitation', '--duration', '0.1', '--record', run],
        ['analyze', run, '-o', str(tmp_path / 'plain'), '--table', 'none'],
        ['analyze', run, '-o', str(tmp_path / 'out'), '--table', 'none', '--grid'],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == int('--grid' in command)
    assert '--grid: no file: expected a bag' in capsys.readouterr().err
    assert (tmp_path / 'out' / 'report.html').is_file()  # what else there was to tell
    assert not list(Path(tmp_path / 'out').glob('*.tif'))
