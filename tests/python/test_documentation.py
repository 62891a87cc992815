# SPDX-License-Identifier: MIT
"""The blocks of Python in documents, run one after the other: each prints what stands in the block of text behind it."""
import contextlib
import importlib.util
import io
import pathlib
import re

import pytest

import gemel

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "doc" / "python.md"


@pytest.mark.parametrize("page, least", [("doc/python.md", 19), ("README.md", 2)])
def test_each_block_prints_what_stands_behind_it(page, least, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)
    names, printed = {"gemel_equal": gemel.assert_equal}, None
    for kind, block in blocks:
        if kind == "text":
            assert printed == block
            printed = None
        else:
            assert not printed, f"no text behind this block: {printed}"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, f"<{page}>", "exec", dont_inherit=True), names)
            printed = out.getvalue()
    assert not printed and len(blocks) >= least
    if "test_my_rewrite" in names:
        names["test_my_rewrite"](gemel.assert_equal)


def test_functions_that_the_page_names_are_there():
    named = re.findall(r"gemel\.([A-Za-z_]\w*)", PAGE.read_text(encoding="utf-8"))
    assert all(hasattr(gemel, name) or importlib.util.find_spec(f"gemel.{name}") for name in named) and len(named) > 30
