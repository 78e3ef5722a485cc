import { newStanding, type Standing, unsigned } from '../core/pool.ts'
import { changeAccount, findAccountByName, insertAccount, openAccount } from '../store/accounts.ts'
import { transact } from '../store/db.ts'
import { findProxyByName, openWay } from '../store/proxies.ts'
import { ADD, anew, application, type Claims, kindOf, session, SIGN_IN } from './account-claims.ts'
import { createSources } from './account-secrets.ts'
import { checkOauth, prove, type Proven } from './account-sign.ts'
import { parsePoolName } from './account-words.ts'
import { accountNamed } from './account.ts'
import { type Call, command, EXIT, Refusal } from './command.ts'
import { type Opened, withInstance } from './instance.ts'
import { withDesk } from './open-desk.ts'

const NOTES =
  'FILE may be - for standard input or env:NAME for an environment variable; secrets are never taken from the command line. A cookie jar may be a cookies.txt, a JSON export or a Cookie header.'

export const accountAdd = command({
  name: 'account add',
  summary: 'takes a login on the platform into the pool',
  operands: ['NAME'],
  options: ADD,
  examples: [
    'forumd account add main --jar cookies.txt',
    'forumd account add main --jar - < cookies.json',
    'forumd account add second --username ann --password-file ann.pw --totp-file ann.totp --proxy home',
    'PW=... forumd account add third --password-file env:PW',
    'forumd account add app --kind oauth --client-id ID --client-secret-file app.secret --refresh-token-file app.token',
  ],
  notes: `${NOTES} With neither a jar nor a password, a terminal is asked for the password.`,
  async run(call) {
    const { values, operands, ...around } = call
    const name = parsePoolName(operands[0] ?? '')
    const proxy = await withInstance(values.config, around, (opened) => {
      if (findAccountByName(opened.db, name))
        throw new Refusal(
          `there is an account "${name}" already; new cookies or a new password for it: forumd account login ${name}`,
        )
      return proxyNamed(opened, values.proxy)
    })
    const proven = await withDesk(call, async (desk, config, now) => {
      const sources = createSources(around)
      const oauth = kindOf(values.kind) === 'oauth'
      if (oauth) checkOauth(config)
      const claims = oauth
        ? await application(values, sources)
        : await session(name, values, desk, sources)
      if (values['no-check']) return { ...claims, standing: unchecked(claims, now), remark: null }
      return prove(desk, { ...claims, proxy: proxy?.way ?? null, now })
    })
    await withInstance(values.config, around, ({ db, ring, now, random }) =>
      insertAccount(db, ring, {
        id: `acc_${random.uuid()}`,
        name,
        ...proven,
        proxy_id: proxy?.id ?? null,
        created_at: now,
      }),
    )
    return tell(call, name, proven, values.json)
  },
})

export const accountLogin = command({
  name: 'account login',
  summary: 'signs an account in anew, or gives it new cookies',
  operands: ['NAME'],
  options: { ...SIGN_IN, json: ADD.json },
  examples: [
    'forumd account login main',
    'forumd account login main --jar cookies.txt',
    'forumd account login second --password-file new.pw',
  ],
  notes: `${NOTES} Without a jar or a new password it signs in with the one it has, or asks a terminal for one.`,
  async run(call) {
    const { values, operands, ...around } = call
    const known = await withInstance(values.config, around, ({ db, ring }) => {
      const account = accountNamed(db, operands[0] ?? '')
      const opened = openAccount(db, ring, account.id)
      if (!opened) throw new Refusal(`there is no account "${account.name}" any more`)
      const way = account.proxy_id === null ? null : openWay(db, ring, account.proxy_id)
      return { account, secrets: opened.secrets, way }
    })
    const { account, way } = known
    const proven = await withDesk(call, async (desk, _, now) => {
      const claims = await anew(known.account, known.secrets, values, desk, createSources(around))
      return prove(desk, { ...claims, proxy: way, now })
    })
    await withInstance(values.config, around, ({ db, ring }) =>
      transact(db, () => {
        const { secrets, username, standing, jar } = proven
        changeAccount(db, ring, account.id, { secrets, username, standing, ...(jar && { jar }) })
      }),
    )
    return tell(call, account.name, proven, values.json)
  },
})

/** A way out by its name, opened. Throws Refusal when there is none. */
function proxyNamed({ db, ring }: Opened, name: string | undefined) {
  if (name === undefined) return null
  const proxy = findProxyByName(db, name)
  const way = proxy && openWay(db, ring, proxy.id)
  if (proxy && way) return { id: proxy.id, way }
  throw new Refusal(`there is no proxy "${name}": see forumd proxy list`)
}

const unchecked = ({ secrets, jar }: Claims, now: number): Standing =>
  jar !== null || secrets.kind === 'oauth' ? newStanding(now) : unsigned(now)

function tell(
  { stdout, warn }: Pick<Call<object>, 'stdout' | 'warn'>,
  name: string,
  it: Proven,
  json: boolean,
) {
  const { username, standing, remark } = it
  if (json) {
    const { state, state_reason: reason } = standing
    stdout.write(`${JSON.stringify({ name, username, state, reason, remark })}\n`)
  } else {
    const who = username === null ? '' : `, ${username} on the platform`
    stdout.write(`${name} is in the pool${who}: ${standing.state}\n`)
    if (remark !== null) warn(`${name}: ${remark}`)
  }
  return standing.state === 'ready' ? EXIT.done : EXIT.failed
}
