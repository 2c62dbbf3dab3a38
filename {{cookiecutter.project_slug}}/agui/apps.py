"""Start-up: settings are checked, tools are found."""

from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save
from django.utils.module_loading import autodiscover_modules


class AguiConfig(AppConfig):
    name = "agui"
    verbose_name = "Agent"

    def ready(self) -> None:
        from agui import attachments, budgets, checks, conf
        from agui.models import Attachment, Budget

        conf.load()
        checks.register()
        # A signal, because it is Django's own way to tell what its cascades delete.
        post_delete.connect(attachments.delete_file, sender=Attachment)
        post_save.connect(budgets.belief.forget, sender=Budget)
        autodiscover_modules("tools", "skills")
        # Now: they take long enough to hold up a server that is at work.
        if conf.get().telemetry:
            import_module("agui.otel")
        if conf.get().mcp_config:
            import_module("agui.mcp.toolset")
        if conf.get().mcp_endpoint:
            import_module("agui.mcp.endpoint")
        if conf.get().run_executor == "dbos" and find_spec("dbos"):
            import_module("agui.durable.orders")
