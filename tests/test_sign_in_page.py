"""The page about sign-in, word for word: with django-allauth, and with tokens of an identity provider."""

import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import guide
import jwt
import pytest
from conftest import MANUAL
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from projects import append
from servers import Client, run_input, serve, text_of

pytestmark = [pytest.mark.servers, pytest.mark.nightly]
NOW, ALLAUTH, TOKENS, VISITORS, _ = guide.sections(MANUAL / "sign-in.md").values()
PASSWORD = "lovelace-1815"


@pytest.fixture
def project(bake_furnished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[guide.Section], Path]:
    """A project that followed a section, with the packages that the section adds beside the shared environment."""

    def prepared(section: guide.Section) -> Path:
        project = bake_furnished()
        [wanted] = re.findall(r'^    "(.*\[.*\].*)",$', section.steps[0].code, re.M)
        packages = tmp_path / "packages"
        subprocess.run(["uv", "pip", "install", "--quiet", "--target", packages, wanted], check=True, timeout=900)
        # The project has its own of these.
        for name in ("django", "asgiref", "sqlparse"):
            for folder in [*packages.glob(name), *packages.glob(f"{name}-*.dist-info")]:
                shutil.rmtree(folder)
        monkeypatch.setenv("PYTHONPATH", str(packages))
        section.follow(project)
        guide.run(project, ".venv/bin/ruff check --no-cache . && .venv/bin/ruff format --no-cache --check .")
        guide.run(project, ".venv/bin/python manage.py check --fail-level WARNING")
        # The packages lie beside the environment, where mypy takes them for the project's own.
        guide.run(
            project, f"MYPYPATH={packages} .venv/bin/mypy --no-incremental --follow-imports silent assistant config"
        )
        return project

    return prepared


def send(client: Client, path: str, **form: str) -> tuple[int, str]:
    """Open a page, then send its form."""
    client.fetch("GET", path)
    form["csrfmiddlewaretoken"] = client.cookies["csrftoken"]
    return client.fetch("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})


def ask(client: Client, **headers: str) -> str:
    return text_of(client.run("list_tasks", headers=headers))


def test_people_register_and_talk_to_the_agent(project):
    with serve(project(ALLAUTH), OIDC_CLIENT_ID="assistant") as live:
        visitor = live.client()
        assert visitor.fetch("POST", "/agent/", run_input("hello"))[0] == 401
        ada = {"email": "ada@example.com", "username": "ada", "password1": PASSWORD}
        assert send(visitor, "/accounts/signup/", **ada)[0] == 302
        assert "list_tasks" in ask(visitor, **{"X-CSRFToken": visitor.cookies["csrftoken"]})
        assert visitor.fetch("GET", "/accounts/2fa/")[0] in {200, 302}
        assert send(visitor, "/accounts/logout/")[0] == 302
        headers = {"X-CSRFToken": visitor.cookies["csrftoken"]}
        assert visitor.fetch("POST", "/agent/", run_input("hello"), headers)[0] == 401
        assert send(visitor, "/accounts/login/", login="ada@example.com", password=PASSWORD)[0] == 302
        assert "/accounts/oidc/company/login/" in live.client().fetch("GET", "/accounts/login/")[1]
        with live.client().open("GET", "/admin/") as response:
            assert response.headers["Location"].startswith("/admin/login/")
        with live.client().open("GET", "/admin/login/?next=/admin/") as response:
            assert response.headers["Location"].startswith("/accounts/login/")


def test_a_token_of_the_identity_provider_is_checked(project):
    secret, other = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    public = secret.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    with serve(project(TOKENS), JWT_PUBLIC_KEY=public) as live:
        good = {"sub": live.username, "aud": "assistant", "exp": time.time() + 600}

        def status(key: Any = secret, **changes: object) -> int:
            token = jwt.encode({**good, **changes}, key, "RS256")
            return Client(live.port, token).fetch("POST", "/agent/", run_input("hello"))[0]

        assert status() == 200
        assert status(aud="another") == status(exp=time.time() - 60) == status(sub="nobody") == status(other) == 401
        unsigned = jwt.encode(good, None, "none")
        assert Client(live.port, unsigned).fetch("POST", "/agent/", run_input("hello"))[0] == 401
        assert "list_tasks" in ask(live.client(live.token))


def test_visitors_talk_to_the_agent(bake_furnished):
    project = bake_furnished()
    *edits, throttle = VISITORS.steps
    for step in edits:
        guide.edit(project, step)
    append(project / "config/settings.py", throttle.code.replace("10/hour", "2/hour"))
    guide.run(project, ".venv/bin/ruff check --no-cache . && .venv/bin/ruff format --no-cache --check .")
    with serve(project) as live:
        visitor = live.client()
        status, page = visitor.fetch("GET", "/")
        assert (status, "Sign out" in page, "<agui-chat" in page) == (200, False, True)
        headers = {"X-CSRFToken": visitor.cookies["csrftoken"]}
        thread = str(uuid.uuid4())
        assert "demo" in text_of(visitor.run("hello", headers=headers, threadId=thread)).lower()
        assert visitor.fetch("GET", f"/agent/threads/{thread}/")[0] == 200
        assert live.client().fetch("GET", f"/agent/threads/{thread}/")[0] in {401, 404}
        visitor.run("hello", headers=headers)
        assert visitor.fetch("POST", "/agent/", run_input("hello"), headers)[0] == 429
        known = live.client()
        known.login(live.username, live.password)
        assert "Sign out" in known.fetch("GET", "/")[1]
