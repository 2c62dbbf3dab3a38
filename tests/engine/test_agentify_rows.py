"""Who may use the tools that agentify writes for staff."""

from types import SimpleNamespace

import pytest

from agui.contrib.agentify.rows import is_staff


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"is_staff": True, "is_superuser": False}, True),
        ({"is_staff": False, "is_superuser": False}, False),
        ({"is_superuser": True}, True),
        ({"is_superuser": False}, False),
        ({"is_staff": True}, True),
        ({}, False),
    ],
)
def test_superusers_are_the_staff_of_users_without_that_field(flags, expected):
    user = SimpleNamespace(is_active=True, **flags)
    assert is_staff(SimpleNamespace(deps=SimpleNamespace(user=user))) is expected
