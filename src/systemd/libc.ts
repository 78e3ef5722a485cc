import { dlopen, ptr } from 'bun:ffi'

/** The three calls of the C library that Bun has no words for. */
export type Libc = {
  /** A socket that sends datagrams to this path, `@` for one without a file; null when it is no such path. */
  openDatagram(path: string): { send(text: string): boolean } | null
  /** CLOCK_MONOTONIC in microseconds. */
  monotonicMicros(): bigint
}

const SYMBOLS = {
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  sendto: { args: ['i32', 'ptr', 'usize', 'i32', 'ptr', 'u32'], returns: 'i64' },
  clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' },
} as const

/** glibc's name, then the one that musl answers to. */
const NAMES = ['libc.so.6', 'libc.so']

const AF_UNIX = 1
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
/** Neither a signal when nobody is there, nor a wait when the other end is slow: our loop has better things to do. */
const NOSIGNAL_DONTWAIT = 0x4000 | 0x40
const CLOCK_MONOTONIC = 1
/** Of sun_path, with room for the zero at its end. */
const PATH_BYTES_MAX = 107

/** Loads the C library that this process runs on; null where neither name is known. */
export function openLibc(): Libc | null {
  for (const name of NAMES) {
    try {
      return around(dlopen(name, SYMBOLS).symbols)
    } catch {
      continue
    }
  }
  return null
}

type Symbols = ReturnType<typeof dlopen<typeof SYMBOLS>>['symbols']

function around({ socket, sendto, clock_gettime }: Symbols): Libc {
  return {
    openDatagram(path) {
      const address = addressOf(path)
      const handle = address && socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0)
      if (address === null || handle === null || handle < 0) return null
      return {
        send(text) {
          const bytes = Buffer.from(text)
          const sent = sendto(
            handle,
            ptr(bytes),
            bytes.length,
            NOSIGNAL_DONTWAIT,
            ptr(address),
            address.length,
          )
          return sent >= 0
        },
      }
    },
    monotonicMicros() {
      const time = new BigInt64Array(2)
      clock_gettime(CLOCK_MONOTONIC, ptr(time))
      const [seconds = 0n, nanos = 0n] = time
      return seconds * 1_000_000n + nanos / 1000n
    },
  }
}

/** A sockaddr_un; null when the path is none that it can hold. */
function addressOf(path: string): Uint8Array | null {
  const name = Buffer.from(path)
  if (!/^[/@]./.test(path) || name.length > PATH_BYTES_MAX) return null
  const family = new Uint8Array(new Uint16Array([AF_UNIX]).buffer)
  // A name without a file begins with a zero and ends where the address does.
  if (path.startsWith('@')) name[0] = 0
  return Buffer.concat(path.startsWith('@') ? [family, name] : [family, name, Buffer.alloc(1)])
}
