# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console against strangers: links, other sites, floods, nonsense, names that are scripts."""

import ast
import asyncio
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, browser
from hostile import SCRIPTS, hostile, served, session_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.console.page.links import INSTRUCT, VIEW
from marine_sim_ros.console.requests import (
    CONDITIONS,
    LOST,
    OF_INSTRUCTORS,
    OF_PAGE,
    REQUESTS,
    STEERING,
    WAITING,
    Request,
    Session,
    page_name,
    parse_request,
)
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.text import file_name

PAGE = Path(__file__).parents[1] / 'marine_sim_ros' / 'console' / 'page'
URDF = Path(__file__).parents[1] / 'urdf' / 'simple_rov.urdf'
TOKEN = 'a-token-of-a-test-and-of-nothing-else'
HOME = {'host': '127.0.0.1:8060'}


class Door:
    """A gate with an application behind it that says what right a request has."""

    def __init__(self, host='127.0.0.1'):
        pytest.importorskip('nicegui')
        from marine_sim_ros.console.page.access import Gate
        from marine_sim_ros.console.page.links import view_token

        self.view = view_token(TOKEN)
        self.gate = Gate(self._app, TOKEN, host=host, port=8060)
        self.passed = []

    async def _app(self, scope, receive, send):
        from marine_sim_ros.console.page.access import may_steer

        self.passed.append('steer' if may_steer(scope) else 'view')

    def ask(self, path='/', *, kind='http', query='', method='GET', client='127.0.0.1', **headers):
        """Return the status, or the right of a request that is let through, and its headers."""
        sent, self.passed = [], []

        async def send(message):
            sent.append(message)

        names = ((k.replace('_', '-'), v) for k, v in headers.items())
        scope = {
            'type': kind, 'path': path, 'method': method, 'client': (client, 1),
            'query_string': query.encode(),
            'headers': [(k.encode(), v.encode('latin-1')) for k, v in names],
        }  # fmt: skip
        asyncio.run(self.gate(scope, None, send))
        if self.passed:
            return self.passed[0], {}
        if kind == 'websocket':
            return sent[0]['code'], {}
        return sent[0]['status'], {k.decode(): v.decode() for k, v in sent[0]['headers']}

    def cookie(self, token=TOKEN, **headers):
        _, answer = self.ask(query=f'token={token}', **{**HOME, **headers})
        return answer['set-cookie'].split(';')[0]


def test_each_link_gives_its_right_once_and_a_cookie_keeps_it():
    door = Door()
    for token, right in ((TOKEN, 'steer'), (door.view, 'view')):
        status, headers = door.ask(query=f'token={token}', **HOME)
        assert (status, headers['location']) == (303, '/')
        assert headers['set-cookie'].endswith('; Path=/; HttpOnly; SameSite=Strict')
        assert token not in headers['set-cookie']
        for kind in ('http', 'websocket'):
            for odd in ('', 'theme="{,}"; a b; =; '):  # what another program of this host has set
                cookie = odd + headers['set-cookie'].split(';')[0]
                assert door.ask('/wire', kind=kind, cookie=cookie, **HOME)[0] == right
    steering = door.cookie()
    assert door.ask('/', query=f'token={door.view}', cookie=steering, **HOME)[0] == 303
    # A link in another page: browsers send the cookie only where the answer itself leads on.
    assert door.ask(query=f'token={TOKEN}', sec_fetch_site='cross-site', sec_fetch_mode='navigate',
                    **HOME)[0] == 200  # fmt: skip


@pytest.mark.parametrize('host', ['127.0.0.1', '192.168.0.5'])
def test_nothing_else_opens_the_console(host):
    door = Door(host)
    home = {'host': f'{host}:8060'}
    name = door.cookie(**home).split('=')[0]
    for query in ('', 'token=', 'token=x', 'token=%ff%fe', f'token={TOKEN}x', '&' * 99):
        assert door.ask(query=query, client=query, **home)[0] == 403
    for path in ('//', '//evil.example/', '/scenery', '/wire', '/x/../', '/\x00'):
        assert door.ask(path, query=f'token={TOKEN}', **home)[0] == 403
    assert door.ask(method='POST', query=f'token={TOKEN}', **home)[0] == 403
    assert door.ask(kind='websocket', query=f'token={TOKEN}', **home)[0] == 1008
    for cookie in (TOKEN, f'{name}={TOKEN}', f'{name}=', f'{name}=\xff\xfe', f'{name}="', ';;'):
        assert door.ask('/scenery', cookie=cookie, **home)[0] == 403


@pytest.mark.parametrize('kind', ['http', 'websocket'])
def test_other_sites_and_names_are_turned_away(kind):
    door = Door()
    cookie = door.cookie()
    refused = {'http': 403, 'websocket': 1008}[kind]
    for host in ('127.0.0.1:8060', 'localhost:8060', '[::1]:8060', 'LOCALHOST', '127.0.0.2:1'):
        for more in ({}, {'origin': f'http://{host}'}):
            assert door.ask('/wire', kind=kind, host=host, cookie=cookie, **more)[0] == 'steer'
    for host in ('evil.example', '127.0.0.1.evil.example:8060', '', '[', '0.0.0.0', '192.168.0.5'):
        assert door.ask('/wire', kind=kind, host=host, cookie=cookie)[0] == refused
    for odd in (
        'me@localhost',
        'a:b@[::1]:8060',
        'localhost/x',
        '[::1]?',
        '127.0.0.1:8060#',
        '::1',
    ):
        assert door.ask('/wire', kind=kind, host=odd, cookie=cookie)[0] == refused, odd
    for odd in ('localhost:x', 'localhost:99999', ' localhost', 'local\thost', '127.0.0.1,evil'):
        assert door.ask('/wire', kind=kind, host=odd, cookie=cookie)[0] == refused, odd
    for origin in ('http://evil.example', 'http://127.0.0.1:1', 'null', 'http://[', ''):
        assert door.ask('/wire', kind=kind, cookie=cookie, origin=origin, **HOME)[0] == refused
    for site in ('cross-site', 'same-site'):  # a page of another port of this host
        assert door.ask('/', kind=kind, cookie=cookie, sec_fetch_site=site, **HOME)[0] == refused


def test_wrong_tokens_wait_and_who_has_a_cookie_does_not():
    now = [0.0]
    door = Door()
    door.gate._attempts._clock = lambda: now[0]
    cookie = door.cookie()
    told = [door.ask(query=f'token=guess{i}', **HOME)[0] for i in range(300)]
    assert told == [403] * 5 + [429] * 295
    status, headers = door.ask(query=f'token={TOKEN}', **HOME)  # a limit that the right one passed
    assert (status, headers['retry-after']) == (429, '1')  # would be none
    assert door.ask(query='token=x', cookie=cookie, **HOME)[0] == 'steer'
    assert door.ask('/scenery', cookie=cookie, **HOME)[0] == 'steer'
    assert door.ask(query=f'token={TOKEN}', client='10.0.0.7', **HOME)[0] == 303
    for wait in (1, 2, 4, 8, 16, 30, 30):
        assert door.ask(query='token=x', **HOME)[1].get('retry-after') == str(wait)
        now[0] += wait
        assert door.ask(query='token=x', **HOME)[0] == 403
    now[0] += 30
    assert door.ask(query=f'token={TOKEN}', **HOME)[0] == 303
    for i in range(1000):
        door.ask(query='token=x', client=f'10.0.{i // 256}.{i % 256}', **HOME)
    assert len(door.gate._attempts._wrong) == 256


def test_a_token_is_random_or_of_a_file_that_only_its_owner_reads(tmp_path):
    pytest.importorskip('nicegui')
    from marine_sim_ros.console.page.links import make_token, read_token, view_token, write_token

    assert len({make_token() for _ in range(100)}) == 100
    assert len(make_token()) >= 43  # 256 bit
    assert view_token(TOKEN) != view_token(make_token())
    good = tmp_path / 'token'
    assert write_token(good) == read_token(str(good))
    for mode in (0o644, 0o640, 0o620, 0o604):
        good.chmod(mode)
        with pytest.raises(ParameterError, match='other users can read or write it'):
            read_token(str(good))
    good.chmod(0o600)
    for text in ('a', '', ' ', 'x' * 31, 'x' * 257, 'x;' * 20, 'ü' * 40, 'a' * 40 + '\nb: c'):
        good.write_text(text)
        with pytest.raises(ParameterError, match='expected 32 to 256 letters') as caught:
            read_token(str(good))
        assert 'xxx' not in str(caught.value)
    os.mkfifo(tmp_path / 'pipe')
    for path in (tmp_path / 'pipe', tmp_path, '/dev/zero', tmp_path / 'none', 'a\x00b', ''):
        with pytest.raises(ParameterError, match=r'^token file .*; expected'):
            read_token(str(path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(['weak', 'gust', 'sensor_bias', 'thruster_1', 'imu', '', 'arm']),
    lambda inner: st.lists(inner, max_size=7)
    | st.dictionaries(
        st.sampled_from(
            ['kind', 'thruster', 'sensor', 'share', 'name', 'on', 'sticks', 'x', 'yaw', 'until']
        )
        | st.text(max_size=5),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@given(kind=st.sampled_from([*REQUESTS]) | JSON, value=JSON)
def test_any_request_is_taken_or_refused_in_one_line(kind, value):
    for data in ({'kind': kind, 'value': value}, value):
        told = ''
        try:
            assert isinstance(parse_request(data), Request)
        except ParameterError as error:
            told = str(error)
        assert not told or (told.isprintable() and len(told) < 600)


@pytest.mark.parametrize(
    ('data', 'expected'),
    [
        ({'kind': {}}, 'request {} is unknown'),
        ({'kind': ['take']}, "request ['take'] is unknown"),
        ({'kind': None}, 'request None is unknown'),
        ({'kind': 'stop', 'x': 1}, "has 'x'; expected kind and value"),
        ({'kind': 'hello', 'value': 'x' * 41}, 'expected up to 40 letters'),
        ({'kind': 'hello', 'value': 'a\u202eb'}, 'expected a short text'),
        ({'kind': 'joints', 'value': {str(i): 0 for i in range(257)}}, 'has 257 names'),
        ({'kind': 'gain', 'value': 10**4000}, 'expected 0 to 1'),
        ({'kind': 'output', 'value': ['pwm']}, 'expected one of'),
        ({'kind': 'fault', 'value': {'kind': ['x']}}, 'expected one of'),
        ({'kind': 'mend', 'value': {'kind': {}}}, 'expected one of'),
        ({'kind': 'switch', 'value': {'name': [], 'on': True}}, 'expected one of'),
    ],
)
def test_odd_requests_are_told_in_one_line(data, expected):
    with pytest.raises(ParameterError, match=re.escape(expected)):
        parse_request(data)


def steer(session, page, effort):
    session.refuse({'kind': 'hands', 'value': {'sticks': [effort] * 6}}, page)


def test_a_stop_passes_all_that_waits_and_voids_what_its_page_steered():
    session = Session({})
    for page in range(20):
        for _ in range(2 * OF_PAGE):
            session.refuse({'kind': 'reset'}, f'flooder {page}')
    steer(session, 'operator', 1.0)
    stops = ({'kind': 'stop'}, {'kind': 'switch', 'value': {'name': 'arm', 'on': False}})
    for _ in range(40):
        for stop in stops:
            assert session.refuse(stop, 'operator') == ''
    taken = session.requests()
    assert taken[0][0] == 'operator'
    assert len(taken) == WAITING + 1  # the last one of the 80 stands for all
    session = Session({})
    for kind, value in (('hands', {'sticks': [1] * 6}), ('take', True), ('record', True)):
        session.refuse({'kind': kind, 'value': value}, 'operator')
    steer(session, 'other', 0.5)
    session.refuse({'kind': 'stop'}, 'operator')
    steer(session, 'operator', 0.0)
    assert [(p, r.kind) for p, r in session.requests()] == [
        ('operator', 'stop'), ('operator', 'take'), ('operator', 'record'), ('other', 'hands'),
        ('operator', 'hands'),
    ]  # fmt: skip


def test_what_steers_wakes_the_node_once_and_a_stop_each_time():
    session, woken = Session({}), []
    session.wake = lambda: woken.append([(p, r.kind) for p, r in session.requests()])
    session.refuse({'kind': 'gain', 'value': 0.5}, 'operator')
    for effort in (0.5, 0.5, 0.0):
        steer(session, 'operator', effort)
    for _ in range(2):
        session.refuse({'kind': 'stop'}, 'operator')
    once = [('operator', 'hands')]
    assert woken == [[('operator', 'gain'), *once], 2 * once, *2 * [[('operator', 'stop')]]]


def test_a_page_that_watches_asks_for_nothing_but_to_look():
    session = Session({})
    for kind in REQUESTS:
        values = {'take': True, 'record': True, 'gain': 0.5, 'hello': 'Eve', 'path': []}
        with contextlib.suppress(ParameterError):
            told = session.refuse({'kind': kind, 'value': values.get(kind)}, 'eve', right=VIEW)
            assert told == '' if kind == 'look' else 'only watches' in told
    assert [(p, r.kind) for p, r in session.requests()] == [('eve', 'look')]


def test_an_instructor_sets_what_the_pilot_then_cannot():
    session = Session({})
    for kind in REQUESTS:
        values = {'take': True, 'record': True, 'pause': True, 'gain': 0.5, 'note': 'x'}
        with contextlib.suppress(ParameterError):
            told = session.refuse({'kind': kind, 'value': values.get(kind)}, 'i', right=INSTRUCT)
            assert ('this page instructs' in told) == (kind not in OF_INSTRUCTORS)
    assert not OF_INSTRUCTORS & STEERING
    dead = {'kind': 'fault', 'value': {'kind': 'dead', 'thruster': 't'}}
    assert session.refuse(dead, 'pilot') == ''
    session.instructors = frozenset({'instructor:i'})
    for kind in CONDITIONS:
        value = {'fault': dead['value'], 'current': [0, 0, 0], 'environment': {}}.get(kind)
        with contextlib.suppress(ParameterError):
            assert 'only the instructor' in session.refuse({'kind': kind, 'value': value}, 'pilot')
    message = {'kind': 'message', 'value': 'hello'}
    assert 'only the instructor' in session.refuse(message, 'pilot')
    assert session.refuse(message, 'i', right=INSTRUCT) == ''


@pytest.fixture(scope='module')
def console():
    pytest.importorskip('nicegui')
    session = session_of(URDF)
    with served(session) as server:
        yield server, session


def fetch(server, path, cookie='', method='GET', **headers):
    port = int(server.address.split(':')[2].split('/')[0])
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request(method, path, headers={'Cookie': cookie, **headers})
    answer = connection.getresponse()
    result = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return result


def test_a_page_may_take_minutes_to_load_and_is_forgotten_then(console):
    """NiceGUI forgets a page that has not connected after 60 s, and the page loads anew."""
    from nicegui import Client

    from marine_sim_ros.console.page.access import cookie_of

    server, _ = console
    before = set(Client.instances)
    fetch(server, '/', cookie_of(server.view_address))
    (page,) = set(Client.instances) - before
    client = Client.instances[page]
    client.created -= 200.0
    Client.prune_instances()
    assert page in Client.instances
    client.created -= 200.0
    Client.prune_instances()
    assert page not in Client.instances


def test_pages_run_their_own_scripts_alone_and_in_no_frame(console):
    from marine_sim_ros.console.page.access import cookie_of

    server, _ = console
    cookie = cookie_of(server.view_address)
    nonces = []
    for encoding in ('identity', 'gzip'):
        status, headers, body = fetch(server, '/', cookie, **{'Accept-Encoding': encoding})
        policy = headers['content-security-policy']
        nonces += re.findall("'nonce-([^']+)'", policy)
        assert status == 200
        assert "frame-ancestors 'none'" in policy
        assert 'unsafe-inline' not in policy.split('script-src')[1].split(';')[0]
        if encoding == 'identity':
            tags = re.findall(rb'<script[^>]*>', body)
            assert len(tags) > 5
            assert all(f'nonce="{nonces[0]}"'.encode() in tag for tag in tags)
    assert len(set(nonces)) == 2
    for path, how in (('/', ''), ('/', cookie), ('/scenery', cookie), ('/none', cookie)):
        _, headers, _ = fetch(server, path, how)
        assert headers['x-frame-options'] == 'DENY'
        assert headers['x-content-type-options'] == 'nosniff'
        assert headers['referrer-policy'] == 'no-referrer'
        assert headers['cache-control'] == 'no-store'
        assert 'content-security-policy' in headers


@pytest.mark.parametrize(
    'path',
    ['/..%2f..%2fetc%2fpasswd', '/video/..%2f..', '/sonar/..%2f..%2fetc%2fpasswd', '/docs',
     '/openapi.json', '/%00', '/_nicegui/3/components/..%2f..%2f..%2fetc/passwd'],
)  # fmt: skip
def test_no_path_leads_to_a_file(console, path):
    from marine_sim_ros.console.page.access import cookie_of

    status, _, body = fetch(console[0], path, cookie_of(console[0].address))
    assert status in (204, 404)
    assert b'root:' not in body


class Wire:
    """A page that is no browser."""

    def __init__(self, address, page):
        from websockets.sync.client import connect

        from marine_sim_ros.console.page.access import cookie_of

        where = address.split('?')[0].replace('http', 'ws')
        self.socket = connect(
            f'{where}wire?page={page}', proxy=None, compression=None,
            additional_headers={'Cookie': cookie_of(address)},
        )  # fmt: skip

    def told(self, text):
        self.socket.send(text)
        while 'error' not in (message := json.loads(self.socket.recv(timeout=30))):
            pass
        return message['error']


def test_a_new_frame_is_sent_when_it_is_shown_and_not_when_the_next_is_due():
    pytest.importorskip('nicegui')
    with served(session := session_of(URDF), rate=1e-3) as server:
        page = Wire(server.address, 'operator')
        for time in (7.5, 8.0, 8.5):
            session.show({**session.frame, 'time': time})
            while (json.loads(page.socket.recv(timeout=60)))['frame']['time'] != time:
                pass
        page.socket.close()


def test_an_instructor_has_a_link_of_its_own(console):
    server, session = console
    addresses = {server.address, server.view_address, server.instructor_address}
    assert len(addresses) == 3
    page = Wire(server.instructor_address, 'i')
    assert 'this page instructs' in page.told('{"kind": "take", "value": true}')
    until(lambda: session.instructors == {'instructor:i'})
    pilot = Wire(server.address, 'instructor:i')  # a pilot who pretends is a pilot
    assert 'only the instructor' in pilot.told('{"kind": "mend"}')
    page.socket.send('{"kind": "pause", "value": true}')
    until(lambda: session._inbox)
    assert [(p, r.kind) for p, r in session.requests()] == [('instructor:i', 'pause')]
    for one in (page, pilot):
        one.socket.close()
    until(lambda: not session.instructors and len(session._inbox) == 2)
    session.requests()
    assert page_name('instructor:i', 'steer') == 'instructori'


def test_a_link_that_watches_cannot_steer_by_any_page(console):
    server, session = console
    watcher = Wire(server.view_address, 'operator')
    assert 'only watches' in watcher.told('{"kind": "take", "value": true}')
    assert 'only watches' in watcher.told('{"kind": "stop"}')
    session.requests()
    watcher.socket.close()
    until(lambda: session._inbox)
    assert session.requests() == [('view:operator', Request(LOST))]  # not of the operator's page


@pytest.mark.parametrize(
    'text',
    ['{', '[' * 30000, '{"kind":' * 8000, '{"kind": "gain", "value": NaN}', '"' + '\\u0000' * 99,
     '{"kind": "step", "value": -Infinity}', '9' * 60000, 'null', '{"kind": {}}', '\ud7ff'],
    ids=range(10),
)  # fmt: skip
def test_nonsense_on_the_wire_gets_one_line(console, caplog, text):
    page = Wire(console[0].address, 'x')
    told = page.told(text)
    assert told == 'not JSON' or 'is unknown; expected one of' in told
    page.socket.close()
    assert 'Traceback' not in caplog.text


def test_messages_that_are_too_long_or_no_text_end_their_page_alone(console):
    from websockets.exceptions import ConnectionClosed

    server, _ = console
    other = Wire(server.address, 'other')
    for message in ('x' * 70_000, b'\x00\x01'):
        page = Wire(server.address, 'x')
        page.socket.send(message)
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            while True:
                page.socket.recv(timeout=30)
    assert 'is unknown' in other.told('7')
    other.socket.close()


def test_every_stop_acts_while_others_flood(console):
    server, session = console
    operator = Wire(server.address, 'operator')
    flooders = [Wire(a, f'f{i}') for i, a in enumerate([server.address, server.view_address])]
    over = threading.Event()

    def flood(wire):
        with contextlib.suppress(Exception):
            while not over.is_set():
                wire.socket.send('{"kind":"look"}')
                wire.socket.send('{"kind":"gain","value":0.5}')

    for wire in flooders:
        threading.Thread(target=flood, args=(wire,), daemon=True).start()
    most = 0
    for _ in range(80):
        operator.socket.send('{"kind":"stop"}')
        taken = []
        until(lambda t=taken: t.extend(session.requests()) or Request('stop') in [r for _, r in t])
        most = max(most, len(taken))
    assert most <= WAITING
    over.set()
    for wire in (operator, *flooders):
        wire.socket.close_timeout = 0.1
        wire.socket.close()


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_recording_stays_in_its_folder():
    for name in ('../../escaped', '/etc/passwd', '..', '', 'a\x00b', '-rf', 'x' * 999, *SCRIPTS):
        assert re.fullmatch('[A-Za-z0-9_-]{1,120}', file_name(name)), name
    assert file_name('bluerov2_heavy') == 'bluerov2_heavy'


INTERPRETED = {'props', 'classes', 'style', 'add_slot', 'html', 'markdown', 'mermaid',
               'run_javascript', 'add_css', 'add_head_html', 'add_body_html'}  # fmt: skip
"""Methods of NiceGUI that interpret a text; what is from a description must not reach them."""


@pytest.mark.parametrize('path', sorted(PAGE.glob('*.py')), ids=lambda p: p.stem)
def test_the_page_interprets_no_text_but_its_own(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if getattr(getattr(node, 'func', None), 'attr', '') in INTERPRETED:
            dynamic = [a for a in node.args if isinstance(a, (ast.JoinedStr, ast.BinOp))]
            assert not dynamic, f'{path.name}:{node.lineno}: use .props[...] = or a label'


@pytest.mark.parametrize('path', sorted(PAGE.glob('**/*.js')), ids=lambda p: p.stem)
def test_the_scripts_of_the_page_write_no_html_of_names(path):
    text = path.read_text()
    assert not re.search(
        r'insertAdjacentHTML|outerHTML|document\.write|\beval\(|new Function', text
    )
    for written in re.findall(r'innerHTML\s*=\s*(`[^`]*`|[^;]*);', text):
        assert written[0] in '`"\'', written
        assert '${' not in written, written


FLAGS = ['--no-sandbox', '--enable-unsafe-swiftshader', '--no-proxy-server']


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize('first', [0, 4])
def test_names_that_are_scripts_are_shown_and_not_run(tmp_path, first):
    pytest.importorskip('nicegui')
    api = pytest.importorskip('playwright.sync_api')
    description = tmp_path / 'vehicle.urdf'
    description.write_text(hostile(URDF.read_text(), first))
    command = [sys.executable, ROOT / 'test' / 'hostile.py', description, str(first)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one,
        api.sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser(), args=FLAGS)
        tab = chromium.new_page()
        tab.set_default_timeout(300_000)
        wrong = []
        tab.on('pageerror', lambda error: wrong.append(str(error)))
        tab.on('console', lambda m: wrong.append(m.text) if m.type == 'error' else None)
        tab.goto(one.stdout.readline().strip())
        tab.wait_for_selector('.view[data-drawn]')
        for label in tab.locator('.q-tab').all():
            label.click()
            tab.wait_for_timeout(300)
        assert tab.locator('.name').inner_text() == SCRIPTS[first].split('\n')[0].strip()
        assert tab.evaluate('document.body.dataset.ran') is None
        assert tab.locator('img[src=x]').count() == 0
        assert tab.evaluate('document.body.dataset.mine') == 'false'
        # The second wall: what somebody might still write as HTML does not run either.
        tab.evaluate("""() => { const box = document.createElement('div');
            box.innerHTML = '<img src=x onerror="document.body.dataset.ran=1">';
            document.body.append(box); }""")
        tab.wait_for_timeout(1000)
        assert tab.evaluate('document.body.dataset.ran') is None
        assert all('Content Security Policy' in text or '404' in text for text in wrong), wrong
        chromium.close()
