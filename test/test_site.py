# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrain of a place: heights against SciPy, positions against pyproj, damaged files."""

import faulthandler
import hashlib
import json
import os
import random
import re
import resource
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.interpolate import RegularGridInterpolator

from marine_sim_ros.analysis.nautical_chart import write_nautical_chart
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.importers.site import Site, _sample_site, fill_gaps, write_terrain
from marine_sim_ros.scene.bathymetry import read_soundings
from marine_sim_ros.tools.command_line import Parser
from marine_sim_ros.tools.main import main
from marine_sim_ros.tools.terrain import add_arguments

rasterio = pytest.importorskip('rasterio')
pyproj = pytest.importorskip('pyproj')

LATITUDE, LONGITUDE = 59.9, 10.7
UTM = 'EPSG:32632'


def sea(shape=(120, 150), seed=3):
    """Smooth heights from −60 to 20 m, m."""
    y, x = np.mgrid[: shape[0], : shape[1]] / 17.0
    phase = np.random.default_rng(seed).uniform(0, 6, 2)
    return (-20 + 25 * np.sin(x + phase[0]) + 15 * np.cos(1.3 * y + phase[1])).astype('f4')


def middle():
    return pyproj.Transformer.from_crs('EPSG:4326', UTM, always_xy=True).transform(
        LONGITUDE, LATITUDE
    )


def write_tiff(path, heights, size=10.0, **options):
    east, north = middle()
    rows, columns = heights.shape
    turn = rasterio.transform.from_origin(
        east - size * columns / 2, north + size * rows / 2, size, size
    )
    settings = {'crs': UTM, 'nodata': -9999.0, 'dtype': heights.dtype, **options}
    with rasterio.open(path, 'w', driver='GTiff', height=rows, width=columns, count=1,
                       transform=turn, **settings) as file:  # fmt: skip
        file.write(heights, 1)
        file.update_tags(TIFFTAG_COPYRIGHT='CC0 <made by a test>')
    return turn


def write_ascii(path, heights, corner, size):
    rows, columns = heights.shape
    lines = [' '.join(f'{h:.3f}' for h in row) for row in heights]
    path.write_text(
        f'ncols {columns}\nnrows {rows}\nxllcorner {corner[0]}\nyllcorner {corner[1]}\n'
        f'cellsize {size}\nNODATA_value -9999\n' + '\n'.join(lines) + '\n'
    )


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in arguments])
    return end.value.code


def site(path, **options):
    return Site(path, LATITUDE, LONGITUDE, **{'size': 800.0, **options})


def nodes(facts, count=1000):
    """Random points of a grid: indices, and east and north, m."""
    index = np.random.default_rng(4).integers(0, facts['points'][0], (2, count))
    return index, np.array(facts['corner'])[:, None] + facts['spacing'] * index


def test_heights_of_a_geotiff_are_within_1_cm_of_scipy_and_positions_of_pyproj(tmp_path):
    heights, path = sea(), tmp_path / 'bay.tif'
    turn = write_tiff(path, heights)
    facts = _sample_site(site(path), tmp_path / 'out.npy')
    (i, j), (east, north) = nodes(facts)
    tangent = pyproj.Transformer.from_pipeline(
        f'+proj=pipeline +step +inv +proj=topocentric +ellps=WGS84 +lon_0={LONGITUDE} '
        f'+lat_0={LATITUDE} +h_0=0 +step +inv +proj=cart +ellps=WGS84'
    )
    longitude, latitude, _ = tangent.transform(east, north, np.zeros(1000))
    origin = Origin(latitude=LATITUDE, longitude=LONGITUDE)
    found = origin.geographic(east, north)
    apart = np.hypot((found[0] - latitude) * 111e3, (found[1] - longitude) * 56e3)
    assert apart.max() < 1e-6
    np.testing.assert_allclose(origin.level(latitude, longitude), [east, north], atol=1e-6)
    x, y = pyproj.Transformer.from_crs('EPSG:4326', UTM, always_xy=True).transform(
        longitude, latitude
    )
    column, row = (x - turn.c) / turn.a, (y - turn.f) / turn.e
    rows, columns = (np.arange(n) + 0.5 for n in heights.shape)
    expected = RegularGridInterpolator((rows, columns), heights.astype(float))((row, column))
    written = np.load(tmp_path / 'out.npy')
    assert np.abs(written[j, i] - expected).max() < 0.01
    assert facts['crs'] == UTM
    assert facts['resolution'] == pytest.approx(10, rel=1e-3)
    assert facts['gaps_filled'] == 0
    assert facts['highest'] > 0


def write_netcdf(path, heights, kind='NETCDF4', step=0.0005, **attributes):
    """Write heights about the place by latitude and longitude; return these, degrees."""
    netcdf = pytest.importorskip('netCDF4')
    axes = []
    with netcdf.Dataset(path, 'w', format=kind) as file:
        for n, (name, middle) in enumerate((('lat', LATITUDE), ('lon', LONGITUDE))):
            count = heights.shape[n]
            file.createDimension(name, count)
            values = file.createVariable(name, 'f8', (name,))
            values.units = 'degrees_north' if name == 'lat' else 'degrees_east'
            values[:] = middle + step * (1 + n) * (np.arange(count) - count / 2)
            axes.append(np.array(values[:]))
        if 'scale' in attributes:
            file.createVariable('quality', 'f4', ('lat', 'lon'))[:] = 1.0
        found = file.createVariable('elevation', heights.dtype, ('lat', 'lon'))
        found.set_auto_scale(False)
        if 'scale' in attributes:
            found.scale_factor = attributes['scale']
        found[:] = heights
        file.license, file.title = 'made by a test', 'a bay'
    return axes


def test_heights_of_a_netcdf_are_within_1_cm_of_scipy(tmp_path):
    values = np.round(sea((80, 90)) * 10).astype('i2')
    axes = write_netcdf(tmp_path / 'bay.nc', values, scale=0.1)
    facts = _sample_site(site(tmp_path / 'bay.nc'), tmp_path / 'out.npy')
    (i, j), (east, north) = nodes(facts)
    place = Origin(latitude=LATITUDE, longitude=LONGITUDE).geographic(east, north)
    expected = RegularGridInterpolator(axes, 0.1 * values)(place)
    assert np.abs(np.load(tmp_path / 'out.npy')[j, i] - expected).max() < 0.01
    assert facts['licence'] == 'made by a test'
    assert facts['title'] == 'a bay'


def test_an_ascii_grid_with_nodata_is_filled_and_counted(tmp_path):
    heights = sea((60, 60))
    heights[20:30, 25:45] = -9999
    path = tmp_path / 'bay.asc'
    east, north = middle()
    write_ascii(path, heights, (east - 300, north - 300), 10.0)
    with pytest.raises(ParameterError, match='--crs'):
        _sample_site(site(path, size=400.0), tmp_path / 'out.npy')
    with pytest.raises(ParameterError, match=r'Invalid projection: local; .* terrain: \{file'):
        _sample_site(site(path, size=400.0, crs='local'), tmp_path / 'out.npy')
    facts = _sample_site(site(path, size=400.0, spacing=10.0, crs=UTM), tmp_path / 'out.npy')
    written = np.load(tmp_path / 'out.npy')
    known = heights[heights > -9000]
    assert 150 <= facts['gaps_filled'] <= 260
    assert facts['gaps_beyond_file'] == 0
    assert known.min() <= written.min()
    assert written.max() <= known.max()


def test_soundings_of_a_plane_give_the_plane_and_gaps_beyond_them(tmp_path):
    origin = Origin(latitude=LATITUDE, longitude=LONGITUDE)
    east, north = np.random.default_rng(1).uniform(-300, 300, (2, 500))
    depth = 20 + 0.02 * east - 0.01 * north
    latitude, longitude = origin.geographic(east, north)
    path = tmp_path / 'lines.xyz'
    np.savetxt(path, np.stack([longitude, latitude, depth], axis=-1), fmt='%.9f')
    with pytest.raises(ParameterError, match='positive: down'):
        _sample_site(site(path, size=400.0), tmp_path / 'out.npy')
    options = {'size': 400.0, 'positive': 'down', 'spacing': 5.0, 'datum_offset': -1.5}
    facts = _sample_site(site(path, **options), tmp_path / 'out.npy')
    (i, j), (x, y) = nodes(facts)
    expected = -(20 + 0.02 * x - 0.01 * y) - 1.5
    assert np.abs(np.load(tmp_path / 'out.npy')[j, i] - expected).max() < 0.01
    wide = _sample_site(site(path, **{**options, 'size': 1000.0}), tmp_path / 'out.npy')
    assert wide['gaps_beyond_file'] == wide['gaps_filled'] > 0
    assert np.isfinite(np.load(tmp_path / 'out.npy')).all()


def test_gaps_take_the_mean_of_the_least_square_with_heights():
    level = np.full((64, 48), np.nan)
    level[40, 10] = -7.0
    assert fill_gaps(level) == 64 * 48 - 1
    assert np.all(level == -7.0)
    halves = np.where(np.arange(256) < 128, -10.0, -30.0) * np.ones((256, 1))
    halves[100:140, 20:60] = np.nan  # far from the step
    assert fill_gaps(halves) == 1600
    np.testing.assert_allclose(halves[100:140, 20:60], -10.0)


def test_a_chart_shows_vehicles_that_have_not_moved_yet(tmp_path):
    tracks = {'moved': np.array([[0.0, 0.0, -1.0], [5.0, 3.0, -1.0]]), 'not yet': np.zeros((0, 3))}
    for chosen in (tracks, {'not yet': tracks['not yet']}):
        write_nautical_chart(tmp_path / 'chart.png', load_environment('fjord'), 'A', chosen)
        assert (tmp_path / 'chart.png').stat().st_size > 10_000


def test_one_command_makes_a_site_that_a_vehicle_runs_over(tmp_path, capsys):
    path, output = tmp_path / 'bay.tif', tmp_path / 'my_site'
    heights = sea()
    heights[:20] = -9999
    write_tiff(path, heights)
    arguments = ['terrain', path, '--at', f'{LATITUDE}N,{LONGITUDE}E', '-o', output]
    assert run(*arguments, '--size', '1200', '--datum-offset', '-0.5') == 0
    printed = capsys.readouterr()
    manifest = json.loads((output / 'manifest.json').read_text())
    assert manifest['source']['sha256'] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest['source']['licence'] == 'CC0 <made by a test>'
    assert manifest['source']['gaps_filled'] > 0
    assert 'had no height' in printed.err
    assert (
        manifest['terrain']['sha256']
        == hashlib.sha256((output / 'terrain.npy').read_bytes()).hexdigest()
    )
    assert (output / 'chart.png').stat().st_size > 10_000
    environment = load_environment(str(output / 'environment.yaml'))
    assert environment.origin.latitude == LATITUDE
    east, north = middle()
    with rasterio.open(path) as file:
        column, row = (east - file.transform.c) / 10, (file.transform.f - north) / 10
        pixels = heights[int(row - 0.5) :, int(column - 0.5) :][:2, :2].astype(float)
    x, y = (column - 0.5) % 1, (row - 0.5) % 1
    expected = np.array([1 - y, y]) @ pixels @ np.array([1 - x, x]) - 0.5
    assert environment.scene.ground(0.0, 0.0) == pytest.approx(expected, abs=0.01)
    scenario = tmp_path / 'hold.yaml'
    scenario.write_text('duration: 0.2\nsegments: [{at: 0.0, depth: 1.0}]\n')
    assert yaml.safe_load((output / 'environment.yaml').read_text())['terrain']['file']
    assert run('simulate', 'bluerov2', '--scenario', scenario, '--environment', output) == 0


@pytest.mark.parametrize(
    ('text', 'expected'),
    [('-33.8,151.2', (-33.8, 151.2)), ('33.8S,151.2E', (-33.8, 151.2)), ('1,359', (1, -1))],
)
def test_a_place_may_be_in_the_south(text, expected):
    parser = Parser()
    add_arguments(parser)
    found = parser.parse_args(['x.tif', '--at', text, '-o', 'y', '--datum-offset', '-1.2'])
    assert found.at == pytest.approx(expected)
    assert found.datum_offset == -1.2


@pytest.mark.parametrize('text', ['91,0', '1', '1,2,3', '10E,20N', 'a,b', 'nan,0', '1,400', ''])
def test_what_is_no_place_is_refused(text, capsys):
    with pytest.raises(SystemExit):
        main(['terrain', 'x.tif', f'--at={text}', '-o', 'y'])
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_place_outside_the_file_and_what_is_no_raster_are_refused(tmp_path):
    path = tmp_path / 'bay.tif'
    write_tiff(path, sea())
    with pytest.raises(ParameterError, match='no height within'):
        write_terrain(Site(path, 10.0, 10.0, 500.0), tmp_path / 'out.npy')
    for name, content in (('a.tif', b'hello'), ('b.nc', b''), ('c.asc', b'ncols x\n')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ParameterError) as error:
            write_terrain(site(tmp_path / name), tmp_path / 'out.npy')
        assert '\n' not in str(error.value)
    (tmp_path / 'd.vrt').write_text('<VRTDataset/>')
    with pytest.raises(ParameterError, match='not a raster'):
        _sample_site(site(tmp_path / 'd.vrt'), tmp_path / 'out.npy')


# Damaged files.


def _seeds(folder):
    """Small files of each format."""
    heights = sea((24, 30))
    write_tiff(folder / 'a.tif', heights, 20.0)
    write_tiff(folder / 'b.tif', heights, 20.0, compress='deflate', tiled=True, blockxsize=16,
               blockysize=16)  # fmt: skip
    write_ascii(folder / 'c.asc', heights, (LONGITUDE - 0.005, LATITUDE - 0.003), 0.0003)
    y, x = np.mgrid[:9, :9] * 0.001 - 0.004
    rows = np.stack([LONGITUDE + x, LATITUDE + y, sea((9, 9))], axis=-1).reshape(-1, 3)
    np.savetxt(folder / 'd.xyz', rows, fmt='%.6f')
    write_netcdf(folder / 'e.nc', heights, 'NETCDF3_CLASSIC')
    write_netcdf(folder / 'f.nc', heights)
    return sorted(folder.iterdir())


def _mutate(content, chance):
    data = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        at = min(int(chance.expovariate(1 / 200)), len(data) - 1)
        at = chance.choice((at, chance.randrange(len(data))))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at : at + 4] = struct.pack('<I', chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF)))
        elif kind == 2:
            del data[at : at + chance.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = data[: chance.randrange(1, 9)]
        else:
            del data[max(at, 8) :]
        if not data:
            data = bytearray(b'0')
    return bytes(data)


def _read(path, target):
    try:
        _sample_site(site(path, size=300.0, spacing=20.0), target)
    except MarineSimError as error:
        return 'refused in lines' if '\n' in str(error) else 'refused'
    except MemoryError:
        return 'memory'
    except BaseException as error:
        return f'{type(error).__name__}: {error}'[:200].replace('\n', ' ')
    return 'read'


def _outcomes(paths, target):
    """Read files in a fork with the limits of the command; what came of each."""
    found = []
    while len(found) < len(paths):
        found += _fork(paths[len(found) :], target)
    return found


def _fork(paths, target):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        faulthandler.disable()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
        # This process may have much already; the command's has not.
        own = int(re.search(r'VmData:\s*(\d+)', Path('/proc/self/status').read_text())[1]) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (own + (1 << 30),) * 2)
        for path in paths:
            os.write(write, (_read(path, target) + '\n').encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding='utf-8') as pipe:
        found = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return found + ([f'signal {os.WTERMSIG(status)}'] if os.WIFSIGNALED(status) else [])


@pytest.mark.parametrize('count', [40, pytest.param(340, id='weekly')])
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path, count):
    seeds = tmp_path / 'seeds'
    seeds.mkdir()
    whole = _seeds(seeds)
    assert _outcomes(whole, tmp_path / 'out.npy') == ['read'] * len(whole)
    damaged = []
    for path in whole:
        chance = random.Random(f'{path.name} {count}')
        for n in range(count):
            damaged.append(tmp_path / f'{n}_{path.name}')
            damaged[-1].write_bytes(_mutate(path.read_bytes(), chance))
    found = Counter(_outcomes(damaged, tmp_path / 'out.npy'))
    crashed = sum(n for name, n in found.items() if name.startswith(('signal', 'memory')))
    assert found['read'] + found['refused'] + crashed == 6 * count, found
    assert 'signal 24' not in found, found  # none runs out of processor time
    assert found['refused'] > count, found
    assert crashed <= 0.02 * 6 * count, found


@pytest.mark.parametrize('head', ['Survey', 'x y z', 'Survey of the bay, by boat', 'x,y'])
def test_a_title_above_soundings_is_ignored(tmp_path, head):
    (tmp_path / 's.xyz').write_text(f'{head}\n0 0 -5\n1 0 -6\n0 1 -7\n')
    assert read_soundings(tmp_path / 's.xyz', 'up')[:, 2].tolist() == [-5, -6, -7]
    (tmp_path / 't.xyz').write_text(f'0 0 -5\n{head}\n1 0 -6\n0 1 -7\n')
    with pytest.raises(ParameterError, match=r't.xyz:2: .*expected three numbers'):
        read_soundings(tmp_path / 't.xyz', 'up')


@pytest.mark.parametrize('kept', [0.1, 0.5, 0.9, 0.999])
def test_an_ascii_grid_that_ends_too_early_or_is_no_text_is_refused_at_once(kept, tmp_path):
    """GDAL never returns from rows that are not there."""
    rows = [' '.join(f'{-20.0 - 0.1 * i - 0.01 * j:.2f}' for i in range(40)) for j in range(40)]
    header = 'ncols 40\nnrows 40\nxllcorner 10.7\nyllcorner 59.9\ncellsize 0.0005\n'
    body = '\n'.join(rows)
    path = tmp_path / 'short.asc'
    path.write_text(header + body[: int(kept * len(body))].rsplit(' ', 1)[0])
    site = Site(path, 59.91, 10.71, 400.0, 10.0)
    with pytest.raises(ParameterError, match='heights; expected 40 rows of 40 numbers'):
        write_terrain(site, tmp_path / 'terrain.npy')
    path.write_bytes((header + body).encode().replace(b'-20.5', b'-20\0.5', 1))
    with pytest.raises(ParameterError, match='not ASCII text'):
        write_terrain(site, tmp_path / 'terrain.npy')
    path.write_text(header + body)
    assert write_terrain(site, tmp_path / 'terrain.npy')['points'] == [41, 41]
