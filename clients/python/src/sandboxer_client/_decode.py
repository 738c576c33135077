"""JSON into dataclasses. Unknown fields are let pass: a newer service has more."""

from __future__ import annotations

import dataclasses
import functools
from datetime import datetime
from typing import Any, Dict, List, Tuple, Type, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import BadAnswer

T = TypeVar("T")


def decode(cls: Type[T], value: Any, where: str = "") -> T:
    """Makes a dataclass of the value of an answer, or raises BadAnswer."""
    if not isinstance(value, dict):
        raise BadAnswer(f"the answer has no object at {where or '/'}")
    given: Dict[str, Any] = {}
    kind: Any = cls
    for name, hint, required in _fields(kind):
        at = f"{where}/{name}"
        if name in value:
            given[name] = _value(hint, value[name], at)
        elif required:
            raise BadAnswer(f"the answer has no {at}")
    return cls(**given)


@functools.lru_cache(maxsize=None)
def _fields(cls: Any) -> List[Tuple[str, Any, bool]]:
    hints = get_type_hints(cls)
    none = dataclasses.MISSING
    return [
        (f.name, hints[f.name], f.default is none and f.default_factory is none)
        for f in dataclasses.fields(cls)
    ]


def _value(hint: Any, value: Any, at: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Union:  # Optional
        return None if value is None else _value(args[0], value, at)
    if origin is list and isinstance(value, list):
        return [_value(args[0], item, f"{at}/{i}") for i, item in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {name: _value(args[1], item, f"{at}/{name}") for name, item in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return decode(hint, value, at)
    if hint is datetime and isinstance(value, str):
        return _time(value, at)
    # A bool is an int to isinstance, but not in JSON.
    if hint in (str, int, bool) and type(value) is hint:
        return value
    raise BadAnswer(f"the answer has a value of the wrong type at {at}")


def _time(text: str, at: str) -> datetime:
    try:
        # Before Python 3.11 no Z is understood.
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError as exc:
        raise BadAnswer(f"the answer has no time at {at}") from exc
