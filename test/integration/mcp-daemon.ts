import { writeFileSync } from 'node:fs'

import * as z from 'zod'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { headerOf, SESSION_COOKIE } from '../support/accounts.ts'
import { tempFolder } from '../support/folder.ts'
import { runForumd, startProcess } from '../support/process.ts'

/**
 * A daemon in its own process, with a platform with one post and carl, whose account is in the pool
 * as main.
 */
export async function startMcpDaemon() {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(tempFolder())
  const sandbox = stack.use(
    await startSandbox({ port: 0, seed: 1, speed: 0, world: 'empty', now: Date.now }),
  )
  sandbox.user({ name: 'carl', password: 'open-sesame' })
  const post = sandbox.post({ subforum: 'cats', author: 'carl', title: 'A cat' })
  const { cookies } = sandbox.session({ username: 'carl' })
  const { [SESSION_COOKIE]: forum_session = '', loid = '' } = cookies
  const config = folder.file('forumd.toml')
  writeFileSync(
    config,
    `[server]
port = 0
[storage]
dir = "${folder.file('data')}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "${sandbox.url}"
session_cookie = "${SESSION_COOKIE}"
[limits]
management_per_minute = 0
`,
  )
  const daemon = await startProcess(config)
  stack.defer(async () => void (await daemon.end('SIGTERM')))
  const forumd = (...args: string[]) => runForumd([...args, '--config', config])
  const created_key = await forumd('key', 'create', '--customer', 'ann', '--json')
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(created_key))
  writeFileSync(folder.file('jar'), headerOf(cookies))
  await forumd('account', 'add', 'main', '--jar', folder.file('jar'))

  const owned = stack.move()
  return {
    url: daemon.url,
    key,
    config,
    post,
    /** Carl's session, as fields of a body. */
    session: { forum_session, loid },
    file: folder.file,
    /** Runs the command line beside the daemon. */
    forumd,
    /** Carl's comments on the platform. */
    comments: () => sandbox.world.users.get('carl')?.comments.map(({ text }) => text) ?? [],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
