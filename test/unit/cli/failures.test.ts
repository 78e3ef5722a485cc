import { expect, test } from 'bun:test'

import { explainError } from '../../../src/cli/failures.ts'
import { ConfigError } from '../../../src/config/load.ts'
import { DatabaseMissing } from '../../../src/store/startup/record.ts'

const withCode = (code: string) => Object.assign(new Error('as the system says it'), { code })

test.each([
  ['a configuration that is wrong', new ConfigError('forumd.toml', []), 2],
  ['a database that is gone', new DatabaseMissing('gone'), 78],
  ['a database found damaged on the way', withCode('SQLITE_CORRUPT'), 78],
  ['a page of it found damaged', withCode('SQLITE_CORRUPT_INDEX'), 78],
  ['a file that is no database', withCode('SQLITE_NOTADB'), 78],
  ['a write that failed on the disk', withCode('SQLITE_IOERR_WRITE'), 75],
  ['a disk that returns I/O errors', withCode('EIO'), 75],
  ['a full disk', withCode('SQLITE_FULL'), 1],
  ['a port that is taken', withCode('EADDRINUSE'), 1],
  ['anything else', new Error('oh'), 1],
])('%s has its own exit code', (_, error, code) => {
  expect(explainError(error).code).toBe(code)
})

test.each([
  ['EADDRNOTAVAIL', '[server].host'],
  ['EADDRINUSE', '[server].port'],
  ['EADDRINUSE', '--port'],
  ['EEXIST', 'mounted'],
  ['SQLITE_READONLY_DIRECTORY', 'may not be written to'],
  ['SQLITE_IOERR_SHMSIZE', 'is full'],
  ['SQLITE_FULL', 'make room on it'],
  ['SQLITE_CANTOPEN', '[storage].dir'],
  ['SQLITE_IOERR_READ', 'I/O errors'],
  ['EIO', 'dmesg'],
  ['SQLITE_CORRUPT', 'backup'],
])('%s names a remedy: %s', (code, fix) => {
  expect(explainError(withCode(code)).message).toContain(fix)
})

test('a port that another program holds is named', () => {
  const error = Object.assign(new Error('Failed to start server. Is port 8080 in use?'), {
    code: 'EADDRINUSE',
  })
  expect(explainError(error).message).toStartWith('port 8080 is in use by another program (')
})

test('a listen address that does not resolve has its own sentence', () => {
  const error = Object.assign(new Error('ENOENT: no such file or directory, listen'), {
    code: 'ENOENT',
    syscall: 'listen',
  })
  expect(explainError(error).message).toContain('[server].host')
})
