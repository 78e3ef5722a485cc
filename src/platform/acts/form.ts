import type { Me } from '../../core/items.ts'
import type { Acted, Meaning } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import { fail, type Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../outside.ts'
import { type Client, isNobody } from '../client.ts'
import { ME, readMe } from '../me.ts'
import type { Fields } from '../native-refusals.ts'
import type { Doing } from '../once.ts'
import type { Call } from '../platform.ts'
import { rowAt, textAt } from '../read.ts'
import { judge } from './verdict.ts'

/** The account that acts, and the token that its writes carry; null for bearers, who need none. */
export type Actor = Me & { token: string | null }

/** One call that changes something. */
type Write = {
  path_kind: string
  path: string
  /** POST, unless it says otherwise. */
  method?: Doing['method']
  /** One of the three. */
  form?: Record<string, string>
  json?: object
  /** Given the token, because it goes into the body. */
  multipart?: (token: string | null) => { type: string; bytes: Uint8Array<ArrayBuffer> }
  fields?: Fields
  statuses?: Readonly<Record<number, Meaning>>
}

/** The ways in which an account writes over the calls of the old pages. */
export type Forms = {
  /** Who acts; `login_required` when it is nobody. */
  actor(call: Call): Promise<Outcome<Actor>>
  /**
   * Writes once. Only where the platform refuses it, and the token turns out to have been replaced since, is it written
   * again, with the new one.
   */
  write(what: Write, actor: Actor, call: Call): Promise<Acted<unknown>>
}

const LOGIN = fail({ kind: 'login_required' })
const ACCEPT = 'application/json, text/plain, */*'

/** Writing with the token that the platform gives to whoever asks who they are. */
export function createForms({ client, clock }: { client: Client; clock: Clock }): Forms {
  const { origin } = new URL(client.base)

  async function actor(call: Call): Promise<Outcome<Actor>> {
    if (isNobody(call.eyes)) return LOGIN
    const answer = await client.get(ME, call)
    if (!answer.ok) return answer
    const me = readMe(answer.value)
    if (!me.ok) return me
    if (me.value === null) return LOGIN
    const person = isObject(answer.value) ? rowAt(answer.value, 'data') : null
    const token = person && textAt(person, 'modhash')
    return { ok: true, value: { ...me.value, token: token || null } }
  }

  async function send(what: Write, token: string | null, call: Call): Promise<Acted<unknown>> {
    const { path_kind, path, method = 'POST', fields, statuses } = what
    const { type, body } = bodyOf(what, token)
    const done = await client.once(
      {
        path_kind,
        method,
        path: `${path}?raw_json=1`,
        headers: {
          accept: ACCEPT,
          'content-type': type,
          origin,
          referer: `${client.base}/`,
          ...(token !== null && { 'x-modhash': token }),
        },
        body,
      },
      call,
    )
    return judge(done, {
      now: clock.now(),
      ...(fields && { fields }),
      ...(statuses && { statuses }),
    })
  }

  return {
    actor,
    async write(what, { token }, call) {
      const first = await send(what, token, call)
      if (!isAboutToken(first) || token === null) return first
      const again = await actor(call)
      if (!again.ok) return again.fault.kind === 'login_required' ? again : first
      // The same token again: it was not that.
      return again.value.token === token ? first : send(what, again.value.token, call)
    },
  }
}

/** A refusal without a reason is how a token is refused, among other things. */
function isAboutToken(acted: Acted<unknown>): boolean {
  if (acted.ok) return false
  const { fault } = acted
  if (fault.kind === 'refused') return fault.code === 'INVALID_MODHASH'
  return fault.kind === 'forbidden' && fault.reason === null
}

function bodyOf({ form, json, multipart }: Write, token: string | null) {
  if (json) return { type: 'application/json', body: JSON.stringify(json) }
  if (multipart) {
    const { type, bytes } = multipart(token)
    return { type, body: bytes }
  }
  const fields = { ...form, api_type: 'json', ...(token !== null && { uh: token }) }
  const body = new URLSearchParams(fields).toString()
  return { type: 'application/x-www-form-urlencoded', body }
}
