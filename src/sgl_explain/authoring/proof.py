"""Proof that an entry's templates, sites and upstream symbols stand in the real source of an SGLang release."""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgl_explain.authoring.inventory import Saying
from sgl_explain.authoring.source import DEFAULT_CACHE, SAMPLE, Release, as_template, read_release
from sgl_explain.entry import Entry, Site
from sgl_explain.release import in_range
from sgl_explain.template import Template

if TYPE_CHECKING:
    from sgl_explain.authoring.check import Shelf

_MIN_WEIGHT: Final = 8


def stands_in(releases: Iterable[str], cache: Path | None = None) -> Callable[["Shelf"], Iterator[tuple[str, str]]]:
    """Return a rule that proves SGLang's own entries against releases, each a number, a wheel or a folder.

    A number is downloaded once, with pip, into the cache folder. Raises KnowledgeError if that fails.
    """
    sources = [read_release(name, cache or DEFAULT_CACHE) for name in releases]

    def rule(shelf: "Shelf") -> Iterator[tuple[str, str]]:
        for entry in shelf.knowledge:
            if entry.upstream[0].startswith("sglang."):
                yield from ((entry.id, problem) for source in sources for problem in _problems(entry, source))

    return rule


def _problems(entry: Entry, release: Release) -> Iterator[str]:
    if not in_range(release.number, entry.versions):
        return
    missing = [name for name in entry.upstream if not has_symbol(name, release)]
    if len(missing) == len(entry.upstream):
        yield f"{release.number}: no upstream symbol exists there: {', '.join(missing)}"
    elif not any(says(text, entry, release) for text in entry.templates) and not any(
        has_site(site, release) for site in entry.sites
    ):
        yield f"{release.number}: none of its templates or sites stands in {_modules_text(entry)}"


def _modules_text(entry: Entry) -> str:
    return ", ".join(sorted({name.partition(":")[0] for name in (*entry.upstream, *(s.upstream for s in entry.sites))}))


def has_symbol(upstream: str, release: Release) -> bool:
    """Tell whether a release defines the function (or has the module) that an upstream name means."""
    site = Site(upstream)
    return any(
        not site.function or set(upstream.partition(":")[2].split(".")) <= release.names_by_module[module] | {"*"}
        for module in release.names_by_module
        if fnmatchcase(module, site.module)
    )


def has_site(site: Site, release: Release) -> bool:
    """Tell whether a site's line stands in its module, and its function too."""
    if not site.line:
        return has_symbol(site.upstream, release)
    wanted = "".join(site.line.split())
    modules = (name for name in release.names_by_module if fnmatchcase(name, site.module))
    return any(
        site.function in release.names_by_module[name]
        and any("".join(line.split()).startswith(wanted) for line in release.lines_of(name))
        for name in modules
    )


def _sayings(module_pattern: str, release: Release) -> Iterator[Saying]:
    for module, sayings in release.sayings_by_module.items():
        if fnmatchcase(module, module_pattern):
            yield from sayings


def says(text: str, entry: Entry, release: Release) -> bool:
    """Tell whether a template of an entry stands in one of the modules that the entry names."""
    template = Template.parse(text)
    modules = {Site(name).module for name in entry.upstream}
    sayings = (saying for module in modules for saying in _sayings(module, release))
    return any(_covers(template, saying) for saying in sayings) or _stands_as_text(template, modules, release)


def _stands_as_text(template: Template, patterns: Iterable[str], release: Release) -> bool:
    """Whether every literal of a template stands among a module's text constants, whoever says it."""
    pieces = [" ".join(part.split()) for part in template.parts if isinstance(part, str)]
    modules = (name for name in release.names_by_module if any(fnmatchcase(name, pattern) for pattern in patterns))
    return any(all(piece in release.texts_of(name) for piece in pieces) for name in modules)


def _covers(template: Template, saying: Saying) -> bool:
    """Whether one of the two texts is a wording of the other, whatever their values are called."""
    said = as_template(saying.template) if saying.template else None
    if said is None:
        return False
    sample, said_sample = template.sample(SAMPLE), said.sample(SAMPLE)
    return template.match(said_sample) is not None or (said.weight >= _MIN_WEIGHT and said.match(sample) is not None)
