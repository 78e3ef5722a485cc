import { errorCode } from '../core/error-code.ts'
import { EXIT } from './command.ts'

/** Errors by name, so that telling them apart does not load the rooms that throw them. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  UsageError: EXIT.usage,
  ConfigError: EXIT.usage,
  DatabaseMissing: EXIT.broken,
  DatabaseDamaged: EXIT.broken,
  KeyMissing: EXIT.broken,
  NewerDatabase: EXIT.broken,
  UnreleasedDatabase: EXIT.broken,
}

const SYSTEM: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'the address is taken by another program: set [server].port, or --port of a command that has it, to another one, or to 0',
  EACCES:
    'the system does not allow it: look at who owns the file, or whether the port is below 1024',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system can only be read',
  SQLITE_BUSY: 'the database is busy: try again',
  SQLITE_FULL: 'the disk is full',
  SQLITE_READONLY: 'the database may not be written to by this user',
  SQLITE_CANTOPEN: 'look at [storage].dir: it must be a folder that this user may write to',
  'ENOENT listen': 'the name in [server].host leads to no address: give an address of this machine',
  EADDRNOTAVAIL: 'this machine does not have the address of [server].host',
  EEXIST: 'where [storage].dir is a link, what it leads to is not there: is it mounted?',
  ENOTDIR: 'look at [storage].dir: it must be a folder',
}

/** What the database says of itself when its file is damaged; a command beside a daemon meets it half way. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/
const DAMAGED_SENTENCE =
  'put the newest backup in its place, or save what can be saved with sqlite3 and .recover'
/** A full disk calls itself so too, where SQLite could not make room for what it shares between processes. */
const FAILED_SENTENCE = 'look at the disk that [storage].dir lies on: it is full, or it fails'

/** What an error means for the process: its exit code, and one or two sentences for the operator. */
export function explain(error: unknown): { code: number; message: string } {
  if (!(error instanceof Error)) return { code: EXIT.failed, message: String(error) }
  // What listens at a name that leads nowhere is told that there is no such file.
  const unnamed = errorCode(error) === 'ENOENT' && error.message.endsWith(' listen')
  const system = unnamed ? 'ENOENT listen' : errorCode(error)
  // After a failed write nobody knows what is on the disk: only a new start reads it afresh.
  const is_disk = system.startsWith('SQLITE_IOERR')
  const written = is_disk ? EXIT.restart : EXIT_CODES[error.name]
  const code = DAMAGED.test(system) ? EXIT.broken : written
  const storage = is_disk ? FAILED_SENTENCE : undefined
  const family = /^SQLITE_(?:READONLY|CANTOPEN)/.exec(system)?.[0]
  const reason = SYSTEM[family ?? system] ?? (DAMAGED.test(system) ? DAMAGED_SENTENCE : storage)
  return {
    code: code ?? EXIT.failed,
    message: reason === undefined ? error.message : `${error.message} (${reason})`,
  }
}
