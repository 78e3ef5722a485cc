import { CString, dlopen, type Pointer, ptr, read } from 'bun:ffi'

export type SystemUser = { name: string; uid: number; gid: number }

/** A group of this machine; `members`: users with another primary group. */
type SystemGroup = { name: string; members: string[] }

/** The calls of the C library that Bun does not offer. */
export type Libc = {
  /**
   * The user with this id, from every source that the system is configured to use; null if there is
   * none.
   */
  findUser(uid: number): SystemUser | null
  /** The group with this id, from the same sources; null if there is none. */
  findGroup(gid: number): SystemGroup | null
  /**
   * A socket that sends datagrams to this path, `@` for an abstract one; null if the path is
   * invalid.
   */
  openDatagram(path: string): { send(text: string): boolean } | null
  /** CLOCK_MONOTONIC in microseconds. */
  monotonicMicros(): bigint
  /** CLOCK_BOOTTIME in microseconds: it goes on while the machine is suspended. */
  bootMicros(): bigint
  /** Ends the process at once, from any thread: no handler runs, nothing is flushed. */
  exit(code: number): void
}

const SYMBOLS = {
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  sendto: { args: ['i32', 'ptr', 'usize', 'i32', 'ptr', 'u32'], returns: 'i64' },
  clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' },
  getpwuid: { args: ['u32'], returns: 'ptr' },
  getgrgid: { args: ['u32'], returns: 'ptr' },
  _exit: { args: ['i32'], returns: 'void' },
} as const

/** File name of glibc, then the one of musl. */
const NAMES = ['libc.so.6', 'libc.so']

const AF_UNIX = 1
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
/**
 * MSG_NOSIGNAL: no SIGPIPE without a listener. MSG_DONTWAIT: no blocking of the event loop by a
 * slow listener.
 */
const NOSIGNAL_DONTWAIT = 0x4000 | 0x40
const CLOCK_MONOTONIC = 1
const CLOCK_BOOTTIME = 7
/** Offsets within struct passwd and struct group; glibc and musl agree on 64-bit machines. */
const PW_UID_AT = 16
const PW_GID_AT = 20
const GR_MEM_AT = 24
const POINTER_BYTES = 8
/** Bytes of sun_path, without the final zero. */
const PATH_BYTES_MAX = 107

/** Loads the C library of this process; null if neither name is found. */
export function openLibc(): Libc | null {
  for (const name of NAMES) {
    try {
      return wrap(dlopen(name, SYMBOLS).symbols)
    } catch {
      continue
    }
  }
  return null
}

type Symbols = ReturnType<typeof dlopen<typeof SYMBOLS>>['symbols']

function wrap({ socket, sendto, clock_gettime, getpwuid, getgrgid, _exit }: Symbols): Libc {
  return {
    findUser(uid) {
      const entry = getpwuid(uid)
      if (entry === null) return null
      return {
        name: new CString(pointerAt(entry, 0)),
        uid: read.u32(entry, PW_UID_AT),
        gid: read.u32(entry, PW_GID_AT),
      }
    },
    findGroup(gid) {
      const entry = getgrgid(gid)
      if (entry === null) return null
      const list = pointerAt(entry, GR_MEM_AT)
      const members: string[] = []
      for (let at = 0; read.ptr(list, at) !== 0; at += POINTER_BYTES)
        members.push(new CString(pointerAt(list, at)))
      return { name: new CString(pointerAt(entry, 0)), members }
    },
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
    monotonicMicros: () => micros(CLOCK_MONOTONIC),
    bootMicros: () => micros(CLOCK_BOOTTIME),
    exit: _exit,
  }

  function micros(clock: number): bigint {
    const time = new BigInt64Array(2)
    clock_gettime(clock, ptr(time))
    const [seconds = 0n, nanos = 0n] = time
    return seconds * 1_000_000n + nanos / 1000n
  }
}

function pointerAt(base: Parameters<typeof read.ptr>[0], offset: number): Pointer {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of read.ptr is a plain number
  return read.ptr(base, offset) as Pointer
}

/** A sockaddr_un; null if the path does not fit. */
function addressOf(path: string): Uint8Array | null {
  const name = Buffer.from(path)
  if (!/^[/@]./.test(path) || name.length > PATH_BYTES_MAX) return null
  const family = new Uint8Array(new Uint16Array([AF_UNIX]).buffer)
  // An abstract name begins with a zero and has no terminator.
  if (path.startsWith('@')) name[0] = 0
  return Buffer.concat(path.startsWith('@') ? [family, name] : [family, name, Buffer.alloc(1)])
}
