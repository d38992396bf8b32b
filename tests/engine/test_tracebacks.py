"""Reading errors out of what people paste."""

from __future__ import annotations

import pytest

from jaxpert.engine.tracebacks import RaisedError, TracebackFrame, read_errors

MESSAGE = "Value returned by a remat policy should be a bool. Got None of type <class 'NoneType'>."
FOOTER = """\
--------------------
For simplicity, JAX has removed its internal frames from the traceback of the following exception. Set JAX_TRACEBACK_FILTERING=off to include these.
"""
PLAIN = f'''\
Step 1 of 10
Traceback (most recent call last):
  File "/home/me/train.py", line 20, in <module>
    main()
  File "/home/me/train.py", line 13, in main
    return jax.grad(block)(w, x)
           ^^^^^^^^^^^^^^^^^^^^^
TypeError: {MESSAGE}
'''
FRAMES = (
    TracebackFrame("/home/me/train.py", 20, "<module>", "main()"),
    TracebackFrame("/home/me/train.py", 13, "main", "return jax.grad(block)(w, x)"),
)
PYTEST = f"""\
F                                                                        [100%]
=================================== FAILURES ===================================
____________________________________ test_a ____________________________________

    def test_a():
>       main()

tests/test_a.py:2:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
train.py:20: in main
    step(w, x)
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

w = JitTracer(float32[3,3])

    def step(w, x):
>       return jax.grad(block)(w, x)
               ^^^^^^^^^^^^^^^^^^^^^
E       TypeError: {MESSAGE}
E       --------------------
E       For simplicity, JAX has removed its internal frames from the traceback of the following exception.

train.py:13: TypeError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_a - TypeError: Value returned by a remat policy should...
1 failed in 5.00s
"""
IPYTHON = f"""\
\x1b[91m---------------------------------------------------------------------------\x1b[39m
\x1b[91mTypeError\x1b[39m                                 Traceback (most recent call last)
\x1b[96mCell In[3], line 4\x1b[39m
      2 block = jax.checkpoint(f, policy=keep)
\x1b[92m----> \x1b[39m\x1b[92m4\x1b[39m jax.grad(block)(x)

\x1b[96mFile \x1b[39m\x1b[32m~/models/train.py:17\x1b[39m, in \x1b[36mmain\x1b[39m\x1b[94m()\x1b[39m
     16 def main():
---> 17     step(w, x)

    [... skipping hidden 5 frame]

TypeError: {MESSAGE}
"""
RICH = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/me/train.py:20 in <module>                                             │
│                                                                              │
│   19                                                                         │
│ ❱ 20 main()                                                                  │
│   21                                                                         │
│                                                                              │
│ /home/me/train.py:13 in main                                                 │
│                                                                              │
│   12 │   block = jax.checkpoint(f, policy=keep)                              │
│ ❱ 13 │   return jax.grad(block)(w, x)                                        │
╰──────────────────────────────────────────────────────────────────────────────╯
TypeError: Value returned by a remat policy should be a bool. Got None of type
<class 'NoneType'>.
"""


def _only(text: str) -> RaisedError:
    errors = read_errors(text)
    assert len(errors) == 1, errors
    return errors[0]


def test_traceback_of_python() -> None:
    assert _only(PLAIN) == RaisedError("TypeError", MESSAGE, FRAMES)
    assert _only(PLAIN + FOOTER) == RaisedError("TypeError", MESSAGE, FRAMES)
    assert _only(PLAIN).user_frames == FRAMES[::-1]


@pytest.mark.parametrize(
    "dressed",
    [
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("TypeError", "\x1b[1;35mTypeError\x1b[0m").replace('File "', '\x1b[0mFile "'),
        "".join(f"[rank0]: {line}" for line in PLAIN.splitlines(keepends=True)),
        "".join(f"(train pid=71, ip=10.0.0.1) {line}" for line in PLAIN.splitlines(keepends=True)),
        "progress 10%\rprogress 20%\r" + PLAIN,
        PLAIN.removeprefix("Step 1 of 10\n") * 2,
    ],
    ids=["crlf", "colours", "rank", "worker", "progress bar", "twice"],
)
def test_what_is_around_a_traceback_does_not_matter(dressed: str) -> None:
    assert _only(dressed) == RaisedError("TypeError", MESSAGE, FRAMES)


def test_unfiltered_exception_is_the_filtered_one() -> None:
    unfiltered = f"""\
Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/jax/_src/core.py", line 740, in bind
    return trace.process(self)
jax._src.traceback_util.UnfilteredStackTrace: TypeError: {MESSAGE}

The stack trace below excludes JAX-internal frames.
The preceding is the original exception that occurred, unmodified.

--------------------

The above exception was the direct cause of the following exception:

{PLAIN}"""
    simplified = f"""\
jax.errors.SimplifiedTraceback: For simplicity, JAX has removed its internal frames from the traceback.

The above exception was the direct cause of the following exception:

{PLAIN}"""
    for text in (unfiltered, simplified):
        assert _only(text) == RaisedError("TypeError", MESSAGE, FRAMES)


@pytest.mark.parametrize(
    "link",
    [
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    ],
)
def test_chained_exceptions_come_last_first(link: str) -> None:
    errors = read_errors(f"{PLAIN}\n{link}\n\n" + PLAIN.replace("TypeError", "my.WrappedError"))
    assert [error.exception for error in errors] == ["my.WrappedError", "TypeError"]
    assert [error.message for error in errors] == [MESSAGE, MESSAGE]


def test_exception_without_text() -> None:
    assert _only(PLAIN.replace(f"TypeError: {MESSAGE}", "AssertionError")) == RaisedError("AssertionError", "", FRAMES)


def test_message_of_several_lines() -> None:
    message = "Attempted boolean conversion.\nThe error occurred in f.\n\nSee https://docs.jax.dev"
    error = _only(PLAIN.replace(f"TypeError: {MESSAGE}", f"jax.errors.TracerBoolConversionError: {message}"))
    assert (error.exception, error.name) == ("jax.errors.TracerBoolConversionError", "TracerBoolConversionError")
    assert error.message == message


def test_pytest() -> None:
    error = _only(PYTEST)
    assert (error.exception, error.message) == ("TypeError", MESSAGE)
    assert [(frame.path, frame.line, frame.source) for frame in error.frames] == [
        ("tests/test_a.py", 2, "main()"),
        ("train.py", 20, "step(w, x)"),
        ("train.py", 13, "return jax.grad(block)(w, x)"),
    ]


def test_ipython() -> None:
    error = _only(IPYTHON)
    assert (error.exception, error.message) == ("TypeError", MESSAGE)
    assert error.frames == (
        TracebackFrame("", 4, "", "jax.grad(block)(x)", 3),
        TracebackFrame("~/models/train.py", 17, "main()", "step(w, x)"),
    )


def test_rich() -> None:
    error = _only(RICH)
    assert error.frames == FRAMES
    assert error.message.split() == MESSAGE.split()


def test_group() -> None:
    inside = "".join(f"    | {line}" for line in PLAIN.splitlines(keepends=True)[1:])
    text = f"""\
  + Exception Group Traceback (most recent call last):
  |   File "/home/me/run.py", line 3, in <module>
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
{inside}    +------------------------------------
"""
    errors = read_errors(text)
    assert RaisedError("TypeError", MESSAGE, FRAMES) in errors


def test_windows_paths_and_libraries() -> None:
    text = PLAIN.replace("/home/me/train.py", r"C:\Users\me\train.py").replace(
        f"TypeError: {MESSAGE}",
        '  File "C:\\Python311\\Lib\\site-packages\\jax\\_src\\core.py", line 5, in bind\n    return x\nKeyError: 1',
    )
    error = _only(text)
    assert error.frames[-1].is_library
    assert [frame.path for frame in error.user_frames] == [r"C:\Users\me\train.py"] * 2


@pytest.mark.parametrize(
    ("text", "exception", "message"),
    [
        ("TypeError: unhashable type: 'list'", "TypeError", "unhashable type: 'list'"),
        ("jax.errors.KeyReuseError: a", "jax.errors.KeyReuseError", "a"),
        ("unhashable type: 'list'", "", "unhashable type: 'list'"),
        ("epoch: 1\nloss: 2.0", "", "epoch: 1\nloss: 2.0"),
    ],
)
def test_bare_texts(text: str, exception: str, message: str) -> None:
    assert _only(text) == RaisedError(exception, message)


def test_nothing() -> None:
    assert read_errors(" \n\t\n") == ()


def test_odd_inputs_do_no_harm() -> None:
    read_errors("Traceback (most recent call last):\n" * 1000)
    read_errors('  File "' + "a" * 100_000 + '", line 1\n' + "x" * 100_000 + "Error: y")
    read_errors("\x00\ufffd\u2028E   \nE\n>  \n---> \n❱\n")
