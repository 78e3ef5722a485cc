import { serveMaintenance, type StorageOutage } from '../api/maintenance-server.ts'
import { type Change, changesBetween, takeLive } from '../config/reload.ts'
import type { Config } from '../config/schema.ts'
import { createNaming } from '../core/forum/naming.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type DiskTrouble, diskTroubleOf } from '../store/startup/disk-trouble.ts'

const FIRST_RETRY_MS = 1000
const RETRY_MAX_MS = 8000

/** `http://host:port`, with brackets around an address of IPv6. */
export const listeningUrl = (host: string, port: number | undefined) =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Serves health alone, in the shape of a daemon; its storage is left alone. */
export function serveOutage(
  config: Config,
  { outage, status }: { outage: () => StorageOutage; status: string },
) {
  const { host } = config.server
  const serving = serveMaintenance(config.server, createNaming(config.wire), outage)
  return {
    url: listeningUrl(host, serving.port),
    failed: new Promise<string>(() => {}),
    stuck: () => null,
    noticeExternalWrites: () => {},
    statusLine: () => status,
    reconfigure(next: Config): Change[] {
      const changes = changesBetween(config, next)
      takeLive(config, next)
      return changes
    },
    noteRefusedReload: () => {},
    [Symbol.asyncDispose]: () => serving.stop(true),
  }
}

/**
 * Serves health alone until `attempt`, which opens the instance and closes it again, succeeds or fails by something else
 * than the disk: then `recovered` settles, and the next start succeeds or says what is wrong.
 */
export function waitForDisk(
  config: Config,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  first: DiskTrouble,
  attempt: () => void,
) {
  const { dir } = config.storage
  const began = clock.mono()
  let trouble = first
  let next_at = began
  const serving = serveOutage(config, {
    outage: () => ({
      reason: trouble.reason,
      retry_after_s: Math.max(1, Math.ceil((next_at - clock.mono()) / 1000)),
    }),
    status: 'waiting for the disk',
  })
  const ending = new AbortController()
  const recovered = Promise.withResolvers<void>()
  const report = () =>
    log('error', 'storage.waiting', { dir, reason: trouble.reason, why: trouble.sentence })

  async function retry(): Promise<void> {
    report()
    for (let delay_ms = FIRST_RETRY_MS; ; delay_ms = Math.min(delay_ms * 2, RETRY_MAX_MS)) {
      next_at = clock.mono() + delay_ms
      await clock.sleep(delay_ms, ending.signal)
      if (ending.signal.aborted) return
      const before = trouble.reason
      const next = troubleOf(attempt)
      if (next === null) break
      trouble = next
      if (next.reason !== before) report()
    }
    log('info', 'storage.recovered', { waited_ms: Math.round(clock.mono() - began) })
    recovered.resolve()
  }

  const troubleOf = (work: () => void): DiskTrouble | null => {
    try {
      work()
      return null
    } catch (error) {
      return diskTroubleOf(error, dir)
    }
  }

  void retry()
  return {
    ...serving,
    recovered: recovered.promise,
    statusLine: () => `waiting for the disk: ${trouble.sentence}`,
    async [Symbol.asyncDispose]() {
      ending.abort()
      await serving[Symbol.asyncDispose]()
    },
  }
}
