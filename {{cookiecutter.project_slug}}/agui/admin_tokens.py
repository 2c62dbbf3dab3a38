"""The form that makes a token in the admin, and for whom.

A token acts as its user. So staff make tokens for themselves, and for others only if they may do all that the other
may: a token is not to give its maker a right that they lack.
"""

from typing import Any

from django import forms

from agui.models import ApiToken
from agui.tokens import MAX_DAYS

# A token reads its user's conversations.
READ_CONVERSATIONS = "agui.view_thread"


def may_act_as(user: Any, other: Any) -> bool:
    """Whether a user may do everything that another one may."""
    if user == other or user.is_superuser:
        return True
    if other.is_superuser or not user.has_perm(READ_CONVERSATIONS):
        return False
    return set(other.get_all_permissions()) <= set(user.get_all_permissions())


class ApiTokenForm(forms.ModelForm):
    maker: Any = None
    """Who fills it in."""
    days = forms.IntegerField(
        min_value=1, max_value=MAX_DAYS, required=False, help_text="How long it lives. Empty: it does not expire."
    )

    class Meta:
        model = ApiToken
        fields = ["user", "name"]

    def clean_user(self) -> Any:
        user = self.cleaned_data["user"]
        if not user.is_active:
            # Nobody can tell what such a user may do later.
            raise forms.ValidationError("This user is not active: activate the user first.")
        if not may_act_as(self.maker, user):
            raise forms.ValidationError(
                "This user may do things that you may not. Make the token for yourself, or ask a superuser."
            )
        return user
