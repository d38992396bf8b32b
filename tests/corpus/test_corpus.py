"""The corpus runner's own parts: the ledger is judged, archives cannot write elsewhere, differences are seen."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from jaxpert.rules import rule_named
from tests.corpus.ledger import Entry, Hit, LedgerError, compare, read_ledger, stanza
from tests.corpus.sources import NotFetched, pinned_sources, unpack

HIT = Hit("some", "some/model.py", 3, 7, "policy-called")


def test_ledger_speaks_of_known_sources_and_rules() -> None:
    sources = {source.name for source in pinned_sources()}
    for hit in read_ledger():
        assert hit.source in sources
        assert rule_named(hit.rule), hit


def test_no_false_alarm_is_left() -> None:
    assert not [entry for entry in read_ledger().values() if entry.verdict == "false"]


def test_sources_are_pinned_exactly() -> None:
    for source in pinned_sources():
        assert source.pin
        assert not source.is_repository or len(source.pin) == 40


@pytest.mark.parametrize(
    ("verdict", "why", "copies"), [("", "", 1), ("true", " ", 1), ("maybe", "who knows", 1), ("true", "read", 2)]
)
def test_ledger_refuses_what_nobody_judged(tmp_path: Path, verdict: str, why: str, copies: int) -> None:
    text = stanza(HIT, "x", "y").replace('verdict = ""\nwhy = ""', f'verdict = "{verdict}"\nwhy = "{why}"')
    (tmp_path / "ledger.toml").write_text(text * copies, encoding="utf-8")
    with pytest.raises(LedgerError):
        read_ledger(tmp_path / "ledger.toml")


def test_new_lost_and_known_hits_are_told_apart() -> None:
    moved = Hit("some", "some/model.py", 4, 7, "policy-called")
    unchecked = Hit("other", "a.py", 1, 1, "policy-called")
    ledger = {hit: Entry(hit, "true", "read") for hit in (HIT, unchecked)}
    result = compare([moved], ledger, {"some"})
    assert (result.new, [entry.hit for entry in result.lost], result.known) == ((moved,), [HIT], ())
    assert [entry.hit for entry in compare([HIT], ledger, {"some"}).known] == [HIT]


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py", "a\\..\\evil.py", "C:/evil.py"])
def test_archives_cannot_write_outside(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "evil.whl"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(zipfile.ZipInfo(name), "x = 1")
    with pytest.raises(NotFetched):
        unpack(archive, tmp_path / "deep" / "down")
    assert not list(tmp_path.rglob("evil.py"))


def test_only_texts_are_unpacked(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as made:
        made.writestr("pkg/model.py", "x = 1")
        made.writestr("pkg/weights.bin", "0")
        made.writestr(link, "/etc/passwd")
    unpack(tmp_path / "a.whl", tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()] == ["model.py"]
