"""`latentclass.serve`: a local page to explore a fitted model."""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentclass._validation import check_number, check_option
from latentclass.reports._report import check_classifier

if TYPE_CHECKING:
    from latentclass.page._session import Session

HOST = "127.0.0.1"
LOOK = 0.2
"""Seconds between two looks whether the server has ended."""


class LivePage:
    """A page that is being served. `with` closes it at the end of its block.

    Attributes
    ----------
    address : str
        What to open in a browser of this machine. The part after # is the token of this run;
        whoever has it can ask the model.
    """

    address: str

    def __init__(self, session: Session, port: int) -> None:
        import uvicorn

        from latentclass.page._app import make_app

        token = secrets.token_urlsafe(24)
        try:
            self._socket = _listen(port)
        except OSError as error:
            raise OSError(
                f"Port {port} cannot be used ({error.strerror}). Choose another one, or 0 for any "
                "that is free."
            ) from None
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}/#{token}"
        self._session = session
        config = uvicorn.Config(
            make_app(session, token),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=2**14,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True, name="latentclass page")
        self._thread.start()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def wait(self) -> None:
        """Serve until Ctrl-C, or until the page is closed from elsewhere."""
        try:
            while self._thread.is_alive():
                self._thread.join(LOOK)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the server. Answers that are not ready are dropped."""
        self._session.stop()
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(2)
        self._socket.close()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LivePage({self.address!r})"


def _listen(port: int) -> socket.socket:
    """A socket of this machine alone.

    It names its protocol: asyncio sends small packets at once only where it knows that it is TCP,
    and otherwise every answer waits 40 ms for a receipt.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen()
    except OSError:
        found.close()
        raise
    return found


def serve(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    beside: Any = None,
    target: str | None = None,
    index: Any = None,
    image: tuple[int, int] | None = None,
    port: int = 0,
    open_browser: bool = False,
    block: bool = True,
) -> LivePage:
    """Serve a local page to explore a fitted model.

    What if: change or empty any cell of a row, and class probabilities, evidence and completion
    follow. Rows: the table with predictions, sorted and searched. Structure: what the model found.
    Draw: an image, pixel by pixel. Only browsers on this machine reach the page, and only with the
    token in its address.

    Parameters
    ----------
    model : fitted classifier of this library
        New names of latent variables are given to this model; save it to keep them.
    X : table with the columns of `fit`, optional
        Rows to look at. Without it there is only an empty row.
    y : array-like of shape (n_samples,), optional
        Class labels; None, NaN or -1 marks a row without a label.
    beside : fitted classifier, optional
        A second model, shown next to the first for the same row.
    target : str, optional
        Name of what is predicted; by default the name of `y`, if it has one.
    index : array-like of shape (n_samples,), optional
        Names of the rows; by default the index of the data frame, otherwise 0, 1, ...
    image : (int, int), optional
        Height and width, if each row is an image in black and white, line by line. The page then
        lets you draw one.
    port : int, default=0
        Port; 0 picks any free one.
    open_browser : bool, default=False
        Open the page in the browser.
    block : bool, default=True
        Serve until Ctrl-C. If false, return at once; the page is served until `close`.

    Returns
    -------
    LivePage
        With `address`, `wait` and `close`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from latentclass import serve
    >>> from latentclass.baselines import NaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> with serve(NaiveBayes().fit(X, y), X, y, block=False) as page:
    ...     print(page.address.partition(":")[0])
    http
    """
    check_installed()
    for one in filter(None, (model, beside)):
        check_classifier(one, "serve")
    check_number("port", port, low=0, high=65535, whole=True)
    check_option("open_browser", open_browser, (True, False))
    check_option("block", block, (True, False))
    from latentclass.page._session import Session

    name = target or getattr(y, "name", None)
    session = Session(
        model, X, y, index=index, beside=beside, target=str(name) if name else "", image=image
    )
    return run(session, int(port), open_browser=open_browser, block=block, say=print)


def run(
    session: Session, port: int, *, open_browser: bool, block: bool, say: Callable[[str], Any]
) -> LivePage:
    """Serve a session, tell where, and wait for its end if asked to."""
    page = LivePage(session, port)
    if block:
        say(f"Open {page.address}")
        say("Ctrl-C ends it.")
    if open_browser:
        import webbrowser

        webbrowser.open(page.address)
    if block:
        page.wait()
    return page


def check_installed() -> None:
    """Refuse to begin where something is not installed."""
    for package in ("starlette", "uvicorn", "jinja2", "pandas"):
        if importlib.util.find_spec(package) is None:
            raise ImportError(
                f"serve needs {package}, which is not installed: python -m pip install "
                '"latentclass[page]".'
            )


def saver(model: Any, path: str, about: dict[str, Any], sha256: str) -> Callable[[], Path]:
    """A function that writes a model to the file that it came from, unless that has changed."""
    known = [sha256]

    def save_model() -> Path:
        from latentclass.files._describe import describe_file
        from latentclass.files._save import save
        from latentclass.page._answers import Refused

        if describe_file(path).sha256 != known[0]:
            raise Refused(f"{path!r} has changed since it was loaded. Serve it again.")
        save(model, path, about=about or None)
        known[0] = describe_file(path).sha256
        return Path(path)

    return save_model
