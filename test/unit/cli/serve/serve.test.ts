import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { RunningDaemon } from '../../../../src/cli/command.ts'
import { run } from '../../../../src/cli/run.ts'
import { type Output, surroundings } from '../environment.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forumd-'))
  writeFileSync(
    join(dir, 'forumd.toml'),
    `[storage]\ndir = "${dir}/data"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n[delivery]\nretry_delays_s = [1]\n`,
  )
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** `forumd serve` around a daemon of the test's own. */
function serve(daemon: (() => Promise<RunningDaemon>) | RunningDaemon, stopped: Promise<string>) {
  const { around: environment, said: output } = surroundings({
    stopped,
    startDaemon: typeof daemon === 'function' ? daemon : () => Promise.resolve(daemon),
  })
  return { said: output, ended: run(['serve', '--config', join(dir, 'forumd.toml')], environment) }
}

const address = () => join(dir, 'data', 'forumd.address')
const never = new Promise<string>(() => {})

function fakeDaemon(failed: Promise<string> = never) {
  let disposed = 0
  const daemon: RunningDaemon = {
    url: 'http://127.0.0.1:4321',
    failed,
    stuck: () => null,
    noticeExternalWrites: () => {},
    statusLine: () => 'as ever',
    reconfigure: () => [],
    noteRefusedReload: () => {},
    [Symbol.asyncDispose]: () => {
      disposed++
      return Promise.resolve()
    },
  }
  return { daemon, disposed: () => disposed }
}

const events = ({ out }: Output): string[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event)

test('a reload requested during the start is done after the start', async () => {
  const stop = Promise.withResolvers<string>()
  const taken: (() => void)[] = []
  const { daemon } = fakeDaemon()
  const { around: environment, said: output } = surroundings({
    stopped: stop.promise,
    startDaemon: () => {
      expect(taken).toHaveLength(1)
      for (const take of taken) take()
      return Promise.resolve(daemon)
    },
    onReload: (take) => {
      taken.push(take)
      return { [Symbol.dispose]: () => {} }
    },
  })
  const ended = run(['serve', '--config', join(dir, 'forumd.toml')], environment)
  while (!existsSync(address())) await new Promise(setImmediate)
  stop.resolve('SIGTERM')

  expect(await ended).toBe(0)
  expect(events(output)).toContain('config.reloaded')
})

describe('serve', () => {
  test('serves without its address file where that cannot be written, and writes it once it can', async () => {
    const stop = Promise.withResolvers<string>()
    const { daemon } = fakeDaemon()
    // A file in the place of the folder.
    writeFileSync(join(dir, 'data'), '')
    const { said: output, ended } = serve(daemon, stop.promise)
    while (!output.out.includes('serve.listening')) await new Promise(setImmediate)
    expect(events(output)).toContain('serve.address_not_written')

    rmSync(join(dir, 'data'))
    while (!existsSync(address())) await new Promise(setImmediate)
    stop.resolve('SIGTERM')

    expect(await ended).toBe(0)
    expect(existsSync(address())).toBe(false)
  })

  test('writes its address to a file while it runs, and exits with 0 on a signal', async () => {
    const stop = Promise.withResolvers<string>()
    const { daemon, disposed } = fakeDaemon()
    const { said: output, ended } = serve(daemon, stop.promise)
    while (!existsSync(address())) await new Promise(setImmediate)

    const address_text = readFileSync(address(), 'utf8')
    stop.resolve('SIGTERM')

    expect(await ended).toBe(0)
    expect(address_text).toBe('http://127.0.0.1:4321\n')
    expect(existsSync(address())).toBe(false)
    expect(disposed()).toBe(1)
    expect(events(output)).toEqual([
      'serve.starting',
      'config.warning',
      'serve.listening',
      'serve.stopping',
    ])
    expect(output.out).toContain('"url":"http://127.0.0.1:4321"')
  })

  test('stops in order and exits with the restart code when its storage fails', async () => {
    const { daemon, disposed } = fakeDaemon(Promise.resolve('disk I/O error'))

    const { said: output, ended } = serve(daemon, never)

    expect(await ended).toBe(75)
    expect(disposed()).toBe(1)
    expect(output.out).toContain('"reason":"disk I/O error"')
  })

  test.each([
    ['DatabaseMissing', 78],
    ['DatabaseDamaged', 78],
    ['KeyMissing', 78],
    ['NewerDatabase', 78],
    ['InstanceLocked', 1],
    ['TypeError', 1],
  ])('%s at start is exit code %i and one sentence', async (name, code) => {
    const { said: output, ended } = serve(
      () => Promise.reject(Object.assign(new Error('it is so'), { name })),
      never,
    )

    expect(await ended).toBe(code)
    expect(output.err).toBe('forumd: it is so\n')
    expect(existsSync(address())).toBe(false)
  })

  test('a failed write at start exits with the restart code', async () => {
    const error = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })

    const { ended } = serve(() => Promise.reject(error), never)

    expect(await ended).toBe(75)
  })
})
