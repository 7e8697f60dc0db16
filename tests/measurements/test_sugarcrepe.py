import hashlib
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bindlib.book import cache
from bindlib.errors import BindlibError
from bindlib.measurements import datasets, sugarcrepe
from bindlib.measurements.items import Pair
from bindlib.measurements.sugarcrepe import Subset

CONTENT = {
    name: json.dumps({str(i): {"filename": "x.jpg", "caption": f"{name} a {i}", "negative_caption": f"{name} b {i}"}
                      for i in range(n)}).encode()
    for name, n in (("swap", 2000), ("add", 3))
}  # fmt: skip
SMALL = tuple(Subset(name, len(c), hashlib.sha256(c).hexdigest()) for name, c in CONTENT.items())
PAIRS = tuple(Pair(f"{s} a {i}", f"{s} b {i}", s) for s, n in (("swap", 2000), ("add", 3)) for i in range(n))


class Server(ThreadingHTTPServer):
    """Serves ``CONTENT``, with faults: ``cut`` bytes at most, ``wrong`` bytes, ``ranges`` ignored, a ``status``."""

    cut, wrong, ranges, status, chunked, location = None, False, True, 200, False, ""

    def __init__(self):
        self.asked = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers["Range"]))
        if server.location:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if server.status != 200:
            return self.send_error(server.status)
        body = CONTENT[self.path.strip("/").removesuffix(".json")]
        body = body[::-1] if server.wrong else body
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")) if self.headers["Range"] else 0
        start = start if server.ranges else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        rest = body[start:]
        if server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        sent = rest if server.cut is None else rest[: server.cut]
        self.wfile.write(f"{len(rest):x}\r\n".encode() + sent if server.chunked else sent)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def load(server, tmp_path):
    return lambda: sugarcrepe.load(tmp_path / "s", server.url, SMALL)


def failure(load):
    with pytest.raises(BindlibError) as error:
        load()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_downloads_once_and_then_reads(server, load, tmp_path, caplog):
    data = load()
    assert (data.name, data.kind, data.items) == ("sugarcrepe", "pairs", PAIRS)
    assert "MIT" in caplog.text and server.url in caplog.text
    assert load() == data
    assert server.asked == [("/swap.json", None), ("/add.json", None)]
    assert {path.suffix for path in (tmp_path / "s").iterdir()} <= {".json", ".lock"}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_download_that_is_cut_off_goes_on_where_it_stopped(server, load, tmp_path, chunked):
    server.cut, server.chunked = 1000, chunked
    assert f"1000 of {SMALL[0].size} bytes have arrived" in failure(load)
    assert f"2000 of {SMALL[0].size} bytes have arrived" in failure(load)
    assert not list((tmp_path / "s").glob("*.json")), "what is half-written has another name"
    server.cut, server.chunked = None, False
    assert load().items == PAIRS
    assert [asked for asked in server.asked if asked[0] == "/swap.json"] == [
        ("/swap.json", None), ("/swap.json", "bytes=1000-"), ("/swap.json", "bytes=2000-"),
    ]  # fmt: skip


def test_a_server_that_ignores_the_range_sends_everything_again(server, load):
    server.cut, server.ranges = 1000, False
    assert "1000 of" in failure(load)
    assert "1000 of" in failure(load)
    server.cut = None
    assert load().items == PAIRS


def test_wrong_bytes_are_thrown_away(server, load, tmp_path):
    server.wrong = True
    said = failure(load)
    assert "not the pinned file (SHA-256 expected" in said and "put swap.json into" in said
    assert not list((tmp_path / "s").glob("*.json")) and not list((tmp_path / "s").glob("*.part"))
    server.wrong = False
    assert load().items == PAIRS


def test_a_part_with_wrong_bytes_costs_one_try(server, load, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "swap.part").write_bytes(b"<html>sign in</html>")
    assert "not the pinned file" in failure(load)
    assert load().items == PAIRS


@pytest.mark.parametrize("part", [lambda content: content, lambda content: content + b"x"])
def test_a_part_that_was_never_renamed_is_checked_and_not_asked_for(server, load, tmp_path, part):
    (tmp_path / "s").mkdir()
    whole = part(CONTENT["swap"])
    (tmp_path / "s" / "swap.part").write_bytes(whole)
    if whole != CONTENT["swap"]:
        assert "not the pinned file" in failure(load)
        assert server.asked == []
    assert load().items == PAIRS


def test_a_server_that_sends_without_end_is_not_followed(server, load, tmp_path, monkeypatch):
    monkeypatch.setitem(CONTENT, "swap", CONTENT["swap"] + b"x" * 10_000_000)
    written = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: written.append(path.stat().st_size) or b"")
    assert "not the pinned file" in failure(load)
    assert written[0] < SMALL[0].size + 200_000


@pytest.mark.parametrize("status", [404, 416, 429, 503])
def test_a_refusal_says_so(server, load, status):
    server.status = status
    assert f"the server answers {status}" in failure(load)
    server.status = 200
    assert load().items == PAIRS


def test_without_a_network(load, server, tmp_path):
    server.shutdown()
    server.server_close()
    said = failure(load)
    assert "cannot be reached" in said and str(tmp_path) in said and "0 of" in said


def test_a_silent_server_is_given_up(tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(sugarcrepe, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        said = failure(lambda: sugarcrepe.load(tmp_path, url, SMALL))
    assert "0 of" in said and "timed out" in said


def test_two_at_once_download_once(server, load):
    with ThreadPoolExecutor(4) as pool:
        assert [data.items for data in pool.map(lambda _: load(), range(4))] == [PAIRS] * 4
    assert sorted(path for path, _ in server.asked) == ["/add.json", "/swap.json"]


def test_a_changed_file_is_refused_and_left_alone(load, server, tmp_path):
    load()
    path = tmp_path / "s" / "add.json"
    changed = path.read_bytes().replace(b"add a 0", b"add a 9")
    path.write_bytes(changed)
    assert f"{path} is not the pinned file" in failure(load)
    assert path.read_bytes() == changed


def test_a_folder_that_cannot_be_written_is_one_line(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    said = failure(lambda: sugarcrepe.load(tmp_path / "file" / "s", server.url, SMALL))
    assert "set BINDLIB_DATA" in said and str(tmp_path / "file") in said


def test_a_full_disk_is_one_line_and_leaves_no_file(load, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "swap.part").symlink_to("/dev/full")
    assert "No space left" in failure(load)
    assert not list((tmp_path / "s").glob("*.json"))


def test_where_data_lie(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("BINDLIB_DATA", raising=False)
    assert sugarcrepe.data_folder() == tmp_path / "bindlib"
    monkeypatch.setenv("BINDLIB_DATA", str(tmp_path / "own"))
    with pytest.raises(BindlibError, match="which is no folder: create it"):
        sugarcrepe.data_folder()
    (tmp_path / "own").mkdir()
    assert sugarcrepe.data_folder() == tmp_path / "own"
    assert sugarcrepe.DATA_VARIABLE == cache.DATA_VARIABLE


@pytest.mark.skipif(
    not os.environ.get("BINDLIB_DATA"), reason="needs SugarCrepe: set BINDLIB_DATA to the folder that holds sugarcrepe/"
)
def test_the_pinned_files():
    """The counts of the paper's Table 2, and the shares of exact permutations counted independently of this code."""
    data = datasets.load("sugarcrepe")
    moved = data.permuted()
    found = {name: (len(index), int(moved[index].sum())) for name, index in data.subsets().items()}
    assert found == {
        "replace_obj": (1652, 0), "replace_att": (788, 0), "replace_rel": (1406, 0), "swap_obj": (245, 142),
        "swap_att": (666, 363), "add_obj": (2062, 0), "add_att": (692, 0), "all": (7511, 505),
    }  # fmt: skip


@pytest.mark.parametrize(
    "location",
    ["http://[::1", "http://a..b/x", f"http://{'a' * 70}.example/", "http://h:port/", "http://", "file:///etc/passwd"],
)
def test_a_redirect_to_no_place_is_one_line(server, load, location):
    server.location = location
    assert "0 of" in failure(load)
    server.location = ""
    assert load().items == PAIRS


def test_a_server_that_drips_its_headers_is_given_up_at_the_deadline(tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(sugarcrepe, "DEADLINE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def drip():
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not ended.wait(0.05):
                    connection.sendall(b"X: x\r\n" if ended.is_set() else b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert "it took longer than 0.5 s" in failure(lambda: sugarcrepe.load(tmp_path, url, SMALL))
        ended.set()
        thread.join()


def test_without_a_home_the_cure_is_told(monkeypatch):
    import platformdirs

    def nowhere(*_, **__):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("BINDLIB_DATA", raising=False)
    monkeypatch.setattr(platformdirs, "user_data_path", nowhere)
    with pytest.raises(BindlibError, match="set BINDLIB_DATA to a folder"):
        sugarcrepe.data_folder()
