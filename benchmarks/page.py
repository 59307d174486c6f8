"""The live page: from a stroke or a changed cell to the answer, and many clients at once.

A real server on this machine is asked over its own port, one question after the other. Beside each
figure is the ratio to a bare Starlette route on the same server settings, asked in turn with it.
Limits: 100 ms at the 99th percentile from a stroke to both models' completions (256 pixels), 50 ms
from a changed cell of 60 columns to probabilities, completion, unusualness and evidence. Then ten
clients ask 100 questions a second: number of errors, and the memory of the server before and after.

Short form: few questions, and ten seconds of many clients. `--full`: a minute of them.
"""

import json
import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import numpy as np
import pandas as pd

from _record import Run, make_parser

N_CLIENTS, PER_SECOND = 10, 100
STROKE_LIMIT, CELL_LIMIT = 100.0, 50.0
LARGEST_GROWTH = 1.1


# ------------------------------------------------------------------------------ servers


def make_table(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    numbers = {f"n{j}": rng.normal(y * rng.normal(), 1.0) for j in range(40)}
    words = {f"c{j}": rng.choice(list("abc"), n) for j in range(20)}
    return pd.DataFrame({**numbers, **words}), y


def make_session(what: str) -> Any:
    from latentclass import LCMClassifier
    from latentclass.baselines import NaiveBayes
    from latentclass.page._digits import digits_session
    from latentclass.page._session import Session

    if what == "digits":
        return digits_session(print)
    X, y = make_table()
    if what == "numbers":
        X = pd.DataFrame(np.random.default_rng(0).normal(y[:, None] * 0.5, 1.0, (len(y), 60)))
        X.columns = [f"n{j}" for j in range(60)]
        few = {"n_init": 1, "calibrate": False, "random_state": 0}
        return Session(LCMClassifier(3, select="likelihood", **few).fit(X, y), X, y)
    return Session(NaiveBayes().fit(X, y), X, y)


def serve_bare(found: Any) -> None:
    """A route that does nothing, with the settings of the live page."""
    import asyncio
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request: Any) -> JSONResponse:
        return JSONResponse({"n": len(await request.json())})

    app = Starlette(routes=[Route("/ask/bare", answer, methods=["POST"])])
    here = socket.create_server(("127.0.0.1", 0))
    found.put(f"http://127.0.0.1:{here.getsockname()[1]}/#none")
    config = uvicorn.Config(app, http="h11", lifespan="off", log_config=None, access_log=False)
    asyncio.run(uvicorn.Server(config).serve(sockets=[here]))


def serve_page(found: Any, what: str) -> None:
    from latentclass.page._server import LivePage

    page = LivePage(make_session(what), 0)
    found.put(page.address)
    page.wait()


@contextmanager
def served(target: Callable[..., None], *arguments: Any) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and the number of the process."""
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    process = context.Process(target=target, args=(found, *arguments), daemon=True)
    process.start()
    try:
        yield found.get(timeout=600), process.pid
    finally:
        process.terminate()
        process.join(10)


class Client:
    """Asks over one connection, as a browser does."""

    def __init__(self, address: str) -> None:
        base, token = address.split("/#")
        self._headers = {"origin": base, "x-latentclass-token": token,
                         "content-type": "application/json"}  # fmt: skip
        self._connection = HTTPConnection(base.removeprefix("http://"), timeout=60)

    def ask(self, name: str, body: dict[str, Any]) -> Any:
        self._connection.request("POST", f"/ask/{name}", json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {content[:200]!r}")
        return json.loads(content)


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# ----------------------------------------------------------------------------- measuring


def cpu_milliseconds(pid: int) -> float:
    """Processor time of a process so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def time_turns(
    tasks: dict[str, Callable[[int], Any]], n: int, pid: int
) -> tuple[dict[str, list[float]], float]:
    """Milliseconds of each task, `n` times, and those of our server's processor for one.

    They take turns, after five rounds to warm up.
    """
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(-5, n):
        if turn == 0:
            before = cpu_milliseconds(pid)
        for name, task in tasks.items():
            start = time.perf_counter()
            task(abs(turn))
            if turn >= 0:
                times[name].append(1e3 * (time.perf_counter() - start))
    return times, (cpu_milliseconds(pid) - before) / n


def add_times(
    run: Run, what: str, measured: tuple[dict[str, list[float]], float], limit: float
) -> None:
    times, cpu = measured
    ours, bare = (np.array(times[name]) for name in ("ours", "bare"))
    run.add(what, "median", float(np.median(ours)), unit="ms", clock="wall", runs=len(ours))
    high = float(np.quantile(ours, 0.99))
    run.add(what, "99th percentile", high, unit="ms", limit=limit, clock="wall", runs=len(ours))
    run.add(what, "of the processor", cpu, unit="ms", clock="CPU", runs=len(ours))
    run.add_ratio(what, "median / bare route", *(float(np.median(v)) for v in (ours, bare)))


def strokes(n: int) -> list[list[int | None]]:
    """A digit that grows: more and more pixels of a three are seen."""
    rng = np.random.default_rng(0)
    image = np.zeros((16, 16), dtype=int)
    image[2:14, 9:11] = image[[2, 3, 7, 8, 12, 13], 5:11] = 1
    order = rng.permutation(256)
    found = []
    for k in range(n):
        seen = order[: 8 + 8 * (k % 16)]
        found.append([int(v) if p in set(seen) else None for p, v in enumerate(image.ravel())])
    return found


def changed_cells(client: Client, n: int) -> list[list[Any]]:
    cells = client.ask("row", {"row": 3})["cells"]
    cells[5] = None
    return [[0.01 * k, *cells[1:]] for k in range(n)]


def many_clients(address: str, seconds: float, body: dict[str, Any]) -> tuple[list[float], int]:
    """Milliseconds of each answer to ten clients that ask at a steady pace, and the errors."""
    times: list[float] = []
    errors: list[str] = []
    pause = N_CLIENTS / PER_SECOND

    def ask_on(number: int) -> None:
        client, begin = Client(address), time.perf_counter() + pause * number / N_CLIENTS
        for k in range(int(seconds / pause)):
            time.sleep(max(0.0, begin + k * pause - time.perf_counter()))
            start = time.perf_counter()
            try:
                if k % 2:
                    client.ask("ask", body)
                else:
                    client.ask("page", {"start": 10 * (k % 40), "count": 50, "sort": "unusual"})
            except Exception as error:
                errors.append(repr(error))
                client = Client(address)
            times.append(1e3 * (time.perf_counter() - start))

    threads = [threading.Thread(target=ask_on, args=(k,)) for k in range(N_CLIENTS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for error in errors[:3]:
        print(error)
    return times, len(errors)


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n = 150 if options.full else 40
    packages = ("numpy", "scikit-learn", "starlette", "uvicorn")
    with Run(__file__, keep=options.full, packages=packages) as run, served(serve_bare) as (
        bare_address, _,
    ):  # fmt: skip
        with served(serve_page, "digits") as (address, pid):
            client, images = Client(address), strokes(n + 5)
            bare = Client(bare_address)
            size = client.ask("about", {})["image"]
            if size == {"height": 16, "width": 16}:
                tasks = {
                    "ours": lambda k: client.ask("draw", {"pixels": images[k]}),
                    "bare": lambda k, bare=bare: bare.ask("bare", {"pixels": images[k]}),
                }
                found = time_turns(tasks, n, pid)
                add_times(run, "stroke, 256 pixels, 2 models", found, STROKE_LIMIT)
            else:
                print("USPS is not in the data folder: strokes are not measured.")
        for what, name in (("naive Bayes", "mixed"), ("LCM", "numbers")):
            with served(serve_page, name) as (address, pid):
                client, bare = Client(address), Client(bare_address)
                rows = changed_cells(client, n + 5)

                def ask_both(k: int, client: Client = client, rows: Any = rows) -> None:
                    client.ask("ask", {"cells": rows[k]})
                    client.ask("why", {"cells": rows[k]})

                tasks = {
                    "ours": ask_both,
                    "bare": lambda k, bare=bare, rows=rows: bare.ask("bare", {"cells": rows[k]}),
                }
                found = time_turns(tasks, n, pid)
                add_times(run, f"what if, 60 columns, {what}", found, CELL_LIMIT)
                if name == "mixed":
                    seconds, body = (60.0 if options.full else 10.0), {"cells": rows[0]}
                    many_clients(address, 5.0, body)
                    before = megabytes(pid)
                    times, errors = many_clients(address, seconds, body)
                    label = "100 a second, ten clients"
                    run.add(label, "errors", errors, limit=0, runs=len(times))
                    run.add(label, "median", statistics.median(times), unit="ms", clock="wall")
                    late = float(np.quantile(times, 0.99))
                    run.add(label, "99th percentile", late, unit="ms", clock="wall")
                    grown = megabytes(pid) / before
                    run.add(label, "growth of memory", grown, limit=LARGEST_GROWTH)


if __name__ == "__main__":
    main()
