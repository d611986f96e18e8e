"""At a terminal the command has one too: size, keys, Ctrl-C, Ctrl-Z, and our terminal comes back as it was."""

import fcntl
import os
import struct
import sys
import termios

PY = sys.executable
REPORT = "import os; print([os.isatty(fd) for fd in (0, 1, 2)])"
COUNT_INTERRUPTS = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready", flush=True)
while not seen: time.sleep(0.05)
time.sleep(1)
print("interrupts", len(seen), flush=True)
"""


def set_size(terminal, rows, columns):
    fcntl.ioctl(terminal.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def test_the_command_sees_a_terminal(at_terminal):
    terminal = at_terminal([PY, "-c", REPORT])

    assert terminal.end() == 0
    assert terminal.shown == b"[True, True, True]\r\n"


def test_only_what_is_a_terminal_is_one(at_terminal):
    terminal = at_terminal([], line=f"RUN {PY} -c '{REPORT}' < /dev/null | cat; RUN {PY} -c '{REPORT}' | cat")

    assert terminal.end() == 0
    assert terminal.shown == b"[False, False, True]\r\n[True, False, True]\r\n"


def test_keys_reach_the_command_and_are_echoed_once(at_terminal):
    terminal = at_terminal([PY, "-c", "print(repr(input('name? ')))"])
    terminal.wait_for(b"name? ")
    terminal.type(b"Ada\x7fe\r")

    assert terminal.end() == 0
    assert terminal.shown == b"name? Ada\b \be\r\n'Ade'\r\n"


def test_the_command_has_the_size_of_the_window_and_learns_of_changes(at_terminal):
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGWINCH, lambda *_: os.write(1, str(os.get_terminal_size()).encode()))\n"
        "print('ready', flush=True); input(); print('end', os.get_terminal_size())"
    )
    terminal = at_terminal([PY, "-c", script])
    terminal.wait_for(b"ready")
    set_size(terminal, 33, 77)
    terminal.wait_for(b"columns=77, lines=33")
    terminal.type(b"\r")

    assert terminal.end() == 0


def test_ctrl_c_interrupts_the_command_once(at_terminal):
    terminal = at_terminal([PY, "-c", COUNT_INTERRUPTS])
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")

    assert terminal.end() == 0
    assert b"interrupts 1\r\n" in terminal.shown


def test_ctrl_c_interrupts_a_command_without_keyboard_once(at_terminal):
    terminal = at_terminal([], line=f"exec RUN {PY} -c '{COUNT_INTERRUPTS}' < /dev/null")
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")

    assert terminal.end() == 0
    assert b"interrupts 1\r\n" in terminal.shown


def test_ctrl_z_stops_the_command_and_fg_goes_on(at_terminal):
    shell = at_terminal([], line="PS1='next> ' exec bash --norc --noprofile -i")
    shell.wait_for(b"next> ")
    shell.type(f"{PY} -m sgl_explain run -- cat\r".encode())
    shell.wait_for(b"run -- cat\r\n")
    shell.type(b"one\r")
    shell.wait_for(b"one\r\none\r\n")
    shell.type(b"\x1a")
    shell.wait_for(b"Stopped")
    shell.wait_for(b"next> ")
    shell.type(b"fg\r")
    shell.wait_for(b"run -- cat\r\n")
    shell.type(b"two\r")
    shell.wait_for(b"two\r\ntwo\r")  # who echoes it depends on whether `run` has the terminal again already
    shell.type(b"\x04")
    shell.wait_for(b"next> ")
    shell.type(b"exit\r")

    assert shell.end() == 0


def test_the_terminal_comes_back_as_it_was(at_terminal, tmp_path):
    line = f"stty -a > before; RUN {PY} -c 'exit(3)'; echo $?; stty -a > after; cmp before after && echo same"
    terminal = at_terminal([], line=f"cd {tmp_path}; {line}")

    assert terminal.end() == 0
    assert terminal.shown == b"3\r\nsame\r\n"


def test_explanations_keep_to_the_left_edge_of_a_raw_terminal(at_terminal):
    terminal = at_terminal(["sh", "-c", "kill -9 $$"], NO_COLOR="1")

    assert terminal.end() == 137
    assert b"sgl_explain: The command was killed (SIGKILL)\r\n  Exit status" in terminal.shown
    assert b"\n" not in terminal.shown.replace(b"\r\n", b"")


def test_closing_the_window_hangs_the_command_up(at_terminal, tmp_path):
    script = (
        "import signal, time\n"
        "def note(*_): open('hup', 'w').write('hup'); raise SystemExit\n"
        f"import os; os.chdir({str(tmp_path)!r})\n"
        "signal.signal(signal.SIGHUP, note); print('ready', flush=True); time.sleep(100)"
    )
    terminal = at_terminal([PY, "-c", script])
    terminal.wait_for(b"ready")
    os.close(terminal.screen)
    os.waitpid(terminal.process, 0)

    assert (tmp_path / "hup").read_text() == "hup"
