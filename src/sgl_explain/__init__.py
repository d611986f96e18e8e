"""sgl_explain: what an SGLang error means, why it happened to you, and what to type instead.

Importing this module does nothing and loads nothing; the names below load on first use (PEP 562).
"""

# type checkers take this name for true; importing typing for it would cost more than all the rest of this module
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sgl_explain.diagnosis import diagnose as diagnose
    from sgl_explain.diagnosis import scan as scan
    from sgl_explain.explanation import Explanation as Explanation
    from sgl_explain.integrations.explain import explain as explain
    from sgl_explain.integrations.installation import install as install
    from sgl_explain.integrations.installation import uninstall as uninstall
    from sgl_explain.integrations.ipython import load_ipython_extension as load_ipython_extension
    from sgl_explain.integrations.ipython import unload_ipython_extension as unload_ipython_extension
    from sgl_explain.integrations.log_config import ExplainFilter as ExplainFilter
    from sgl_explain.integrations.log_config import ExplainFormatter as ExplainFormatter
    from sgl_explain.integrations.log_config import explain_event as explain_event
    from sgl_explain.knowledge_base import bundled_knowledge as knowledge

__version__ = "0.1.0"

_HOME = {
    "ExplainFilter": ("sgl_explain.integrations.log_config", "ExplainFilter"),
    "ExplainFormatter": ("sgl_explain.integrations.log_config", "ExplainFormatter"),
    "Explanation": ("sgl_explain.explanation", "Explanation"),
    "diagnose": ("sgl_explain.diagnosis", "diagnose"),
    "scan": ("sgl_explain.diagnosis", "scan"),
    "knowledge": ("sgl_explain.knowledge_base", "bundled_knowledge"),
    "explain": ("sgl_explain.integrations.explain", "explain"),
    "explain_event": ("sgl_explain.integrations.log_config", "explain_event"),
    "install": ("sgl_explain.integrations.installation", "install"),
    "uninstall": ("sgl_explain.integrations.installation", "uninstall"),
    "load_ipython_extension": ("sgl_explain.integrations.ipython", "load_ipython_extension"),
    "unload_ipython_extension": ("sgl_explain.integrations.ipython", "unload_ipython_extension"),
}

__all__ = [
    "ExplainFilter",
    "ExplainFormatter",
    "Explanation",
    "diagnose",
    "explain",
    "explain_event",
    "install",
    "knowledge",
    "load_ipython_extension",
    "scan",
    "uninstall",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    value: object = getattr(import_module(module), attribute)
    # a submodule of the same name may have taken the attribute while it was imported
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
