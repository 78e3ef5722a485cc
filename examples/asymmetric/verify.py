"""Run: python3 verify.py PUBLIC_KEY ID TIMESTAMP SIGNATURE < body. Needs the package cryptography."""

import base64
import re
import sys
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verify(public_key: str, id: str, timestamp: str, signature: str, body: bytes, now_s: float) -> bool:
    """Whether `body`, as it came, was signed with the private key of `public_key`, at most 300 s from `now_s`."""
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(now_s - int(timestamp)) > 300:
        return False
    if not public_key.startswith("whpk_"):
        return False
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key[5:]))
    signed = f"{id}.{timestamp}.".encode() + body

    def fits(part: str) -> bool:
        version, _, value = part.partition(",")
        try:
            return version == "v1a" and key.verify(base64.b64decode(value), signed) is None
        except (InvalidSignature, ValueError):
            return False

    return any(
        fits(part) for part in signature.split(" ")
    )


if __name__ == "__main__":
    sys.exit(0 if verify(*sys.argv[1:5], sys.stdin.buffer.read(), time.time()) else 1)
