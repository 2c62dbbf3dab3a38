"""Print a jsconfig.json, by which editors and TypeScript find the types of the chat."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import get_finders
from django.core.management.base import BaseCommand

from agui.management.commands.check_translations import INSTALLED

ENGINE = Path(__file__).resolve().parents[2]
OPTIONS = {
    "checkJs": True,
    "lib": ["esnext", "dom", "dom.iterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "noEmit": True,
    "skipLibCheck": True,
    "strict": True,
    "target": "esnext",
    "types": [],
}


class Command(BaseCommand):
    help = (
        "Print a jsconfig.json. With it, editors and TypeScript find the types of the chat, as "
        "in `import('../agui/agui-chat.d.ts')` of a script in assistant/static/assistant/."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        own = [os.path.relpath(folder) for folder in own_folders()]
        engine = [ENGINE / "static", *sorted(ENGINE.glob("contrib/*/static"))]
        # These folders share one root, because all their files are served under STATIC_URL.
        folders = [*own, *(os.path.relpath(folder) for folder in engine)]
        content = {"compilerOptions": {**OPTIONS, "rootDirs": folders}, "include": own}
        self.stdout.write(json.dumps(content, indent=2))


def own_folders() -> Iterator[Path]:
    """Find the folders of the project's own static files."""
    for finder in get_finders():
        for storage in getattr(finder, "storages", {}).values():
            folder = Path(storage.location).resolve()
            if not INSTALLED & {*folder.parts} and not folder.is_relative_to(ENGINE):
                yield folder
