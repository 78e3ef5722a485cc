import type { Outcome } from '../../core/base/result.ts'
import { parseProxy, type Proxy, proxyOrigin } from '../../core/forum/proxy.ts'
import {
  findProxyByName,
  insertProxy,
  listProxies,
  openProxy,
  type ProxyRow,
  recordProxyTest,
} from '../../store/accounts/proxies.ts'
import type { Db } from '../../store/db/connection.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance, withPlatformTools } from '../configuration.ts'
import { table } from '../output.ts'
import { createSources, FROM } from './credentials.ts'
import { parsePoolName } from './test.ts'

/** The failure of an egress in one word; null when any answer of the platform arrived. */
export function proxyError(outcome: Outcome<unknown>): string | null {
  if (outcome.ok) return null
  const { fault } = outcome
  if (fault.kind === 'proxy') return fault.trouble ?? 'failed'
  if (fault.kind === 'timeout') return 'timeout'
  if (fault.kind !== 'unavailable' || fault.status !== null) return null
  return fault.trouble ?? 'unreachable'
}

export const proxyAdd = command({
  name: 'proxy add',
  summary: 'adds an egress proxy',
  operands: ['NAME', '[ADDRESS]'],
  options: {
    'address-file': { type: 'string', value: FROM, help: 'the address with its credentials' },
  },
  examples: [
    'forumd proxy add home socks5h://10.0.0.2:1080',
    'forumd proxy add paid --address-file paid.proxy',
    'PROXY=http://me:secret@proxy.example:3128 forumd proxy add paid --address-file env:PROXY',
  ],
  notes:
    'An address is scheme://user:password@host:port with http, https, socks4, socks5 or socks5h. An address with credentials is not accepted on the command line. FILE may be - for standard input or env:NAME.',
  async run({ values, operands: [given = '', address], ...context }) {
    const name = parsePoolName(given)
    const proxy = await addressOf(address, values['address-file'], createSources(context, values))
    await withInstance(context, ({ db, ring, now, random }) => {
      if (findProxyByName(db, name)) throw new CommandRefusal(`there is a proxy "${name}" already`)
      insertProxy(db, ring, { id: `prx_${random.uuid()}`, name, proxy, created_at: now })
    })
    context.stdout.write(`${name} uses ${proxyOrigin(proxy)}\n`)
    return EXIT.done
  },
})

async function addressOf(
  address: string | undefined,
  from: string | undefined,
  sources: ReturnType<typeof createSources>,
): Promise<Proxy> {
  if (address !== undefined && from !== undefined)
    throw new UsageError('ADDRESS and --address-file exclude each other: use one of them')
  if (address?.includes('@'))
    throw new UsageError(
      'credentials on the command line are visible to other users: use --address-file',
    )
  const text =
    address ??
    (from === undefined
      ? await sources.prompt('Address: ')
      : await sources.secret('address-file', from))
  if (text === null)
    throw new UsageError('ADDRESS or --address-file is needed: forumd help proxy add')
  const parsed = parseProxy(text)
  if (parsed.ok) return parsed.proxy
  throw new UsageError(`the address of a proxy ${parsed.why}`)
}

export const proxyTest = command({
  name: 'proxy test',
  summary: 'sends a request to the platform through each proxy',
  operands: ['[NAME]'],
  options: { json: JSON_OPTION },
  examples: ['forumd proxy test', 'forumd proxy test home'],
  notes: 'Exit code 0 when the platform answered through each of them, with any status.',
  async run(call) {
    const { values, operands, ...context } = call
    const [name] = operands
    const proxies = await withInstance(context, ({ db, ring }) =>
      (name === undefined ? listProxies(db) : [proxyNamed(db, name)]).flatMap((proxy) => {
        const address = openProxy(db, ring, proxy.id)
        return address ? [{ proxy, address }] : []
      }),
    )
    const rows = await withPlatformTools(call, async (tools) => {
      const found: { id: string; name: string; verdict: string; error: string | null }[] = []
      for (const { proxy, address } of proxies) {
        const error = proxyError(await tools.tryProxy(address))
        const verdict = error === null ? 'works' : 'fails'
        found.push({ id: proxy.id, name: proxy.name, verdict, error })
      }
      return found
    })
    await withInstance(context, ({ db, now }) => {
      for (const { id, error } of rows) recordProxyTest(db, id, error, now)
    })
    const results = rows.map(({ name: of, verdict, error }) => ({ name: of, verdict, error }))
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ proxies: results })}\n`
        : table(results, 'There is no proxy yet: add one with forumd proxy add NAME ADDRESS.'),
    )
    return rows.every(({ error }) => error === null) ? EXIT.done : EXIT.failed
  },
})

function proxyNamed(db: Db, name: string): ProxyRow {
  const proxy = findProxyByName(db, name)
  if (proxy) return proxy
  throw new CommandRefusal(`there is no proxy "${name}": see forumd proxy list`)
}
