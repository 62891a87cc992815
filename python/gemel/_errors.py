# SPDX-License-Identifier: MIT
"""gemel's errors as an exception."""
from __future__ import annotations


class Error(Exception):
    """What gemel refuses: str(error) names the operation, the shapes and the line of the program; `status` is the word
    of gemel_status ("BAD_SHAPE"), `line` and `column` the place in a text."""

    def __init__(self, text: str, status: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.status, self.line, self.column = status, line, column

    def __reduce__(self) -> object:
        return Error, (self.args[0], self.status, self.line, self.column)
