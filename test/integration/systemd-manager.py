"""A service manager as sd_notify(3) sees it: prints every datagram as a JSON list of its lines. With a time-out in
seconds as second argument it bites as systemd's watchdog does: without WATCHDOG=1 for so long after READY=1 it sends
SIGABRT to the sender and prints ["BITTEN"]."""

import json, os, signal, socket, struct, sys, time

path, patience = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else None
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
manager.bind("\0" + path[1:] if path.startswith("@") else path)
print(json.dumps(["LISTENING"]), flush=True)

alive_at = None
while True:
    if patience and alive_at is not None:
        manager.settimeout(max(0.001, alive_at + patience - time.monotonic()))
    try:
        data, ancillary, _, _ = manager.recvmsg(65536, socket.CMSG_SPACE(12))
    except TimeoutError:
        os.kill(pid, signal.SIGABRT)
        print(json.dumps(["BITTEN"]), flush=True)
        break
    pid, _, _ = struct.unpack("3i", ancillary[0][2])
    lines = data.decode().split("\n")
    if alive_at is not None and "WATCHDOG=1" in lines or "READY=1" in lines:
        alive_at = time.monotonic()
    print(json.dumps([*lines, f"pid={pid}"]), flush=True)
