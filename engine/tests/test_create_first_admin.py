"""`manage.py create_first_admin`, the first thing that a new project runs."""

import io
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import authenticate, get_user_model
from django.core.management import call_command
from django.test import RequestFactory

from agui.http.tokens import token_user


def run_command() -> str:
    output = io.StringIO()
    call_command("create_first_admin", stdout=output)
    return output.getvalue()


def value(output: str, label: str) -> str:
    found = re.search(rf"{label}:\s+(\S+)", output)
    assert found, output
    return found[1]


@pytest.mark.django_db(transaction=True)
async def test_create_first_admin_prints_what_signs_in():
    output = await sync_to_async(run_command)()
    admin = await sync_to_async(authenticate)(username=value(output, "Username"), password=value(output, "Password"))
    assert isinstance(admin, get_user_model())
    assert admin.is_superuser
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {value(output, 'API token')}"})
    assert await token_user(request) == admin


@pytest.mark.django_db
def test_create_first_admin_makes_different_passwords_and_with_a_user_nothing():
    first = run_command()
    assert run_command() == ""
    assert get_user_model().objects.count() == 1
    get_user_model().objects.all().delete()
    assert value(first, "Password") != value(run_command(), "Password")
