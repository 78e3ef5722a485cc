import { isDeepStrictEqual } from 'node:util'

import { afterProbe, needsLogin, signedIn, type Standing } from '../core/pool.ts'
import {
  type Account,
  changeAccount,
  exchangeSecrets,
  findAccountByName,
  listAccounts,
  openAccount,
} from '../store/accounts.ts'
import { type Db, transact } from '../store/db.ts'
import { openWay } from '../store/proxies.ts'
import { VERDICTS } from './account-words.ts'
import { accountNamed } from './account.ts'
import { command, EXIT, JSON_OPTION } from './command.ts'
import type { Desk, Opened as Sealed, Tested } from './desk.ts'
import { type Opened, withInstance } from './instance.ts'
import { withDesk } from './open-desk.ts'
import { table } from './table.ts'

export const accountTest = command({
  name: 'account test',
  summary: 'asks the platform who each account is: alive, dead or blocked',
  operands: ['[NAME]'],
  options: { json: JSON_OPTION },
  examples: ['forumd account test', 'forumd account test main --json'],
  notes:
    'Ends with 0 when all that were asked about are alive. What it finds, the daemon knows too.',
  async run(call) {
    const { values, operands, ...around } = call
    const [name] = operands
    const within: Within = (work) => withInstance(values.config, around, work)
    const names = await within(({ db }) => namesOf(db, name))
    const found = await withDesk(call, async (desk) => {
      const all: Asked[] = []
      // One after another: several at once from one machine is how a block begins.
      for (const it of names) all.push(...(await ask(desk, it, within)))
      return all
    })
    const rows = found.map(({ account, tested }) => {
      const { word, means } = VERDICTS[tested.finding.kind]
      return { name: account.name, verdict: word, username: tested.username, means }
    })
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ accounts: rows })}\n`
        : table(rows, 'There is no account yet: forumd account add NAME --jar FILE takes one in.'),
    )
    return found.every(({ tested }) => tested.finding.kind === 'alive') ? EXIT.done : EXIT.failed
  },
})

type Within = <T>(work: (opened: Opened) => T) => Promise<T>
type Found = { account: Account; sealed: Sealed }
type Asked = Found & { tested: Tested }

const namesOf = (db: Db, name: string | undefined): string[] =>
  (name === undefined ? listAccounts(db) : [accountNamed(db, name)]).map((it) => it.name)

/** An account as it is now; null when it has been removed. */
function open({ db, ring }: Opened, name: string): Found | null {
  const account = findAccountByName(db, name)
  const opened = account === null ? null : openAccount(db, ring, account.id)
  if (account === null || opened === null) return null
  const proxy = account.proxy_id === null ? null : openWay(db, ring, account.proxy_id)
  return { account, sealed: { ...opened, proxy } }
}

/**
 * Asks for one account and writes down what was found. Not all of them in one go: a running daemon exchanges grants, too, and
 * whoever ends the command in the middle keeps what was exchanged for those before.
 */
async function ask(desk: Desk, name: string, within: Within): Promise<Asked[]> {
  let found = await within((opened) => open(opened, name))
  if (found === null) return []
  let tested = await desk.test(found.sealed)
  if (tested.finding.kind === 'nobody') {
    const now = await within((opened) => open(opened, name))
    // The daemon was quicker, and the grant that we asked with was worth nothing any more.
    if (now !== null && !isDeepStrictEqual(now.sealed.secrets, found.sealed.secrets)) {
      found = now
      tested = await desk.test(found.sealed)
    }
  }
  const asked = { ...found, tested }
  await within((opened) => transact(opened.db, () => settle(opened, asked)))
  return [asked]
}

/** Writes down what was found where that is news; what is no news must not disturb a running daemon. */
function settle({ db, ring, now }: Opened, { account, sealed, tested }: Asked) {
  const { finding, username, jar, secrets } = tested
  // What the operator has changed meanwhile stands. Only a grant that was exchanged is kept: its old one is worth nothing.
  if (findAccountByName(db, account.name)?.revision !== account.revision) {
    if (secrets) exchangeSecrets(db, ring, account.id, { before: sealed.secrets, after: secrets })
    return
  }
  const standing = standingAfter(account, finding, now)
  const moved = standing.state !== account.state
  if (!moved && jar === undefined && secrets === undefined) return
  changeAccount(db, ring, account.id, {
    standing,
    username,
    ...(jar && { jar }),
    ...(secrets && { secrets }),
  })
}

function standingAfter(account: Account, finding: Tested['finding'], now: number): Standing {
  const { state, state_reason, state_since, cooling_until, strikes, probes, probe_at } = account
  const known = { state, state_reason, state_since, cooling_until, strikes, probes, probe_at }
  if (state === 'paused') return known
  switch (finding.kind) {
    case 'alive':
      return state === 'ready' ? known : signedIn(now)
    case 'nobody':
      return state === 'needs_login' ? known : needsLogin(now, 'logged_out')
    case 'suspended':
    case 'locked':
      return afterProbe(known, finding, now)
    // Nothing was learned that the daemon should act upon.
    case 'blocked':
    case 'throttled':
    case 'unclear':
      return known
  }
}
