import { iso } from '../core/instant.ts'
import { parseProxy, type Proxy, proxyOrigin } from '../core/proxy.ts'
import { listAccounts } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import {
  findProxyByName,
  insertProxy,
  listProxies,
  openWay,
  type ProxyRow,
  recordProxyTest,
  removeProxy,
} from '../store/proxies.ts'
import { createSources, FROM } from './account-secrets.ts'
import { parsePoolName } from './account-words.ts'
import { command, EXIT, JSON_OPTION, Refusal, UsageError } from './command.ts'
import { type Opened, withInstance } from './instance.ts'
import { withDesk } from './open-desk.ts'
import { troubleOf } from './proxy-words.ts'
import { table } from './table.ts'

export const proxyAdd = command({
  name: 'proxy add',
  summary: 'takes in a way out, for accounts to be pinned to',
  operands: ['NAME', '[ADDRESS]'],
  options: {
    'address-file': { type: 'string', value: FROM, help: 'its address, credentials and all' },
  },
  examples: [
    'forumd proxy add home socks5h://10.0.0.2:1080',
    'forumd proxy add paid --address-file paid.proxy',
    'PROXY=http://me:secret@proxy.example:3128 forumd proxy add paid --address-file env:PROXY',
  ],
  notes:
    'An address is scheme://user:password@host:port with http, https, socks4, socks5 or socks5h. One with credentials is never taken from the command line. FILE may be - for standard input or env:NAME.',
  async run({ values, operands: [given = '', shown], ...around }) {
    const name = parsePoolName(given)
    const way = await addressOf(shown, values['address-file'], createSources(around))
    await withInstance(values.config, around, ({ db, ring, now, random }) => {
      if (findProxyByName(db, name)) throw new Refusal(`there is a proxy "${name}" already`)
      insertProxy(db, ring, { id: `prx_${random.uuid()}`, name, way, created_at: now })
    })
    around.stdout.write(`${name} leads through ${proxyOrigin(way)}\n`)
    return EXIT.done
  },
})

async function addressOf(
  shown: string | undefined,
  from: string | undefined,
  sources: ReturnType<typeof createSources>,
): Promise<Proxy> {
  if (shown !== undefined && from !== undefined)
    throw new UsageError('ADDRESS and --address-file say the same: give one of them')
  if (shown?.includes('@'))
    throw new UsageError(
      'credentials do not belong on the command line, where others can read them: use --address-file',
    )
  const text =
    shown ??
    (from === undefined
      ? await sources.ask('Address: ')
      : await sources.secret('address-file', from))
  if (text === null)
    throw new UsageError('ADDRESS or --address-file is needed: forumd help proxy add')
  const parsed = parseProxy(text)
  if (parsed.ok) return parsed.proxy
  throw new UsageError(`the address of a proxy ${parsed.why}`)
}

const toShown = (
  { db, ring }: Opened,
  { id, name, created_at, last_ok_at, last_error }: ProxyRow,
) => {
  const way = openWay(db, ring, id)
  return {
    name,
    address: way && proxyOrigin(way),
    credentials: way !== null && way.username !== null,
    accounts: listAccounts(db).filter(({ proxy_id }) => proxy_id === id).length,
    last_ok_at: iso(last_ok_at),
    last_error,
    created_at: iso(created_at),
    id,
  }
}

export const proxyList = command({
  name: 'proxy list',
  summary: 'shows every way out, never its credentials',
  options: { json: JSON_OPTION },
  examples: ['forumd proxy list', 'forumd proxy list --json | jq .proxies'],
  async run({ values, ...around }) {
    const proxies = await withInstance(values.config, around, (opened) =>
      listProxies(opened.db).map((it) => toShown(opened, it)),
    )
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ proxies })}\n`
        : table(
            proxies.map(({ name, address, credentials, accounts, last_error }) => ({
              name,
              address,
              credentials,
              accounts,
              last_error,
            })),
            'There is no proxy yet: forumd proxy add NAME ADDRESS takes one in.',
          ),
    )
    return EXIT.done
  },
})

export const proxyTest = command({
  name: 'proxy test',
  summary: 'asks the platform through each way out',
  operands: ['[NAME]'],
  options: { json: JSON_OPTION },
  examples: ['forumd proxy test', 'forumd proxy test home'],
  notes: 'Ends with 0 when the platform was reached through all of them, whatever it answered.',
  async run(call) {
    const { values, operands, ...around } = call
    const [name] = operands
    const ways = await withInstance(values.config, around, ({ db, ring }) =>
      (name === undefined ? listProxies(db) : [proxyNamed(db, name)]).flatMap((proxy) => {
        const way = openWay(db, ring, proxy.id)
        return way ? [{ proxy, way }] : []
      }),
    )
    const rows = await withDesk(call, async (desk) => {
      const found: { id: string; name: string; verdict: string; error: string | null }[] = []
      for (const { proxy, way } of ways) {
        const error = troubleOf(await desk.tryProxy(way))
        const verdict = error === null ? 'works' : 'fails'
        found.push({ id: proxy.id, name: proxy.name, verdict, error })
      }
      return found
    })
    await withInstance(values.config, around, ({ db, now }) => {
      for (const { id, error } of rows) recordProxyTest(db, id, error, now)
    })
    const shown = rows.map(({ name: of, verdict, error }) => ({ name: of, verdict, error }))
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ proxies: shown })}\n`
        : table(shown, 'There is no proxy yet: forumd proxy add NAME ADDRESS takes one in.'),
    )
    return rows.every(({ error }) => error === null) ? EXIT.done : EXIT.failed
  },
})

export const proxyRemove = command({
  name: 'proxy remove',
  summary: 'forgets a way out that no account leaves through',
  operands: ['NAME'],
  options: {},
  examples: ['forumd proxy remove home'],
  async run({ values, operands: [name = ''], ...around }) {
    const pinned = await withInstance(values.config, around, ({ db }) =>
      removeProxy(db, proxyNamed(db, name).id),
    )
    if (pinned.length > 0)
      throw new Refusal(`${pinned.join(', ')} would have no way out: remove the account first`)
    around.stdout.write(`${name} is removed\n`)
    return EXIT.done
  },
})

function proxyNamed(db: Db, name: string): ProxyRow {
  const proxy = findProxyByName(db, name)
  if (proxy) return proxy
  throw new Refusal(`there is no proxy "${name}": see forumd proxy list`)
}
