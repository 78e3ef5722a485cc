import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createProbe } from '../accounts/probe.ts'
import type { Tested } from '../cli/account/platform-tools.ts'
import { type Config, sourceKey } from '../config/schema.ts'
import { createAllowed } from '../core/base/address.ts'
import { HOME } from '../core/forum/items.ts'
import { tryMailServer } from '../delivery/smtp.ts'
import { createEgress } from '../net/egress.ts'
import { createGuard } from '../net/guard.ts'
import { ANONYMOUS, type Identity } from '../platforms/port.ts'
import { createLaunch } from '../platforms/reddit/browser/launch.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { authority, openPlatform } from './platform.ts'
import { createSource, discoverBy, probeSource, watchableOf } from './sources.ts'

/** The operations on sources of the command line, without a daemon. */
export function openPlatformTools(config: Config, runtime: Runtime) {
  const { clock } = runtime
  const stopping = new AbortController()
  const timeout_ms = config.requests.timeout_s * 1000
  const guard = createGuard({ ...runtime, allowed: createAllowed(config.guard), timeout_ms })
  const egress = createEgress({ ...runtime, guard, ca: authority(config.requests.ca_file) })
  const opened = new Map(
    config.source.flatMap((it) => {
      if (it.kind !== 'reddit') return []
      const platform = openPlatform(it, config, runtime, { guard, egress, signal: stopping.signal })
      const probe = createProbe({ ...platform, clock })
      return [[sourceKey(config, it.name), { ...platform, probe }] as const]
    }),
  )
  /** @throws {RangeError} if there is no source with accounts */
  function openedHome() {
    const found = opened.get(HOME)
    if (found === undefined) throw new RangeError('no source with accounts')
    return found
  }
  type Probe = ReturnType<typeof createProbe>
  const deps = { ...runtime, egress }
  return {
    // An account of a source that has left the configuration is not tried at another.
    test: async (account: Parameters<Probe['test']>[0], source: string): Promise<Tested> =>
      opened.get(source)?.probe.test(account) ?? { finding: { kind: 'unclear' }, username: null },
    tryProxy: (proxy: Parameters<Probe['tryProxy']>[0]) => openedHome().probe.tryProxy(proxy),
    async tryPlatform() {
      const { client, forum } = openedHome()
      const identity: Identity = { ...ANONYMOUS, id: 'desk', whose: 'pool' }
      let answer = await client.me(identity)
      // A refusal has a Date header too. Only a platform that is down or throttles should get no further requests.
      const mayAsk = () => answer.ok || !STOPS_A_PROBE.has(answer.fault.kind)
      for (let n = 1; n < ANSWERS_FOR_A_CLOCK && mayAsk(); n += 1)
        answer = await client.me(identity)
      return { answer, ahead_ms: forum.isClockKnown() ? forum.clock_offset_ms() : null }
    },
    async trySources(name: string | null) {
      const tested = config.source.filter((it) => name === null || it.name === name)
      return Promise.all(
        tested.map(async (it) => {
          const source = createSource(it, config, deps)
          const answer = await probeSource(source, config, runtime)
          return {
            name: it.name,
            kind: it.kind,
            url: source.url,
            capabilities: [...source.capabilities],
            ahead_ms: answer.ok ? source.clock_offset_ms() : null,
            answer,
          }
        }),
      )
    },
    async discover(address: string) {
      return discoverBy({ egress, config, guarded: false }, address)
    },
    watchableSources: async () => watchableOf(config, deps),
    tryBrowser: () => tryBrowser(config, runtime),
    tryMail: () =>
      tryMailServer({
        ...config.smtp,
        timeout_ms: config.delivery.timeout_s * 1000,
        ca: authority(config.delivery.ca_file),
        clock,
      }),
    async [Symbol.asyncDispose]() {
      stopping.abort()
      egress.close()
      await Promise.all([...opened.values()].map((it) => it.close()))
    },
  }
}

const STOPS_A_PROBE: ReadonlySet<string> = new Set([
  'unavailable',
  'timeout',
  'throttled',
  'blocked',
])

/** A single Date may be wrong: the median of three is used (`src/platforms/reddit/client.ts`). */
const ANSWERS_FOR_A_CLOCK = 3

/** Starts a separate browser with files of its own; a daemon may be running one. */
async function tryBrowser({ browser, requests: { user_agent } }: Config, { clock }: Runtime) {
  const folder = mkdtempSync(join(tmpdir(), 'forumd-browser-'))
  try {
    const launched = await createLaunch({ ...browser, folder, user_agent, believed: null, clock })()
    if (!launched.ok) return launched
    const { chromium, bare, kill } = launched.running
    const version = await chromium.version()
    await kill()
    return { ok: true as const, version, bare }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
