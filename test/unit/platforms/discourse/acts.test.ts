import { expect, test } from 'bun:test'
import { constants, publicEncrypt } from 'node:crypto'

import {
  makeKeyPair,
  readKeyPayload,
  requestKey,
} from '../../../../src/platforms/discourse/acts.ts'
import { startForum } from './fixture.ts'

const POSTED = {
  id: 77,
  topic_id: 1,
  topic_slug: 'a-topic',
  post_number: 8,
  post_type: 1,
  username: 'reader',
  created_at: '2026-01-01T00:00:00.000Z',
  raw: 'hello',
}
const TO_POST = { ...POSTED, id: 70, post_number: 5 }
const START = { ...POSTED, id: 60, post_number: 1 }

/** A forum that answers writes with `answer`, and a count of the writes. */
function startWrites(answer: () => Response) {
  const it = startForum({ credential: 'secret' })
  const writes: string[] = []
  it.forum.override = ({ method, path }) => {
    if (method !== 'GET') {
      writes.push(`${method} ${path}`)
      return answer()
    }
    if (path === '/posts/70.json') return Response.json(TO_POST)
    if (path === '/t/1.json') return Response.json({ id: 1, post_stream: { posts: [START] } })
    return null
  }
  return { it, writes }
}

test('a write that waits for approval is neither done nor refused', async () => {
  const { it } = startWrites(() =>
    Response.json({ action: 'enqueued', success: true, pending_post: { id: 5 } }),
  )
  await using _ = it
  const enqueued = { ok: true, value: { state: 'enqueued', pending_id: 5 } } as const
  expect(await it.acts.reply({ parent: 't3_1', text: 'x' }, it.call())).toEqual(enqueued)
  expect(await it.acts.message({ to: 'bob', subject: 'a', text: 'x' }, it.call())).toEqual(enqueued)
})

test.each([
  [
    () => Response.json({ action: 'create_post', errors: ['Body is too short'] }, { status: 422 }),
    {
      kind: 'refused',
      code: 'HTTP_422',
      meaning: 'FORUM_REJECTED',
      terminal: true,
      message: 'Body is too short',
    },
  ],
  [
    () => Response.json({ errors: ['no'], error_type: 'invalid_access' }, { status: 403 }),
    { kind: 'refused', code: 'invalid_access', meaning: 'PERMISSION_DENIED' },
  ],
  [
    () =>
      Response.json(
        { errors: ['slow'], error_type: 'rate_limit', extras: { wait_seconds: 3000 } },
        { status: 429 },
      ),
    { kind: 'refused', meaning: 'FORUM_RATELIMIT', terminal: false, retry_after_s: 780 },
  ],
  [
    () => Response.json({ error_type: 'not_logged_in' }, { status: 403 }),
    { kind: 'login_required' },
  ],
  [() => Response.json({ success: true }), { kind: 'unknown' }],
  [() => new Response('bad gateway', { status: 502 }), { kind: 'unknown' }],
])('a write without a post is sent once, and says why (%#)', async (answer, fault) => {
  const { it, writes } = startWrites(answer)
  await using _ = it
  const done = await it.acts.reply({ parent: 't3_1', text: 'x' }, it.call())
  expect(done).toMatchObject({ ok: false, fault })
  expect(writes).toEqual(['POST /posts.json'])
})

test('a reply to a post that is gone sends nothing', async () => {
  const { it, writes } = startWrites(() => Response.json(POSTED))
  await using _ = it
  const done = await it.acts.reply({ parent: 't1_9', text: 'x' }, it.call())
  expect(done).toMatchObject({ ok: false, fault: { kind: 'not_found' } })
  expect(writes).toEqual([])
})

test('a key is revoked by itself', async () => {
  const { it, writes } = startWrites(() => Response.json({ success: 'OK' }))
  await using _ = it
  expect(await it.acts.revoke(it.call())).toEqual({ ok: true, value: null })
  expect(writes).toEqual(['POST /user-api-key/revoke'])
})

const ask = async () =>
  requestKey({
    pair: await makeKeyPair(),
    base_url: 'https://forum.example/sub/',
    application_name: 'forumd',
    client_id: 'abc',
    scopes: ['read', 'write'],
    auth_redirect: null,
    random: { bytes: (count) => new Uint8Array(count).fill(7) },
  })

const { RSA_PKCS1_PADDING, RSA_PKCS1_OAEP_PADDING } = constants

test.each([RSA_PKCS1_PADDING, RSA_PKCS1_OAEP_PADDING])(
  'the key is read from the payload, with padding %i',
  async (padding) => {
    const request = await ask()
    const url = new URL(request.authorize_url)
    expect(`${url.origin}${url.pathname}`).toBe('https://forum.example/sub/user-api-key/new')
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      scopes: 'read,write',
      client_id: 'abc',
      nonce: request.nonce,
    })
    expect(url.searchParams.has('auth_redirect')).toBe(false)
    const encrypt = (body: object) =>
      publicEncrypt(
        { key: url.searchParams.get('public_key') ?? '', padding },
        Buffer.from(JSON.stringify(body)),
      )
        .toString('base64')
        .replaceAll(/.{60}/g, '$&\n')
    const { nonce } = request
    const payload = encrypt({ key: 'k', nonce, push: false, api: 4 })
    expect(readKeyPayload(payload, request)).toEqual({ ok: true, value: { key: 'k', api: 4 } })
    expect(readKeyPayload(encrypt({ key: 'k', nonce: 'other', api: 4 }), request)).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path: 'nonce' },
    })
  },
)

test('a payload for another key is unreadable', async () => {
  const [one, other] = await Promise.all([ask(), ask()])
  const key = new URL(other.authorize_url).searchParams.get('public_key') ?? ''
  const body = Buffer.from(JSON.stringify({ key: 'k', nonce: one.nonce, api: 4 }))
  const payload = publicEncrypt({ key, padding: RSA_PKCS1_PADDING }, body).toString('base64')
  const unreadable = { ok: false, fault: { kind: 'unreadable', path: 'payload' } } as const
  expect(readKeyPayload(payload, one)).toEqual(unreadable)
  expect(readKeyPayload('not base64 !', one)).toEqual(unreadable)
})
