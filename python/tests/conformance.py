"""Compares a document with the type that is declared for it, key by key. It knows only what `documents` is made of."""

import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def breaches(value: object, declared: Any, place: str = "$") -> Iterator[str]:  # noqa: ANN401 - any type form
    """Where and how `value` differs from `declared`."""
    origin = get_origin(declared)
    if declared is Any:
        return
    if is_typeddict(declared):
        yield from keys(value, declared, place)
    elif origin in {Union, types.UnionType}:
        alternatives = get_args(declared)
        if all(next(breaches(value, alternative, place), None) for alternative in alternatives):
            yield f"{place}: {value!r} is none of {declared}"
    elif origin is Literal:
        if value not in get_args(declared):
            yield f"{place}: {value!r} is none of {declared}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{place}: {value!r} is no list"
            return
        for index, item in enumerate(value):
            yield from breaches(item, get_args(declared)[0], f"{place}[{index}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{place}: {value!r} is no dict"
    # A bool is an int to isinstance, and JSON writes 1.0 as a float.
    elif type(value) is not declared and not (declared is type(None) and value is None):
        yield f"{place}: {value!r} is no {declared.__name__}"


def keys(value: object, declared: Any, place: str) -> Iterator[str]:  # noqa: ANN401 - any typed dict
    """The same for a typed dict."""
    if not isinstance(value, dict):
        yield f"{place}: {value!r} is no dict"
        return
    hints = get_type_hints(declared)
    for key in declared.__required_keys__ - value.keys():
        yield f"{place}: no `{key}`"
    for key, item in value.items():
        if key in hints:
            yield from breaches(item, hints[key], f"{place}.{key}")
        else:
            yield f"{place}: `{key}` is not declared"
