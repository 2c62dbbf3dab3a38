"""Prompts written beforehand: buttons of an empty chat, and commands in the `/` palette."""

from agui import SkillRegistry

skills = SkillRegistry()
