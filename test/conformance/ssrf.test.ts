// Goal: no forbidden address of the shared policy is dialled, at registration or at any attempt, and no allowed address is
// rejected.
// Method: runs every case and webhook sequence of $FORUMD_SSRF through the daemon's guard and transport. DNS is scripted;
// connections to public addresses reach a TLS server on loopback.

import { afterAll, describe, expect, test } from 'bun:test'

import { createAllowed } from '../../src/core/base/address.ts'
import { judgeAttempt } from '../../src/core/delivery/retry.ts'
import { fits, kindOf } from '../../src/delivery/kinds.ts'
import { toAttempt } from '../../src/delivery/send.ts'
import { createCheck, createGuard } from '../../src/net/guard.ts'
import { createTransport } from '../../src/net/transport.ts'
import { addressCases, addressSequences, folder } from '../support/address-cases.ts'
import { certificate } from '../support/certificate.ts'
import { fakeClock } from '../support/clock.ts'
import { speaker } from '../support/scripted-server.ts'

const cases = await addressCases()
const sequences = await addressSequences()

const PUBLIC_ONLY = createAllowed({ allow_targets: [], allow_http: false })
const TIMEOUT_MS = 10_000
const RETRY_SCHEDULE = { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 }
const BODY = new TextEncoder().encode('{}')
const MIB = 1024 * 1024

/** The guard and transport of a daemon with scripted DNS answers; connections end at `port`. */
function world({ dns, port = 1, ca }: { dns: (string[] | null)[]; port?: number; ca?: string }) {
  const clock = fakeClock(() => Bun.sleep(1))
  const dialled: string[] = []
  let lookups = 0
  const guard = createGuard({
    resolve: async () => {
      const answer = dns[Math.min(lookups++, dns.length - 1)]
      if (answer?.[0] === 'TIMEOUT') await new Promise(() => {})
      if (!answer || answer.length === 0) throw new Error('ENOTFOUND')
      return answer
    },
    clock,
    allowed: PUBLIC_ONLY,
    timeout_ms: TIMEOUT_MS,
  })
  const transport = createTransport({
    fetch: (address, init) => {
      const url = new URL(address)
      dialled.push(url.hostname.replace(/^\[|\]$/g, ''))
      url.host = `127.0.0.1:${port}`
      return fetch(url.href, init)
    },
    clock,
    guard,
    timeout_ms: TIMEOUT_MS,
    ...(ca !== undefined && { ca }),
  })
  return { clock, dialled, lookups: () => lookups, check: createCheck(guard), transport }
}

if (folder === undefined)
  console.log('FORUMD_SSRF is not set: the cases of the address guard are skipped')

describe.skipIf(folder === undefined)('every address of the policy', () => {
  test('the policy has allowed and forbidden cases', () => {
    expect(new Set(cases.map((it) => it.expect))).toEqual(new Set(['accept', 'reject']))
  })

  test.each(cases)(
    'at registration: $expect $url ($why)',
    async ({ url, resolves_to, expect: expected }) => {
      const { check } = world({ dns: [resolves_to] })
      expect(await check(url)).toEqual(expected === 'accept' ? null : expect.any(String))
    },
  )

  test.each(cases)(
    'at delivery: $expect $url ($why)',
    async ({ url, resolves_to, expect: expected }) => {
      const { transport, dialled, lookups } = world({ dns: [resolves_to] })
      const answer = await transport({ url, headers: {}, body: BODY })

      // No server listens; only the dialled addresses are compared.
      expect(answer.kind).toBe('failed')
      expect(lookups()).toBeLessThanOrEqual(1)
      if (expected === 'reject') expect(dialled).toEqual([])
      else
        expect(resolves_to ?? [new URL(url).hostname.replace(/^\[|\]$/g, '')]).toContain(
          dialled[0] ?? '',
        )
    },
  )

  const rebound = cases.filter((it) => it.expect === 'reject' && it.why.startsWith('[dns]'))
  test.each(rebound)(
    'public at registration, then $resolves_to: $url',
    async ({ url, resolves_to }) => {
      const name = new URL(url).hostname
      const { check, transport, dialled } = world({ dns: [['93.184.215.14'], resolves_to] })
      expect(await check(`https://${name}/`)).toBeNull()
      expect(await transport({ url: `https://${name}/`, headers: {}, body: BODY })).toEqual({
        kind: 'failed',
        error: 'target_not_public',
      })
      expect(dialled).toEqual([])
    },
  )
})

const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

const ours = sequences.filter(({ via, kind }) => via === undefined && kind === undefined)
const misfits = sequences.filter(({ kind }) => kind !== undefined)

describe.skipIf(folder === undefined)('webhook sequences', () => {
  test('the policy has sequences', () => expect(ours.length).toBeGreaterThan(0))

  test.each(ours)('$id $name: $outcome', async (it) => {
    const url = it.url ?? ''
    const name = new URL(url).hostname
    const tls = await certificate([it.tls?.startsWith('CN=') ? it.tls.slice(3) : name])
    const server = speaker(it.steps, tls)
    stops.push(server.stop)
    const { check } = world({ dns: [it.register_dns] })
    expect(await check(url)).toBeNull()

    // A self-signed certificate is not trusted.
    const trust = it.tls === 'self-signed' ? {} : { ca: tls.cert }
    const { transport, dialled, lookups, clock } = world({
      dns: it.dns,
      port: server.port,
      ...trust,
    })
    Object.assign(process.env, it.env)
    const attempts = Math.max(1, it.name.includes('inside one attempt') ? 1 : it.dns.length)
    const verdicts: string[] = []
    const rss = process.memoryUsage.rss()
    try {
      for (let n = 0; n < attempts; n++) {
        const posted = transport({ url, headers: {}, body: BODY })
        const open = { still: true }
        void posted.then(() => (open.still = false))
        for (let tries = 0; tries < 1000 && open.still; tries++) {
          await Bun.sleep(1)
          // Connections that are still open end at the deadline.
          if (tries === 300 || it.steps[0]?.repeat || it.dns[0]?.[0] === 'TIMEOUT')
            await clock.advance(TIMEOUT_MS)
        }
        const verdict = judgeAttempt(
          toAttempt(kindOf('webhook'), await posted, 0),
          n,
          RETRY_SCHEDULE,
          0.5,
        )
        verdicts.push('error' in verdict ? verdict.error : verdict.status)
      }
    } finally {
      for (const variable of Object.keys(it.env)) delete process.env[variable]
    }

    expect(lookups()).toBe(attempts)
    expect(dialled.filter((address) => it.never.includes(address))).toEqual([])
    const connects = [it.connects].flat()
    expect(new Set(dialled)).toEqual(new Set(connects))
    const last = verdicts.at(-1) ?? ''
    if (it.outcome.includes('delivered')) expect(last).toBe('delivered')
    else expect(last).not.toBe('delivered')
    if (it.outcome.startsWith('refused')) expect(last).toBe('target_not_public')
    if (it.outcome.startsWith('not followed')) expect(last).toMatch(/^http_3\d\d$/)
    if (it.outcome.startsWith('retry')) expect(last).toBe('dns_failed')
    if (it.outcome.includes('no request bytes sent')) expect(server.requests()).toBe(0)
    expect(server.requests()).toBeLessThanOrEqual(attempts)
    if (it.outcome.includes('64 KiB'))
      expect(process.memoryUsage.rss() - rss).toBeLessThan(64 * MIB)
    if (it.outcome.includes('64 KiB')) expect(server.sent()).toBeLessThan(64 * MIB)
    server.stop()
  })

  test.each(misfits)('$id $name: $outcome', ({ url = '', kind }) => {
    expect(fits(kindOf(kind ?? 'webhook'), url)).toBe(false)
  })
})
