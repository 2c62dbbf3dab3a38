"""What a request to sign in must have, beyond what django-oauth-toolkit asks for."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.http import QueryDict
from oauth2_provider.models import get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.errors import InvalidRequestError, InvalidScopeError
from oauthlib.oauth2.rfc6749.utils import scope_to_list

from agui.contrib.oauth.clients import is_acceptable, is_local
from agui.contrib.oauth.families import family_of_code, family_of_token
from agui.contrib.oauth.scopes import scopes as known_scopes

S256 = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 digest in base64, without padding."""


class HostValidator(OAuth2Validator):
    """Lets MCP hosts in: by a code, with PKCE, for one resource, and back to a registered address.

    Only the views of this part use it, so a project's other OAuth clients are as they were.
    """

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        return True

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        if not is_acceptable(redirect_uri):
            return False
        if redirect_uri in request.client.redirect_uris.split():
            return True
        # The port of a program on the person's machine is known only when it runs.
        return is_local(redirect_uri) and super().validate_redirect_uri(
            client_id, redirect_uri, request, *args, **kwargs
        )

    def validate_scopes(
        self, client_id: str, scopes: Any, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        # Hosts ask for what other servers have, such as offline_access: what is left counts. The
        # answer says which scopes are granted.
        request.scopes = _known(scopes) or self.get_default_scopes(client_id, request)
        return True

    def get_default_scopes(
        self, client_id: str, request: Any, *args: Any, **kwargs: Any
    ) -> list[str]:
        # As the endpoint's 401 says. The person chooses among them.
        return list(known_scopes())

    def is_within_original_scope(
        self, request_scopes: Any, refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        granted = scope_to_list(self.get_original_scopes(refresh_token, request))
        request.scopes = _known(request_scopes) or granted
        if set(request.scopes) <= set(granted):
            return True
        words = f"Granted are: {' '.join(granted)}."
        raise InvalidScopeError(description=words, request=request)

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        if not super().validate_code(client_id, code, client, request, *args, **kwargs):
            # If it has been used, whoever has it now may have been the first (RFC 6749, 4.1.2).
            get_refresh_token_model().revoke_family(family_of_code(code))
            return False
        return bool(request.user.is_active)

    def save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        super().save_bearer_token(token, request, *args, **kwargs)
        if request.grant_type == "authorization_code":
            checksum = sha256(token["refresh_token"].encode()).hexdigest()
            saved = get_refresh_token_model().objects.filter(token_checksum=checksum)
            saved.update(token_family=family_of_code(request.code))

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        is_valid = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return bool(is_valid and request.user.is_active)

    def revoke_token(
        self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        # A refresh token that was exchanged before ends what followed it (RFC 7009, 2.1).
        models = get_refresh_token_model()
        family = family_of_token(token)
        if models.objects.filter(token_family=family, application=request.client).exists():
            models.revoke_family(family)
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)


def _known(scopes: Iterable[str]) -> list[str]:
    return [scope for scope in known_scopes() if scope in scopes]


def check_challenge(request: Any) -> None:
    """Raise InvalidRequestError unless a request has a challenge of PKCE by S256."""
    if request.code_challenge_method != "S256":
        raise InvalidRequestError(
            description="code_challenge_method must be S256.", request=request
        )
    if not S256.fullmatch(request.code_challenge or ""):
        raise InvalidRequestError(description="code_challenge is no SHA-256.", request=request)


def repeated(values: QueryDict) -> str:
    """Return the name of a parameter that comes twice (RFC 6749, 3.1); '' if there is none.

    Only of resources there may be several (RFC 8707).
    """
    names = (name for name, given in values.lists() if len(given) > 1 and name != "resource")
    return next(names, "")


def has_zero_byte(values: QueryDict) -> bool:
    """Whether a value has what PostgreSQL takes in no text: looking for it is an error."""
    return any("\0" in value for _, values_of_key in values.lists() for value in values_of_key)


class HostViewMixin:
    """What the views of django-oauth-toolkit work with here: no grant but codes and refreshing."""

    server_class = WebApplicationServer
    validator_class = HostValidator
