from django import template

from agui.server.versions import versions

register = template.Library()
register.simple_tag(versions)
