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
    [found] = re.findall(rf"{label}:\s+(\S+)", output)
    return found


@pytest.mark.django_db(transaction=True)
async def test_create_first_admin_prints_what_signs_in():
    run = sync_to_async(run_command)
    output = await run()
    admin = await sync_to_async(authenticate)(username=value(output, "Username"), password=value(output, "Password"))
    assert isinstance(admin, get_user_model())
    assert admin.is_superuser
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {value(output, 'API token')}"})
    assert await token_user(request) == admin

    assert await run() == ""  # There is a user
    assert await get_user_model().objects.acount() == 1
    await admin.adelete()
    assert value(output, "Password") != value(await run(), "Password")
