import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants
const MIB = 2 ** 20
const OWNER_ONLY = 0o600

/**
 * A new file, open for writing. `isAt`: true if this name of its folder still leads to this file, and no other name
 * does.
 */
export type NewFile = Disposable & {
  write(bytes: Uint8Array): void
  copyFrom(handle: number): void
  sync(): void
  isAt(name: string): boolean
}

/**
 * An open folder. Names resolve within it even if its path is redirected meanwhile, and no link in it is followed.
 */
export type OpenFolder = Disposable & {
  /**
   * Creates a file, by default accessible to its owner alone.
   * @throws {Error} EEXIST when the name is taken, also by a link
   */
  create(name: string, mode?: number): NewFile
  has(name: string): boolean
  /** A path to an entry, valid while the folder is open. */
  at(name: string): string
  /** Renames a file, replacing an existing one. */
  rename(from: string, to: string): void
  /** @throws {Error} EEXIST when the name is taken */
  link(from: string, to: string): void
  remove(name: string): void
  /** Makes the folder's entries survive a power cut. */
  sync(): void
}

/** Opens a folder; its own path may be a link. */
export function openFolder(path: string): OpenFolder {
  const handle = openSync(path, O_RDONLY | O_DIRECTORY)
  // Without /proc, as on macOS, names are looked up by path.
  const held = `/proc/self/fd/${handle}`
  const base = existsSync(held) ? held : path
  const at = (name: string) => join(base, name)
  return {
    create: (name, mode = OWNER_ONLY) => newFile(at, name, mode),
    at,
    has: (name) => existsSync(at(name)),
    rename: (from, to) => renameSync(at(from), at(to)),
    link: (from, to) => linkSync(at(from), at(to)),
    remove: (name) => rmSync(at(name), { force: true }),
    sync: () => fsyncSync(handle),
    [Symbol.dispose]: () => closeSync(handle),
  }
}

function newFile(at: (name: string) => string, name: string, mode: number): NewFile {
  const handle = openSync(at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  const { dev, ino } = fstatSync(handle)
  const write = (bytes: Uint8Array) => {
    for (let from = 0; from < bytes.length;)
      from += writeSync(handle, bytes, from, bytes.length - from)
  }
  return {
    write,
    copyFrom(source) {
      const block = new Uint8Array(MIB)
      for (let read = -1, position = 0; read !== 0; position += read) {
        read = readSync(source, block, 0, MIB, position)
        write(block.subarray(0, read))
      }
    },
    sync: () => fsyncSync(handle),
    isAt(current) {
      const found = openSync(at(current), O_RDONLY | O_NOFOLLOW)
      try {
        const stat = fstatSync(found)
        return stat.dev === dev && stat.ino === ino && stat.nlink === 1
      } finally {
        closeSync(found)
      }
    },
    [Symbol.dispose]: () => closeSync(handle),
  }
}

/** Replaces a file atomically; by default accessible to its owner alone. */
export function replaceFile(path: string, bytes: Uint8Array, mode = OWNER_ONLY): void {
  using folder = openFolder(dirname(path))
  const name = basename(path)
  const temporary = `${name}.new`
  folder.remove(temporary)
  using file = folder.create(temporary, mode)
  file.write(bytes)
  folder.rename(temporary, name)
}
