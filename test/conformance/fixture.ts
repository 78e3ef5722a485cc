import { join } from 'node:path'

import * as z from 'zod'

import { homeOf } from '../../src/config/schema.ts'
import { ANONYMOUS, type Call, type Identity } from '../../src/platforms/port.ts'
import { createForum } from '../../src/platforms/reddit/adapter.ts'
import { type Played, type Recording, startReplay } from '../support/replay.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const MappedRecording = z.looseObject({ file: z.string(), skip: z.string().optional() })
/** The second mapper's rows of a recording; `skip` is the reason why it is not of the kind. */
export type MappedRecording = z.infer<typeof MappedRecording>

const Throttled = z.object({ retry_after: z.number() })

/** A rate budget for all recordings, so that no read waits for it. */
const PLENTY = 1_000_000_000
const SECOND = 1000

/** A daemon and its platform adapter, in front of recorded answers. */
export async function startConformanceFixture(folder: string) {
  await using stack = new AsyncDisposableStack()
  const replay = stack.use(startReplay())
  const daemon = stack.use(
    await startTestDaemon({
      platform_url: replay.url,
      change(config) {
        homeOf(config)!.retries = 0
        homeOf(config)!.accounts.session_requests_per_minute = PLENTY
        config.monitor.schedule = '0 0 0 1 1 *'
        config.limits.key_burst = 0
        config.limits.key_rate = 0
        config.limits.read_cache_s = 0
      },
    }),
  )
  const forum = createForum({
    name: 'forum',
    fetch,
    clock: daemon.clock,
    random: { uuid: () => '', fraction: () => 0.5, bytes: (count) => new Uint8Array(count) },
    log: () => {},
    base_url: replay.url,
    user_agent: 'forumd-test/1.0',
    timeout_ms: 10 * SECOND,
    retries: 0,
    requests_per_minute: PLENTY,
  })

  /** Calls the daemon while the platform returns `answers`: each once, the last one repeatedly. */
  async function read(answers: Played | Played[], path: string, body?: object) {
    replay.play(...[answers].flat())
    const answer = await (body ? daemon.send(path, body) : daemon.call(path))
    // Waits out a 429, so that the next call is not throttled.
    const throttled = answer.status === 429 ? Throttled.safeParse(answer.body) : null
    if (throttled?.success) await daemon.clock.advance((throttled.data.retry_after + 1) * SECOND)
    return { status: answer.status, body: z.unknown().parse(answer.body) }
  }

  const owned = stack.move()
  return {
    forum,
    replay,
    read,
    events: daemon.events,
    call: (identity: Identity = ANONYMOUS): Call => ({
      identity,
      deadline_at: daemon.clock.now() + 30 * SECOND,
    }),
    /** The second mapper's rows of recordings taken as answers of `kind`, in the same order. */
    mapRecordings: (kind: string, recordings: readonly Recording[]) =>
      runMapper(replay.url, kind, folder, recordings),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type ConformanceFixture = Awaited<ReturnType<typeof startConformanceFixture>>

async function runMapper(
  base: string,
  kind: string,
  folder: string,
  recordings: readonly Recording[],
): Promise<MappedRecording[]> {
  const lines = recordings.map(({ file, escaped }) =>
    [kind, join(folder, file), ...(escaped ? ['unescape'] : [])].join('\t'),
  )
  const python = Bun.spawn(['python3', join(import.meta.dir, 'rows.py'), '--base', base], {
    stdin: new Blob([lines.join('\n')]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, trouble] = await Promise.all([
    new Response(python.stdout).text(),
    new Response(python.stderr).text(),
  ])
  if ((await python.exited) !== 0) throw new Error(`rows.py failed: ${trouble}`)
  const rows = stdout
    .split('\n')
    .flatMap((line) => (line === '' ? [] : MappedRecording.parse(JSON.parse(line))))
  if (rows.length !== recordings.length)
    throw new Error(`rows.py returned ${rows.length} files instead of ${recordings.length}`)
  return rows
}
