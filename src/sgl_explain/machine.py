"""What the machine says about memory and limits: the facts that tell one silent death from another.

Read from where the kernel keeps them; what cannot be read is left out. Sizes are whole megabytes (2**20 bytes).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

OOM_KILLS: Final = "oom_kills"

FACTS: Final = frozenset({
    OOM_KILLS, "memory_limit_mb", "shm_size_mb", "shm_free_mb", "address_space_limit_mb", "data_limit_mb",
    "process_limit", "open_file_limit", "locked_memory_limit_kb",
})  # fmt: skip
"""All names of facts: conditions of entries may use them, and their texts as placeholders."""

_MB: Final = 1 << 20
_CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
# cgroup v1 has a number next to 2**63 where there is no limit.
_NO_LIMIT_BYTES: Final = 1 << 60
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - it is looked at, not written to


def machine_facts() -> dict[str, str]:
    """Return what can be read now: sizes, limits, and how many processes the kernel has killed for memory so far."""
    known: dict[str, int | None] = {
        OOM_KILLS: _oom_kills(),
        "memory_limit_mb": _memory_limit_mb(),
        **_shared_memory(),
        **_limits(),
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def facts_since(before: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of now, with the memory kills counted since others were read."""
    now = machine_facts()
    if OOM_KILLS in now and OOM_KILLS in before:
        return {**now, OOM_KILLS: str(max(0, int(now[OOM_KILLS]) - int(before[OOM_KILLS])))}
    return {name: value for name, value in now.items() if name != OOM_KILLS}


def _oom_kills() -> int | None:
    """How many processes of our control group the kernel has killed for memory; of the machine where it hides that.

    https://docs.kernel.org/admin-guide/cgroup-v2.html, memory.events; v1 has the count in memory.oom_control.
    """
    counts = (_count(folder / name) for folder in _memory_cgroups() for name in ("memory.events", "memory.oom_control"))
    own = next((count for count in counts if count is not None), None)
    return own if own is not None else _count(Path("/proc/vmstat"))


def _count(file: Path) -> int | None:
    found = re.search(r"^oom_kill (\d+)$", _text(file), re.MULTILINE)
    return int(found[1]) if found else None


def _memory_limit_mb() -> int | None:
    """The tightest limit of our control group and those around it."""
    texts = (
        _text(parent / name)
        for folder in _memory_cgroups()
        for parent in (folder, *folder.parents)
        if parent.is_relative_to(_CGROUP_ROOT)
        for name in ("memory.max", "memory.limit_in_bytes")
    )
    limits = [int(text) for text in texts if text.strip().isdigit() and int(text) < _NO_LIMIT_BYTES]
    return min(limits) // _MB if limits else None


def _memory_cgroups() -> list[Path]:
    """The folders that may be our control group's; inside a container its path is often told from outside."""
    folders = []
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "memory" in controllers.split(","):
            root = _CGROUP_ROOT / "memory" if controllers else _CGROUP_ROOT
            folders += [root / path.lstrip("/"), root]
    return [folder for folder in folders if folder.is_dir()]


def _shared_memory() -> dict[str, int]:
    try:
        found = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return {}
    return {
        "shm_size_mb": found.f_blocks * found.f_frsize // _MB,
        "shm_free_mb": found.f_bavail * found.f_frsize // _MB,
    }


def _limits() -> dict[str, int]:
    import resource  # waits: no such module on Windows, where nothing of this is asked for

    limits = {
        "address_space_limit_mb": (resource.RLIMIT_AS, _MB),
        "data_limit_mb": (resource.RLIMIT_DATA, _MB),
        "process_limit": (resource.RLIMIT_NPROC, 1),
        "open_file_limit": (resource.RLIMIT_NOFILE, 1),
        "locked_memory_limit_kb": (resource.RLIMIT_MEMLOCK, 1024),
    }
    soft = {name: (resource.getrlimit(kind)[0], unit) for name, (kind, unit) in limits.items()}
    return {name: value // unit for name, (value, unit) in soft.items() if value != resource.RLIM_INFINITY}


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
