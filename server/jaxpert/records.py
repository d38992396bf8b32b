"""Data classes that are cheap to make: two hundred of them are made whenever jaxpert starts.

For the type checker this is the standard library's ``dataclass``. At run time nothing guards frozen objects, which
makes their classes and themselves in half the time, and one function shows them all.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, **options: bool) -> Any:
        """As the standard library's ``dataclass``."""
        if cls is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, **options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = _shown
        can_be_hashed = frozen and options.get("eq", True) and "__hash__" not in cls.__dict__
        return dataclasses.dataclass(cls, repr=False, unsafe_hash=can_be_hashed, **options)


@recursive_repr()
def _shown(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
