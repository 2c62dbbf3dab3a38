"""API tokens in the admin: to make and to revoke.

A token acts as its user, and must not give its maker a permission that they lack. So staff may make
tokens for themselves, and for users whose permissions they all have.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agui import clock, conf
from agui.contrib.admin.lists import USERNAME, MadeOnce
from agui.http.tokens import MAX_DAYS, mint
from agui.models import ApiToken, get_conversation_model
from agui.sentences import fill, wording


def may_read_conversations() -> str:
    """The permission to read conversations, which one can with a token of their user."""
    options = get_conversation_model()._meta
    return f"{options.app_label}.view_{options.model_name}"


def may_act_as(user: Any, other: Any) -> bool:
    """Whether a user has all permissions of another one."""
    if user == other or getattr(user, "is_superuser", False):
        return True
    if getattr(
        other, "is_superuser", not hasattr(other, "get_all_permissions")
    ) or not user.has_perm(may_read_conversations()):
        return False
    return set(other.get_all_permissions()) <= set(user.get_all_permissions())


class ApiTokenForm(forms.ModelForm):
    maker: Any = None
    """The user who fills the form in."""
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label=wording("Days"),
        help_text=_("How long it lives. Empty: it does not expire."),
    )

    class Meta:
        model = ApiToken
        fields = ["user", "name"]

    def clean_user(self) -> Any:
        user = self.cleaned_data["user"]
        if not user.is_active:
            # Nobody knows which permissions such a user will have later.
            raise forms.ValidationError(_("This user is not active: activate the user first."))
        if not may_act_as(self.maker, user):
            raise forms.ValidationError(
                _(
                    "This user may do things that you may not. Make the token for yourself, or ask "
                    "a superuser."
                )
            )
        return user


@admin.register(ApiToken)
class ApiTokenAdmin(MadeOnce):
    form = ApiTokenForm
    list_display = [
        "prefix",
        "name",
        "user",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    ]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter), "expires_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["prefix", "name", f"user__{USERNAME}"]
    actions = ["revoke"]

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        if obj is None:
            return ["user", "name", "days"]
        return self.list_display

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return [] if obj is None else self.list_display

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        return type(form.__name__, (form,), {"maker": request.user})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial = super().get_changeform_initial_data(request)
        return {"user": request.user.pk, "days": conf.get().token_days, **initial}

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        if not change:
            text = mint(obj, form.cleaned_data["days"])
            warning = _("This is the token. It can't be shown again:")
            messages.warning(request, f"{warning} {text}")
        super().save_model(request, obj, form, change)

    @admin.action(description=wording("Revoke the selected tokens"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        revoked = queryset.filter(revoked_at=None).update(revoked_at=clock.now())
        messages.success(request, fill(_("Tokens revoked: {number}."), number=revoked))
