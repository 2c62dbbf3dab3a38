"""Refuse answers that would break a file of the project: one line on standard error, and nothing is left behind.

cookiecutter makes the project's directory before it runs this hook, and removes only the innermost one
afterwards. So cookiecutter.json names the directory after `__safe_slug`, in which no slug can leave the
output directory, and keeps what was really answered in `__answered_slug` for the check here.
"""

import re
import sys
import unicodedata

# Answers arrive as bytes literals: no quote or backslash in them can end the string.
NAME = {{cookiecutter.project_name.encode("utf-8", "surrogatepass")}}.decode("utf-8", "surrogatepass")
SLUG = {{cookiecutter.__answered_slug.encode("utf-8", "surrogatepass")}}.decode("utf-8", "surrogatepass")
DIRECTORY = {{cookiecutter.project_slug.encode("utf-8", "surrogatepass")}}.decode("utf-8", "surrogatepass")
DESCRIPTION = {{cookiecutter.description.encode("utf-8", "surrogatepass")}}.decode("utf-8", "surrogatepass")

# They end strings, start markup or are replaced in TOML, .env, YAML, Markdown or HTML.
UNSAFE = '"\\{}<>$`'
# Control and surrogate characters, line and paragraph separators.
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
WINDOWS_RESERVED = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}
# Installers refuse a project that has the name of something that it depends on.
DEPENDENCIES = {
    "ag_ui_protocol", "anyio", "daphne", "dbos", "ddgs", "django", "django_csp", "django_environ", "django_stubs",
    "djangorestframework_mcp_server",
    "httpx2", "jsonpatch", "jsonschema", "markdownify", "mcp", "mypy", "opentelemetry_exporter_otlp_proto_http",
    "opentelemetry_sdk", "psycopg", "pydantic_ai_slim", "pydantic_evals", "pytest", "pytest_asyncio", "pytest_django",
    "pyyaml", "redis", "rich", "ruff", "tdewolff_minify", "twisted", "whitenoise",
}  # fmt: skip


def problem_in_text(variable, text, most):
    if not text.strip():
        return f"{variable} is empty: write at least one character."
    if len(text) > most:
        return f"{variable} has {len(text)} characters: {most} are the most."
    for character in text:
        if unicodedata.category(character) in UNPRINTABLE or character in "\u202a\u202b\u202c\u202d\u202e":
            return f"{variable} {text!r} contains {character!r}: leave control characters and line breaks out."
        if character in UNSAFE:
            return f"{variable} {text!r} contains {character}: leave these out: {' '.join(UNSAFE)}"
    return None


def problem_in_slug(slug):
    if slug != DIRECTORY or not re.fullmatch(r"[a-z0-9](_?[a-z0-9]+)*", slug) or len(slug) > 63:
        return f"project_slug {slug!r} is not a name: use up to 63 of a-z, 0-9 and single _, such as my_assistant."
    if slug in WINDOWS_RESERVED:
        return f"project_slug {slug!r} is reserved on Windows: choose another."
    if slug in DEPENDENCIES:
        return f"project_slug {slug!r} is the name of a package that the project needs: choose another."
    return None


def main():
    problem = (
        problem_in_text("project_name", NAME, 100)
        or problem_in_slug(SLUG)
        or problem_in_text("description", DESCRIPTION, 200)
    )
    if problem:
        sys.exit(problem)


main()
