"""Who may ask, how much, and what happens when something goes wrong."""

import asyncio
import json
import socket

import numpy as np
import pytest
from pages import BASE, TOKEN, Client, client, draw_table

import latentclass
from latentclass.baselines import NaiveBayes
from latentclass.page import _app
from latentclass.page._app import FILES, HEADERS, LARGEST_BODY, TOKEN_HEADER, make_app
from latentclass.page._server import _listen
from latentclass.page._session import QUESTIONS, Session


@pytest.fixture(scope="module")
def session():
    X, y = draw_table()
    return Session(NaiveBayes().fit(X, y), X, y)


@pytest.fixture
def asking(session):
    return client(session)


def alive(asking):
    return asking.post("/ask/row", json={"row": 0}).status_code == 200


def test_every_file_is_there_and_every_answer_keeps_the_page_to_itself(asking):
    for path in FILES:
        found = asking.get(path)
        assert found.status_code == 200
        assert found.content
        for name, value in HEADERS.items():
            assert found.headers[name] == value
        assert "set-cookie" not in found.headers
    assert (
        "unsafe-inline"
        not in HEADERS["content-security-policy"].split("script-src")[1].split(";")[0]
    )
    assert asking.post("/ask/about", json={}).headers["cache-control"] == "no-store"


def test_the_page_has_no_inline_script_and_loads_only_its_own_files(asking):
    page = asking.get("/").text
    assert "<script>" not in page
    assert "onclick" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "0.0.0.0"])
def test_a_foreign_host_is_refused(asking, host):
    for path in ("/", "/main.js"):
        assert asking.get(path, headers={"host": host}).status_code == 400
    found = asking.post("/ask/row", json={"row": 0}, headers={"host": host})
    assert found.status_code == 400
    assert alive(asking)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1", "null", ""]
)
def test_a_foreign_origin_is_refused(asking, origin):
    found = asking.post("/ask/row", json={"row": 0}, headers={"origin": origin})
    assert (found.status_code, found.json()) == (
        403, {"error": "Requests of other pages are refused."},
    )  # fmt: skip


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "ä"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_without_the_token_nothing_is_answered(session, name, token):
    headers = {"origin": BASE} | ({} if token is None else {TOKEN_HEADER: token.encode()})
    asking = Client(session, **headers)
    found = asking.post(f"/ask/{name}", json={})
    assert found.status_code == 403
    assert "token is missing or wrong" in found.json()["error"]


def test_a_form_of_another_page_is_refused_whatever_it_knows(asking):
    found = asking.post("/ask/row", data={"row": 0})
    assert found.status_code == 415
    assert asking.get("/ask/row").status_code == 405
    assert asking.ask("PUT", "/ask/row", json={}).status_code == 405


def test_large_bodies_are_refused_by_their_header_and_by_their_bytes(asking):
    big = b"[" + b"1," * 5_000_000 + b"1]"
    json_type = {"content-type": "application/json"}
    assert asking.post("/ask/ask", content=big, headers=json_type).status_code == 413

    async def stream():
        for _ in range(LARGEST_BODY // 1000 + 2):
            yield b" " * 1000

    found = asking.post("/ask/ask", content=stream(), headers=json_type)  # no length told
    assert found.status_code == 413
    assert found.json() == {"error": "A question has at most 1048576 bytes."}
    lying = asking.post("/ask/row", content=b"{}", headers=json_type | {"content-length": "1e9"})
    assert lying.status_code == 413
    assert alive(asking)


def malformed(n):
    """Bodies that are no question: broken JSON, wrong kinds, deep nesting, odd numbers."""
    rng = np.random.default_rng(0)
    values = [None, True, -1, 10**30, 1e308, "x" * 300, [], {}, [[]], "\ud800", float("nan"), "<b>"]
    keys = ["row", "cells", "start", "count", "sort", "search", "name", "new", "pixels", "down"]
    good = json.dumps({"cells": [1.0, 2.0, 0, 1], "row": 1}).encode()
    for k in range(n):
        sort = k % 4
        if sort == 0:
            body = bytearray(good)
            for place in rng.integers(0, len(body), 3):
                body[place] = rng.integers(0, 256)
            yield bytes(body)
        elif sort == 1:
            chosen = rng.choice(len(values), 3)
            picked = zip(rng.choice(keys, 3), chosen, strict=True)
            yield json.dumps({str(key): values[v] for key, v in picked}).encode()
        elif sort == 2:
            yield bytes(rng.integers(0, 256, rng.integers(0, 200), dtype=np.uint8))
        else:
            cells = [values[v] for v in rng.choice(len(values), rng.integers(0, 6))]
            deep = "[" * 5000 + "]" * 5000
            yield deep.encode() if k % 40 == 3 else json.dumps({"cells": cells}).encode()


def test_malformed_bodies_are_refused_and_the_server_lives(asking):
    json_type = {"content-type": "application/json"}
    seen = set()
    for k, body in enumerate(malformed(400)):
        name = QUESTIONS[k % len(QUESTIONS)]
        found = asking.post(f"/ask/{name}", content=body, headers=json_type)
        seen.add(found.status_code)
        assert found.status_code in (200, 400), (name, body[:200], found.text)
        if found.status_code == 400:
            assert set(found.json()) == {"error"}
    assert 400 in seen
    assert alive(asking)


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/static/index.html",
     "//etc/passwd", "/ask/../about", "/ask/answer", "/ask/__init__", "/ask/start"],
)  # fmt: skip
def test_there_is_no_way_to_other_files_or_methods(asking, path):
    assert asking.get(path).status_code in (404, 405)
    assert asking.post(path, json={}).status_code in (404, 405)


def test_an_error_of_the_model_ends_one_answer_alone(session, caplog):
    asking = client(session)
    model = session.asked[0].model
    try:
        model.explain = lambda *_: 1 / 0
        with caplog.at_level("WARNING", logger="latentclass"):
            found = asking.post("/ask/why", json={"cells": [None] * 4})
    finally:
        del model.explain
    assert (found.status_code, found.json()) == (
        500, {"error": "The model could not answer (ZeroDivisionError). Try another question."},
    )  # fmt: skip
    assert found.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert "ZeroDivisionError" in caplog.text
    assert alive(asking)


def test_a_slow_client_is_not_waited_for(session, monkeypatch):
    monkeypatch.setattr(_app, "PATIENCE", 0.01)
    import asyncio

    app, sent = make_app(session, TOKEN), []
    headers = {"host": "127.0.0.1", "origin": BASE, TOKEN_HEADER: TOKEN,
               "content-type": "application/json"}  # fmt: skip
    scope = {
        "type": "http", "method": "POST", "path": "/ask/row", "raw_path": b"/ask/row",
        "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }  # fmt: skip

    async def receive():
        await asyncio.Event().wait()  # the rest never comes

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 408


def test_more_questions_than_can_wait_are_sent_away(session, monkeypatch):
    monkeypatch.setattr(_app, "MOST_WAITING", 0)
    found = client(session).post("/ask/row", json={"row": 0})
    assert (found.status_code, found.json()["error"]) == (
        503, "The model is busy. Ask again in a moment.",
    )  # fmt: skip


# ---------------------------------------------------------------------------- serve


def test_serve_refuses_what_it_cannot_show():
    X, y = draw_table()
    model = NaiveBayes().fit(X, y)
    with pytest.raises(TypeError, match="model is a dict, but serve needs a classifier"):
        latentclass.serve({"a": 1})
    with pytest.raises(ValueError, match="This NaiveBayes is not fitted"):
        latentclass.serve(NaiveBayes())
    with pytest.raises(ValueError, match="port"):
        latentclass.serve(model, port=70_000)
    with (
        latentclass.serve(model, block=False) as page,
        pytest.raises(OSError, match=r"cannot be used .* Choose another one, or 0"),
    ):
        latentclass.serve(model, port=int(page.address.split(":")[2].split("/")[0]), block=False)


def test_serve_listens_on_this_machine_alone_and_ends():
    import httpx

    X, y = draw_table()
    with latentclass.serve(NaiveBayes().fit(X, y), X, y, block=False) as page:
        base, token = page.address.split("/#")
        assert page._socket.getsockname()[0] == "127.0.0.1"
        headers = {"origin": base, TOKEN_HEADER: token}
        found = httpx.post(f"{base}/ask/row", json={"row": 2}, headers=headers, trust_env=False)
        assert found.json()["name"] == "r2"
        assert httpx.post(f"{base}/ask/row", json={"row": 2}, trust_env=False).status_code == 403
    with pytest.raises(httpx.ConnectError):
        httpx.get(base, trust_env=False)


def test_answers_do_not_wait_for_receipts():
    async def is_at_once(listening):
        found = asyncio.get_running_loop().create_future()

        async def meet(_, writer):
            own = writer.get_extra_info("socket")
            found.set_result(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(meet, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await found

    assert asyncio.run(is_at_once(_listen(0)))
