import { iso } from '../../core/base/time.ts'
import {
  type Account,
  findAccountByName,
  listAccounts,
  pauseAccount,
  removeAccount,
  resumeAccount,
} from '../../store/accounts/accounts.ts'
import { listProxies } from '../../store/accounts/proxies.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION } from '../command.ts'
import { type OpenInstance, withInstance } from '../configuration.ts'
import { table } from '../output.ts'

/**
 * The account of this name.
 *
 * @throws {CommandRefusal} No account has this name.
 */
export function accountNamed(db: Db, name: string): Account {
  const account = findAccountByName(db, name)
  if (account) return account
  throw new CommandRefusal(`there is no account "${name}": see forumd account list`)
}

const toJson = (it: Account, proxies: ReadonlyMap<string, string>) => ({
  name: it.name,
  kind: it.kind,
  username: it.username,
  state: it.state,
  reason: it.state_reason,
  since: iso(it.state_since),
  cooling_until: iso(it.cooling_until),
  proxy: it.proxy_id === null ? null : (proxies.get(it.proxy_id) ?? null),
  session_ends: it.kind === 'session' ? iso(it.jar_expires_at) : null,
  last_used_at: iso(it.last_used_at),
  last_ok_at: iso(it.last_ok_at),
  created_at: iso(it.created_at),
  id: it.id,
})

export const accountList = command({
  name: 'account list',
  summary: 'lists the accounts of the pool with their status, without secrets',
  options: { json: JSON_OPTION },
  examples: ['forumd account list', 'forumd account list --json | jq .accounts'],
  async run({ values, ...context }) {
    const accounts = await withInstance(context, ({ db }) => {
      const proxies = new Map(listProxies(db).map(({ id, name }) => [id, name]))
      return listAccounts(db).map((it) => toJson(it, proxies))
    })
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ accounts })}\n`
        : table(
            accounts.map(({ name, kind, username, state, reason, proxy, last_used_at }) => ({
              name,
              kind,
              username,
              state,
              reason,
              proxy,
              last_used_at,
            })),
            'There is no account yet: add one with forumd account add NAME --jar FILE.',
          ),
    )
    return EXIT.done
  },
})

/** A command that changes the status of one account. */
const changing = (
  verb: string,
  summary: string,
  work: (opened: OpenInstance, account: Account) => string,
  notes: string,
) =>
  command({
    name: `account ${verb}`,
    summary,
    operands: ['NAME'],
    options: {},
    examples: [`forumd account ${verb} main`],
    notes,
    async run({ operands: [name = ''], ...context }) {
      const message = await withInstance(context, (opened) =>
        transact(opened.db, () => work(opened, accountNamed(opened.db, name))),
      )
      context.stdout.write(`${message}\n`)
      return EXIT.done
    },
  })

/** The `account pause` command. */
export const accountPause = changing(
  'pause',
  'stops using an account until you resume it',
  ({ db, ring, now }, { id, name }) => {
    pauseAccount(db, ring, id, now)
    return `${name} is paused`
  },
  'A running daemon stops using it within two seconds; requests in progress are finished.',
)

/** The `account resume` command. */
export const accountResume = changing(
  'resume',
  'uses an account again after a pause or a failure',
  ({ db, ring, now }, { id, name }) => {
    return resumeAccount(db, ring, id, now)
      ? `${name} is in use again`
      : `${name} has no cookies yet: forumd account login ${name}`
  },
  'The daemon checks its session at once, and sets it aside again if the session is not valid.',
)

/** The `account remove` command. */
export const accountRemove = changing(
  'remove',
  'removes an account with its cookies and password',
  ({ db }, { id, name }) => {
    removeAccount(db, id)
    return `${name} is removed`
  },
  'Its session on the platform stays open: sign out there to end it.',
)
