import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Comment } from '../../../core/forum/items.ts'
import { type Acted, final, type WriteFault } from '../../../core/forum/native-refusals.ts'
import type { Posted } from '../../../core/forum/writes.ts'
import type { Call, SourceReads } from '../../port.ts'
import { textAt } from '../../values.ts'
import type { Client } from '../client.ts'
import { refusedBy } from '../native-refusals.ts'
import { listAt, type NativeRow, rowAt, wordAt } from '../readers/fields.ts'
import { toComment } from '../readers/items.ts'
import type { Actor, Forms } from './form.ts'

/** Finds the cause of a refusal without a reason. Read-only; an unclear refusal stays as it is. */
export type WhyNot = (
  fault: WriteFault,
  parent: string,
  actor: Actor,
  call: Call,
) => Promise<WriteFault>

/**
 * The platform refuses with the same message if the account is suspended, is banned, or replies to
 * a missing item. The account and the subforum tell these apart.
 */
function createWhyNot(client: Client): WhyNot {
  /** The subforum of an item; null if it does not exist, undefined if that is unknown. */
  async function placeOf(fullname: string, call: Call): Promise<string | null | undefined> {
    const path = '/api/info.json'
    const answer = await client.get({ path_kind: 'info', path, query: { id: fullname } }, call)
    const data = answer.ok && isObject(answer.value) ? rowAt(answer.value, 'data') : null
    if (data === null || !Array.isArray(data['children'])) return undefined
    const [child] = listAt(data, 'children')
    const row = isObject(child) ? rowAt(child, 'data') : null
    return row === null ? null : (wordAt(row, 'subreddit') ?? undefined)
  }

  /**
   * Cause why an item is not returned by its id: a private subforum refuses its posts explicitly.
   */
  async function hiddenBy(fullname: string, call: Call): Promise<WriteFault | null> {
    const absent = { kind: 'not_found', reason: 'absent' } as const
    if (!fullname.startsWith('t3_')) return absent
    const path = `/comments/${encodeURIComponent(fullname.slice(3))}.json`
    const answer = await client.get({ path_kind: 'tree', path, query: { limit: 1 } }, call)
    if (answer.ok) return null
    const { fault } = answer
    return fault.kind === 'forbidden' || fault.kind === 'not_found' ? fault : null
  }

  async function isBanned(place: string, call: Call): Promise<boolean> {
    const path = `/r/${encodeURIComponent(place)}/about.json`
    const answer = await client.get({ path_kind: 'community', path }, call)
    const data = answer.ok && isObject(answer.value) ? rowAt(answer.value, 'data') : null
    return data?.['user_is_banned'] === true
  }

  return async (fault, parent, actor, call) => {
    if (fault.kind !== 'forbidden' || fault.reason !== null) return fault
    if (actor.is_suspended) return { kind: 'forbidden', reason: 'user_suspended' }
    const place = await placeOf(parent, call)
    if (place === null) return (await hiddenBy(parent, call)) ?? fault
    if (place === undefined || !(await isBanned(place, call))) return fault
    return refusedBy(403, final('BANNED_FROM_SUBFORUM'))
  }
}

const FIELDS = { text: 'text', parent: 'post_url', thing_id: 'post_url' }

type Deps = { client: Client; forms: Forms; platform: Pick<SourceReads, 'nodesById' | 'commentOf'> }

export function createComments({ client, forms, platform }: Deps) {
  const whyNot = createWhyNot(client)

  /** A comment as its own author sees it; null if it does not exist. */
  async function readBack(id: string, call: Call): Promise<Outcome<Comment | null>> {
    const nodes = await platform.nodesById([id], call)
    if (!nodes.ok) return nodes
    const [node] = nodes.value
    return ok(node === undefined ? null : platform.commentOf(node))
  }

  async function post(
    request: { parent: string; text: string },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Posted>> {
    const write = {
      path_kind: 'comment',
      // With the suffix the answer has the whole comment, without it the rendered one. Both are
      // read.
      path: '/api/comment.json',
      form: { thing_id: request.parent, text: request.text },
      fields: FIELDS,
    }
    const done = await forms.write(write, actor, call)
    if (!done.ok) return { ok: false, fault: await whyNot(done.fault, request.parent, actor, call) }
    const new_comment = readCreated(done.value)
    if (!new_comment.ok) return new_comment
    const { id, row } = new_comment.value
    const back = await readBack(id, call)
    const whole = isWhole(row) ? toComment(client.base, row) : null
    const comment = (back.ok ? back.value : null) ?? whole
    return ok({
      name: `t1_${id}`,
      permalink: comment?.url ?? linkOf(client.base, id, row),
      comment,
    })
  }

  return {
    readBack,
    async comment(request: { parent: string; text: string }, call: Call): Promise<Acted<Posted>> {
      const actor = await forms.actor(call)
      return actor.ok ? post(request, actor.value, call) : actor
    },
  }
}

const UNKNOWN: WriteFault = { kind: 'unknown' }

/**
 * The comment that the platform created. An empty list is its answer to an account without consent
 * for the subforum: the comment exists, but will never be visible.
 */
function readCreated(value: unknown): Acted<{ id: string; row: NativeRow }> {
  const data = isObject(value) ? rowAt(rowAt(value, 'json') ?? {}, 'data') : null
  if (data === null) return { ok: false, fault: UNKNOWN }
  const [thing] = listAt(data, 'things')
  if (thing === undefined && Array.isArray(data['things']))
    return { ok: false, fault: { kind: 'forbidden', reason: 'quarantined' } }
  const row = isObject(thing) ? rowAt(thing, 'data') : null
  const name = row && (textAt(row, 'name') ?? textAt(row, 'id'))
  const id = name && /^(?:t1_)?([a-z0-9]{1,13})$/.exec(name)?.[1]
  return row && id ? ok({ id, row }) : { ok: false, fault: UNKNOWN }
}

/** The rendered shape has HTML in place of the text. */
const isWhole = (row: NativeRow): boolean =>
  textAt(row, 'body') !== null && textAt(row, 'permalink') !== null

function linkOf(base: string, id: string, row: NativeRow): string | null {
  const post = textAt(row, 'link_id') ?? textAt(row, 'link')
  return post?.startsWith('t3_') ? `${base}/comments/${post.slice(3)}/comment/${id}/` : null
}
