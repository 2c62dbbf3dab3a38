"""Nothing may be skipped where REQUIRE_ALL is set."""

import os

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and os.environ.get("REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"REQUIRE_ALL is set, but this was skipped: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped and os.environ.get("REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"REQUIRE_ALL is set, but this module was skipped: {report.longrepr}"
    return report
