"""Settings are found wherever a client puts them."""

import pytest

from jaxpert.lsp.settings import Settings, layered, read_settings, section_of

OURS = {"select": ["JXP2"]}


@pytest.mark.parametrize("sent", [OURS, {"settings": OURS}, {"jaxpert": OURS}, {"settings": {"jaxpert": OURS}}])
def test_settings_are_found_wherever_clients_put_them(sent):
    assert section_of(sent) == OURS


@pytest.mark.parametrize("sent", [None, [], "x", 3, {"settings": None}, {"jaxpert": [1]}])
def test_nothing_useful_is_no_settings(sent):
    assert section_of(sent) is None


def test_null_leaves_the_earlier_layer():
    assert layered({"x64": True, "remat3": True}, None, {"x64": None, "remat3": False}) == {
        "x64": True,
        "remat3": False,
    }


def test_known_settings_are_read_and_empty_ones_count_as_not_set():
    raw = {"select": ["JXP2"], "ignore": [], "jaxVersion": "", "remat3": False, "interpreter": "/py", "enable": False}
    assert read_settings({**raw, "other": 1}) == Settings(False, "/py", {"select": ["JXP2"], "remat3": False})


@pytest.mark.parametrize("raw", [{"cache": False}, {"cache": {"enable": False}}, {"cache.enable": False}])
def test_a_cache_that_is_not_wanted(raw):
    assert (read_settings(raw).cache, read_settings({"cache": None}).cache) == (False, True)


def test_wrong_types_do_no_harm():
    assert read_settings({"interpreter": 3, "enable": "no", "x64": "yes"}) == Settings(True, "", {"x64": "yes"})
