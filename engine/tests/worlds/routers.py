"""Routers of databases."""

from typing import Any


class SecondDatabase:
    """The agent, its users and what belongs to them are in a second database."""

    labels: tuple[str, ...] = (
        *("admin", "agui", "assistant", "auth"),
        *("contenttypes", "oauth2_provider", "people", "sessions", "users"),
    )

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "second" if model._meta.app_label.startswith(self.labels) else None

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return self.db_for_read(model, **hints)

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return (db == "second") == app_label.startswith(self.labels)


class AgentOnly(SecondDatabase):
    """Only the agent is there."""

    labels = ("agui", "assistant")


class UsersOnly(SecondDatabase):
    """Only users are there."""

    labels = ("admin", "auth", "contenttypes", "oauth2_provider", "sessions", "users")


class Conversations(SecondDatabase):
    """All is there, but conversations are read from elsewhere."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "default" if model._meta.app_label == "assistant" else super().db_for_read(model)

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return super().db_for_read(model)


class Replica(SecondDatabase):
    """All that is read is read from a copy."""

    labels = ("",)

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "default"
