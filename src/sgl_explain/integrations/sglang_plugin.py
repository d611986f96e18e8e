"""SGLang's own plugin entry point, group ``sglang.srt.plugins`` (since 0.5.11).

SGLang calls it in its main process and in each spawned scheduler before logging is configured, so installing the
package is all that is needed. ``SGL_EXPLAIN=0`` turns it off, and SGLang's ``SGLANG_PLUGINS`` list can leave it out.
"""


def activate() -> None:
    """Install the explainer in this SGLang process; never raises."""
    from sgl_explain.integrations.installation import install

    install()
