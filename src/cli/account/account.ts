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
import { listSourceAccounts, removeSourceAccount } from '../../store/accounts/sources.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { type OpenInstance, withInstance } from '../configuration.ts'
import { table } from '../output.ts'

/** @throws {CommandRefusal} No account has this name. */
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
  summary: 'lists the accounts of the pool with their status',
  options: { json: JSON_OPTION },
  examples: ['forumd account list', 'forumd account list --json | jq .accounts'],
  async run({ values, ...context }) {
    const { accounts, sources } = await withInstance(context, ({ db }) => {
      const proxies = new Map(listProxies(db).map(({ id, name }) => [id, name]))
      const at_sources = listSourceAccounts(db).map((it) => ({
        source: it.source,
        created_at: iso(it.created_at),
      }))
      return { accounts: listAccounts(db).map((it) => toJson(it, proxies)), sources: at_sources }
    })
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ accounts, sources })}\n`
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
          ) +
            sources
              .map((it) => `Account at the source ${it.source}, added ${it.created_at}\n`)
              .join(''),
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

export const accountPause = changing(
  'pause',
  'stops using an account until you resume it',
  ({ db, ring, now }, { id, name }) => {
    pauseAccount(db, ring, id, now)
    return `${name} is paused`
  },
  'A running daemon stops using it within two seconds; requests in progress are finished.',
)

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

export const accountRemove = command({
  name: 'account remove',
  summary: 'removes an account with its cookies and password',
  operands: ['[NAME]'],
  options: {
    source: { type: 'string', value: 'NAME', help: 'your account at this source' },
  },
  examples: ['forumd account remove main', 'forumd account remove --source meta'],
  notes: 'Its session on the platform stays open: sign out there to end it.',
  async run({ values: { source }, operands: [name], ...context }) {
    if ((name === undefined) === (source === undefined))
      throw new UsageError('NAME or --source is needed, and not both')
    const removed = await withInstance(context, ({ db }) =>
      transact(db, () => {
        if (source === undefined) {
          const account = accountNamed(db, name ?? '')
          removeAccount(db, account.id)
          return account.name
        }
        if (!removeSourceAccount(db, source))
          throw new CommandRefusal(`there is no account at ${source}: see forumd account list`)
        return `your account at ${source}`
      }),
    )
    context.stdout.write(`${removed} is removed\n`)
    return EXIT.done
  },
})
