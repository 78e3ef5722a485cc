import { isObject } from '../../../core/base/object.ts'
import { fail, type Outcome } from '../../../core/base/result.ts'
import type { Me } from '../../../core/forum/items.ts'
import type { Acted, Meaning } from '../../../core/forum/native-refusals.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { Call } from '../../port.ts'
import { textAt } from '../../values.ts'
import { type Client, isAnonymous } from '../client.ts'
import type { RefusalFields } from '../native-refusals.ts'
import { rowAt } from '../readers/fields.ts'
import { ME, readMe } from '../readers/people.ts'
import type { UnretriedRequestInit } from '../unretried-request.ts'
import { judgeWrite } from './verdict.ts'

/** The acting account and the token of its writes; null for bearers, which need none. */
export type Actor = Me & { token: string | null }

type Write = {
  path_kind: string
  path: string
  /** Default: POST. */
  method?: UnretriedRequestInit['method']
  /** At most one of the three. */
  form?: Record<string, string>
  json?: object
  /** A function of the token, which is part of the body. */
  multipart?: (token: string | null) => { type: string; bytes: Uint8Array<ArrayBuffer> }
  fields?: RefusalFields
  statuses?: Readonly<Record<number, Meaning>>
}

export type Forms = {
  /** The acting account; `login_required` if the session is not signed in. */
  actor(call: Call): Promise<Outcome<Actor>>
  /**
   * Writes once. Only if the platform refuses the write, and its token was replaced meanwhile, is
   * it sent again with the new token.
   */
  write(what: Write, actor: Actor, call: Call): Promise<Acted<unknown>>
}

const LOGIN = fail({ kind: 'login_required' })
const ACCEPT = 'application/json, text/plain, */*'

/** Creates the writes. Their token comes with the answer about the signed-in account. */
export function createForms({ client, clock }: { client: Client; clock: Clock }): Forms {
  const { origin } = new URL(client.base)

  async function actor(call: Call): Promise<Outcome<Actor>> {
    if (isAnonymous(call.identity)) return LOGIN
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
    return judgeWrite(done, {
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
      // The token was not replaced, so it was not the cause.
      return again.value.token === token ? first : send(what, again.value.token, call)
    },
  }
}

/** A refused token, among other causes, gives a refusal without a reason. */
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
