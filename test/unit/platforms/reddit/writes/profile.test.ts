import { describe, expect, test } from 'bun:test'

import type { ImageKind } from '../../../../../src/core/forum/writes.ts'
import type { Transport } from '../../../../../src/net/transport.ts'
import { settingsForm } from '../../../../../src/platforms/reddit/writes/profile.ts'
import { acting } from './fixture.ts'

type Fixture = Awaited<ReturnType<typeof acting>>

const PART = '/api/v1/subreddit/update_settings'
const WHOLE = '/api/site_admin'

/** Ann with a complete profile. */
async function settle() {
  const it = await acting()
  const ann = it.sandbox.world.users.get('ann')
  if (ann === undefined) throw new Error('no ann')
  ann.display_name = 'Ann of the Cats'
  ann.bio = 'Likes cats.'
  ann.settings.set('language', 'de').set('over_18', true).set('default_set', false)
  return { it, ann }
}

describe.each([
  ['by the call for single settings', null, PART],
  ['by the form for all settings, if that call is unavailable', { status: 404 }, WHOLE],
] as const)('a profile %s', (_how, refusal, path) => {
  const bend = ({ sandbox }: Fixture) => {
    const headers = { 'content-type': 'application/json' }
    const body = '{"message":"Not Found","error":404}'
    if (refusal) sandbox.addFault({ path: PART, fault: 'answer', ...refusal, body, headers })
  }

  test.each([
    [
      'description',
      { description: 'Likes <dogs> & cats.' },
      ['Ann of the Cats', 'Likes <dogs> & cats.'],
    ],
    ['display name', { display_name: 'Änn' }, ['Änn', 'Likes cats.']],
    ['removed description', { description: '' }, ['Ann of the Cats', '']],
    ['both', { description: 'Dogs.', display_name: 'Ann' }, ['Ann', 'Dogs.']],
  ] as const)('changes its %s and keeps everything else', async (_what, change, words) => {
    const { it, ann } = await settle()
    await using _ = it
    bend(it)

    const done = await it.acts.profile(change, it.as('ann'))

    expect(done).toEqual({ ok: true, value: null })
    expect([ann.display_name, ann.bio]).toEqual([...words])
    expect(Object.fromEntries(ann.settings)).toMatchObject({
      language: 'de',
      over_18: true,
      default_set: false,
    })
    expect(it.sandbox.requests.at(-1)?.path).toBe(path)
  })
})

test('a refused profile names the field, and the second call is not tried', async () => {
  const { it } = await settle()
  await using _ = it
  const recorded = it.listen()

  const done = await it.acts.profile({ description: 'x'.repeat(501) }, it.as('ann'))

  expect(done).toMatchObject({
    ok: false,
    fault: { code: 'TOO_LONG', meaning: 'INVALID_REQUEST', field: 'description' },
  })
  expect(recorded()).not.toContain(`POST ${WHOLE}`)
})

test('a form contains every present setting under its form name', () => {
  const settings = {
    subreddit_id: 't5_x',
    title: 'Ann',
    subreddit_type: 'user',
    content_options: 'any',
    default_set: true,
    hide_ads: false,
    comment_score_hide_mins: 0,
    suggested_comment_sort: null,
    nested: {},
  }

  expect(settingsForm('t5_x', settings)).toEqual({
    sr: 't5_x',
    title: 'Ann',
    type: 'user',
    link_type: 'any',
    allow_top: 'true',
    hide_ads: 'false',
    comment_score_hide_mins: '0',
  })
})

/** The head of a PNG with `side` pixels per side, padded to `length` bytes. */
function png(side: number, length = 64): Uint8Array {
  const bytes = Buffer.alloc(length)
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(bytes)
  bytes.writeUInt32BE(side, 16)
  bytes.writeUInt32BE(side, 20)
  return bytes
}

/** Uploads to the sandbox's own address in place of the file store's. */
const store: Transport = async ({ url, headers, body }) => {
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { kind: 'answered', status: response.status, headers: response.headers, body: bytes }
}

/** Sets a picture of ann. */
const set = (
  it: Fixture,
  bytes: Uint8Array,
  { kind = 'png', place = 'avatar' }: { kind?: ImageKind; place?: 'avatar' | 'banner' } = {},
) => it.acts.picture({ place, picture: { bytes, kind } }, it.as('ann'))

const closed: Transport = () => Promise.resolve({ kind: 'failed', error: 'connect_failed' })

describe('a picture', () => {
  test.each([
    ['with another size', png(512), 'png'],
    ['too large for one call', png(256, 600 * 1024), 'png'],
    ['in the newer format', Buffer.from('RIFF....WEBPVP8 ........'), 'webp'],
  ] as const)('%s is uploaded to the file store first', async (_what, bytes, kind) => {
    await using it = await acting({ options: { store } })

    const done = await set(it, bytes, { kind })

    const icon = it.sandbox.world.users.get('ann')?.icon ?? ''
    expect(icon).toStartWith(`${it.sandbox.url}/sandbox-store/t5_`)
    expect(done).toEqual({ ok: true, value: { url: icon } })
  })

  test("with another size is refused with the platform's reason if the file store is closed", async () => {
    await using it = await acting({ options: { store } })
    it.sandbox.addFault({
      path: '/api/v1/style_asset_upload_s3',
      fault: 'json_message_200',
      status: 403,
    })

    expect(await set(it, png(512))).toMatchObject({
      ok: false,
      fault: {
        code: 'IMAGE_ERROR',
        meaning: 'INVALID_REQUEST',
        field: 'image',
        message: 'must be 256x256 pixels',
      },
    })
  })

  test('that does not reach the file store changes nothing', async () => {
    await using it = await acting({ options: { store: closed } })

    const done = await set(it, png(512))

    expect(done).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
    expect(it.sandbox.world.users.get('ann')?.icon).toBeNull()
  })

  test('is uploaded without cookies and tokens of the session', async () => {
    const seen: string[] = []
    const watched: Transport = (post) => {
      seen.push(...Object.keys(post.headers))
      return store(post)
    }
    await using it = await acting({ options: { store: watched } })

    await set(it, png(512))

    expect(seen).toEqual(['content-type'])
  })
})
