"""What is said of input that is no graph, and of a pair that makes no sense on one."""


class GraphError(ValueError):
    """Input that is not a usable graph; the text says what was found where and what is expected."""


class Unsupported(Exception):
    """A task or method that makes no sense on this graph; `reason` is a sentence for the record."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason
