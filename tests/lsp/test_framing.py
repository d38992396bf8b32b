"""Messages come out of the stream however it is cut, and stray output costs no session."""

from hypothesis import given
from hypothesis import strategies as st

from jaxpert.lsp.framing import Framing


def framed(body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> bytes:
    return header.format(len(body)).encode() + body


@given(st.lists(st.binary(max_size=30), max_size=5), st.integers(1, 40))
def test_bodies_come_out_whole_however_the_stream_is_cut(bodies, size):
    stream = b"".join(framed(body) for body in bodies)
    framing = Framing()
    out = []
    for at in range(0, len(stream), size):
        out += framing.feed(stream[at : at + size])
    assert out == bodies


def test_header_names_may_be_written_in_any_way():
    stream = framed(b"{}", "content-length :{}\r\n\r\n")
    stream += framed(b"[]", "Content-Type: x; charset=utf-8\r\nContent-Length: {}\r\n\r\n")
    stream += framed(b"7", "Content-Length: {}\n\n")
    assert Framing().feed(stream) == [b"{}", b"[]", b"7"]


def test_stray_output_is_skipped():
    assert Framing().feed(b"warning: stray\r\n\r\n" + framed(b"{}")) == [b"{}"]
    framing = Framing()
    assert framing.feed(b"x" * 100_000) == []
    assert framing.feed(b"\r\n\r\n" + framed(b"{}")) == [b"{}"]
