"""The dashboard counts what there was, once, shows it to who may see it, and stays fast."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from daily import by_day
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui.contrib.dashboard import apps as dashboard
from agui.contrib.dashboard import figures, rollup
from agui.contrib.dashboard.charts import Chart, Series, nice
from agui.contrib.dashboard.figures import Figures, percentile, total
from agui.contrib.dashboard.models import RunSpan
from agui.contrib.dashboard.page import count_text, tables_of, tiles_of, time_text
from agui.contrib.dashboard.periods import RANGES, figures_of, periods_of
from agui.contrib.dashboard.rollup import read_figures, roll_up
from agui.contrib.spending.ledger import today
from agui.contrib.spending.models import Spending
from agui.models import AuditRecord, Run
from agui.testing import call, say
from tests.conftest import Client, create_user, script

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

NOON = datetime(2026, 5, 13, 12, 30, tzinfo=UTC)  # A Wednesday


@pytest.fixture
def clock(clock):
    """The time as the figures have it."""
    clock.stop(at=NOON)
    return clock


def signed_in(user):
    browser = Browser()
    browser.force_login(user)
    return browser


def save_run(at, status="finished", ms=1000, **fields):
    fields = {"first_event_ms": ms // 2, "usage": {"requests": 1, "input_tokens": 10, "output_tokens": 5}, **fields}
    return Run.objects.create(
        thread_id="t", run_id="r", scope="user:1", started_at=at, status=status, duration_ms=ms, **fields
    )


def save_call(at, outcome="success", tool="echo"):
    return AuditRecord.objects.create(
        thread_id="t", run_id="r", tool_call_id="c", tool_name=tool, started_at=at, duration_ms=1, outcome=outcome
    )


def ago(**age):
    return NOON - timedelta(**age)


def whole(since):
    return total(read_figures(since).values())


def page_of(browser, span="24h"):
    response = browser.get(f"/admin/agui_dashboard/runspan/?range={span}")
    assert response.status_code == 200
    return response.content.decode()


# --- What is counted


def test_an_hour_is_what_its_runs_came_to(clock):
    save_run(ago(hours=3), model="a", cost=Decimal("0.25"))
    save_run(ago(hours=3, minutes=5), "failed", 2000, code="model_error", model="a")
    save_run(ago(hours=3), "timed_out", 3000, code="timeout", model="b", usage={})
    for outcome in ("success", "success", "failed", "denied"):
        save_call(ago(hours=3), outcome)
    [(hour, one)] = [item for item in read_figures(ago(days=1)).items() if item[1] != Figures()]
    assert hour == NOON.replace(hour=9, minute=0)
    assert one.endings == {"finished": 1, "failed:model_error": 1, "timed_out:timeout": 1}
    assert one.models == {"a": [2, 20, 10, 0.25, 1], "b": [1, 0, 0, 0, 0]}
    assert one.first == {500: 1, 1000: 1, 1500: 1}
    assert one.total == {1000: 1, 2000: 1, 3000: 1}
    assert one.tools == {"echo": [2, 1, 1]}


@pytest.mark.parametrize("age", [{"minutes": 1}, {"hours": 5}, {"days": 6}, {"days": 20}, {"days": 85}])
def test_it_is_the_same_however_far_back_and_however_often_it_is_asked(clock, age):
    for ms in (100, 200, 300):
        save_run(ago(**age), ms=ms)
    first = whole(ago(days=90))
    assert first.total == {100: 1, 200: 1, 300: 1}
    assert whole(ago(days=90)) == first
    clock.advance(60 * 60)
    assert whole(ago(days=90)) == first


def test_what_is_counted_stays_when_runs_are_deleted(clock):
    save_run(ago(days=20), seen_at=ago(days=20))
    young = save_run(ago(hours=3), "failed")
    call_command("prune_agent_data", "--runs", "1", verbosity=0)  # The command counts runs before it deletes them
    assert Run.objects.get() == young
    before = whole(ago(days=30))
    assert before.endings == {"failed": 1, "finished": 1}
    young.delete()
    assert whole(ago(days=30)) == before


def test_an_hour_whose_run_is_on_is_not_over(clock):
    save_run(ago(days=2), "running")  # No count waits for a run that never ends
    assert roll_up() == NOON.replace(minute=0)
    Run.objects.all().delete()
    RunSpan.objects.all().delete()
    run = save_run(ago(hours=3), "running")
    save_run(ago(hours=5))
    assert roll_up() == NOON.replace(hour=9, minute=0)
    assert whole(ago(days=1)).endings == {"finished": 1, "running": 1}
    Run.objects.filter(pk=run.pk).update(status="failed")
    assert whole(ago(days=1)).endings == {"finished": 1, "failed": 1}


def test_hours_become_days_of_the_site(clock, settings):
    settings.TIME_ZONE = "America/New_York"
    save_run(datetime(2026, 4, 2, 3, tzinfo=UTC))  # Still the first there
    save_run(datetime(2026, 4, 2, 5, tzinfo=UTC))
    roll_up()
    days = {
        span.begin: span.figures["endings"] for span in RunSpan.objects.filter(is_day=True) if span.figures["first"]
    }
    assert days == {datetime(2026, 4, day, 4, tzinfo=UTC): {"finished": 1} for day in (1, 2)}
    clock.advance(24 * 60 * 60)
    assert whole(ago(days=90)).endings == {"finished": 2}


@pytest.mark.parametrize("zone", by_day(["Asia/Kolkata", "Australia/Lord_Howe"], 2))
def test_where_midnight_is_at_half_past_no_run_is_lost(clock, settings, zone):
    settings.TIME_ZONE = zone
    times = [ago(days=10) + number * timedelta(minutes=30) for number in range(10 * 48)]
    ended = {"thread_id": "t", "run_id": "r", "scope": "user:1", "status": Run.Status.FINISHED}
    Run.objects.bulk_create(Run(**ended, started_at=at) for at in times)
    for hours in range(9 * 24 + 1, 0, -1):
        clock.stop(at=ago(hours=hours - 1))
        roll_up()
    assert whole(ago(days=12)).endings.total() == len(times)
    assert RunSpan.objects.filter(is_day=True).exists()


def test_names_that_no_tool_has_do_not_pile_up(clock, monkeypatch):
    monkeypatch.setattr(figures, "MAX_TOOLS", 2)
    for tool in ("echo", "echo", "add", "add", "made up", "mad", "mad up"):
        save_call(ago(hours=3), "failed", tool)
    roll_up()
    assert whole(ago(days=1)).tools == {"echo": [0, 2, 0], "add": [0, 2, 0], "others": [0, 3, 0]}


def test_rows_do_not_pile_up(clock):
    save_run(ago(days=90))
    roll_up()
    assert RunSpan.objects.count() < 400
    clock.advance(365 * 24 * 60 * 60)
    roll_up()
    assert RunSpan.objects.order_by("begin").first().begin > clock.now() - timedelta(weeks=15)


def test_who_looks_at_the_same_time_counts_nothing_twice(clock, monkeypatch):
    save_run(ago(hours=3))
    save_run(ago(days=20))
    real = rollup.count
    inner = []

    def count(*args):
        if not inner:
            inner.append(True)
            roll_up()
        return real(*args)

    monkeypatch.setattr(rollup, "count", count)
    roll_up()
    assert whole(ago(days=90)).endings == {"finished": 2}


async def test_the_hours_are_counted_beside_the_runs_and_a_failure_stops_nothing(client: Client, monkeypatch, caplog):
    counted = []

    def fail():
        counted.append(True)
        raise ZeroDivisionError

    config = apps.get_app_config("agui_dashboard")
    monkeypatch.setattr(config, "hours", {})
    monkeypatch.setattr(dashboard, "DELAY_SECONDS", 0)
    monkeypatch.setattr(rollup, "roll_up", fail)
    with script(*[say("Hi")] * 3):
        for number in range(3):
            await client.run("Hi", thread=str(number))
    await config.counting
    assert counted == [True]
    assert "Rolling up the runs" in caplog.text


@pytest.mark.parametrize(
    ("ms", "kept"),
    [(0, 0), (99, 99), (104, 100), (105, 110), (994, 990), (1049, 1000), (12_345, 12_000), (10**7, 10**7)],
)
def test_durations_are_kept_to_two_digits(clock, ms, kept):
    save_run(ago(hours=3), ms=ms)
    assert list(whole(ago(days=1)).total) == [kept]


def test_percentiles():
    counts = Counter({100: 50, 200: 45, 900: 5})
    assert [percentile(counts, share) for share in (0.5, 0.51, 0.95, 0.96)] == [100, 200, 200, 900]
    assert percentile(Counter(), 0.5) is None


# --- Ranges


@pytest.mark.parametrize(("span", "number"), [("24h", 24), ("7d", 27), ("30d", 30), ("13w", 13)])
def test_a_range_ends_now(clock, span, number):
    periods = periods_of(span, NOON)
    assert len(periods) == number
    begins = [period.begin for period in periods]
    assert begins == sorted(set(begins))
    assert begins[-1] <= NOON
    save_run(NOON - timedelta(seconds=1))
    save_run(begins[0])
    save_run(begins[0] - timedelta(hours=1))
    parts = figures_of(periods)
    assert [part.endings.total() for part in (parts[0], parts[-1])] == [1, 1]
    # A week's days are not cut: what began an hour before it is not in it.
    assert total(parts).endings.total() == 2


def test_days_are_the_site_s_also_when_clocks_change(clock, settings):
    settings.TIME_ZONE = "Europe/Berlin"
    periods = periods_of("30d", datetime(2026, 4, 2, 12, tzinfo=UTC))
    hours = {period.begin.astimezone(UTC).hour for period in periods}
    assert hours == {22, 23}
    assert len({period.name for period in periods}) == 30


# --- The page


@pytest.mark.parametrize("span", [*RANGES, "nonsense"])
def test_every_range_has_its_page(chief, span):
    save_run(timezone.now(), "failed", code="model_error", model="<b>odd</b>", cost=Decimal("0.25"))
    save_call(timezone.now(), "failed")
    html = page_of(chief, span)
    assert "Failed: model_error" in html
    assert "$0.2500" in html
    assert "&lt;b&gt;odd&lt;/b&gt;" in html
    assert html.count('class="agui-grid"') == 6
    # A chart is a picture with a name, and a table with the same numbers.
    assert html.count('role="img" aria-labelledby=') == html.count("<details>") == 6
    # The dashboard runs under the site's policy.
    content = html.partition('id="content"')[2].partition("</main>")[0]
    assert not re.search(r"style=|<style|<script(?! src)|onclick", content)


def test_without_runs_it_says_so(chief):
    html = page_of(chief)
    assert html.count("Nothing in this period.") == 10
    assert 'class="agui-grid"' not in html
    assert 'href="/admin/agui_dashboard/runspan/"' in chief.get("/admin/agui/run/").content.decode()


async def test_real_runs_are_on_it(client: Client):
    with script(call("echo", text="x"), call("broken"), say("Done")):
        await client.run("Hi")
    found = await sync_to_async(whole)(timezone.now() - timedelta(hours=2))
    assert found.endings == {"finished": 1}
    assert found.tools == {"echo": [1, 0, 0], "broken": [0, 1, 0]}
    assert found.first.total() == found.total.total() == 1


def staff(*permissions):
    return signed_in(create_user(f"staff {permissions}", *permissions, is_staff=True))


def test_only_who_may_view_runs_sees_it_and_only_who_may_view_spending_who_spent(chief, user):
    page, name = "/admin/agui_dashboard/runspan/", "Dashboard of the agent"
    assert name in chief.get("/admin/").content.decode()
    assert name not in staff().get("/admin/").content.decode()
    assert staff("view_thread").get(page).status_code == 403
    assert [browser.get(page).status_code for browser in (signed_in(user), Browser())] == [302, 302]
    Spending.objects.create(scope="x", owner=user, day=today(), model="m", input_tokens=5, cost=Decimal("0.5"))
    # Names of static files have digests, in which these letters may stand, too.
    assert not re.search(r"\bada\b", page_of(staff("view_run")))
    html = page_of(staff("view_run", "view_spending"))
    assert re.search(r"\bada\b.*?\$0\.5000", html, re.DOTALL)


def test_without_the_part_of_spending_it_tells_the_rest(chief, settings, monkeypatch):
    save_run(timezone.now(), model="m", cost=Decimal("0.25"))
    for model in apps.get_app_config("agui_spending").get_models():
        monkeypatch.delitem(admin.site._registry, model, raising=False)
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.spending"]
    html = page_of(chief)
    assert "$0.2500" in html
    assert "Users who spent most" not in html


def test_a_look_reads_no_run_that_was_counted(chief, clock):
    for hours in range(3, 60):
        save_run(ago(hours=hours))
    page_of(chief, "13w")
    with CaptureQueriesContext(connection) as captured:
        page_of(chief, "13w")
    few = len(captured)
    asked = [query["sql"] for query in captured if '"agui_run"' in query["sql"] and "MIN(" not in query["sql"]]
    assert asked
    since = f"{ago(hours=2):%Y-%m-%d}"
    assert all(f">= '{since}" in sql for sql in asked)
    for _ in range(50):
        save_run(clock.now(), model=f"m{_}")
    with CaptureQueriesContext(connection) as captured:
        page_of(chief, "13w")
    assert len(captured) == few


# --- Numbers and shapes


@pytest.mark.parametrize(
    ("write", "written"),
    [
        (lambda top: round(nice(top), 9), {0: 1, 0.03: 0.03, 0.031: 0.04, 7: 8, 10: 10, 101: 200, 890: 1000}),
        (count_text, {0: "0", 0.5: "0.5", 9999: "9,999", 12_345: "12.3k", 2_000_000: "2M", 1.5e9: "1.5G"}),
        (time_text, {None: "-", 999: "999 ms", 1500: "1.5 s", 600_000: "10.0 min"}),
    ],
    ids=["ends of scales", "counts", "times"],
)
def test_numbers_are_easily_read(write, written):
    assert {number: write(number) for number in written} == written


def chart(*series, **options):
    return Chart("Title", series, [f"p{number}" for number in range(len(series[0].values))], count_text, **options)


def test_bars_are_stacked_from_below():
    drawn = chart(Series("good", "good", [3, 0]), Series("bad", "bad", [1, 0]))
    [shape] = drawn.shapes
    assert shape["about"] == "p0: good 3, bad 1"
    assert [(bar["kind"], bar["y"], bar["height"]) for bar in shape["bars"]] == [
        ("good", "50", "150"),
        ("bad", "0", "50"),
    ]
    assert drawn.scale == ["4", "2", "0"]
    assert drawn.rows == [("p1", ["0", "0"]), ("p0", ["3", "1"])]


def test_a_line_has_gaps_where_there_is_nothing():
    drawn = chart(Series("p50", "a", [1, 2, None, 2]), is_lines=True)
    assert drawn.shapes[0]["path"] == "M125 100L375 0M875 0"
    assert drawn.rows[1] == ("p2", ["-"])


def test_a_cost_of_which_nothing_is_known_is_none():
    assert dict(tiles_of(Figures(Counter(finished=1), {"m": [1, 1, 1, 0, 1]})))["Cost"] == "-"
    assert dict(tiles_of(Figures(Counter(finished=2), {"m": [2, 1, 1, 0.5, 1]})))["Cost, at least"] == "$0.5000"


def test_long_tables_are_cut():
    many = Figures(models={f"m{number}": [1, 1, 1, 0, 0] for number in range(50)})
    assert {len(table["rows"]) for table in tables_of(many, None)} == {0, 10}
