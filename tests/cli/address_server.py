# SPDX-License-Identifier: Apache-2.0
"""A server of files for the cases about addresses: address_server.py FOLDER READY LOG [CERTIFICATE]

It serves FOLDER on a free port of 127.0.0.1, writes that to READY, and a line for each question to LOG: number, path,
range, host, session token, authorization. The first step of a path says how it behaves:

    plain     parts, an ETag                           whole     no parts
    flaky     503 to each first question               gone      404, and other numbers: 403, 500
    cuts      each first answer ends in its middle     broken    each answer but for the first bytes ends in its middle
    slow      pieces with waits between                changes   another ETag from the third question on
    moved     redirects to `plain`                     signed    403 unless the S3 signature is right (KEY, SECRET)
    short     parts of half of what was asked for       failsN    503 to the first N questions for this file
    secret    403 without SECRET behind ?                late      `plain`, after 50 ms
    as-NAME   the answer that address_answers.tsv has under this name
    away      redirects to `plain` of localhost, another host    to   redirects to `plain` of TO in the environment

BUCKET/?list-type=2&prefix=… is answered as S3 does, and api/datasets/OWNER/NAME/tree/REVISION/PATH?recursive=true as the
hub does, both in pages of three; under `many` with 20,000 names in one, under `odd` with an answer that is neither, under `round` with pages that go in a circle. The files of a repository lie below
datasets/OWNER/NAME/resolve/REVISION. FOLDER/ is its index.jsonl.
"""

import datetime
import hashlib
import hmac
import html
import http.server
import json
import os
import pathlib
import re
import ssl
import sys
import threading
import time
import urllib.parse

answers = {}
for row in pathlib.Path(__file__).with_name("address_answers.tsv").read_text().splitlines():
    if row and not row.startswith("#"):
        name, kind, when, code, headers, body, *_ = row.split("\t")
        answers[name] = (kind, when, code, [] if headers == "-" else headers.split(" | "), body)
folder, ready, log = (pathlib.Path(word) for word in sys.argv[1:4])
lock = threading.Lock()
asked: dict[str, int] = {}
held: dict[str, tuple[int, bytes, str]] = {}


def read(file: pathlib.Path) -> tuple[bytes, str]:
    """The bytes of a file, and their digest."""
    changed = file.stat().st_mtime_ns
    if held.get(str(file), (0,))[0] != changed:
        data = file.read_bytes()
        held[str(file)] = (changed, data, hashlib.md5(data).hexdigest())
    return held[str(file)][1:]


def signature_of(handler: http.server.BaseHTTPRequestHandler) -> str:
    """What the Authorization of the request has to be, by AWS's rules for Signature Version 4."""
    given = handler.headers.get("Authorization", "")
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=KEY/([^,]+), *SignedHeaders=([^,]+), *Signature=([0-9a-f]+)", given)
    if found is None:
        return "none"
    scope, signed, _ = found.groups()
    day, region, service, last = scope.split("/")
    path, _, query = handler.path.partition("?")
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    query = "&".join(sorted("=".join(urllib.parse.quote(word, safe="-._~") for word in pair) for pair in pairs))
    headers = "".join(f"{name}:{' '.join((handler.headers.get(name) or '').split())}\n" for name in signed.split(";"))
    payload = handler.headers.get("x-amz-content-sha256") or hashlib.sha256(b"").hexdigest()
    canonical = "\n".join(["GET", path, query, headers, signed, payload])
    moment = handler.headers.get("x-amz-date", "")
    then = datetime.datetime.strptime(moment + "+0000", "%Y%m%dT%H%M%SZ%z")
    if abs(then - datetime.datetime.now(datetime.timezone.utc)) > datetime.timedelta(hours=1):
        return "old"
    must = {name.lower() for name in handler.headers if name.lower().startswith("x-amz-")} | {"host"}
    if not must <= set(signed.split(";")):
        return f"unsigned headers: {must - set(signed.split(';'))}"
    key = b"AWS4SECRET"
    for word in (day, region, service, last):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    right = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential=KEY/{scope}, SignedHeaders={signed}, Signature={right}"


def files_below(top: pathlib.Path) -> list[str]:
    """The paths of all files, in no order; and a name that stands for a folder, as some tools make them."""
    found = [file.relative_to(top).as_posix() for file in top.rglob("*") if file.is_file()]
    return sorted(found, key=lambda name: hashlib.md5(name.encode()).digest())


def behind(first: int, way: str) -> int:
    """Where the next page begins."""
    return (first + 3) % 6 if way == "round" else first + 3


def page_of_bucket(way: str, bucket: str, query: dict[str, str]) -> str:
    """As of ListObjectsV2."""
    keys = sorted(name.encode() for name in files_below(folder / bucket))
    keys = sorted({*keys, *(key.rpartition(b"/")[0] + b"/" for key in keys if b"/" in key)})
    keys = [key for key in keys if key.startswith(query["prefix"].encode())]
    first = int(query.get("continuation-token", "+0/=")[1:-2])
    if way == "many":
        return "<ListBucketResult>" + "".join(f"<Contents><Key>c/{i}</Key></Contents>" for i in range(20000)) + "</ListBucketResult>"
    more = f"<NextContinuationToken>+{behind(first, way)}/=</NextContinuationToken>" if len(keys) > first + 3 else ""
    contents = "".join(f"<Contents><Key>{html.escape(key.decode())}</Key></Contents>" for key in keys[first : first + 3])
    where = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
    return f'<?xml version="1.0"?>\n<ListBucketResult {where}><Name>{bucket}</Name>{more}{contents}</ListBucketResult>'


def page_of_repository(way: str, path: str, query: dict[str, str], here: str) -> tuple[str, str | None]:
    """The page, and the Link to the next one; or nothing where there is no such folder."""
    owner, name, _, revision, *below = path.split("/")
    top = folder / "datasets" / owner / name / "resolve" / revision
    if not top.joinpath(*below).is_dir():
        return "", None
    under = "/".join(below)
    found = [name for name in files_below(top) if name.startswith(under + "/" if under else "")]
    entries = [{"type": "file", "path": name, "size": 1} for name in found] + [{"type": "directory", "path": "data"}]
    first = int(query.get("cursor", "0"))
    link = f'<{here}?recursive=true&cursor={behind(first, way)}>; rel="next"' if len(entries) > first + 3 else None
    return json.dumps(entries[first : first + 3]), link


SECOND = {
    "bucket": "<ListBucketResult><Contents><Key>c/b.jsonl</Key></Contents></ListBucketResult>",
    "hub": '[{"type":"file","path":"c/b.jsonl"}]',
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass

    def refuse(self, code: int) -> None:
        words = b"no"
        self.send_response(code)
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def send_list(self, way: str, name: str, path: str, query: dict[str, str]) -> None:
        link = None
        if way == "odd":
            text = "<html>hello</html>"
        elif "list-type" in query:
            text = page_of_bucket(way, name.rstrip("/"), query)
        else:
            here = f"http://{self.headers['Host']}{path}"
            text, link = page_of_repository(way, urllib.parse.unquote(name).removeprefix("api/datasets/"), query, here)
        if not text:
            self.refuse(404)
            return
        self.send_response(200)
        if link is not None:
            self.send_header("Link", link)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def send_as(self, name: str, number: int, file: pathlib.Path, lists: bool) -> bool:
        """The answer of the table, where the question is one that it is for."""
        kind, when, code, headers, body = answers[name]
        here = "http://" + self.headers["Host"] + "/as-" + name
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if lists != (kind in SECOND):
            return False
        if (when == "1" and number > 1) or (when == "2+" and number < 2) or (when == "ranged" and not part):
            if not lists:
                return False
            headers, body, code = [], SECOND[kind], "200"
        data = b"" if lists else read(file)[0]
        first, last = (int(part[1]), min(int(part[2]), len(data) - 1)) if part else (0, len(data) - 1)
        half = first + (last - first) // 2
        parts = {
            "part": data[first : last + 1],
            "half": data[first : half + 1],
            "long": data[first : last + 1] + b"!",
            "whole": data,
            "-": b"",
        }
        sent = parts[body] if body in parts else body.replace("%number%", str(number)).encode()
        values = {"first": first, "last": last, "half": half, "size": len(data), "next": last + 1, "here": here, "number": number}
        values |= {"pad": "x" * 3000, "port": server.server_address[1], "digest": "0" * 200}
        values["to"] = os.environ.get("TO", here)
        lines = [f"HTTP/1.1 {code} Any words"]
        for header in headers:
            for word, value in values.items():
                header = header.replace(f"%{word}%", str(value))
            lines.append(header)
        if any(line.startswith("Transfer-Encoding") for line in lines):
            behind = b"Content-Range: bytes 1-2/3\r\n" if any(line.startswith("Trailer") for line in lines) else b""
            sent = f"{len(sent):x}\r\n".encode() + sent + b"\r\n0\r\n" + behind + b"\r\n"
        elif not any(line.startswith("Content-Length") for line in lines):
            lines.append(f"Content-Length: {len(sent)}")
        self.close_connection = True
        try:
            if body == "endless line":
                self.wfile.write(b"HTTP/1.1 200 Any words\r\nX: " + b"x" * (1 << 20))
            elif body == "endless head":
                self.wfile.write(b"HTTP/1.1 200 Any words\r\n" + b"X: some words\r\n" * (1 << 16))
            else:
                self.wfile.write("\r\n".join([*lines, "", ""]).encode() + sent)
        except OSError:
            pass  # who asked has heard enough
        return True

    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path).path
        _, way, name = path.split("/", 2)
        wanted = self.headers.get("Range", "")
        with lock:
            number = asked[self.path] = asked.get(self.path, 0) + 1
            with log.open("a") as out:
                token = self.headers.get("x-amz-security-token", "-")
                print(number, self.path, wanted or "-", self.headers["Host"], token, self.headers.get("Authorization", "-"), file=out)
        if way == "late":
            time.sleep(0.05)
        if way == "secret" and "SECRET" not in self.path:
            self.refuse(403)
            return
        if way in ("gone", "403", "500"):
            self.refuse(404 if way == "gone" else int(way))
            return
        if (way == "flaky" and number % 2 == 1) or (way.startswith("fails") and number <= int(way[5:])):
            self.refuse(503)
            return
        if way == "signed" and re.sub(", +", ", ", self.headers.get("Authorization", "")) != signature_of(self):
            print(signature_of(self), self.headers.get("Authorization"), file=sys.stderr)
            self.refuse(403)
            return
        if way in ("moved", "away", "to"):
            to = {"moved": "", "away": f"http://localhost:{server.server_address[1]}", "to": os.environ.get("TO", "")}
            self.send_response(302)
            self.send_header("Location", to[way] + "/plain/" + name + ("?" + urllib.parse.urlsplit(self.path).query).rstrip("?"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))
        lists = "list-type" in query or name.startswith("api/")
        file = folder / urllib.parse.unquote(name) / ("index.jsonl" if name.endswith("/") else "")
        if way.startswith("as-"):
            with lock:
                turn = asked[way] = asked.get(way, 0) + 1
            if self.send_as(way[3:], turn, file, lists):
                return
        if lists:
            self.send_list(way, name, path, query)
            return
        if not file.is_file():
            self.refuse(404)
            return
        data, digest = read(file)
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
        first, last = (int(part[1]), min(int(part[2]), len(data) - 1)) if part and way != "whole" else (0, len(data) - 1)
        if way == "short" and first > 0:
            last = first + (last - first) // 2
        if part and way != "whole" and first >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = data[first : last + 1]
        self.send_response(206 if part and way != "whole" else 200)
        if part and way != "whole":
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("ETag", '"new"' if way == "changes" and number > 2 else f'"{digest}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if (way == "cuts" and number % 2 == 1) or (way == "broken" and last >= 4096):
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif way == "slow":
            for at in range(0, len(body), 1 << 20):
                self.wfile.write(body[at : at + (1 << 20)])
                time.sleep(0.05)
        else:
            self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
ready.with_suffix(".new").write_text(str(server.server_address[1]))
os.replace(ready.with_suffix(".new"), ready)
server.serve_forever()
