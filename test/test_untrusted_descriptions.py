# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions of strangers: nothing in them runs, all is bounded, and one line says why."""

import math
import os
import re
import time
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.core import packages
from marine_sim_ros.core.errors import MarineSimError, ModelError
from marine_sim_ros.model import xacro_expressions, xacro_rules
from marine_sim_ros.model.xacro_expansion import read_description
from marine_sim_ros.model.xacro_expressions import MATH, PYTHON, Budget, evaluate

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
BODY = """<link name="base_link"><inertial><mass value="{}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
"""


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + ''.join(lines) + '</robot>\n')
    return path


def refusal(path):
    """Return the one line with which a description is refused, soon."""
    begin = time.process_time()
    with pytest.raises(ModelError) as caught:
        load_vehicle(path)
    assert time.process_time() - begin < 15
    assert '\n' not in str(caught.value)
    return str(caught.value)


def computed(path, expression):
    """Return what the mass is that an expression gives."""
    return load_vehicle(write(path, BODY.format('${' + expression + '}'))).inertia.mass


# ---- expressions -------------------------------------------------------------------------------

REACHING = [
    # attributes of types, by every way to an object
    '[].__class__',
    '().__class__.__base__.__subclasses__()',
    "''.__class__.__mro__",
    '[[c for c in [].__class__.__base__.__subclasses__()] for z in [1]]',
    'math.__loader__',
    'xacro.__dict__',
    'python.__class__',
    'float.__class__',
    'str.mro()',
    'xacro.load_yaml.__globals__',
    'xacro.fatal.__code__',
    'math.sin.__self__',
    'map(float, [1]).__iter__',
    '(x for x in [1]).gi_frame',
    '[x for x in [1]].append(2)',
    '"%s".format(1)',
    '"a".__format__("")',
    'dict(a=1).update(b=2)',
    'dict(a=1).__class__',
    'True.__class__',
    # code
    "__import__('os').system('touch MARK')",
    "open('MARK', 'w')",
    'eval("1")',
    'exec("1")',
    'getattr(1, "real")',
    'python.type(1)',
    'python.vars()',
    'xacro.vars',
    '(lambda: 1)()',
    '(q := 1)',
    'f"{1}"',
    'sorted([1], key=lambda v: v)',
    'list(map(BODY, [1]))',
    '1j',
    "b'a'",
    '...',
    '[*[1]] if await q else 2',
    'xacro',
    'str(math)',
]


@pytest.mark.parametrize('expression', REACHING)
def test_an_expression_reaches_nothing(tmp_path, expression):
    mark = tmp_path / 'pwned'
    text = expression.replace('MARK', str(mark))
    written = escape('${len(str([' + text + ']))}', {'"': '&quot;'})
    assert 'r.xacro:2: xacro: ' in refusal(write(tmp_path / 'r.xacro', BODY.format(written)))
    with pytest.raises((ModelError, NameError, TypeError, SyntaxError)):
        evaluate(text, {**MATH, **PYTHON}, Budget())
    assert not mark.exists()


@pytest.mark.parametrize(
    'expression',
    [
        "len('A'*(8*10**9))",
        '(9**9**9) % 7',
        '1 << 10**9',
        '10**10**10',
        "'%999999999d' % 1",
        "'%*d' % (999999999, 1)",
        "'%.999999999f' % 1",
        '[0]*10**9',
        'range(10**9)',
        'list(map(range, [1000000]*1000))',
        "'a'.replace('', 'b'*900000)",
        "'a'.join(['b'*1000]*2000)",
        'round(1, -10**9)',
        "int('9'*900000)",
        'factorial(10**8)',
        'comb(10**7, 10**6)',
        'prod([2**4000]*4000)',
        'str([10**1200]*900000)',
        '[x for x in range(100000) for y in range(100000)]',
        'zip([1]*100000, [1]*100000, [1]*100000, [1]*100000, [1]*100000, [1]*100000)',
        "'%s'*1000 % tuple(['a'*900000]*1000)",
        'sum([[1]]*1000, [])',
        '+'.join(['1'] * 9000),
        '-' * 15000 + '1',
        '(' * 500 + '1' + ')' * 500,
        '[' * 5000 + ']' * 5000,
        "xacro.tokenize('a'*5000 + 'b', '](a+)+$[') * 10**6",
    ],
)
def test_an_expression_is_bounded(tmp_path, expression):
    text = escape('${len(str(' + expression + '))}')
    line = refusal(write(tmp_path / 'r.xacro', BODY.format(text)))
    assert 'r.xacro:2: ' in line or 'its expansion takes more than' in line


@pytest.mark.parametrize(
    ('expression', 'value'),
    [
        ('2 * (3 + 4) ** 2 / 7 // 1 % 10', 4.0),
        ('math.sqrt(16) + python.abs(python.int(-3.5))', 7.0),
        ('sin(pi / 2) + degrees(pi)', 181.0),
        ('1 if 2 &lt; 3 &lt;= 3 and not 4 == 5 else 2', 1.0),
        ("dict(a=1, b=[2, dict(c=7)])['b'][1]['c']", 7.0),
        ('xacro.dotify(dict(a=dict(b=6))).a.b', 6.0),
        ("dict(a=[3]).get('b', [9])[0]", 9.0),
        ("python.sum([float(x) for x in '1 2 3'.split() if x != '2'])", 4.0),
        ("max(map(float, ['1', '5']))", 5.0),
        ('python.sum(a * b for a, b in python.zip([1, 2], [3, 4]))', 11.0),
        ("float('%.3f' % 2.34567)", 2.346),
        ("len(xacro.tokenize('a, b;c'))", 3.0),
        ("[10, 20, 30][1:][-1] + len('abc'[::2])", 32.0),
        ("float('1' + str(len([0] * 3)))", 13.0),
        ('min(*[5, 6]) + len(range(4)) + round(2.6)', 12.0),
        ("len(xacro.message('a text')) + 3", 3.0),
    ],
)
def test_what_xacro_documents_is_computed(tmp_path, expression, value):
    assert math.isclose(computed(tmp_path / 'r.xacro', expression), value)


NUMBERS = st.integers(-50, 50) | st.floats(-50, 50, allow_nan=False).map(lambda v: round(v, 3))
OPERATORS = ['+', '-', '*', '/', '//', '%', '<', '<=', '==', 'and', 'or']
ARITHMETIC = st.recursive(
    NUMBERS.map(repr),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f'({" ".join(t)})'),
        st.tuples(inner, inner, inner).map('({0[0]} if {0[1]} else {0[2]})'.format),
        st.lists(inner, min_size=1, max_size=3).map(lambda v: f'max([{", ".join(v)}])'),
        inner.map('[y for y in [{}]][0]'.format),
    ),
    max_leaves=12,
)


@given(ARITHMETIC)
def test_an_expression_has_the_value_of_python(text):
    try:
        wanted = eval(text, {'__builtins__': {'max': max}})
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            evaluate(text, PYTHON, Budget())
        return
    assert evaluate(text, PYTHON, Budget()) == wanted


PIECES = st.sampled_from(
    ['[].__class__', '__import__', '.__base__', '(', ')', '[', ']', 'x', ' for x in ', ' if ', '1',
     "'a'", '.format', 'str', 'math', '.sin', '*', '**', '9', ',', ' lambda: ', ':=', '.gi_frame',
     'range', '{', '}', ':', 'xacro', '.load_yaml', '%', "'%9d'", '\\', '\n', '\x00', 'é']
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map(''.join) | st.text(max_size=30))
def test_any_text_gives_plain_data_or_an_error(text):
    names = {**MATH, **PYTHON, 'x': [1, 'a']}
    try:
        found = evaluate(text, names, Budget())
    except (
        ModelError,
        SyntaxError,
        ArithmeticError,
        TypeError,
        ValueError,
        LookupError,
        NameError,
    ):
        return
    stack = [found]
    while stack:
        value = stack.pop()
        assert value is None or type(value) in (
            bool, int, float, str, list, tuple, dict, set, slice, xacro_expressions.Function
        )  # fmt: skip
        if isinstance(value, dict):
            stack += [*value, *value.values()]
        elif isinstance(value, list | tuple | set):
            stack += value


def test_a_refusal_names_expression_file_and_line_and_the_option(tmp_path):
    part = write(tmp_path / 'parts' / 'p.xacro', '\n<a b="${[].__class__}"/>')
    path = write(tmp_path / 'r.xacro', '<xacro:include filename="parts/p.xacro"/>')
    line = refusal(path)
    assert line.startswith(f"{part}:3: xacro: '${{[].__class__}}' uses the attribute .__class__")
    assert '--trust' in line
    assert line.endswith(f'(included from {path})')


@pytest.mark.parametrize(
    'line',
    [
        '<xacro:property name="q" value="${[].__class__}"/>' + BODY.format('${len(q)}'),
        '<xacro:if value="${[].__class__}"/>',
        '<xacro:macro name="m" params="a:=${[].__class__}"/><xacro:m/>',
        '<xacro:property name="q" value="${[].__class__}"/>'
        '<xacro:macro name="m" params="q:=^|1"><a b="${q}"/></xacro:macro><xacro:m/>',
        '<xacro:property name="b"><a b="${[].__class__}"/></xacro:property>'
        '<xacro:insert_block name="b"/>',
        '<xacro:call macro="${[].__class__}"/>',
        '<xacro:element xacro:name="${[].__class__}"/>',
        '<xacro:attribute name="a" value="${[].__class__}"/>',
        '<xacro:arg name="a" default="${[].__class__}"/>',
        '<!-- xacro:eval-comments --><!-- ${[].__class__} -->',
        '<a>$(eval [].__class__)</a>',
        '<a>$(eval math.__loader__)</a>',
    ],
)
def test_every_place_of_an_expression_obeys(tmp_path, line):
    assert re.search('attribute .__|name .math', refusal(write(tmp_path / 'r.xacro', line)))


def test_an_argument_of_the_command_line_is_no_expression_of_its_own(tmp_path):
    path = write(
        tmp_path / 'r.xacro', '<xacro:arg name="m" default="1"/>', BODY.format('$(arg m)')
    )
    with pytest.raises(ModelError):
        load_vehicle(path, m='${[].__class__}')


def test_trust_runs_python(tmp_path, monkeypatch):
    monkeypatch.setenv(packages.TRUST, '1')
    expression = '[q.append(3) or len(q) for q in [[1, 2]]][0]'
    assert computed(tmp_path / 'r.xacro', expression) == 3


# ---- files -------------------------------------------------------------------------------------

SECRET = 'top: secret\n'


@pytest.fixture
def folder(tmp_path):
    """A folder of a description beside a file that is none of its business."""
    (tmp_path / 'secret.yaml').write_text(SECRET)
    write(tmp_path / 'secret.xacro', '<a/>')
    (tmp_path / 'own').mkdir()
    (tmp_path / 'own' / 'link.yaml').symlink_to(tmp_path / 'secret.yaml')
    (tmp_path / 'own' / 'link').symlink_to(tmp_path)
    return tmp_path / 'own'


@pytest.mark.parametrize(
    'line',
    [
        '<a b="${xacro.load_yaml(\'%s/secret.yaml\')}"/>',
        '<a b="${xacro.load_yaml(\'../secret.yaml\')}"/>',
        '<a b="${xacro.load_yaml(\'link.yaml\')}"/>',
        '<a b="${xacro.load_yaml(\'link/secret.yaml\')}"/>',
        '<a b="${load_yaml(\'../secret.yaml\')}"/>',
        '<xacro:include filename="../secret.xacro"/>',
        '<xacro:include filename="%s/secret.xacro"/>',
        '<xacro:include filename="link/secret.xacro"/>',
        '<xacro:include filename="../*.xacro"/>',
        '<xacro:include filename="/*/*/*.xacro"/>',
        '<xacro:include filename="../secret.xacro" optional="true"/>',
        '<xacro:include filename="$(find ..)/secret.xacro"/>',
    ],
)
def test_files_outside_are_not_read(folder, line, monkeypatch):
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(folder))
    line = line.replace('%s', str(folder.parent))
    path = write(folder / 'r.xacro', line, BODY.format(1))
    assert re.search(
        'outside the folder of the descr|expected wildcards|pected a name', refusal(path)
    )


def test_files_of_its_folder_and_its_packages_are_read(tmp_path, monkeypatch):
    monkeypatch.delenv('ROS_PACKAGE_PATH', raising=False)
    package = tmp_path / 'my_robot'
    source = tmp_path / 'ws' / 'src' / 'my_robot'
    for place in (package, source):  # as colcon build --symlink-install has them
        place.mkdir(parents=True)
        (place / 'package.xml').write_text('<package><name>my_robot</name></package>')
    (source / 'm.yaml').write_text('mass: [!inches 0, !degrees 180, 3]\n')
    (package / 'config').mkdir()
    (package / 'config' / 'm.yaml').symlink_to(source / 'm.yaml')
    text = "${xacro.load_yaml('../config/m.yaml').mass[2]}"
    assert load_vehicle(write(package / 'urdf' / 'r.xacro', BODY.format(text))).inertia.mass == 3


ALIASES = 'a: &a [1,1,1,1,1,1,1,1,1,1]\n' + ''.join(
    f'{c}: &{c} [{",".join([f"*{b}"] * 10)}]\n' for b, c in ('ab', 'bc', 'cd', 'de', 'ef')
)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('&a [1, *a]', 'alias'),
        (ALIASES, 'aliases written out'),
        ('!!python/object/apply:os.system [id]', 'could not determine a constructor'),
        ('!degrees "[].__class__"', 'attribute'),
        ('[' * 600, 'not valid YAML'),
    ],
    ids=['itself', 'aliases', 'tag', 'unit', 'nested'],
)
def test_yaml_of_an_expression_is_bounded(tmp_path, text, message):
    (tmp_path / 'm.yaml').write_text(text)
    assert message in refusal(write(tmp_path / 'r.xacro', "${xacro.load_yaml('m.yaml')}"))


@pytest.mark.parametrize('name', ['/dev/zero', '/dev/full', 'pipe', 'folder', 'large'])
def test_only_regular_files_of_a_size_are_read(tmp_path, name):
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'folder').mkdir()
    with (tmp_path / 'large').open('wb') as file:
        file.truncate(10**10)
    path = tmp_path / name
    with pytest.raises(ModelError, match=r'expected (a regular file|at most)'):
        read_description(path, {})
    with pytest.raises(MarineSimError):
        load_vehicle(path)


# ---- bombs -------------------------------------------------------------------------------------


def laughs(count, width=10):
    """Return macros of which each calls the one before ``width`` times."""
    yield '<xacro:macro name="m0"><frame/></xacro:macro>'
    for i in range(1, count):
        calls = f'<xacro:m{i - 1}/>' * width
        yield f'<xacro:macro name="m{i}">{calls}</xacro:macro>'
    yield f'<xacro:m{count - 1}/>'


def chain(count, link, first):
    """Return properties of which each has what ``link`` makes of the one before."""
    yield f'<xacro:property name="p0" value="{first}"/>'
    for i in range(1, count):
        yield f'<xacro:property name="p{i}" value="{link.format(f"${{p{i - 1}}}")}"/>'
    yield f'<a b="${{p{count - 1}}}"/>'


def blocks(count):
    """Return macros of which each hands its block to the one before twice."""
    block = '<xacro:insert_block name="b"/>'
    yield f'<xacro:macro name="m0" params="**b">{block}</xacro:macro>'
    for i in range(1, count):
        call = f'<xacro:m{i - 1}><b>{block}</b></xacro:m{i - 1}>'
        yield f'<xacro:macro name="m{i}" params="**b">{call}{call}</xacro:macro>'
    yield f'<xacro:m{count - 1}><b><c/></b></xacro:m{count - 1}>'


BOMBS = {
    'laughs': laughs(12),
    'endless': ['<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>'],
    'endless tree': ['<xacro:macro name="m"><xacro:m/><xacro:m/></xacro:macro><xacro:m/>'],
    'include': ['<xacro:include filename="r.xacro"/>'],
    'wildcards': ['<xacro:include filename="*.xacro"/>'] * 10,
    'text': chain(40, '{0}{0}', 'a' * 100),
    'properties': chain(2000, '{0}', 'a'),
    'blocks': blocks(18),
    'nested': ['<a>' * 300 + '</a>' * 300],
    'elements': ['<a/>' * 300_000],
}


@pytest.mark.parametrize('lines', BOMBS.values(), ids=BOMBS)
def test_an_expansion_is_bounded(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(xacro_expressions, 'MAX_WORK', 200_000)
    monkeypatch.setattr(xacro_rules, 'MAX_INCLUDES', 100)
    assert refusal(write(tmp_path / 'r.xacro', *lines)).startswith(str(tmp_path / 'r.xacro'))


def test_time_is_proportional_to_the_links(tmp_path):
    def seconds(count):
        joint = '<joint name="j{0}" type="fixed"><parent link="{1}"/><child link="l{0}"/></joint>'
        chain = ('base_link', *(f'l{i}' for i in range(count - 1)))
        lines = (f'<link name="l{i}"/>' + joint.format(i, above) for i, above in enumerate(chain))
        path = write(tmp_path / f'{count}.urdf', BODY.format(1), *lines)
        begin = time.process_time()
        load_vehicle(path)
        return time.process_time() - begin

    seconds(10)
    assert seconds(12000) < 14 * seconds(1500)  # 8; 20 where each link looks at all others


# ---- what is xacro -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    'text',
    [
        '<robot name="v"><link name="base_link"/><!-- xmlns:xacro="u" --><a b="${6*7}"/></robot>',
        '<robot name="v"><link name="base_link"/><a b="xmlns:xacro=${6*7}"/></robot>',
        '<robot name="v"><link name="base_link"/><a>xmlns:xacro="u"${6*7}</a></robot>',
        '<robot name="v"><link name="base_link"/><a xmlns:xacro="u" b="${6*7}"/></robot>',
    ],
)
def test_a_urdf_that_speaks_of_xacro_is_none(tmp_path, text):
    (tmp_path / 'r.urdf').write_text(text)
    assert '${6*7}' in read_description(tmp_path / 'r.urdf', {})


def test_a_deep_description_is_one_line(tmp_path):
    text = f'<robot name="deep">{"<a>" * 300}{"</a>" * 300}</robot>'
    for name in ('deep.urdf', 'deep.urdf.xacro'):
        (tmp_path / name).write_text(text)
        with pytest.raises(ModelError, match='nested deeper than 256') as error:
            load_vehicle(tmp_path / name)
        assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    ('kind', 'element', 'bound'),
    [
        ('camera', 'width', '1 to 4096'),
        ('camera', 'height', '1 to 4096'),
        ('imaging_sonar', 'beams', '2 to 4096'),
        ('multibeam', 'beams', '2 to 1024'),
    ],
)
def test_sizes_beyond_memory_are_refused(kind, element, bound):
    sensor = f'<sensor name="s" type="{kind}"><{element}>100000</{element}></sensor>'
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    body = f'<link name="base_link"><inertial><mass value="1"/>{inertia}</inertial></link>'
    with pytest.raises(ModelError, match=f'<{element}>: is 100000; expected {bound}'):
        load_vehicle(f'<robot name="large">{body}{sensor}</robot>')
