"""The static inventory of what an SGLang release can say to a user, read from its source without running it."""

from sgl_explain.authoring.inventory.command import inventory, main
from sgl_explain.authoring.inventory.saying import Kind, Saying

__all__ = ["Kind", "Saying", "inventory", "main"]
