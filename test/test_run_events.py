# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Events of a run that people cause, as text and as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.console.requests import parse_request
from marine_sim_ros.console.run_events import EVENT_KINDS, event_text, parse_event, run_event


@pytest.mark.parametrize(
    ('kind', 'value', 'text'),
    [
        ('note', 'late at the gate', 'late at the gate'),
        ('message', 'go up', 'go up'),
        ('fault', {'kind': 'dead', 'thruster': 't1'}, 'dead t1'),
        ('fault', {'kind': 'weak', 'thruster': 't1', 'share': 0.5}, 'weak t1, share 0.5'),
        ('mend', None, 'all faults end'),
        ('mend', {'kind': 'weak', 'thruster': 't1'}, 'weak t1 ends'),
        ('current', [0.1, 0, -0.2], 'current east 0.1, north 0, up -0.2 m/s'),
        ('environment', {'water': {'turbidity': 2.0}}, 'water turbidity: 2.0'),
        ('pause', False, 'the run goes on'),
        ('reset', None, 'reset'),
    ],
)
def test_a_request_in_words(kind, value, text):
    request = parse_request({'kind': kind, 'value': value})
    assert event_text(request) == text
    event = run_event(request, 'instructor', 12.5)
    assert event == {'time': 12.5, 'by': 'instructor', 'kind': kind, 'text': text}
    assert parse_event(json.dumps(event)) == event


@given(
    st.one_of(
        st.text(),
        st.dictionaries(
            st.sampled_from(['time', 'by', 'kind', 'text']),
            st.one_of(
                st.none(), st.booleans(), st.floats(), st.text(max_size=5),
                st.sampled_from([*EVENT_KINDS, 'pilot']),
            ),
        ).map(json.dumps),
    )
)  # fmt: skip
def test_any_text_is_an_event_or_none(text):
    event = parse_event(text)
    assert event is None or parse_event(json.dumps(event)) == event
