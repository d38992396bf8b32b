"""`static_argnums` of a checkpoint wrapper is of a wrong type or out of range.

## What it finds

`static_argnums` that is a list, set, range, string, bool, None or array, or a tuple that holds anything but ints;
numbers that the wrapped function has no positional parameter for; and calls that leave a static parameter to its
default. Each wrapper is judged by what it really does: `flax.linen.remat` counts `self` as 0 and shifts negative
numbers, `flax.linen.partitioning.remat` starts after `self` and wants a collection.

## Why it matters

`jax.checkpoint` compares types exactly, unlike `jax.jit`, and says so only when the function is called:

    TypeError: the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints or, bool,
    but got value [1]

The message's "or, bool" is wrong. Numbers out of range raise, also when an argument is left to its default:

    ValueError: the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater
    than or equal to `-len(args)` and less than `len(args)`, but got (2,), while `len(args)` = 2

## In which versions

All. With `jax_remat3` on, collections of ints of any kind are fine, and numbers out of range are ignored.

## What to write instead

An int or a tuple of ints: `static_argnums=(1,)`. Count positional parameters from 0, with `self` where a method or a
linen module is wrapped. A keyword-only parameter cannot be static: move it before the `*`.

## Known limits

The wrapped function must be visible for numbers to be judged; functions with `*args` take any number. Of negative
numbers only -1 is reported for linen modules: it makes nothing static, -2 is the last argument.

## Source

`_remat_static_argnums` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8 and Haiku
0.0.17.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.transforms import Checkpoint, Parameters, fills_defaults, marked, parameters
from jaxpert.model.values import CallResult, Choice, Literal, Sequence, Table, Typed, Value
from jaxpert.model.wrapped_calls import called_checkpoints, passed, wrapped_calls
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "static-argnums-invalid"
