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
# Control and surrogate characters, line and paragraph separators; and what turns the direction of the text after it.
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
WINDOWS_RESERVED = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}


def problem_in_text(variable, text, most):
    if len(text) > most:
        return f"{variable} has {len(text)} characters: {most} are the most."
    for character in text:
        if unicodedata.category(character) in UNPRINTABLE or character in DIRECTIONS:
            return f"{variable} {text!r} contains {character!r}: leave control characters and line breaks out."
        if character in UNSAFE:
            return f"{variable} {text!r} contains {character}: leave these out: {' '.join(UNSAFE)}"
    if not any(character.isprintable() and not character.isspace() for character in text):
        return f"{variable} is empty: write at least one character that can be seen."
    return None


def problem_in_slug(slug):
    if "cookiecutter.project_slug" in slug:
        return "cookiecutter is too old: version 2.3 or newer fills in what the template asks of it."
    if slug != DIRECTORY or not re.fullmatch(r"[a-z0-9](_?[a-z0-9]+)*", slug) or len(slug) > 63:
        return f"project_slug {slug!r} is not a name: use up to 63 of a-z, 0-9 and single _, such as my_assistant."
    if slug in WINDOWS_RESERVED:
        return f"project_slug {slug!r} is reserved on Windows: choose another."
    return None


def problem_in_python():
    if sys.version_info < (3, 11):
        return "The template needs Python 3.11 or newer: uv tool install --python 3.13 cookiecutter"
    return None


def main():
    problem = (
        problem_in_python()
        or problem_in_text("project_name", NAME, 100)
        or problem_in_slug(SLUG)
        or problem_in_text("description", DESCRIPTION, 200)
    )
    if problem:
        sys.exit(problem)


main()
