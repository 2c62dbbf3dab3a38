"""The agent of a row, for the admin of a project with several agents."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from agui.namespaces import FIRST_AGENT, mounted_agents
from agui.sentences import wording


def agent_column() -> list[str]:
    """Return the column that says which agent a row is of, in a project with several."""
    return ["agent"] if len(mounted_agents()) > 1 else []


class AgentFilter(admin.SimpleListFilter):
    """Filters by agent, in a project with several."""

    title = wording("agent")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.field = model_admin.scope_field
        namespaces = set(mounted_agents().values())
        return [(name, name) for name in sorted(namespaces)] if len(namespaces) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        namespace = self.value()
        if not namespace:
            return queryset
        if namespace != FIRST_AGENT:
            return queryset.filter(**{f"{self.field}__startswith": f"{namespace}/"})
        owned = Q(**{f"{self.field}__startswith": "user:"})
        return queryset.filter(owned | Q(**{f"{self.field}__startswith": "session:"}))
