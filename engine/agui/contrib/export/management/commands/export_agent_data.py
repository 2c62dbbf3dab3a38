"""Write everything that is kept of a user as one JSON document."""

import os
import re
import shutil
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model
from django.db.models.fields.files import FieldFile

from agui.actor import Actor
from agui.contrib.export.document import write_document


class Command(BaseCommand):
    help = "Write everything that the agent keeps of a user as one JSON document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="The user whose data to export.")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="Where to write it [standard output]."
        )
        parser.add_argument(
            "--files", type=Path, metavar="DIR", help="A folder to copy the user's attachments to."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user_model = get_user_model()
        try:
            user = user_model._default_manager.get_by_natural_key(options["username"])
        except user_model.DoesNotExist:
            raise CommandError(f"There is no user {options['username']!r}.") from None
        folder: Path | None = options["files"]
        self.lost = 0
        if folder:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        save_file = partial(self.save_file, folder) if folder else None
        actor = Actor(user, f"user:{user.pk}")
        document = write_document(actor, save_file=save_file, all_agents=True)
        if options["output"]:
            with open(options["output"], "w", encoding="utf-8", opener=_private) as output:
                output.writelines(document)
        else:
            for chunk in document:
                self.stdout.write(chunk, ending="")
        if self.lost:
            raise CommandError(
                f"Files that could not be copied: {self.lost}. The document is complete."
            )

    def save_file(self, folder: Path, row: Model, own_name: str, file: FieldFile) -> str | None:
        """Copy a file to the folder. Return its name there; None if it can't be copied.

        The user's own name for the file could be any path, so only its suffix is used.
        """
        name = str(row.pk)
        suffix = Path(own_name).suffix
        if re.fullmatch(r"\.[A-Za-z0-9]{1,10}", suffix):
            name += suffix
        try:
            with file.open() as source, open(folder / name, "wb", opener=_private) as target:
                shutil.copyfileobj(source, target)
        except Exception as error:
            self.lost += 1
            self.stderr.write(
                f"The file of {row._meta.verbose_name} {row.pk} can't be copied: {error}"
            )
            return None
        return name


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
