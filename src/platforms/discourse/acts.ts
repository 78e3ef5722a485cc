import { constants, generateKeyPair, privateDecrypt } from 'node:crypto'
import { promisify } from 'node:util'

import { fail, ok, type Outcome } from '../../core/base/result.ts'
import { boundedWait } from '../../core/base/wait.ts'
import {
  type Acted,
  final,
  type Meaning,
  type NativeRefusal,
  passing,
  REJECTED,
} from '../../core/forum/native-refusals.ts'
import type { Posted, SentMessage } from '../../core/forum/writes.ts'
import type { CallerClient, HttpAnswer, HttpCall } from '../http.ts'
import { fromNode } from '../items.ts'
import { ANONYMOUS, type SourceReads } from '../port.ts'
import {
  type ActCall,
  type Authorization,
  type CredentialActs,
  type KeyRequest,
  unsupported,
} from '../source.ts'
import { fieldsOf, idAt, numberAt, rowsOf, textAt } from '../values.ts'
import { toComment, toNative } from './readers.ts'
import type { SiteClient } from './site.ts'

/** A write that the site has accepted, or keeps until a moderator approves it. */
export type Accepted<T> =
  | { state: 'done'; value: T }
  /** `pending_id` is the number of the site's queue; null if it names none. */
  | { state: 'enqueued'; pending_id: number | null }

const LIKE = 2

/**
 * Actions of the account whose User API key the client has. Each request that changes something is
 * sent once. Fullnames: `t3_` and a topic's id, `t1_` and a post's id.
 */
export function createDiscourseActs(
  client: Pick<SiteClient, 'get' | 'site'> & { http: Pick<CallerClient, 'write'> },
) {
  const { http, site } = client

  async function addressOf(
    fullname: string,
    call: HttpCall,
  ): Promise<Outcome<{ topic_id: number; number: number | null }>> {
    const id = fullname.slice(3)
    if (fullname.startsWith('t3_')) return ok({ topic_id: Number(id), number: null })
    const row = await client.get(`/posts/${id}.json`, call)
    if (!row.ok) return row
    const native = toNative(row.value)
    return native === null ? fail({ kind: 'unreadable', path: '$' }) : ok(native)
  }

  /** Id of the post that carries the likes of an item. */
  async function postIdOf(fullname: string, call: HttpCall): Promise<Outcome<number>> {
    if (fullname.startsWith('t1_')) return ok(Number(fullname.slice(3)))
    const topic = await client.get(`/t/${fullname.slice(3)}.json`, call)
    if (!topic.ok) return topic
    const posts = rowsOf(fieldsOf(topic.value['post_stream'])['posts'])
    const starter = posts.find((row) => row['post_number'] === 1)
    const id = starter === undefined ? null : idAt(starter, 'id')
    return id === null ? fail({ kind: 'unreadable', path: '$.post_stream.posts[0].id' }) : ok(id)
  }

  async function create(
    body: Record<string, unknown>,
    call: HttpCall,
  ): Promise<Acted<Accepted<Record<string, unknown>>>> {
    const sent = await http.write({ path: '/posts.json', method: 'POST', body }, call)
    if (!sent.ok) return sent
    const answer = fieldsOf(sent.value.value)
    if (sent.value.status >= 300) return { ok: false, fault: refusalOf(sent.value) }
    if (answer['action'] === 'enqueued') {
      const pending_id = idAt(fieldsOf(answer['pending_post']), 'id')
      return { ok: true, value: { state: 'enqueued', pending_id } }
    }
    if (Array.isArray(answer['errors']) && answer['success'] !== true)
      return { ok: false, fault: refusalOf(sent.value) }
    return idAt(answer, 'id') === null
      ? { ok: false, fault: { kind: 'unknown' } }
      : { ok: true, value: { state: 'done', value: answer } }
  }

  async function act(
    request: { path: string; method: 'POST' | 'DELETE'; body?: unknown },
    call: HttpCall,
  ): Promise<Acted<null>> {
    const sent = await http.write(request, call)
    if (!sent.ok) return sent
    return sent.value.status < 300
      ? { ok: true, value: null }
      : { ok: false, fault: refusalOf(sent.value) }
  }

  return {
    /** Fullname of the post with a number in a topic. */
    async numbered(
      { post_id, number }: { post_id: string; number: number },
      call: HttpCall,
    ): Promise<Outcome<string>> {
      const row = await client.get(`/posts/by_number/${post_id}/${number}.json`, call)
      if (!row.ok) return row
      const native = toNative(row.value)
      return native === null ? fail({ kind: 'unreadable', path: '$' }) : ok(`t1_${native.id}`)
    },

    /** Replies to a topic or a post; `text` is Markdown. */
    async reply(
      { parent, text }: { parent: string; text: string },
      call: HttpCall,
    ): Promise<Acted<Accepted<Posted>>> {
      const place = await addressOf(parent, call)
      if (!place.ok) return place
      const { topic_id, number } = place.value
      const body = {
        raw: text,
        topic_id,
        ...(number !== null && { reply_to_post_number: number }),
      }
      const done = await create(body, call)
      if (!done.ok || done.value.state === 'enqueued') return carry(done)
      const native = toNative(done.value.value)
      const comment = native === null ? null : toComment(native, site)
      const name = `t1_${idAt(done.value.value, 'id')}`
      const value = { name, permalink: comment?.url ?? null, comment }
      return { ok: true, value: { state: 'done', value } }
    },

    async like(fullname: string, call: HttpCall): Promise<Acted<null>> {
      const id = await postIdOf(fullname, call)
      if (!id.ok) return id
      const body = { id: id.value, post_action_type_id: LIKE }
      return act({ path: '/post_actions.json', method: 'POST', body }, call)
    },

    async unlike(fullname: string, call: HttpCall): Promise<Acted<null>> {
      const id = await postIdOf(fullname, call)
      if (!id.ok) return id
      const path = `/post_actions/${id.value}.json?post_action_type_id=${LIKE}`
      return act({ path, method: 'DELETE' }, call)
    },

    /** Begins a private conversation. */
    async message(
      { to, subject, text }: { to: string; subject: string; text: string },
      call: HttpCall,
    ): Promise<Acted<Accepted<SentMessage>>> {
      const body = {
        title: subject,
        raw: text,
        archetype: 'private_message',
        target_recipients: to,
        // The name of the field in versions before 2.5.
        target_usernames: to,
      }
      const done = await create(body, call)
      if (!done.ok || done.value.state === 'enqueued') return carry(done)
      const row = done.value.value
      const topic_id = idAt(row, 'topic_id')
      const value: SentMessage = {
        id: String(idAt(row, 'id')),
        thread_id: topic_id === null ? null : String(topic_id),
        channel: 'mail',
      }
      return { ok: true, value: { state: 'done', value } }
    },

    /** Revokes the key that the client sends. */
    revoke: (call: HttpCall): Promise<Acted<null>> =>
      act({ path: '/user-api-key/revoke', method: 'POST', body: {} }, call),
  }
}

/**
 * The acts of the port, each with the key of its call. A new reply is read back as everybody sees
 * it, by `nodesById`.
 */
export function discourseActs(
  { http, site }: Pick<SiteClient, 'http' | 'site'>,
  { nodesById }: Pick<SourceReads, 'nodesById'>,
): CredentialActs {
  function as({ credential }: ActCall) {
    const own = http.as({ 'user-api-key': credential })
    return createDiscourseActs({
      site,
      http: own,
      async get(path, call, shape = '$') {
        const answer = await own.get(path, call, shape)
        return answer.ok ? ok(fieldsOf(answer.value)) : answer
      },
    })
  }
  return {
    numbered: (place, call) => as(call).numbered(place, call),
    async comment(request, call) {
      const done = await as(call).reply(request, call)
      if (!done.ok) return done
      if (done.value.state === 'enqueued')
        return ok({ name: null, permalink: null, comment: null, ...pendingOf(done.value) })
      const { name, permalink } = done.value.value
      const { deadline_at } = call
      const nodes = await nodesById([name.slice(3)], { deadline_at, identity: ANONYMOUS })
      const node = nodes.ok ? nodes.value[0] : undefined
      return ok({ name, permalink, comment: node === undefined ? null : fromNode(node) })
    },
    async vote({ id, direction }, call) {
      if (direction === 'down') return unsupported('downvote')
      return direction === 'up' ? as(call).like(id, call) : as(call).unlike(id, call)
    },
    async message(request, call) {
      const done = await as(call).message(request, call)
      if (!done.ok) return done
      if (done.value.state === 'done') return ok(done.value.value)
      return ok({ id: null, thread_id: null, channel: 'mail', ...pendingOf(done.value) })
    },
  }
}

const pendingOf = ({ pending_id }: { pending_id: number | null }) => ({
  pending: true as const,
  pending_id: pending_id === null ? null : String(pending_id),
})

/** A failure, or a write that waits: without the value of one that was done. */
const carry = (
  acted: Acted<Accepted<unknown>>,
): Exclude<Acted<Accepted<never>>, { value: { state: 'done' } }> => {
  if (!acted.ok) return acted
  return acted.value.state === 'enqueued'
    ? { ok: true, value: acted.value }
    : { ok: false, fault: { kind: 'unknown' } }
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  invalid_access: final('PERMISSION_DENIED'),
  not_logged_in: final('REAUTH_REQUIRED'),
  not_found: final('NOT_FOUND'),
  invalid_parameters: final('INVALID_REQUEST'),
  rate_limit: passing('FORUM_RATELIMIT'),
}
const STATUS_MEANINGS: Readonly<Record<number, Meaning>> = {
  400: final('INVALID_REQUEST'),
  401: final('REAUTH_REQUIRED'),
  403: final('PERMISSION_DENIED'),
  404: final('NOT_FOUND'),
  409: passing('FORUM_REJECTED'),
  410: final('NOT_FOUND'),
  429: passing('FORUM_RATELIMIT'),
}

function refusalOf({ status, value, retry_after_s }: HttpAnswer): NativeRefusal {
  const body = fieldsOf(value)
  const code = textAt(body, 'error_type')
  const errors = Array.isArray(body['errors']) ? body['errors'] : []
  const sentences = errors.filter((it) => typeof it === 'string')
  const wait_s = boundedWait(fieldsOf(body['extras'])['wait_seconds']) ?? retry_after_s
  return {
    kind: 'refused',
    code: code ?? `HTTP_${status}`,
    message: sentences.join(' ') || textAt(body, 'message'),
    field: null,
    retry_after_s: wait_s,
    ...((code === null ? undefined : MEANINGS[code]) ?? STATUS_MEANINGS[status] ?? REJECTED),
  }
}

const generate = promisify(generateKeyPair)
const KEY_BITS = 2048
const NONCE_BYTES = 16

const CLIENT_ID_BYTES = 16

/** A pair of keys takes a tenth of a second of a core. */
export const makeKeyPair = () =>
  generate('rsa', {
    modulusLength: KEY_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
type KeyPair = Awaited<ReturnType<typeof makeKeyPair>>

/**
 * The site's User API keys as the port's permission. All requests share one pair of keys, made for the first: the nonce
 * tells them apart. Each request has a client id of its own, since
 * a key replaces the one of the same person and client.
 */
export function keyAuthorization(base_url: string): Authorization {
  let pair: Promise<KeyPair> | null = null
  return {
    begin: async (request) =>
      requestKey({
        ...request,
        base_url,
        client_id: `forumd-${Buffer.from(request.random.bytes(CLIENT_ID_BYTES)).toString('hex')}`,
        scopes: ['read', 'write'],
        pair: await (pair ??= makeKeyPair()),
      }),
    read: readKeyPayload,
  }
}

/**
 * Begins the request of a User API key: a person opens the address, signs in and allows it. A second
 * key of the same `client_id` replaces the first. `auth_redirect` must be allowed by the site; null:
 * the site shows the payload.
 */
export function requestKey({
  base_url,
  application_name,
  client_id,
  scopes,
  auth_redirect,
  random,
  pair: { publicKey, privateKey },
}: {
  base_url: string
  application_name: string
  client_id: string
  scopes: readonly string[]
  auth_redirect: string | null
  random: { bytes(count: number): Uint8Array }
  pair: KeyPair
}): KeyRequest {
  const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('hex')
  const params = new URLSearchParams({
    application_name,
    client_id,
    scopes: scopes.join(','),
    public_key: publicKey,
    nonce,
    ...(auth_redirect !== null && { auth_redirect }),
  })
  const authorize_url = `${base_url.replace(/\/+$/, '')}/user-api-key/new?${params.toString()}`
  return { authorize_url, nonce, private_key: privateKey }
}

/**
 * The key in the payload that the site has shown, or has appended to the redirect: base64 with any
 * white space. `unreadable` names what is wrong: `payload` cannot be decrypted, `nonce` belongs to
 * another request.
 */
export function readKeyPayload(
  payload: string,
  { private_key, nonce }: Pick<KeyRequest, 'private_key' | 'nonce'>,
): Outcome<{ key: string; api: number | null }> {
  const encrypted = Buffer.from(payload.replaceAll(/\s/g, ''), 'base64')
  // PKCS#1 v1.5 is the site's padding; newer versions may use OAEP.
  for (const decrypt of [decryptPkcs1, decryptOaep]) {
    const body = fieldsOf(parsed(() => decrypt(encrypted, private_key)))
    const key = textAt(body, 'key')
    // A wrong padding may decrypt to noise rather than fail.
    if (key === null) continue
    if (body['nonce'] !== nonce) return fail({ kind: 'unreadable', path: 'nonce' })
    return ok({ key, api: numberAt(body, 'api') })
  }
  return fail({ kind: 'unreadable', path: 'payload' })
}

const decryptOaep = (encrypted: Buffer, key: string): Buffer =>
  privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING }, encrypted)

/**
 * As RFC 8017, 7.2.2. The runtime refuses this padding, because a server that decrypts it for
 * anybody leaks by its answers; this payload is read once, for the person who has asked for it.
 */
function decryptPkcs1(encrypted: Buffer, key: string): Buffer {
  const block = privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, encrypted)
  const end = block.indexOf(0, 2)
  if (block[0] !== 0 || block[1] !== 2 || end === -1) throw new Error('no PKCS#1 v1.5 padding')
  return block.subarray(end + 1)
}

function parsed(decrypt: () => Buffer): unknown {
  try {
    return JSON.parse(decrypt().toString('utf8'))
  } catch {
    return null
  }
}
