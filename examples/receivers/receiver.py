# FORUMD_SECRET=whsec_… PORT=9000 python3 receiver.py
import hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def verify(secret: str, header: str, body: bytes, now_s: int) -> bool:
    """Whether `body`, as it came, was signed with `secret`, at most 300 s from `now_s`."""
    pairs = [part.partition("=")[::2] for part in header.split(",")]
    t = next((value for name, value in pairs if name == "t"), "")
    if not re.fullmatch(r"[0-9]{1,12}", t) or abs(now_s - int(t)) > 300:
        return False
    if not secret:  # Anyone could sign with an empty secret.
        return False
    wanted = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(
        name == "v1" and hmac.compare_digest(value.encode(), wanted.encode())
        for name, value in pairs
    )


seen = set()  # In production store it durably, such as in a table with a unique key.


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        header = self.headers.get("x-service-signature", "")
        if not verify(os.environ["FORUMD_SECRET"], header, body, int(time.time())):
            return self.answer(401)
        delivery = json.loads(body)
        if delivery["delivery_id"] not in seen:
            for item in delivery["items"]:
                print(delivery["delivery_id"], item.get("title", item.get("body")), flush=True)
            seen.add(delivery["delivery_id"])
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
