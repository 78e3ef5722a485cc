import { join } from 'node:path'

import * as z from 'zod'

import { createForum } from '../../src/platform/forum.ts'
import { ANONYMOUS, type Call, type Eyes } from '../../src/platform/platform.ts'
import { startHouse } from '../support/house.ts'
import { type Played, type Recording, startReplay } from '../support/replay.ts'

const Told = z.looseObject({ file: z.string(), skip: z.string().optional() })
/** What the second mapper makes of a recording; with `skip`, why it is no answer of the kind. */
export type Told = z.infer<typeof Told>

const Throttled = z.object({ retry_after: z.number() })

/** Enough for every recording: no answer is to wait for a budget that others used up. */
const PLENTY = 1_000_000_000
const SECOND = 1000

/** The whole daemon, and its room of the platform alone, in front of what the platform once said. */
export async function startStage(folder: string) {
  await using stack = new AsyncDisposableStack()
  const replay = stack.use(startReplay())
  const house = stack.use(
    await startHouse({
      platform_url: replay.url,
      change(config) {
        config.platform.retries = 0
        config.pool.session_requests_per_minute = PLENTY
        config.monitor.schedule = '0 0 0 1 1 *'
        config.limits.key_burst = 0
        config.limits.key_rate = 0
        config.limits.read_cache_s = 0
      },
    }),
  )
  const forum = createForum({
    fetch,
    clock: house.clock,
    random: { uuid: () => '', fraction: () => 0.5, bytes: (count) => new Uint8Array(count) },
    log: () => {},
    base_url: replay.url,
    user_agent: 'forumd-test/1.0',
    timeout_ms: 10 * SECOND,
    retries: 0,
    requests_per_minute: PLENTY,
  })

  /** Calls the daemon while the platform says `answers`: each once, the last one for ever. */
  async function read(answers: Played | Played[], path: string, body?: object) {
    replay.play(...[answers].flat())
    const answer = await (body ? house.send(path, body) : house.call(path))
    // Whoever comes next finds a platform that minds nothing.
    const throttled = answer.status === 429 ? Throttled.safeParse(answer.body) : null
    if (throttled?.success) await house.clock.advance((throttled.data.retry_after + 1) * SECOND)
    return { status: answer.status, body: z.unknown().parse(answer.body) }
  }

  const owned = stack.move()
  return {
    forum,
    replay,
    read,
    events: house.events,
    call: (eyes: Eyes = ANONYMOUS): Call => ({
      eyes,
      deadline_at: house.clock.now() + 30 * SECOND,
    }),
    /** What the second mapper makes of recordings, taken for answers of `kind`: one for each, in their order. */
    told: (kind: string, recordings: readonly Recording[]) =>
      tell(replay.url, kind, folder, recordings),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

async function tell(
  base: string,
  kind: string,
  folder: string,
  recordings: readonly Recording[],
): Promise<Told[]> {
  const lines = recordings.map(({ file, escaped }) =>
    [kind, join(folder, file), ...(escaped ? ['unescape'] : [])].join('\t'),
  )
  const python = Bun.spawn(['python3', join(import.meta.dir, 'rows.py'), '--base', base], {
    stdin: new Blob([lines.join('\n')]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [told, trouble] = await Promise.all([
    new Response(python.stdout).text(),
    new Response(python.stderr).text(),
  ])
  if ((await python.exited) !== 0) throw new Error(`rows.py failed: ${trouble}`)
  const rows = told.split('\n').flatMap((line) => (line === '' ? [] : Told.parse(JSON.parse(line))))
  if (rows.length !== recordings.length)
    throw new Error(`rows.py told of ${rows.length} files instead of ${recordings.length}`)
  return rows
}
