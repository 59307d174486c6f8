"""Sessions, and a client that asks them as the page does."""

import asyncio

import httpx
import numpy as np
import pandas as pd

from latentclass.page._app import TOKEN_HEADER, make_app

TOKEN = "a-token-that-only-this-test-knows"
BASE = "http://127.0.0.1"


class Client:
    """Asks an application without a network, one question after the other."""

    def __init__(self, session, **headers):
        self._app, self._headers = make_app(session, TOKEN), headers

    def ask(self, method, path, **options):
        async def send():
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url=BASE, headers=self._headers
            ) as one:
                return await one.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, **options):
        return self.ask("POST", path, **options)


def client(session):
    """A client that knows the token."""
    return Client(session, **{TOKEN_HEADER: TOKEN, "origin": BASE})


def draw_table(n=90, seed=0):
    """Two numbers, a colour and a flag, with holes, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "weight": np.round(rng.normal(10.0 * y, 4.0), 1),
            "height": np.round(rng.normal(2.0 - y, 1.0), 2),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.7, y, 0)],
            "old": rng.random(n) < 0.3 + 0.2 * y,
        },
        index=[f"r{k}" for k in range(n)],
    )
    X.loc["r1", "weight"] = None
    X.loc["r2", "colour"] = None
    return X, np.array(["ash", "beech", "cedar"])[y]


def draw_images(n=120, seed=0):
    """Images of 4 x 4 pixels: a line down or a line across."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.zeros((n, 4, 4), dtype=bool)
    X[y == 0, :, 1] = X[y == 1, 2, :] = True
    return (X ^ (rng.random(X.shape) < 0.08)).reshape(n, 16), np.array(["down", "across"])[y]
