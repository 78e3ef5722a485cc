#!/usr/bin/env python3
"""Verifies a certificate of coverage, written from docs/certificate.md, RFC 8032, 8785, 7638 and 8037 alone.

verify.py FILE KEYS: FILE is the certificate, KEYS a JSON Web Key or a set of them. Needs no package: Ed25519 is that of RFC 8032, appendix A.
Prints "ok" and ends with 0, or prints the reason and ends with 1 (forged or changed) or 2 (cannot be read).
"""
import base64
import hashlib
import json
import sys
from datetime import datetime

SKEW_S = 300

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if x2 == 0:
        return None if sign else 0
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * SQRT_M1 % P
    if (x * x - x2) % P != 0:
        return None
    return P - x if (x & 1) != sign else x


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    g, h, i, j = f - e, d - c, d + c, f + e
    return (g * h % P, i * j % P, h * i % P, g * j % P)


def times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def verify(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    key, r = decompress(public), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= Q:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    left, right = times(s, BASE), add(r, times(h, key))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def canonical(value):
    """The form of RFC 8785 of a value whose numbers are whole."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) > 2**53:
            raise ValueError(f"{value} is not exact")
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    raise ValueError(f"{value!r} is not whole")


def unique(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def main(file, keys_file):
    try:
        with open(file, encoding="utf-8") as opened:
            certificate = json.load(opened, object_pairs_hook=unique)
        with open(keys_file, encoding="utf-8") as opened:
            keys = json.load(opened)
        statement = certificate["statement"]
        message = canonical(statement).encode("utf-8")
        signature = unpadded(certificate["signature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"cannot be read: {error}")
        return 2
    for key in keys.get("keys", [keys]):
        thumbprint = canonical({"crv": key["crv"], "kty": key["kty"], "x": key["x"]}).encode()
        key_id = base64.urlsafe_b64encode(hashlib.sha256(thumbprint).digest()).rstrip(b"=").decode()
        if key_id != certificate.get("key_id"):
            continue
        if statement.get("key_id") != key_id:
            print("the statement names another key")
            return 1
        if key.get("revoked_at") is not None:
            print("the key is revoked")
            return 1
        issued_at = datetime.fromisoformat(statement["issued_at"].replace("Z", "+00:00")).timestamp()
        if issued_at > key.get("retired_at", issued_at) + SKEW_S or issued_at < key.get("iat", issued_at) - SKEW_S:
            print("issued at a time at which its key did not sign")
            return 1
        if not verify(unpadded(key["x"]), message, signature):
            print("changed, or signed by another key")
            return 1
        print("ok")
        return 0
    print("signed by a key that is not trusted")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
