/**
 * Checks that the daemon never connects to a non-public address, from any source of addresses. A network
 * namespace with a scripted name server and counters on every outgoing packet runs the shared cases and cases
 * derived from the policy: as webhooks (at registration, at a test, and for real deliveries after the names
 * have changed), as callers' proxies, images and links; then the sequences. At the end one private target is
 * allowed and must be counted. Needs root, ip and nft, and FORUMD_SSRF. Exit code 0 only if no hostile address
 * was dialled and no harmless one refused.
 *
 *     bun scripts/bars/addresses/addresses.ts [--draws 8] [--seed N]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { addressCases, addressSequences, folder } from '../../../test/support/address-cases.ts'
import { certificate } from '../../../test/support/certificate.ts'
import { SEED } from '../seed.ts'
import {
  deliverMatches,
  deliverTests,
  type Outcome,
  picturesAndLinks,
  proxies,
  register,
} from './carriers.ts'
import { startAddressFixture } from './fixture.ts'
import { startNames } from './names.ts'
import {
  ALLOWED_PRIVATE,
  giveAddress,
  makeNamespace,
  PLACES,
  raiseNetwork,
  readCounters,
} from './network.ts'
import { policyCases } from './policy.ts'
import { detours, sequences } from './sequences.ts'

const { values } = parseArgs({
  options: {
    draws: { type: 'string', default: '8' },
    seed: SEED,
    inside: { type: 'boolean', default: false },
  },
})
if (folder === undefined) throw new Error('FORUMD_SSRF names no folder: there are no cases')
process.exitCode = values.inside ? await runInNamespace() : await runOutside()

async function runOutside(): Promise<number> {
  using namespace = makeNamespace(`forumd-bar-${process.pid}`)
  const again = [
    process.execPath,
    import.meta.path,
    '--inside',
    '--draws',
    values.draws,
    '--seed',
    values.seed,
  ]
  const run = Bun.spawn(namespace.inNamespace(again), { stdout: 'inherit', stderr: 'inherit' })
  // An interrupt removes the namespace too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => run.kill(signal))
  return await run.exited
}

async function runInNamespace(): Promise<number> {
  raiseNetwork()
  const cases = [
    ...(await addressCases()),
    ...policyCases(Number(values.seed), Number(values.draws)),
  ]
  const hostile = cases.filter((it) => it.expect === 'reject')
  const harmless = cases.filter((it) => it.expect === 'accept')
  console.log(
    `${hostile.length} hostile and ${harmless.length} harmless addresses, seed ${values.seed}`,
  )

  // Every public address is dialled on this machine, with a valid certificate.
  const hosts = harmless.map(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ''))
  for (const { url, resolves_to } of harmless)
    for (const address of resolves_to ?? [new URL(url).hostname.replace(/^\[|\]$/g, '')])
      giveAddress(address)
  for (const address of ['93.184.215.14', '203.0.114.9']) giveAddress(address)
  const tls = await certificate([
    ...new Set([...hosts, 'hooks.example.com', 'picture.example.net', ALLOWED_PRIVATE]),
  ])

  using names = await startNames(PLACES.dns)
  const dir = await mkdtemp(join(tmpdir(), 'forumd-addresses-'))
  const figures: Record<string, { asked: number; wrong: number; hostile_syns: number }> = {}
  const wrong: string[] = []
  async function step(what: string, work: Promise<Outcome>) {
    const outcome = await work
    figures[what] = {
      asked: outcome.cases,
      wrong: outcome.wrong.length,
      hostile_syns: readCounters().hostile,
    }
    wrong.push(...outcome.wrong.map((it) => `${what}: ${it}`))
    console.log(`${what}: ${outcome.cases} cases, ${outcome.wrong.length} wrong`)
  }
  try {
    const strict = await startAddressFixture(join(dir, 'strict'), tls.cert)
    const world = { fixture: strict, names }
    await step('names that change over time', sequences(world, await addressSequences(), tls))
    await step('detours', detours(world, await addressSequences()))
    const servers = [443, 8443, 10_443].map((port) => receiver(port, tls))
    await step('registered', register(world, cases))
    await step('tested after the names changed', deliverTests(world, cases))
    await step('sent a match', deliverMatches(world, hostile))
    await step('named as a proxy', proxies(world, hostile))
    await step('named as an image or a link', picturesAndLinks(world, hostile))
    await strict[Symbol.asyncDispose]()

    const lax = await startAddressFixture(join(dir, 'lax'), tls.cert, [`${ALLOWED_PRIVATE}/32`])
    await step(
      'registered where one private address is allowed',
      register({ fixture: lax, names }, cases),
    )
    const before = readCounters()
    const { body } = await lax.send('/forum/monitor/webhook/create', {
      url: `https://${ALLOWED_PRIVATE}/hook`,
    })
    const { body: tested } = await lax.send('/forum/monitor/webhook/test', { id: body['id'] })
    const after = readCounters()
    await lax[Symbol.asyncDispose]()
    for (const server of servers) await server.stop(true)

    console.table(figures)
    for (const it of wrong.slice(0, 40)) console.log(it)
    const counted = after.hostile - before.hostile
    console.log(
      `connections begun: ${before.begun}, of these to addresses that are not public: ${before.hostile}; datagrams to such: ${before.hostile_datagrams}`,
    )
    console.log(
      `the allowed private target: ok ${String(tested['ok'])}, connections counted ${counted}`,
    )
    const good = before.hostile === 0 && before.hostile_datagrams === 0 && before.begun > 0
    return good && wrong.length === 0 && tested['ok'] === true && counted > 0 ? 0 : 1
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * Receives requests to any address of this network; `/away` redirects to an address that must not be reached.
 */
function receiver(port: number, { key, cert }: { key: string; cert: string }) {
  const headers = { location: 'http://169.254.169.254/latest/meta-data/' }
  return Bun.serve({
    hostname: '::',
    port,
    tls: { key, cert },
    fetch: ({ url }) =>
      new URL(url).pathname === '/away'
        ? new Response('', { status: 302, headers })
        : new Response('ok'),
  })
}
