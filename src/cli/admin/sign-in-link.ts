import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../../config/schema.ts'
import { listCustomers } from '../../store/customers/customers.ts'
import { type Key, listKeys } from '../../store/customers/keys.ts'
import { insertSignInLink, LINK_VALID_MS } from '../../store/customers/web-sessions.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { type OpenInstance, withInstance } from '../configuration.ts'
import { customerNamed } from './customer.ts'
import { newKey } from './key.ts'

/** 128 bits: more than enough for a quarter of an hour, and the link fits a line. */
const TOKEN_BYTES = 16
const MINUTE_MS = 60_000

/** A link that signs a browser in, and whose it is: the name of a customer, or null for the operator. */
export type SignInLink = { url: string; customer: string | null; key_id: string }

/** The key to sign in as: that of a customer, or of the operator. Null: the only customer's, else the operator's. */
export type SignInAs = { customer: string } | 'operator' | null

/**
 * Creates a one-time link to the dashboard at `url`. The token is in the fragment, which browsers send to no server, so that
 * no log of a proxy has it. The operator gets a key for the session if there is none.
 * @throws {CommandRefusal} The customer has no active key.
 */
export function createSignInLink(
  opened: OpenInstance,
  { as, url }: { as: SignInAs; url: string },
): SignInLink {
  const { db, now, random } = opened
  const { key_id, customer } = holderOf(opened, as)
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
  insertSignInLink(db, { token, key_id }, now)
  return { url: `${url.replace(/\/$/, '')}/dashboard/sign-in#${token}`, customer, key_id }
}

function holderOf(opened: OpenInstance, as: SignInAs): Omit<SignInLink, 'url'> {
  const { db, now } = opened
  const customers = listCustomers(db)
  const [only] = customers.length === 1 ? customers : []
  const chosen = as !== null && as !== 'operator' ? customerNamed(db, as.customer) : null
  const customer = chosen ?? (as === null ? only : undefined)
  if (customer !== undefined) {
    const key = newestKey(listKeys(db, customer.id), now)
    if (key !== undefined) return { key_id: key.id, customer: customer.name }
    if (chosen !== null)
      throw new CommandRefusal(
        `${customer.name} has no active key: create one with forumd key create --customer ${customer.name}`,
      )
  }
  const keys = listKeys(db).filter(({ customer_id }) => customer_id === null)
  // A key that is only the holder of sessions: it is not printed.
  const key = newestKey(keys, now) ?? newKey(opened, { customer_id: null, name: 'sign-in links' })
  return { key_id: key.id, customer: null }
}

/** The active key with the most scopes, then the newest: its session can do the most. */
const newestKey = (keys: readonly Key[], now: number): Key | undefined =>
  keys
    .filter(({ revoked_at, expires_at }) => revoked_at === null && (expires_at ?? Infinity) > now)
    .toSorted((a, b) => b.scopes.length - a.scopes.length || b.created_at - a.created_at)[0]

/** The address that a browser uses: the public one, else that of the running daemon, else the configured one. */
export function dashboardUrl({ server, storage }: Config): string {
  if (server.public_url !== '') return server.public_url
  try {
    return reachable(readFileSync(join(storage.dir, 'forumd.address'), 'utf8').trim())
  } catch {
    const { host, port } = server
    return reachable(`http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  }
}

/** An address of all interfaces is none that a browser can open. */
export const reachable = (url: string): string =>
  url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

export const linkSentence = ({ customer }: SignInLink): string =>
  `Sign in to the dashboard${customer === null ? ' as the operator' : ` as ${customer}`} (once, within ${LINK_VALID_MS / MINUTE_MS} minutes):`

export const keySignInLink = command({
  name: 'key sign-in-link',
  summary: 'prints a one-time link that signs a browser in',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'sign in as this customer' },
    operator: { type: 'boolean', help: 'sign in as the operator' },
    json: JSON_OPTION,
  },
  examples: ['forumd key sign-in-link', 'forumd key sign-in-link --operator'],
  notes:
    'The link is valid for 15 minutes and for one sign-in, and only its hash is stored. Without an option it signs in as the only customer, or as the operator if there are several or none. The session belongs to the newest active key of that customer: revoking the key ends it. An operator without a key gets one, which is not printed.',
  async run({ values, ...context }) {
    const { customer, operator } = values
    if (operator && customer !== undefined)
      throw new UsageError('--customer and --operator exclude each other')
    const as = operator ? 'operator' : customer === undefined ? null : { customer }
    const link = await withInstance(context, (opened) =>
      createSignInLink(opened, { as, url: dashboardUrl(opened.config) }),
    )
    if (values.json) context.stdout.write(`${JSON.stringify(link)}\n`)
    else {
      context.warn(linkSentence(link), 'info')
      context.stdout.write(`${link.url}\n`)
    }
    return EXIT.done
  },
})
