"""Objects of other libraries that hold what JAX refuses: optimizers of Optax, layers of Equinox with a function inside.

Measured with Optax 0.2.8 and Equinox 0.13.8.
"""

from __future__ import annotations

from jaxpert.records import dataclass


@dataclass(frozen=True, slots=True)
class LibraryObject:
    """What to call it, the type that JAX's message shows, and what to do where static does not help."""

    words: str
    type: str
    cure: str = ""


_TRANSFORMATION = LibraryObject("an Optax transformation, a tuple of functions", "<class 'function'>")
_SCHEDULE = LibraryObject("a schedule, which is a function", "<class 'function'>")
_LAYER = LibraryObject(
    "an Equinox module that holds a function",
    "<class '…'>",
    "use `equinox.filter_jit`, or split it with `equinox.partition`",
)

_TRANSFORMATIONS = (
    "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "add_decayed_weights", "add_noise",
    "amsgrad", "chain", "clip", "clip_by_global_norm", "ema", "fromage", "identity", "lamb", "lars", "lbfgs", "lion",
    "nadam", "noisy_sgd", "novograd", "optimistic_gradient_descent", "polyak_sgd", "radam", "rmsprop", "rprop", "scale",
    "scale_by_adam", "scale_by_learning_rate", "scale_by_rms", "scale_by_schedule", "set_to_zero", "sgd", "sm3",
    "trace", "yogi", "zero_nans",
)  # fmt: skip
_SCHEDULES = (
    "constant_schedule", "cosine_decay_schedule", "exponential_decay", "join_schedules", "linear_schedule",
    "piecewise_constant_schedule", "polynomial_schedule", "warmup_cosine_decay_schedule",
)  # fmt: skip
_LAYERS = ("AvgPool2d", "Lambda", "MLP", "MaxPool2d")

LIBRARY_OBJECTS = {
    **{f"optax.{name}": _TRANSFORMATION for name in _TRANSFORMATIONS},
    **{f"optax.{name}": _SCHEDULE for name in _SCHEDULES},
    **{f"equinox.nn.{name}": _LAYER for name in _LAYERS},
}
"""By the path of what makes them."""
