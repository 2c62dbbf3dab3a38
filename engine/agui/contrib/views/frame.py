"""The document around each card: one file, the same in the chat and in hosts of MCP.

The card itself comes as data, by the protocol of MCP Apps (2026-01-26). So the document is public
and never changes, and its policy knows the one script that may run.
"""

import base64
import hashlib
from pathlib import Path

FOLDER = Path(__file__).with_name("app")
KEY = "agui/view"
"""Under this name the `_meta` of a tool's result has the card."""


def _csp(script: str) -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        # A template may have a <style>. What it names can't be loaded.
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "font-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def _joined(directives: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in directives.items())


_SCRIPT = (FOLDER / "app.js").read_text(encoding="utf-8")
_STYLE = (FOLDER / "app.css").read_text(encoding="utf-8")
_DIRECTIVES = _csp(_SCRIPT)
RELAY = (FOLDER / "relay.js").read_text(encoding="utf-8")
"""Stands between the page and the app of another server (contrib/mcp/app_documents.py)."""

DOCUMENT = f"""<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_joined(_DIRECTIVES)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>View</title>
<style>{_STYLE}</style>
</head>
<body>
<main></main>
<p role="status"></p>
<script>{_SCRIPT}</script>
</body>
</html>
"""

# `sandbox` holds where somebody opens the address itself, without the frame of the chat.
HEADER = _joined({**_DIRECTIVES, "frame-ancestors": "'self'", "sandbox": "allow-scripts"})
