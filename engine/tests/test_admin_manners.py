"""What an operator sees first in the admin: names instead of numbers, and no button without a use."""

import pytest
from django.conf import settings as project_settings
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import path

from agui.contrib.spending.models import Budget
from agui.http.tokens import create_token
from agui.models import Run
from tests import urls

pytestmark = pytest.mark.django_db
urlpatterns = [*urls.urlpatterns, path("admin/", admin.site.urls)]


@pytest.fixture
def chief(settings):
    settings.ROOT_URLCONF = __name__
    settings.STORAGES = {
        **project_settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("chief"))
    return client


@pytest.fixture
def ada():
    return get_user_model().objects.create_user("ada")


def test_token_that_exists_has_nothing_to_save(chief, ada):
    token, _ = create_token(ada)
    assert 'name="_save"' not in chief.get(f"/admin/agui/apitoken/{token.pk}/change/").content.decode()
    assert 'name="_save"' in chief.get("/admin/agui/apitoken/add/").content.decode()


def test_budget_has_its_user_by_name(chief, ada, monkeypatch):
    budget = Budget.objects.create(user=ada, period="day", tokens=1)
    page = chief.get(f"/admin/agui_spending/budget/{budget.pk}/change/").content.decode()
    assert "admin-autocomplete" in page
    assert f'<option value="{ada.pk}" selected>ada</option>' in page
    # Without users in the admin a budget can still be made.
    monkeypatch.delitem(admin.site._registry, get_user_model())
    page = chief.get("/admin/agui_spending/budget/add/").content.decode()
    assert 'name="user"' in page
    assert "admin-autocomplete" not in page


def test_dashboard_is_on_the_index_for_those_who_may_see_it(chief, ada):
    assert "Dashboard of the agent" in chief.get("/admin/").content.decode()
    ada.is_staff = True
    ada.save()
    client = Client()
    client.force_login(ada)
    assert "Dashboard of the agent" not in client.get("/admin/").content.decode()


def test_run_that_took_too_long_says_so_once(chief):
    Run.objects.create(thread_id="t1", run_id="r1", status="timed_out", code="timeout")
    page = chief.get("/admin/agui/run/").content.decode()
    assert "timed_out: timeout" not in page
    assert "timed_out" in page
