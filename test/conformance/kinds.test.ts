// Goal: what is listed as a kind of source keeps to what the rest of the program relies on. Method: the source of each kind,
// as its table opens it, at an address where nothing listens.
import { describe, expect, test } from 'bun:test'

import { keysByTable, parseConfig } from '../../src/config/load.ts'
import { KINDS } from '../../src/platforms/kinds.ts'
import { ANONYMOUS } from '../../src/platforms/port.ts'
import { READ_CAPABILITIES } from '../../src/platforms/source.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { createSource } from '../../src/wiring/sources.ts'
import { startSite, STREAMED } from '../support/hostile-site.ts'

function open(kind: string) {
  const cookie = kind === 'reddit' ? 'session_cookie = "s"\n' : ''
  const config = parseConfig(
    `[[source]]\nname = "s"\nkind = "${kind}"\nbase_url = "http://127.0.0.1:1"\n${cookie}`,
  )
  let requests = 0
  const source = createSource(config.source[0]!, config, {
    clock: realClock,
    log: () => {},
    random: { uuid: () => '', fraction: () => 0.5, bytes: (size) => new Uint8Array(size) },
    egress: {
      async send() {
        requests += 1
        return { ok: false, fault: { kind: 'forbidden', reason: null } } as never
      },
      close() {},
    },
  })
  return { source, requests: () => requests }
}

const call = () => ({ identity: ANONYMOUS, deadline_at: Date.now() + 1000 })

test.each(KINDS.map((it) => [it.kind, it] as const))('%s', async (name, kind) => {
  const { source, requests } = open(name)

  expect(requests()).toBe(0)
  expect(source.kind).toBe(name)
  expect(kind.title).not.toBe('')
  for (const key of Object.keys(kind.keys)) expect(keysByTable().get('source.*')).toContain(key)
  expect(source.place_examples.filter((it) => !source.isPlace(it))).toEqual([])
  for (const read of READ_CAPABILITIES) {
    if (source.capabilities.has(read)) continue
    const answer = await Reflect.apply(source.reads[read], source.reads, [{}, call()])
    expect(answer).toEqual({ ok: false, fault: { kind: 'unsupported', capability: read } })
  }
  expect(requests()).toBe(0)
  const probed = await source.probe({ requests: 5, deadline_at: Date.now() + 1000, use: 'poll' })
  expect(probed.ok).toBe(false)
  expect(requests()).toBeGreaterThan(0)
})

describe('the first step of a source gives what was written since the start of a monitor', () => {
  const MINUTE = 60_000

  test.each(
    STREAMED.flatMap((kind) => [0, 5 * MINUTE].map((behind_ms) => [kind, behind_ms] as const)),
  )('%s, with a clock that is %d ms behind', async (kind, behind_ms) => {
    await using it = startSite(kind)
    const { site, clock, put } = it
    const written = (id: number): void => void put({ id, at: clock.now() - behind_ms })
    for (let id = 101; id <= 160; id++) {
      written(id)
      site.now += 20_000
    }
    site.headers = { date: new Date(clock.now() - behind_ms).toUTCString() }
    // A clock is known from three answers on.
    for (let n = 0; n < 3; n++) await it.posts()
    const since = clock.now()
    const mine = [161, 162, 165]
    for (const id of mine) {
      written(id)
      site.now += 1000
    }

    const found = new Set<string>()
    let state: string | null = null
    for (const after_ms of [4000, 10_000, 10_000]) {
      site.headers = { date: new Date(clock.now() + after_ms - behind_ms).toUTCString() }
      const step = await it.step(state, after_ms, state === null ? since : null)
      for (const id of step.ids) if (Number(id) > 155) found.add(id)
      ;({ state } = step)
    }

    expect([...found].filter((id) => Number(id) > 160).toSorted()).toEqual(mine.map(String))
    // Others would be read, and their time keeps them from the monitor.
    expect(found.size).toBeLessThanOrEqual(mine.length + 1)
  })
})
