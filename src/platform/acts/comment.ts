import type { Posted } from '../../core/acting.ts'
import type { Comment } from '../../core/items.ts'
import type { Acted, WriteFault } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import { ok, type Outcome } from '../../core/outcome.ts'
import type { Client } from '../client.ts'
import { toComment } from '../items.ts'
import type { Call, Platform } from '../platform.ts'
import { listAt, type Row, rowAt, textAt } from '../read.ts'
import type { Actor, Forms } from './form.ts'
import { createWhyNot } from './why-not.ts'

const FIELDS = { text: 'text', parent: 'post_url', thing_id: 'post_url' }

type Deps = { client: Client; forms: Forms; platform: Pick<Platform, 'nodesById' | 'commentOf'> }

/** Answering posts and comments, and looking at what came of it. */
export function createComments({ client, forms, platform }: Deps) {
  const whyNot = createWhyNot(client)

  /** A comment as its own author sees it; null when it is not there. */
  async function readBack(id: string, call: Call): Promise<Outcome<Comment | null>> {
    const nodes = await platform.nodesById([id], call)
    if (!nodes.ok) return nodes
    const [node] = nodes.value
    return ok(node === undefined ? null : platform.commentOf(node))
  }

  async function post(
    ask: { parent: string; text: string },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Posted>> {
    const write = {
      path_kind: 'comment',
      // With the suffix the comment comes whole; without it, as the old pages draw it. Either is read.
      path: '/api/comment.json',
      form: { thing_id: ask.parent, text: ask.text },
      fields: FIELDS,
    }
    const done = await forms.write(write, actor, call)
    if (!done.ok) return { ok: false, fault: await whyNot(done.fault, ask.parent, actor, call) }
    const made = readMade(done.value)
    if (!made.ok) return made
    const { id, row } = made.value
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
    async comment(ask: { parent: string; text: string }, call: Call): Promise<Acted<Posted>> {
      const actor = await forms.actor(call)
      return actor.ok ? post(ask, actor.value, call) : actor
    },
  }
}

const UNKNOWN: WriteFault = { kind: 'unknown' }

/**
 * What the platform says it has made. A list with nothing in it is how it answers an account that has not agreed to see
 * the place: the comment is there, and nobody will ever see it.
 */
function readMade(value: unknown): Acted<{ id: string; row: Row }> {
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

/** The rendered shape has a drawing in place of the text. */
const isWhole = (row: Row): boolean =>
  textAt(row, 'body') !== null && textAt(row, 'permalink') !== null

function linkOf(base: string, id: string, row: Row): string | null {
  const post = textAt(row, 'link_id') ?? textAt(row, 'link')
  return post?.startsWith('t3_') ? `${base}/comments/${post.slice(3)}/comment/${id}/` : null
}
