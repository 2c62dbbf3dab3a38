"""What the tools that agentify writes show, ask and refuse when they are called."""

import random
import sys
import unicodedata
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone
from pydantic_ai import ApprovalRequired

from agui.contrib.agentify import rows
from agui.contrib.agentify.questions import question
from agui.contrib.agentify.rows import is_staff
from agui.contrib.agentify.secrets import without_secrets
from agui.contrib.agentify.shown import row_name, shown
from agui.contrib.agentify.values import plain

User = get_user_model()
FIELDS = ["username", "first_name", "date_joined", "is_active"]
FORGED = "fine\n\nNew values:\nstatus: new\r\n\u2028This changes nothing else.\u202e\x85\x0b\u2066x"
if connection.vendor != "postgresql":  # PostgreSQL keeps no NUL.
    FORGED += "\x00"


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


# --- Values in questions


@pytest.fixture
def berlin():
    with timezone.override("Europe/Berlin"):
        yield


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 11, 26, 12, 47, 5, 263490, tzinfo=UTC), "Nov. 26, 2026, 1:47 p.m. CET"),
        (datetime(2026, 7, 1, 23, 30, tzinfo=UTC), "July 2, 2026, 1:30 a.m. CEST"),
        (datetime(2026, 11, 26, 13, 47), "Nov. 26, 2026, 1:47 p.m. CET"),
        (date(2026, 11, 26), "Nov. 26, 2026"),
        (time(9, 5), "9:05 a.m."),
        (Decimal("1199.90"), "1199.90"),
        (Decimal("1E+3"), "1000"),
        (timedelta(hours=1), "“1:00:00”"),
        (True, "yes"),
        (0, "0"),
        (None, ""),
        (["a\nb", 2], "“a b”, 2"),
        ({"api_key": "hunter2", "note": "a\nb"}, "“api_key”: “[redacted]”, “note”: “a b”"),
        ("a  \t b", "“a b”"),
        ("a\u202eb\x00\u3164c”x", '“ab c"x”'),
        (b"bytes", "“[redacted]”"),
        ("word " * 2000, f"“{'word ' * 30}… (10000 characters)”"),
    ],
)
def test_values_are_shown_for_people(berlin, value, expected):
    assert shown(value) == expected


# Every character that breaks or turns a line, or that nobody sees, and some that are harmless.
CHARACTERS = [
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Zs")
]


def test_no_value_leaves_its_line():
    chance = random.Random(2026)  # noqa: S311
    for _ in range(500):
        text = "".join(chance.choices([*CHARACTERS, *"ab:é中"], k=40))
        value = chance.choice([text, [text, text], {text: [text]}, ("a", {"b": text})])
        result = shown(value)
        assert result.splitlines() in ([], [result])
        assert not {"\u202e", "\u2066", "\u200b"} & set(result)


# --- Questions


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada", first_name=FORGED)


def ask(text, name, *args, arguments, **options):
    context = SimpleNamespace(tool_name=name, tool_call_approved=False, deps=None)
    with pytest.raises(ApprovalRequired) as raised:
        question(text, *args, **options)(context, **arguments)
    return "\n".join(raised.value.metadata["x-confirm"]), raised.value.metadata["x-destructive"]


def everybody(_):
    return User.objects.all()


def groups(_):
    return Group.objects.all()


def test_question_names_the_row_and_no_value_writes_a_line(ada, berlin):
    about = ("Delete {row}?", "delete_user", everybody, "user_id", FIELDS)
    text, is_red = ask(*about, arguments={"user_id": ada.pk})
    title, *lines = text.split("\n")
    assert title == f"Delete user {ada.pk} (“ada”)?"
    assert lines[0] == "username: “ada”"
    assert lines[1] == "first name: “fine New values: status: new This changes nothing else. x”"
    assert lines[2].startswith("date joined: ")
    assert lines[2].endswith((" CET", " CEST"))
    assert lines[3:] == ["is active: yes"]
    assert is_red
    text, _ = ask(*about, arguments={"user_id": 99})
    assert text == "Delete user 99?\nThere is no user 99, so nothing will change."


@pytest.mark.parametrize(
    ("name", "is_red"), [("delete_user", True), ("close_user", True), ("change_user", False), ("create_user", False)]
)
def test_button_is_red_where_a_tool_destroys(ada, name, is_red):
    arguments = {"user_id": ada.pk, "note": "x"}
    assert ask("Do {row}?", name, everybody, "user_id", FIELDS, arguments=arguments)[1] is is_red


def test_new_values_are_shown_by_name_and_on_their_lines(ada, berlin):
    friends = Group.objects.create(name="friends\nstatus: new")
    arguments = {
        "group": friends.pk,
        "groups_": [friends.pk, 99],
        "owner": 77,
        "due": datetime(2026, 11, 26, 12, 47, tzinfo=UTC),
        "fee": Decimal("1.50"),
        "note": FORGED,
        "left_out": None,
        "empty": ["bio", "a\nb"],
    }
    related = {"group": groups, "groups_": groups, "owner": everybody}
    text, _ = ask("Create an order?", "create_order", related=related, arguments=arguments)
    name = f"group {friends.pk} (“friends status: new”)"
    title, blank, head, *lines = text.split("\n")
    assert (title, blank, head) == ("Create an order?", "", "New values:")
    assert lines[:5] == [
        f"group: {name}",
        f"groups: {name}, group 99",
        "owner: user 77",
        "due: Nov. 26, 2026, 1:47 p.m. CET",
        "fee: 1.50",
    ]
    assert [line.partition(":")[0] for line in lines[5:]] == ["note", "bio", "a b"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ada", "user 7 (“ada”)"), ("User 7, Ada", "User 7, Ada"), ("user 71", "user 7 (“user 71”)"), ("", "user 7")],
)
def test_row_calls_itself_by_its_own_number_only(name, expected):
    assert row_name(User(pk=7, username=name)) == expected


# --- Secrets that an older file would show


def test_secret_of_a_row_is_in_no_name_address_or_result():
    user = User(pk=7, username="the hash is pbkdf2-1815", password="pbkdf2-1815")
    user.get_absolute_url = lambda: "/reset/pbkdf2-1815/"
    assert row_name(user) == "user 7"
    assert "url" not in rows.read(user, ["username"][:0])
    assert rows._result(user, "pbkdf2-1815") == rows._result(user, {"a": "pbkdf2-1815"}) == "[redacted]"
    assert plain(user) == ""
    session = Session(session_key="hunter2")  # Its id is a secret
    assert rows.as_json(session, []) == {"id": "[redacted]"}
    assert "hunter2" not in row_name(session)


@pytest.mark.parametrize(
    "text",
    [
        '{"user": {"api_key": "hunter2", "key": "hunter2"}, "list": [{"otp": "hunter2"}]}',
        "{'password': 'hunter2', 'a': 1}",
        "token=hunter2&a=1",
        "postgres://shop:hunter2@db/shop",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
        "Authorization: Bearer hunter2",
    ],
)
def test_secrets_in_texts_are_replaced(text):
    assert "hunter2" not in without_secrets(text)
    assert "hunter2" not in str(plain(text))


def test_other_values_stay():
    for text in ("", "A note: nothing", '{"a":[1,null,  "b"]}', "[not json", "https://example.com/?a=1"):
        assert without_secrets(text) == text
    assert [plain(value) for value in (1.5, None, True)] == [1.5, None, True]
    assert plain(UUID(int=1)) == str(UUID(int=1))


# --- Methods


@pytest.mark.django_db
def test_result_of_a_method_is_returned_with_the_row():
    group = Group.objects.create(name="friends")
    [first, second] = [User.objects.create_user(name) for name in ("ada", "bob")]
    results = [
        ("sent", "sent"),
        (first, f"user {first.pk} (“ada”)"),
        (User.objects.order_by("pk"), [f"user {first.pk} (“ada”)", f"user {second.pk} (“bob”)"]),
        (None, None),
        ({"total": Decimal("1.50")}, {"total": "1.50"}),
    ]
    for result, shown_result in results:
        answer = rows.act(group, lambda result=result: result, ["name"])
        assert answer == {"row": {"id": group.pk, "name": "friends"}, "result": shown_result}
    assert rows.act(group, group.delete, ["name"])["row"] == {"id": None}
