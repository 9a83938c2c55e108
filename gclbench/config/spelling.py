"""Values of Python as the words of a command: `{"seeds": [3, 7]}` is `seeds=[3,7]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def of_method(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings of the method by their whole names; one that has a dot is taken as it is."""
    return {
        key if "." in key else f"method.{key}": value for key, value in (settings or {}).items()
    }


def overrides_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the command takes them: `{"seeds": [3, 7]}` is `seeds=[3,7]`.

    Raises:
        TypeError: for a value that no setting has.
    """
    from gclbench.config.value_text import text_of

    words = []
    for key, value in settings.items():
        try:
            words.append(f"{key}={text_of(value)}")
        except TypeError as error:
            raise TypeError(f"{key}={error}") from None
    return words
