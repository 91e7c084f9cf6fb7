# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ocean data from NetCDF files beside xarray's interpolation, gaps, units, and bad files."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.processes import Limits
from marine_sim_ros.environment import ocean_data
from marine_sim_ros.environment.ocean_data import read_fields
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate_outcome

netcdf = pytest.importorskip('netCDF4', reason='netCDF4: not installed (extra geo)')
gsw = pytest.importorskip('gsw', reason='gsw: not installed (extra sensors)')

LATITUDE, LONGITUDE = np.linspace(59.0, 59.2, 9), np.linspace(10.0, 10.4, 11)
DEPTH, TIME = np.array([0.5, 2.0, 7.0, 20.0, 60.0]), np.arange(4.0)
PLACE = 59.1, 10.2
NAMES = {
    'thetao': 'sea_water_potential_temperature', 'so': 'sea_water_salinity',
    'uo': 'eastward_sea_water_velocity', 'vo': 'northward_sea_water_velocity',
}  # fmt: skip
UNITS = {'thetao': 'degrees_C', 'so': '1e-3', 'uo': 'm s-1', 'vo': 'm s-1'}


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """Read files in this process, but for a test that asks for one of its own."""
    if 'isolated' not in request.fixturenames:
        monkeypatch.setattr(ocean_data, 'call_isolated', lambda _, file, *rest: read_fields(*file))


@pytest.fixture
def isolated():
    """Read files as users do."""


def drawn(seed=1):
    rng = np.random.default_rng(seed)
    shape = tuple(map(len, (TIME, DEPTH, LATITUDE, LONGITUDE)))
    ranges = {'thetao': (2, 18), 'so': (10, 35), 'uo': (-1, 1), 'vo': (-1, 1)}
    return {name: rng.uniform(*ends, shape) for name, ends in ranges.items()}


def write(path, values, *, flip=False, standard=NAMES, units=UNITS, form='NETCDF4'):
    """Write a file of an ocean model, from north to south if it is to be flipped."""
    step = -1 if flip else 1
    with netcdf.Dataset(path, 'w', format=form) as data:
        axes = {
            'time': (TIME, 'hours since 2026-07-01 00:00:00', 'time'),
            'depth': (DEPTH, 'm', 'depth'),
            'lat': (LATITUDE[::step], 'degrees_north', 'latitude'),
            'lon': (LONGITUDE, 'degrees_east', 'longitude'),
        }
        for name, (axis, unit, kind) in axes.items():
            data.createDimension(name, len(axis))
            variable = data.createVariable(name, 'f8', (name,))
            variable[:], variable.units, variable.standard_name = axis, unit, kind
        for name, array in values.items():
            variable = data.createVariable(name, 'f8', tuple(axes), fill_value=-999.0)
            variable.units, variable.standard_name = units[name], standard.get(name, '')
            variable[:] = np.ma.masked_invalid(array[:, :, ::step])


def environment(folder, more='', heading=0.0, start=''):
    (folder / 'sea.yaml').write_text(
        f'{start and f"start: {start}"}\n'
        f'origin: {{latitude: {PLACE[0]}, longitude: {PLACE[1]}, heading: {heading}}}\n'
        f'water: {{data: {{file: sea.nc{more}}}}}\n'
    )
    return load_environment(folder / 'sea.yaml')


@pytest.mark.parametrize('heading', [0.0, 30.0])
@pytest.mark.parametrize('flip', [False, True])
def test_fields_are_those_that_scipy_interpolates(flip, heading, tmp_path):
    scipy = pytest.importorskip('scipy.interpolate')
    values = drawn()
    write(tmp_path / 'sea.nc', values, flip=flip)
    water = environment(tmp_path, '', heading, '2026-07-01T00:30:00Z')
    rng = np.random.default_rng(4)
    count = 10_000
    hours = rng.uniform(0.0, 3.0, count)
    depth = rng.uniform(0.5, 60.0, count)
    latitude, longitude = rng.uniform(59.0, 59.2, count), rng.uniform(10.0, 10.4, count)
    local = np.array(
        [water.origin.offset(*p) for p in zip(latitude.tolist(), longitude.tolist(), strict=True)]
    )
    points = water.origin.in_map(np.column_stack([local, -depth]))
    seconds, where = 3600 * (hours - 0.5), (hours, depth, latitude, longitude)
    found = {}
    for name in NAMES:
        axes = TIME, DEPTH, LATITUDE, LONGITUDE
        found[name] = scipy.interpn(axes, values[name], np.column_stack(where))
    np.testing.assert_allclose(
        water.fields.value('salinity', points, seconds), found['so'], rtol=0, atol=1e-6
    )
    current = water.origin.enu(water.fields.velocity(points, seconds))
    np.testing.assert_allclose(current[:, 0], found['uo'], rtol=0, atol=1e-6)
    np.testing.assert_allclose(current[:, 1], found['vo'], rtol=0, atol=1e-6)
    assert np.abs(current[:, 2]).max() < 1e-12


def test_fields_are_those_that_xarray_interpolates(tmp_path):
    xarray = pytest.importorskip('xarray')
    write(tmp_path / 'sea.nc', drawn(2), flip=True)
    water, rng = environment(tmp_path), np.random.default_rng(4)
    hours, depth = rng.uniform(0.0, 3.0, 1000), rng.uniform(0.5, 60.0, 1000)
    latitude, longitude = rng.uniform(59.0, 59.2, 1000), rng.uniform(10.0, 10.4, 1000)
    places = zip(latitude.tolist(), longitude.tolist(), strict=True)
    points = np.column_stack([[water.origin.offset(*p) for p in places], -depth])
    with xarray.open_dataset(tmp_path / 'sea.nc', decode_times=False) as data:
        where = dict(time=hours, depth=depth, lat=latitude, lon=longitude)
        asked = {name: xarray.DataArray(x, dims='point') for name, x in where.items()}
        wanted = data['so'].interp(asked).values
    found = water.fields.value('salinity', points, 3600 * hours)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def test_potential_temperature_becomes_that_in_situ(tmp_path):
    values = drawn()
    values['thetao'][:], values['so'][:] = 4.0, 35.0
    write(tmp_path / 'sea.nc', values)
    water = environment(tmp_path)
    pressure = gsw.p_from_z(-60.0, PLACE[0])
    absolute = gsw.SA_from_SP(35.0, pressure, *PLACE[::-1])
    wanted = gsw.t_from_CT(absolute, gsw.CT_from_pt(absolute, 4.0), pressure)
    assert water.water_temperature(np.array([0.0, 0.0, -60.0])) == pytest.approx(wanted, abs=1e-9)
    assert wanted > 4.003


def test_land_and_ground_have_the_nearest_water(tmp_path, caplog, isolated):
    values = drawn()
    for array in values.values():
        array[:, :, :, :4] = np.nan  # land in the west
        array[:, -1] = np.nan  # and no water at 60 m
    write(tmp_path / 'sea.nc', values)
    water = environment(tmp_path)
    west = water.origin.in_map(np.array([*water.origin.offset(59.1, 10.0), -7.0]))
    shore = water.origin.in_map(np.array([*water.origin.offset(59.1, 10.16), -7.0]))
    for name in ('salinity', 'temperature'):
        found, wanted = (float(water.fields.value(name, p, 0.0)) for p in (west, shore))
        assert found == pytest.approx(wanted, rel=1e-9)
    deep, last = np.array([[2000.0, 0.0, -60.0], [2000.0, 0.0, -20.0]])
    assert water.water_salinity(deep) == pytest.approx(float(water.water_salinity(last)))
    assert 'have no water' in caplog.text


def test_a_run_starts_at_a_time_of_the_file_and_knows_no_other(tmp_path):
    write(tmp_path / 'sea.nc', drawn())
    assert environment(tmp_path).fields.time[0] == 0.0
    late = environment(tmp_path, start='2026-07-01T01:00:00Z')
    np.testing.assert_allclose(late.fields.time, [-3600, 0, 3600, 7200])
    with pytest.raises(ParameterError, match=r'start is 2027'):
        environment(tmp_path, start='2027-01-01T00:00:00Z')
    with pytest.raises(ParameterError, match='expected a date'):
        environment(tmp_path, start='soon')


def test_reach_cuts_the_grid_and_keeps_what_is_in_it(tmp_path):
    write(tmp_path / 'sea.nc', drawn())
    whole, part = environment(tmp_path), environment(tmp_path, ', reach: 3000')
    assert part.fields.salinity.size < whole.fields.salinity.size
    points = np.random.default_rng(6).uniform((-2900, -2900, -50), (2900, 2900, 0), (200, 3))
    for name in ('temperature', 'salinity', 'east'):
        np.testing.assert_allclose(
            part.fields.value(name, points, 100.0), whole.fields.value(name, points, 100.0),
            rtol=1e-12,
        )  # fmt: skip


def test_leaving_the_data_is_told(tmp_path):
    write(tmp_path / 'sea.nc', drawn())
    water = environment(tmp_path, start='2026-07-01T01:00:00Z')
    inside = np.array([[0.0, 0.0, -5.0], [5000.0, -8000.0, -50.0]])
    assert water.beyond_data(inside, np.array([0.0, 7000.0])) == ''
    far = np.array([[0.0, 0.0, -5.0], [0.0, 15_000.0, -5.0], [0.0, 20_000.0, -5.0]])
    told = water.beyond_data(far, np.array([0.0, 10.0, 20.0]))
    assert told.startswith(
        'the vehicle is beyond the area of the data of sea at 10 s, x 0, y 15000'
    )
    told = water.beyond_data(far[:1], np.array([7300.0]))
    assert 'beyond the times of the data of sea at 7300 s' in told
    vehicle, scenario = load_vehicle('simple_rov'), load_scenario('dive')
    for place, expected in (((0.0, 0.0, -1.0), False), ((0.0, 15_000.0, -1.0), True)):
        outcome = simulate_outcome(
            vehicle, replace(scenario, position=place), environment=water, dt=0.01, duration=0.05
        )
        assert bool(outcome.beyond_data) is expected


def test_the_current_moves_with_the_time_of_the_file(tmp_path):
    values = drawn()
    values['uo'][:] = np.array([0.0, 0.4, 0.8, 1.2])[:, None, None, None]
    values['vo'][:] = 0.0
    write(tmp_path / 'sea.nc', values)
    water = environment(tmp_path)
    assert not water.is_still
    assert not water.is_steady
    for seconds, wanted in ((0.0, 0.0), (1800.0, 0.2), (9000.0, 1.0), (99_999.0, 1.2)):
        found = water.at(seconds).velocity(np.array([10.0, -20.0, -4.0]))
        np.testing.assert_allclose(found, [wanted, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        ({'units': {**UNITS, 'so': 'kg'}}, "unit of so is 'kg'"),
        ({'units': {**UNITS, 'thetao': 'K'}}, 'expected -3 to 45 as temperature'),
    ],
)
def test_wrong_units_are_one_line(change, said, tmp_path):
    write(tmp_path / 'sea.nc', drawn(), **change)
    with pytest.raises(ParameterError) as caught:
        environment(tmp_path)
    assert said in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_file_of_another_place_or_kind_is_one_line(tmp_path):
    write(tmp_path / 'sea.nc', {k: v for k, v in drawn().items() if k != 'so'})
    with pytest.raises(ParameterError, match='expected temperature and salinity'):
        environment(tmp_path)
    write(tmp_path / 'sea.nc', drawn())
    (tmp_path / 'far.yaml').write_text(
        'origin: {latitude: 10, longitude: 10.2}\nwater: {data: {file: sea.nc}}\n'
    )
    with pytest.raises(ParameterError, match='the origin, 10, is outside'):
        load_environment(tmp_path / 'far.yaml')
    (tmp_path / 'sea.nc').write_bytes(b'not a file of data')
    with pytest.raises(ParameterError, match='cannot be read as NetCDF'):
        environment(tmp_path)


def test_damaged_files_are_read_or_refused_in_one_line(tmp_path):
    write(tmp_path / 'good.nc', drawn(), form='NETCDF3_CLASSIC')
    good = (tmp_path / 'good.nc').read_bytes()
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(30):
        damaged = bytearray(good)
        for place in rng.integers(0, 1500, 4):
            damaged[place] = rng.integers(256)
        (tmp_path / 'sea.nc').write_bytes(damaged[: int(rng.integers(200, len(good)))])
        try:
            read_fields(tmp_path / 'sea.nc', Origin(*PLACE), None, 20_000.0)
        except ParameterError:  # others would end the test
            refused += 1
    assert refused > 10


def test_a_file_that_breaks_the_library_ends_only_the_process_that_reads_it(
    tmp_path, monkeypatch, isolated
):
    write(tmp_path / 'sea.nc', drawn())
    monkeypatch.setattr(ocean_data, '_LIMITS', Limits(seconds=60, data=1 << 20))
    with pytest.raises(ParameterError) as caught:
        environment(tmp_path)
    assert 'sea.nc' in str(caught.value)
    assert '\n' not in str(caught.value)


# Grids of ROMS: rows and columns, levels that follow the seabed, velocities on the sides of cells.

ROWS, COLUMNS, S = 12, 9, (np.arange(10) - 9.5) / 10.0
CURVE = (1 - np.cosh(3.0 * S)) / (np.cosh(3.0) - 1)


def roms_places(turn=25.0, mirrored=False):
    """Return latitude and longitude (n, e) of a bent grid, turned by degrees."""
    across, along = np.meshgrid(np.arange(COLUMNS) - 4.0, np.arange(ROWS) - 5.5)
    across = -across if mirrored else across
    radius, angle = 60.0 + along, across / 60.0  # km, rings about a place to the south
    x, y = radius * np.sin(angle), radius * np.cos(angle) - 60.0
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    east, north = c * x - s * y, s * x + c * y
    return PLACE[0] + north / 111.0, PLACE[1] + east / (111.0 * np.cos(np.radians(PLACE[0])))


def write_roms(path, values, places, bottom, level, *, standard='ocean_s_coordinate_g2'):
    with netcdf.Dataset(path, 'w') as data:
        sizes = {
            'ocean_time': 3, 's_rho': len(S), 'eta_rho': ROWS, 'xi_rho': COLUMNS,
            'eta_u': ROWS, 'xi_u': COLUMNS - 1, 'eta_v': ROWS - 1, 'xi_v': COLUMNS,
        }  # fmt: skip
        for name, size in sizes.items():
            data.createDimension(name, size)

        def add(name, dimensions, array, **attributes):
            variable = data.createVariable(name, 'f8', dimensions, fill_value=-999.0)
            variable[:] = np.ma.masked_invalid(array)
            variable.setncatts(attributes)

        add('ocean_time', ('ocean_time',), 3600.0 * np.arange(3.0),
            units='seconds since 2026-07-01 00:00:00')  # fmt: skip
        terms = 's: s_rho C: Cs_r eta: zeta depth: h depth_c: hc'
        add('s_rho', ('s_rho',), S, standard_name=standard, positive='up', formula_terms=terms)
        add('Cs_r', ('s_rho',), CURVE)
        add('hc', (), 20.0)
        horizontal = 'eta_rho', 'xi_rho'
        add('lat_rho', horizontal, places[0], units='degree_north', standard_name='latitude')
        add('lon_rho', horizontal, places[1], units='degree_east', standard_name='longitude')
        add('h', horizontal, bottom, units='meter')
        add('zeta', ('ocean_time', *horizontal), level, units='meter')
        units = {'temp': 'Celsius', 'salt': '', 'u': 'meter second-1', 'v': 'meter second-1'}
        for name, array in values.items():
            side = name if name in 'uv' else 'rho'
            over = 'ocean_time', 's_rho', f'eta_{side}', f'xi_{side}'
            add(name, over, array, units=units[name].replace('meter second', 'm s'))


def roms_values(seed=3):
    rng = np.random.default_rng(seed)
    shape = 3, len(S), ROWS, COLUMNS
    bottom = rng.uniform(40, 300, shape[2:])
    level = rng.uniform(-1, 1, (3, ROWS, COLUMNS))
    values = {'temp': rng.uniform(2, 18, shape), 'salt': rng.uniform(10, 35, shape)}
    values['u'] = rng.uniform(-1, 1, (3, len(S), ROWS, COLUMNS - 1))
    values['v'] = rng.uniform(-1, 1, (3, len(S), ROWS - 1, COLUMNS))
    return values, bottom, level


def bilinear(field, row, column):
    """Return a field (..., n, e) at numbers of rows and columns (p,), (..., p), by SciPy."""
    from scipy.interpolate import interpn

    axes = np.arange(ROWS), np.arange(COLUMNS)
    over = np.moveaxis(field, (-2, -1), (0, 1))
    return np.moveaxis(interpn(axes, over, np.column_stack([row, column])), 0, -1)


@pytest.mark.parametrize('mirrored', [False, True])
def test_fields_of_roms_are_linear_in_its_rows_columns_and_levels(mirrored, tmp_path):
    pytest.importorskip('scipy.interpolate')
    values, bottom, level = roms_values()
    places = roms_places(mirrored=mirrored)
    write_roms(tmp_path / 'sea.nc', values, places, bottom, level)
    water, rng = environment(tmp_path), np.random.default_rng(8)
    count = 10_000
    row, column = rng.uniform(0, ROWS - 1, count), rng.uniform(0, COLUMNS - 1, count)
    latitude, longitude = (bilinear(place, row, column) for place in places)
    # The equation of the CF conventions: z = ζ + (ζ + h) S, and the depth is ζ − z.
    stretched = 20.0 * S[:, None, None] + bottom * CURVE[:, None, None]
    depths = -(level[:, None] + bottom) * (stretched / (20.0 + bottom))
    hours = rng.uniform(0, 2, count)
    first = np.minimum(hours.astype(int), 1)
    later = hours - first

    def in_time(field):
        at = bilinear(field, row, column)  # (t, z, p)
        points = np.arange(count)
        return (1 - later) * at[first, :, points].T + later * at[first + 1, :, points].T

    columns = in_time(depths)[::-1]  # (z, p) from the surface
    depth = rng.uniform(0.0, 1.0, count) * (columns[-1] - columns[0]) + columns[0]
    local = np.column_stack([*water.origin.level(latitude, longitude), -depth])
    points = water.origin.in_map(local)
    salinity = in_time(values['salt'])[::-1]
    wanted = [np.interp(depth[i], columns[:, i], salinity[:, i]) for i in range(count)]
    found = water.fields.value('salinity', points, 3600 * hours)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    for i in range(0, count, 1000):
        assert water.fields.value('salinity', points[i], 3600 * hours[i]) == found[i]
    assert not any(np.any(beyond) for beyond in water.fields.beyond(points, 3600 * hours))
    far = water.fields.beyond(points + np.array([1e5, 0.0, 0.0]), 3600 * hours)
    assert np.all(far[0])
    assert not np.any(far[1])


def test_density_of_roms_is_that_of_its_water(tmp_path):
    values, bottom, level = roms_values()
    write_roms(tmp_path / 'sea.nc', values, roms_places(), bottom, level)
    fields = environment(tmp_path).fields
    points = np.random.default_rng(2).uniform((-2000, -2000, -39), (2000, 2000, 0), (200, 3))
    temperature, salinity = (fields.value(n, points, 0.0) for n in ('temperature', 'salinity'))
    absolute = gsw.SA_from_SP(salinity, pressure := gsw.p_from_z(points[:, 2], 59.1), 10.2, 59.1)
    wanted = gsw.rho_t_exact(absolute, temperature, pressure)
    # Between nodes as different as these TEOS-10 is not linear.
    np.testing.assert_allclose(fields.density(points, 0.0), wanted, rtol=0, atol=0.5)
    for point in points[:5]:
        depths = np.linspace(0.0, -point[2], 20_001)
        column = np.column_stack([np.tile(point[:2], (len(depths), 1)), -depths])
        density = fields.density(column, 0.0)
        mass = np.sum(np.diff(depths) * (density[1:] + density[:-1]) / 2)
        assert fields.mass_above(point, 0.0) == pytest.approx(mass, rel=1e-8)


def test_currents_on_the_sides_of_cells_become_east_and_north(tmp_path):
    values, bottom, level = roms_values()
    for mirrored in (False, True):
        places = roms_places(mirrored=mirrored)
        east = np.gradient(places[1], axis=1) * np.cos(np.radians(places[0]))
        angle = np.arctan2(np.gradient(places[0], axis=1), east)
        hand = -1.0 if mirrored else 1.0
        flow = 0.3, -0.2  # m/s east and north everywhere
        along = flow[0] * np.cos(angle) + flow[1] * np.sin(angle)
        across = hand * (-flow[0] * np.sin(angle) + flow[1] * np.cos(angle))
        values['u'][:] = (along[:, 1:] + along[:, :-1]) / 2
        values['v'][:] = (across[1:] + across[:-1]) / 2
        write_roms(tmp_path / 'sea.nc', values, places, bottom, level)
        water = environment(tmp_path)
        points = np.random.default_rng(2).uniform((-2000, -2000, -39), (2000, 2000, 0), (50, 3))
        found = water.fields.velocity(points, 100.0)
        np.testing.assert_allclose(found, [[*flow, 0.0]] * 50, atol=1e-3)


def test_the_compiled_fields_of_roms_are_the_same(tmp_path):
    jnp = pytest.importorskip('jax.numpy', reason='jax: not installed (extra batch)')
    import jax

    values, bottom, level = roms_values()
    write_roms(tmp_path / 'sea.nc', values, roms_places(), bottom, level)
    fields = environment(tmp_path).fields
    points = np.random.default_rng(2).uniform((-3000, -3000, -300), (3000, 3000, 0), (300, 3))
    with jax.enable_x64(True) if hasattr(jax, 'enable_x64') else jax.experimental.enable_x64():
        for function in (fields.density, fields.velocity, fields.mass_above):
            compiled = jax.jit(function)(jnp.asarray(points), jnp.asarray(1234.0))
            np.testing.assert_allclose(compiled, function(points, 1234.0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        (dict(standard='ocean_s_coordinate_g3'), "is 'ocean_s_coordinate_g3'; expected"),
        (dict(places='far'), 'the origin, 59.1, 10.2, is outside'),
        (dict(places='folded'), 'curvilinear grid folds'),
        (dict(places='hole'), 'nodes within reach without latitude or longitude'),
    ],
)
def test_a_grid_of_no_use_is_one_line(change, said, tmp_path):
    values, bottom, level = roms_values()
    latitude, longitude = roms_places()
    kind = change.pop('places', '')
    if kind == 'far':
        latitude = latitude + 3.0
    elif kind == 'folded':
        longitude[5, 4] = longitude[5, 6]
    elif kind == 'hole':
        latitude[5, 4] = np.nan
    write_roms(tmp_path / 'sea.nc', values, (latitude, longitude), bottom, level, **change)
    with pytest.raises(ParameterError) as caught:
        environment(tmp_path)
    assert said in str(caught.value)
    assert '\n' not in str(caught.value)


def test_fields_of_roms_are_those_that_xarray_interpolates(tmp_path):
    xarray = pytest.importorskip('xarray')
    values, bottom, level = roms_values(5)
    write_roms(tmp_path / 'sea.nc', values, roms_places(), bottom, level)
    water, rng = environment(tmp_path), np.random.default_rng(6)
    row, column = rng.uniform(0, ROWS - 1, 2000), rng.uniform(0, COLUMNS - 1, 2000)
    seconds = rng.uniform(0, 7200, 2000)
    with xarray.open_dataset(tmp_path / 'sea.nc', decode_times=False) as data:
        stretched = (data.hc * data.s_rho + data.h * data.Cs_r) / (data.hc + data.h)
        data['d'] = -(data.zeta + data.h) * stretched
        where = dict(ocean_time=seconds, eta_rho=row, xi_rho=column)
        at = data[['salt', 'd', 'lat_rho', 'lon_rho']].assign_coords(
            eta_rho=np.arange(ROWS), xi_rho=np.arange(COLUMNS)
        )
        at = at.interp({name: xarray.DataArray(x, dims='point') for name, x in where.items()})
        columns, salinity = (at[n].transpose('s_rho', 'point').values[::-1] for n in ('d', 'salt'))
        places = at.lat_rho.values, at.lon_rho.values
    depth = columns[0] + rng.uniform(0, 1, 2000) * (columns[-1] - columns[0])
    points = water.origin.in_map(np.column_stack([*water.origin.level(*places), -depth]))
    wanted = [np.interp(*x) for x in zip(depth, columns.T, salinity.T, strict=True)]
    found = water.fields.value('salinity', points, seconds)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
