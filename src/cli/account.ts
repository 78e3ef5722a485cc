import { iso } from '../core/instant.ts'
import {
  type Account,
  findAccountByName,
  listAccounts,
  pauseAccount,
  removeAccount,
  resumeAccount,
} from '../store/accounts.ts'
import { type Db, transact } from '../store/db.ts'
import { listProxies } from '../store/proxies.ts'
import { command, EXIT, JSON_OPTION, Refusal } from './command.ts'
import { type Opened, withInstance } from './instance.ts'
import { table } from './table.ts'

/** The account of this name. Throws Refusal naming where to look. */
export function accountNamed(db: Db, name: string): Account {
  const account = findAccountByName(db, name)
  if (account) return account
  throw new Refusal(`there is no account "${name}": see forumd account list`)
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
  summary: 'shows every account of the pool and how it stands, never its secrets',
  options: { json: JSON_OPTION },
  examples: ['forumd account list', 'forumd account list --json | jq .accounts'],
  async run({ values, ...around }) {
    const accounts = await withInstance(values.config, around, ({ db }) => {
      const proxies = new Map(listProxies(db).map(({ id, name }) => [id, name]))
      return listAccounts(db).map((it) => toJson(it, proxies))
    })
    around.stdout.write(
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
            'There is no account yet: forumd account add NAME --jar FILE takes one in.',
          ),
    )
    return EXIT.done
  },
})

/** A command that changes one account by the operator's word. */
const changing = (
  verb: string,
  summary: string,
  work: (opened: Opened, account: Account) => string,
  notes: string,
) =>
  command({
    name: `account ${verb}`,
    summary,
    operands: ['NAME'],
    options: {},
    examples: [`forumd account ${verb} main`],
    notes,
    async run({ values, operands: [name = ''], ...around }) {
      const said = await withInstance(values.config, around, (opened) =>
        transact(opened.db, () => work(opened, accountNamed(opened.db, name))),
      )
      around.stdout.write(`${said}\n`)
      return EXIT.done
    },
  })

/** `account pause` */
export const accountPause = changing(
  'pause',
  'takes an account out of use until you resume it',
  ({ db, ring, now }, { id, name }) => {
    pauseAccount(db, ring, id, now)
    return `${name} is paused`
  },
  'A running daemon leaves it alone within two seconds; what is under way through it is finished.',
)

/** `account resume` */
export const accountResume = changing(
  'resume',
  'takes an account back into use, whatever it was put aside for',
  ({ db, ring, now }, { id, name }) => {
    return resumeAccount(db, ring, id, now)
      ? `${name} is in use again`
      : `${name} has no cookies yet: forumd account login ${name}`
  },
  'The daemon asks the platform at once who it is, and puts it aside again if that is nobody.',
)

/** `account remove` */
export const accountRemove = changing(
  'remove',
  'forgets an account, its cookies and its password',
  ({ db }, { id, name }) => {
    removeAccount(db, id)
    return `${name} is removed`
  },
  'Its session on the platform goes on: sign out there if it should not.',
)
