"""Records to JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.model.names import NameFacts
from jaxpert.model.outline import OutlineEntry
from jaxpert.project.plain_records import BadRecord, from_plain, to_plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", [NameFacts, tuple[OutlineEntry, ...]])
@given(data=st.data())
def test_every_record_comes_back(kind: Any, data: st.DataObject) -> None:
    record = data.draw(st.from_type(kind))
    assert from_plain(kind, json.loads(json.dumps(to_plain(record)))) == record


@given(JSON)
def test_anything_else_is_refused(value: object) -> None:
    try:
        record = from_plain(NameFacts, value)
    except BadRecord:
        return
    assert to_plain(record) == value


@pytest.mark.parametrize("value", [object(), 1.5, {"a": 1}, [1]])
def test_what_has_no_plain_form(value: object) -> None:
    with pytest.raises(TypeError):
        to_plain(value)
