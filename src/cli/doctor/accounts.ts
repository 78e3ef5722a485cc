import { listAccounts, openAccount } from '../../store/accounts/accounts.ts'
import { listProxies, openProxy } from '../../store/accounts/proxies.ts'
import type { OpenedAccount as Credentials, PlatformTools } from '../account/platform-tools.ts'
import { proxyError } from '../account/proxy.ts'
import { VERDICTS } from '../account/test.ts'
import type { OpenInstance } from '../configuration.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'

/** Accounts and proxies of the pool, decrypted, for checks without the database. */
export type OpenedPool = {
  accounts: { name: string; paused: boolean; credentials: Credentials }[]
  proxies: { name: string; proxy: NonNullable<ReturnType<typeof openProxy>> }[]
}

export function openPool({ db, ring }: OpenInstance): OpenedPool {
  return {
    accounts: listAccounts(db).flatMap(({ id, name, state, proxy_id }) => {
      const opened = openAccount(db, ring, id)
      const proxy = proxy_id === null ? null : openProxy(db, ring, proxy_id)
      return opened ? [{ name, paused: state === 'paused', credentials: { ...opened, proxy } }] : []
    }),
    proxies: listProxies(db).flatMap(({ id, name }) => {
      const proxy = openProxy(db, ring, id)
      return proxy ? [{ name, proxy }] : []
    }),
  }
}

/** One request by each proxy and each account, one after another: several at once may get them blocked. */
export function poolChecks(
  { accounts, proxies }: OpenedPool,
  allow_anonymous: boolean,
  tools: PlatformTools,
): Check[] {
  const noAccounts = { title: 'checking the pool', run: () => [emptyPool(allow_anonymous)] }
  return [
    ...(accounts.length === 0 ? [noAccounts] : []),
    ...proxies.map(({ name, proxy }) => ({
      title: `checking proxy ${name}`,
      run: async () => [proxyOf(name, proxyError(await tools.tryProxy(proxy)))],
    })),
    ...accounts.map(({ name, paused, credentials }) => ({
      title: `checking the session of ${name}`,
      run: async () => [await accountOf(name, paused, () => tools.test(credentials))],
    })),
  ]
}

const ADD = 'add one: forumd account add NAME --jar FILE'

const emptyPool = (allow_anonymous: boolean): CheckResult =>
  allow_anonymous
    ? fine('accounts', 'none: reads are anonymous, at the rate limit of one address')
    : bad('accounts', 'none, and [pool].allow_anonymous is false: no read is possible', ADD)

const proxyOf = (name: string, trouble: string | null): CheckResult =>
  trouble === null
    ? fine('proxy', 'the platform answers through it', name)
    : bad(
        'proxy',
        `it fails: ${trouble}`,
        `check its address and credentials: forumd proxy test ${name}`,
        name,
      )

async function accountOf(
  name: string,
  paused: boolean,
  test: () => ReturnType<PlatformTools['test']>,
): Promise<CheckResult> {
  if (paused) return doubtful('account', 'it is paused', `forumd account resume ${name}`, name)
  const { finding, username } = await test()
  const { word, means } = VERDICTS[finding.kind]
  switch (finding.kind) {
    case 'alive':
      return fine('account', username === null ? 'signed in' : `signed in as ${username}`, name)
    case 'throttled':
    case 'unclear':
      return doubtful('account', word, means, name)
    case 'logged_out':
      return bad('account', 'its session is no longer valid', `forumd account login ${name}`, name)
    case 'suspended':
    case 'locked':
    case 'blocked':
      return bad('account', word, means, name)
  }
}
