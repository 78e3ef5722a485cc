import { isDeepStrictEqual } from 'node:util'

import { explainBlocked } from '../../api/operator/account-changes.ts'
import {
  type AccountResult,
  type AccountStatus,
  afterProbe,
  signedIn,
} from '../../core/accounts/status.ts'
import { isPoolName, POOL_NAME_RULE } from '../../core/base/text.ts'
import {
  type Account,
  changeAccount,
  exchangeSecrets,
  findAccountByName,
  listAccounts,
  openAccount,
} from '../../store/accounts/accounts.ts'
import { openProxy } from '../../store/accounts/proxies.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { type OpenInstance, withInstance, withPlatformTools } from '../configuration.ts'
import { table } from '../output.ts'
import type { OpenedAccount as Credentials, PlatformTools, Tested } from './platform-tools.ts'

/** @throws {CommandRefusal} No account has this name. */
export function accountNamed(db: Db, name: string): Account {
  const account = findAccountByName(db, name)
  if (account) return account
  throw new CommandRefusal(`there is no account "${name}": see forumd account list`)
}

/** @throws {UsageError} The name is malformed. */
export function parsePoolName(text: string): string {
  if (isPoolName(text)) return text
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 80))} is not a valid name: allowed are ${POOL_NAME_RULE}`,
  )
}

const UNREADABLE = 'the platform gave no readable answer: try again later'

export const VERDICTS: Readonly<Record<AccountResult['kind'], { word: string; means: string }>> = {
  alive: { word: 'alive', means: '' },
  logged_out: {
    word: 'dead',
    means: 'the platform does not accept its session: forumd account login',
  },
  suspended: { word: 'suspended', means: 'the platform has suspended it' },
  locked: { word: 'locked', means: 'the platform requires a new password for it' },
  blocked: {
    word: 'blocked',
    means: 'a block page: its session or this address is blocked; try another proxy',
  },
  throttled: { word: 'throttled', means: 'the platform limits its rate' },
  unclear: { word: 'unclear', means: UNREADABLE },
}

export const accountTest = command({
  name: 'account test',
  summary: 'checks the session of each account',
  operands: ['[NAME]'],
  options: { json: JSON_OPTION },
  examples: ['forumd account test', 'forumd account test main --json'],
  notes: 'Exit code 0 when each tested account is alive. A running daemon uses the results.',
  async run(call) {
    const { values, operands, ...context } = call
    const [name] = operands
    const within: Within = (work) => withInstance(context, work)
    const { names, config } = await within((opened) => ({
      names: namesOf(opened.db, name),
      config: opened.config,
    }))
    const test = async (tools: PlatformTools) => {
      const all: TestResult[] = []
      // One after another: simultaneous checks from one machine may get it blocked.
      for (const it of names) all.push(...(await testAccount(tools, it, within)))
      return all
    }
    const found = await withPlatformTools(call, test, { all: config })
    const rows = found.map(({ account, tested }) => {
      const { word, means } = VERDICTS[tested.finding.kind]
      const { username, blocked = [] } = tested
      return {
        name: account.name,
        verdict: word,
        username,
        means: explainBlocked(blocked) ?? means,
      }
    })
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ accounts: rows })}\n`
        : table(rows, 'There is no account yet: add one with forumd account add NAME --jar FILE.'),
    )
    return found.every(({ tested }) => tested.finding.kind === 'alive') ? EXIT.done : EXIT.failed
  },
})

type Within = <T>(work: (opened: OpenInstance) => T) => Promise<T>
type Found = { account: Account; credentials: Credentials }
type TestResult = Found & { tested: Tested }

const namesOf = (db: Db, name: string | undefined): string[] =>
  (name === undefined ? listAccounts(db) : [accountNamed(db, name)]).map((it) => it.name)

/** The current row of an account; null: removed. */
function open({ db, ring }: OpenInstance, name: string): Found | null {
  const account = findAccountByName(db, name)
  const opened = account === null ? null : openAccount(db, ring, account.id)
  if (account === null || opened === null) return null
  const proxy = account.proxy_id === null ? null : openProxy(db, ring, account.proxy_id)
  return { account, credentials: { ...opened, proxy } }
}

/**
 * Checks one account and stores the result. Each account is stored by itself: a running daemon exchanges grants as well,
 * and an interrupted command keeps the grants that it has exchanged.
 */
async function testAccount(
  tools: PlatformTools,
  name: string,
  within: Within,
): Promise<TestResult[]> {
  let found = await within((opened) => open(opened, name))
  if (found === null) return []
  let tested = await tools.test(found.credentials, found.account.source)
  if (tested.finding.kind === 'logged_out') {
    const now = await within((opened) => open(opened, name))
    // The daemon has exchanged the grant first, so that the one used here was no longer valid.
    if (now !== null && !isDeepStrictEqual(now.credentials.secrets, found.credentials.secrets)) {
      found = now
      tested = await tools.test(found.credentials, found.account.source)
    }
  }
  const result = { ...found, tested }
  await within((opened) => transact(opened.db, () => settle(opened, result)))
  return [result]
}

/** Stores a changed result only: an unchanged row would make a running daemon reload it. */
function settle({ db, ring, now }: OpenInstance, { account, credentials, tested }: TestResult) {
  const { finding, username, jar, secrets } = tested
  // Changes of the operator made meanwhile win. Only an exchanged grant is stored: the old one is no longer valid.
  if (findAccountByName(db, account.name)?.revision !== account.revision) {
    if (secrets)
      exchangeSecrets(db, ring, account.id, { before: credentials.secrets, after: secrets })
    return
  }
  const status = statusAfter(account, finding, now)
  const moved = status.state !== account.state
  if (!moved && jar === undefined && secrets === undefined) return
  changeAccount(db, ring, account.id, {
    status,
    username,
    ...(jar && { jar }),
    ...(secrets && { secrets }),
  })
}

function statusAfter(account: Account, finding: Tested['finding'], now: number): AccountStatus {
  const { state, state_reason, state_since, cooling_until, strikes, probes, probe_at } = account
  const current = { state, state_reason, state_since, cooling_until, strikes, probes, probe_at }
  if (state === 'paused') return current
  switch (finding.kind) {
    case 'alive':
      return state === 'ready' ? current : signedIn(now)
    case 'logged_out':
      // One answer is no proof: a running daemon asks again.
      return state === 'needs_login' ? current : afterProbe(current, finding, now)
    case 'suspended':
    case 'locked':
      return afterProbe(current, finding, now)
    // No result for the daemon to act on.
    case 'blocked':
    case 'throttled':
    case 'unclear':
      return current
  }
}
