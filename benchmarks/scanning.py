"""How scanning a long log compares with grepping it, on a synthetic log made of the line shapes of a real server.

    python benchmarks/scanning.py [GIGABYTES] [--requests]

Writes the log (1 GB unless told otherwise) into a temporary folder, runs `sgl-explain scan --json` and
`grep -cE 'Error|Exception|Traceback'` on it in turns, and prints the ratio of their times and the memory that
scanning took. With `--requests`, a tenth of the lines log a request each, as `--log-requests` does.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TURNS: Final = 3
LINES_A_PIECE: Final = 20_000
PIECES: Final = 16
DECODE_SHARE: Final = 0.75
REQUEST_FIELDS: Final = ("image_data", "video_data", "session_params", "lora_path", "stream", "top_p")
TRACEBACK: Final = """\
Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 3078, in run_scheduler_process
    scheduler.event_loop_overlap()
  File "/usr/lib/python3.12/site-packages/torch/utils/_contextlib.py", line 120, in decorate_context
    return func(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size:.2f} GiB. GPU {rank} has a total capacity of \
79.11 GiB of which 1.02 GiB is free.
"""


def batch(at: random.Random, stamp: str) -> str:
    """Return what a scheduler says of a batch."""
    rank, usage, running = at.randrange(8), at.random(), at.randrange(99)
    if at.random() < DECODE_SHARE:
        return (
            f"[{stamp} TP{rank}] Decode batch, #running-req: {running}, #token: {at.randrange(99999)}, token usage: "
            f"{usage:.2f}, cuda graph: True, gen throughput (token/s): {at.random() * 1000:.2f}, #queue-req: 0"
        )
    return (
        f"[{stamp} TP{rank}] Prefill batch, #new-seq: {at.randrange(9)}, #new-token: {at.randrange(9999)}, "
        f"#cached-token: {at.randrange(999)}, token usage: {usage:.2f}, #running-req: {running}, #queue-req: 0"
    )


def access(at: random.Random, stamp: str) -> str:
    """Return a line of the access log."""
    host = ".".join(str(at.randrange(256)) for _ in range(4))
    return f'[{stamp}] INFO:     {host}:{at.randrange(65536)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def request(at: random.Random, stamp: str) -> str:
    """Return a request as `--log-requests` shows it: no two alike."""
    fields = ", ".join(f"{name}=None" for name in REQUEST_FIELDS * 9)
    return f"[{stamp}] Receive: obj=GenerateReqInput(rid='{uuid.UUID(int=at.getrandbits(128)).hex}', {fields})"


def failure(at: random.Random, stamp: str) -> str:
    """Return a failure of a rank, of several lines."""
    rank = at.randrange(8)
    return f"[{stamp} TP{rank}] {TRACEBACK.format(size=at.random() * 8, rank=rank)}"


def pieces(*, with_requests: bool) -> Iterator[bytes]:
    """Yield different stretches of a log, the same at each run."""
    for seed in range(PIECES):
        at = random.Random(seed)  # noqa: S311 - no secret
        shares = {batch: 0.75, access: 0.25, failure: 0.000_02, request: 0.1 if with_requests else 0}
        kinds = at.choices(list(shares), list(shares.values()), k=LINES_A_PIECE)
        stamps = (f"2026-08-08 09:{at.randrange(60):02}:{at.randrange(60):02}" for _ in kinds)
        yield "".join(f"{kind(at, stamp)}\n" for kind, stamp in zip(kinds, stamps, strict=True)).encode()


def write(path: Path, size: int, *, with_requests: bool) -> None:
    """Write a log of about this many bytes."""
    made = list(pieces(with_requests=with_requests))
    with path.open("wb") as file:
        while file.tell() < size:
            for piece in made:
                file.write(piece)


def seconds(command: list[str]) -> float:
    """Return how long a command runs."""
    start = time.perf_counter()
    # not /dev/null: grep ends at the first match where nobody reads what it says
    subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own words
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        write(log, int(float(words[0] if words else 1) * 1e9), with_requests="--requests" in sys.argv)
        grep = ["grep", "-cE", "Error|Exception|Traceback", str(log)]
        scan = [sys.executable, "-m", "sgl_explain", "scan", "--json", str(log)]
        seconds(grep)  # the file is in the page cache for both
        for _ in range(TURNS):
            grepping, scanning = seconds(grep), seconds(scan)
            print(f"scan / grep: {scanning / grepping:.1f}", flush=True)
        peak_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"{log.stat().st_size / 1e9:.2f} GB, at most {peak_kb / 1024:.0f} MB of memory")


if __name__ == "__main__":
    main()
