"""Tokens for codes and for refresh tokens, and the end of a token. The toolkit does the work."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from oauth2_provider.views import RevokeTokenView, TokenView

from agui.contrib.oauth.addresses import resource_of
from agui.contrib.oauth.connections import end_if_gone
from agui.contrib.oauth.families import Exchange, ending, family_in, family_of_token, holding
from agui.contrib.oauth.validator import HostViewMixin, has_zero_byte, repeated

ZERO_BYTE = "A value has a zero byte."


class TokenEndpoint(HostViewMixin, TokenView):
    """POST a code or a refresh token to get an access token and the next refresh token."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        form = request.POST.copy()
        if has_zero_byte(form):
            return _error("invalid_request", ZERO_BYTE)
        if name := repeated(form):
            return _error("invalid_request", f"{name} comes twice.")
        resources = [resource_of(request, url) for url in form.getlist("resource") if url]
        known = {resource for resource in resources if resource is not None}
        if None in resources:
            return _error("invalid_target", "This site has no such MCP endpoint.")
        form.setlist("resource", sorted(known))
        request.POST = form  # type: ignore[assignment]
        family = family_in(form)
        if family is None:
            return self.authorization_flow_token_response(request)
        with holding([family]):
            exchange = Exchange(request, family)
            body = exchange.answer()
            if body is not None:
                return HttpResponse(body, "application/json", headers={"Cache-Control": "no-store"})
            response = self.authorization_flow_token_response(request)
            if response.status_code == 200:
                exchange.keep(response.content)
            else:
                end_if_gone(family)  # What was exchanged before ends the family.
            return response


class RevokeEndpoint(HostViewMixin, RevokeTokenView):
    """POST a token to end it, and with it the connection that it belongs to (RFC 7009)."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if has_zero_byte(request.POST):
            return _error("invalid_request", ZERO_BYTE)
        family = family_of_token(request.POST.get("token", ""))
        with ending([family] if family else []):
            response: HttpResponse = super().post(request, *args, **kwargs)
            if family:
                end_if_gone(family)
            return response


def _error(code: str, description: str) -> HttpResponse:
    body = {"error": code, "error_description": description}
    return JsonResponse(body, status=400, headers={"Cache-Control": "no-store"})
