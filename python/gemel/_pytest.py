# SPDX-License-Identifier: MIT
"""gemel in pytest: the fixture `gemel_equal`, and --gemel-seed.

`gemel_equal(before, after)` is gemel.assert_equal with the seed of the run, which the head of pytest's report names.
"""
from __future__ import annotations

import random
from typing import Any, Callable

import pytest


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("gemel")
    group.addoption("--gemel-seed", default="1", metavar="SEED",
                    help="of what gemel draws at random: a number (default 1), or 'random'")
    group.addoption("--gemel-seconds", default=0.0, type=float, metavar="S",
                    help="end each comparison after so many seconds, as neither equal nor different")


def _seed(config: Any) -> int:
    text = config.getoption("--gemel-seed")
    if text == "random":
        config.option.gemel_seed = text = str(random.SystemRandom().randrange(1 << 32))
    if not text.isdigit() or int(text) >= 1 << 64:
        raise pytest.UsageError(f"--gemel-seed is a number or 'random', not {text!r}")
    return int(text)


def pytest_report_header(config: Any) -> str:
    from . import __version__

    return f"gemel: {__version__}, seed {_seed(config)}"


@pytest.fixture(scope="session")
def gemel_seed(request: Any) -> int:
    """The seed of the run."""
    return _seed(request.config)


@pytest.fixture
def gemel_equal(request: Any, gemel_seed: int) -> Callable[..., Any]:
    """gemel.assert_equal with the seed and the seconds of the run."""
    from . import assert_equal

    def check(before: Any, after: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        options.setdefault("seed", gemel_seed)
        options.setdefault("seconds", request.config.getoption("--gemel-seconds"))
        return assert_equal(before, after, **options)

    return check
