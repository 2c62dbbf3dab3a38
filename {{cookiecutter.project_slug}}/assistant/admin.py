"""The example's tasks in the admin."""

from django.contrib import admin

from assistant.models import Task


@admin.register(Task)
class TaskAdmin(admin.ModelAdmin):
    list_display = ["title", "category", "owner", "done", "created_at"]
    list_filter = ["done", "category"]
    list_select_related = ["owner"]
    search_fields = ["title", "owner__username"]
    autocomplete_fields = ["owner"]
    date_hierarchy = "created_at"
