"""Tools for people who write entries: ``python -m sgl_explain.authoring check | compile | new | inventory``."""
