# SPDX-License-Identifier: MIT
"""gemel in pytest: the fixture `gemel_equal`, --gemel-seed, and --gemel-certify for what PyTensor's rewrites replace.

`gemel_equal(before, after)` is gemel.assert_equal with the seed of the run, which the head of pytest's report names.
"""
from __future__ import annotations

import json
import os
import random
from typing import Any, Callable

import pytest


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("gemel")
    group.addoption("--gemel-seed", default="1", metavar="SEED",
                    help="of what gemel draws at random: a number (default 1), or 'random'")
    group.addoption("--gemel-seconds", default=0.0, type=float, metavar="S",
                    help="end each comparison after so many seconds, as neither equal nor different")
    group.addoption("--gemel-certify", action="store_true",
                    help="judge each replacement that a rewrite of PyTensor's makes during the tests")
    group.addoption("--gemel-baseline", metavar="FILE",
                    help="differences that are meant; a FILE that isn't there is written")
    group.addoption("--gemel-report", metavar="FILE", help="each replacement that isn't equal, with the evidence, into FILE")
    group.addoption("--gemel-json", metavar="FILE", help="what was found of each distinct replacement, a line each, into FILE")


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


# ---- Replacements of PyTensor's rewrites ----


class _Certifier:
    """Judges what is replaced during the tests, and reports it at the end."""

    def __init__(self, config: Any) -> None:
        from . import pytensor

        self.baseline, self.report = config.getoption("--gemel-baseline"), config.getoption("--gemel-report")
        self.write = bool(self.baseline) and not os.path.exists(self.baseline)
        accepted: Any = ()
        if self.baseline and not self.write:
            try:
                with open(self.baseline, encoding="utf-8") as file:
                    accepted = list(dict(json.load(file)))
            except (OSError, ValueError, TypeError) as error:
                raise pytest.UsageError(f"--gemel-baseline {self.baseline}: {error}") from None
        options = {"seed": _seed(config), **({"seconds": s} if (s := config.getoption("--gemel-seconds")) else {})}
        self.context = pytensor.certify(accepted=accepted, **options)
        self.found = self.context.__enter__()

    @pytest.hookimpl
    def pytest_runtest_setup(self, item: Any) -> None:
        self.found.test = item.nodeid

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: Any) -> None:
        self.context.__exit__(None, None, None)
        if self.write:
            self.found.save(self.baseline)
        elif not self.found and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.report:
            with open(self.report, "w", encoding="utf-8") as file:
                for judgement in self.found.judgements.values():
                    if not judgement:
                        file.write(f"{judgement.key} in {judgement.test}\n{judgement}\n\n")
        if path := session.config.getoption("--gemel-json"):
            with open(path, "w", encoding="utf-8") as file:
                for j in self.found.judgements.values():
                    file.write(json.dumps({"key": j.key, "verdict": j.verdict, "by": j.reason, "words": j.words, "domain": j.domain, "unsaid": j.unsaid,
                                           "count": self.found.count[j.key], "test": j.test}) + "\n")

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("gemel: what was replaced")
        terminalreporter.write_line(str(self.found))


def pytest_configure(config: Any) -> None:
    if config.getoption("--gemel-certify"):
        config.pluginmanager.register(_Certifier(config), "gemel-certify")
