import { errorCode } from '../core/base/errors.ts'
import { diskTroubleOf } from '../store/startup/disk-trouble.ts'
import { EXIT } from './command.ts'

/** Errors by name, so that distinguishing them does not load the modules that throw them. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  UsageError: EXIT.usage,
  ConfigError: EXIT.usage,
  DatabaseMissing: EXIT.broken,
  DatabaseDamaged: EXIT.broken,
  KeyMissing: EXIT.broken,
  NewerDatabase: EXIT.broken,
  WrongInstance: EXIT.broken,
  OtherSchema: EXIT.broken,
  DatabaseExists: EXIT.usage,
  ReplicaUnusable: EXIT.restart,
}

const SYSTEM: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'end it, or set [server].port, or --port of a command with that option, to another port or 0',
  EACCES: 'the system does not allow it to this user',
  'EACCES file':
    'this user may not: check its owner and that of each folder above it (namei -l), and run forumd as the user that the daemon runs as',
  'EACCES listen':
    'only root may listen on a port below 1024: set [server].port to another one, and put a proxy before it',
  ENOSPC: 'the disk has no room or no inodes left: df -h and df -i show which',
  EROFS: 'the file system is mounted read-only',
  EIO: 'the disk returns I/O errors: dmesg says which',
  SQLITE_FULL:
    'the disk is full: make room on it (df -h shows how much there is), and repeat the command',
  EPERM:
    'the system does not allow it: the file may be immutable (lsattr), or the sandbox of the unit forbids it',
  EMFILE: 'this process has too many files open: raise LimitNOFILE of the unit, or ulimit -n',
  ENFILE: 'this machine has too many files open: raise the sysctl fs.file-max',
  SQLITE_BUSY: 'the database is busy: try again',
  SQLITE_READONLY: 'the database may not be written to by this user',
  SQLITE_CANTOPEN:
    'check [storage].dir: it must be a folder that this user may write to, on a disk without I/O errors (dmesg shows them)',
  'ENOENT listen': 'the name in [server].host has no address: set an address of this machine',
  EADDRNOTAVAIL: 'this machine does not have the address of [server].host',
  EEXIST: '[storage].dir is a link whose target does not exist: is its disk mounted?',
  ENOTDIR: 'check [storage].dir: it must be a folder',
}

/** Error codes of SQLite for a damaged file; a command beside a daemon may find the damage first. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/
const DAMAGED_SENTENCE = 'restore the newest backup, or recover data with sqlite3 and .recover'
const FAILED_SENTENCE =
  'check the disk of [storage].dir: it is full or returns I/O errors, which dmesg shows'

export function explainError(error: unknown): { code: number; message: string } {
  if (!(error instanceof Error)) return { code: EXIT.failed, message: String(error) }
  const system = errorCode(error)
  // After a failed write only a new start can tell what is on the disk.
  const is_disk = system.startsWith('SQLITE_IOERR')
  const written = is_disk || system === 'EIO' ? EXIT.restart : EXIT_CODES[error.name]
  const code = DAMAGED.test(system) ? EXIT.broken : written
  const storage = is_disk ? FAILED_SENTENCE : undefined
  const family = /^SQLITE_(?:READONLY|CANTOPEN)/.exec(system)?.[0]
  const path = 'path' in error && typeof error.path === 'string' ? error.path : null
  const kind = 'syscall' in error && error.syscall === 'listen' ? 'listen' : path && 'file'
  const reason =
    (path === null ? undefined : diskTroubleOf(error, path)?.sentence) ??
    // One code means two things: a file, or an address to listen at.
    SYSTEM[`${system} ${kind}`] ??
    SYSTEM[family ?? system] ??
    (DAMAGED.test(system) ? DAMAGED_SENTENCE : storage)
  // The engine asks about the port instead of naming it.
  const port = system === 'EADDRINUSE' ? /\bport (\d+)/.exec(error.message)?.[1] : undefined
  const message = port === undefined ? error.message : `port ${port} is in use by another program`
  return {
    code: code ?? EXIT.failed,
    message: reason === undefined ? message : `${message} (${reason})`,
  }
}
