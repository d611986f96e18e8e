"""Facts of the machine, from the files in which kernels of both kinds keep them."""

import os
import subprocess
import sys

import pytest

from sgl_explain import machine

V1 = "8:memory:/job\n0::/\n"
V2 = "0::/job\n"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that writes a control group of version 1 or 2 and makes it ours."""
    monkeypatch.setattr(machine, "_CGROUP_ROOT", tmp_path)

    def write(membership, **files):
        texts = {"/proc/self/cgroup": membership}
        folder = tmp_path / ("memory/job" if "memory" in membership else "job")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        read = machine._text
        monkeypatch.setattr(machine, "_text", lambda file: texts.get(str(file)) or read(file))

    return write


def test_memory_kills_of_a_control_group_of_version_2(kernel):
    kernel(V2, memory__events="low 0\nhigh 0\nmax 31\noom 2\noom_kill 2\noom_group_kill 0\n", memory__max="536870912\n")
    facts = machine.machine_facts()

    assert (facts["oom_kills"], facts["memory_limit_mb"]) == ("2", "512")


def test_memory_kills_of_a_control_group_of_version_1(kernel):
    limit = "9223372036854771712\n"
    kernel(V1, memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", memory__limit_in_bytes=limit)
    facts = machine.machine_facts()

    assert facts["oom_kills"] == "1"
    assert "memory_limit_mb" not in facts


def test_only_kills_since_the_start_count(kernel):
    kernel(V2, memory__events="oom_kill 2\n")
    before = machine.machine_facts()
    kernel(V2, memory__events="oom_kill 3\n")

    assert machine.facts_since(before)["oom_kills"] == "1"


def test_what_was_not_known_before_is_not_known_after(kernel):
    kernel(V2, memory__events="oom_kill 2\n")

    assert "oom_kills" not in machine.facts_since({})


def test_limits_are_those_of_this_process():
    script = "from sgl_explain.machine import machine_facts; print(machine_facts().get('address_space_limit_mb'))"
    command = ["sh", "-c", 'ulimit -v 3000000; exec "$@"', "sh", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})

    assert done.stdout == "2929\n"


def test_shared_memory_is_what_the_system_says():
    size = os.statvfs("/dev/shm")

    assert machine.machine_facts()["shm_size_mb"] == str(size.f_blocks * size.f_frsize // (1 << 20))


def test_every_fact_has_a_known_name():
    assert machine.machine_facts().keys() <= machine.FACTS
