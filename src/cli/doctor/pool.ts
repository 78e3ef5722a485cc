import { listAccounts, openAccount } from '../../store/accounts.ts'
import { listProxies, openWay } from '../../store/proxies.ts'
import { VERDICTS } from '../account-words.ts'
import type { Desk, Opened as Sealed } from '../desk.ts'
import type { Opened } from '../instance.ts'
import { troubleOf } from '../proxy-words.ts'
import { bad, type Check, doubtful, type Finding, fine } from './finding.ts'

/** What the pool holds, opened, to be asked about without the database. */
export type Pool = {
  accounts: { name: string; paused: boolean; sealed: Sealed }[]
  proxies: { name: string; way: NonNullable<ReturnType<typeof openWay>> }[]
}

/** Opens every account and way out. */
export function openPool({ db, ring }: Opened): Pool {
  return {
    accounts: listAccounts(db).flatMap(({ id, name, state, proxy_id }) => {
      const opened = openAccount(db, ring, id)
      const proxy = proxy_id === null ? null : openWay(db, ring, proxy_id)
      return opened ? [{ name, paused: state === 'paused', sealed: { ...opened, proxy } }] : []
    }),
    proxies: listProxies(db).flatMap(({ id, name }) => {
      const way = openWay(db, ring, id)
      return way ? [{ name, way }] : []
    }),
  }
}

/** One look at each way out and each account, one after another: several at once is how a block begins. */
export function poolChecks(
  { accounts, proxies }: Pool,
  allow_anonymous: boolean,
  desk: Desk,
): Check[] {
  const nobody = { title: 'looking at the pool', look: () => [emptyPool(allow_anonymous)] }
  return [
    ...(accounts.length === 0 ? [nobody] : []),
    ...proxies.map(({ name, way }) => ({
      title: `asking the platform through ${name}`,
      look: async () => [proxyOf(name, troubleOf(await desk.tryProxy(way)))],
    })),
    ...accounts.map(({ name, paused, sealed }) => ({
      title: `asking the platform who ${name} is`,
      look: async () => [await accountOf(name, paused, () => desk.test(sealed))],
    })),
  ]
}

const ADD = 'forumd account add NAME --jar FILE takes one in'

const emptyPool = (allow_anonymous: boolean): Finding =>
  allow_anonymous
    ? doubtful('accounts', 'there is none: reads are anonymous, at the pace of one address', ADD)
    : bad(
        'accounts',
        'there is none, and [pool].allow_anonymous is false: nothing can be read',
        ADD,
      )

const proxyOf = (name: string, trouble: string | null): Finding =>
  trouble === null
    ? fine('proxy', 'the platform is reached through it', name)
    : bad(
        'proxy',
        `it fails: ${trouble}`,
        `look at its address and credentials: forumd proxy test ${name}`,
        name,
      )

async function accountOf(
  name: string,
  paused: boolean,
  ask: () => ReturnType<Desk['test']>,
): Promise<Finding> {
  if (paused) return doubtful('account', 'it is paused', `forumd account resume ${name}`, name)
  const { finding, username } = await ask()
  const { word, means } = VERDICTS[finding.kind]
  switch (finding.kind) {
    case 'alive':
      return fine('account', username === null ? 'signed in' : `signed in as ${username}`, name)
    case 'throttled':
    case 'unclear':
      return doubtful('account', word, means, name)
    case 'nobody':
      return bad('account', 'its session is dead', `forumd account login ${name}`, name)
    case 'suspended':
    case 'locked':
    case 'blocked':
      return bad('account', word, means, name)
  }
}
