"""What a command is told is wrong with it."""

from __future__ import annotations

import pytest

from gclbench.config.overrides import ConfigErrors
from gclbench.config.validation import experiment_of


def errors_of(*command: str) -> list[str]:
    with pytest.raises(ConfigErrors) as raised:
        experiment_of(list(command))
    return raised.value.errors
