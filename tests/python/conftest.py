# SPDX-License-Identifier: MIT
"""Writes what ci/count-tests counts, to the file that GEMEL_PYTHON_JUNIT names."""
import os
import xml.sax.saxutils

_cases = []


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        _cases.append((report.nodeid.rpartition("/")[2], report.outcome))


def pytest_sessionfinish():
    path = os.environ.get("GEMEL_PYTHON_JUNIT")
    if not path:
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="python">\n')
        for name, outcome in _cases:
            result = "skipped" if outcome == "skipped" else "completed"
            failure = '<failure message="see the log"/>' if outcome == "failed" else ""
            file.write(f"<testcase name={xml.sax.saxutils.quoteattr(name)} result=\"{result}\">{failure}</testcase>\n")
        file.write("</testsuite></testsuites>\n")
