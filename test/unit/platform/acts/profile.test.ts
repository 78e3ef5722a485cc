import { describe, expect, test } from 'bun:test'

import type { ImageKind } from '../../../../src/core/image-kind.ts'
import type { Transport } from '../../../../src/net/transport.ts'
import { settingsForm } from '../../../../src/platform/acts/settings-form.ts'
import { acting } from './stage.ts'

type Stage = Awaited<ReturnType<typeof acting>>

const PART = '/api/v1/subreddit/update_settings'
const WHOLE = '/api/site_admin'

/** Ann as she has made her profile. */
async function settled() {
  const it = await acting()
  const ann = it.sandbox.world.users.get('ann')
  if (ann === undefined) throw new Error('no ann')
  ann.display_name = 'Ann of the Cats'
  ann.bio = 'Likes cats.'
  ann.settings.set('language', 'de').set('over_18', true).set('default_set', false)
  return { it, ann }
}

describe.each([
  ['by the call that changes a part', null, PART],
  ['by the form that sets everything, where the part is not to be had', { status: 404 }, WHOLE],
] as const)('a profile %s', (_how, refusal, path) => {
  const bend = ({ sandbox }: Stage) => {
    const headers = { 'content-type': 'application/json' }
    const body = '{"message":"Not Found","error":404}'
    if (refusal) sandbox.weather({ path: PART, fault: 'answer', ...refusal, body, headers })
  }

  test.each([
    [
      'description',
      { description: 'Likes <dogs> & cats.' },
      ['Ann of the Cats', 'Likes <dogs> & cats.'],
    ],
    ['display name', { display_name: 'Änn' }, ['Änn', 'Likes cats.']],
    ['description taken away', { description: '' }, ['Ann of the Cats', '']],
    ['both', { description: 'Dogs.', display_name: 'Ann' }, ['Ann', 'Dogs.']],
  ] as const)('gets its %s, and everything else stays', async (_what, change, words) => {
    const { it, ann } = await settled()
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

test('what the platform finds wrong with a profile names the field, and no second way is tried', async () => {
  const { it } = await settled()
  await using _ = it
  const heard = it.listen()

  const done = await it.acts.profile({ description: 'x'.repeat(501) }, it.as('ann'))

  expect(done).toMatchObject({
    ok: false,
    fault: { code: 'TOO_LONG', meaning: 'INVALID_REQUEST', field: 'description' },
  })
  expect(heard()).not.toContain(`POST ${WHOLE}`)
})

test('a change whose answer is lost is made once, and is an open question', async () => {
  const { it, ann } = await settled()
  await using _ = it
  it.sandbox.weather({ path: PART, fault: 'lost_answer' })
  const heard = it.listen()

  const done = await it.acts.profile({ description: 'Dogs.' }, it.as('ann'))

  expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
  expect(ann.bio).toBe('Dogs.')
  expect(heard().filter((line) => line.includes('settings') || line.includes('site'))).toHaveLength(
    1,
  )
})

test('a form says everything that stands, in the words of the form', () => {
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

/** A PNG as far as its head, of so many pixels a side, and as long as is asked. */
function png(side: number, length = 64): Uint8Array {
  const bytes = Buffer.alloc(length)
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(bytes)
  bytes.writeUInt32BE(side, 16)
  bytes.writeUInt32BE(side, 20)
  return bytes
}

/** Carries to the store what is put there; the address is the sandbox's own. */
const store: Transport = async ({ url, headers, body }) => {
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { kind: 'answered', status: response.status, headers: response.headers, body: bytes }
}

/** Ann sets a picture. */
const set = (
  it: Stage,
  bytes: Uint8Array,
  { kind = 'png', place = 'avatar' }: { kind?: ImageKind; place?: 'avatar' | 'banner' } = {},
) => it.acts.picture({ place, picture: { bytes, kind } }, it.as('ann'))

const closed: Transport = () => Promise.resolve({ kind: 'failed', error: 'connect_failed' })

describe('a picture', () => {
  test.each(['avatar', 'banner'] as const)(
    'of the right size becomes the %s in one call',
    async (place) => {
      await using it = await acting()

      const done = await set(it, png(256), { place })

      const ann = it.sandbox.world.users.get('ann')
      const shown = place === 'avatar' ? ann?.icon : ann?.banner
      expect(done).toEqual({ ok: true, value: { url: shown ?? '' } })
      expect(it.sandbox.requests.at(-1)?.path).toBe('/r/u_ann/api/upload_sr_img')
    },
  )

  test.each([
    ['of another size', png(512), 'png'],
    ['too large for one call', png(256, 600 * 1024), 'png'],
    ['of the newer kind', Buffer.from('RIFF....WEBPVP8 ........'), 'webp'],
  ] as const)('%s is put into the store first', async (_what, bytes, kind) => {
    await using it = await acting({ options: { store } })

    const done = await set(it, bytes, { kind })

    const icon = it.sandbox.world.users.get('ann')?.icon ?? ''
    expect(icon).toStartWith(`${it.sandbox.url}/sandbox-store/t5_`)
    expect(done).toEqual({ ok: true, value: { url: icon } })
  })

  test('of another size is refused as the platform says it, where the store is closed', async () => {
    await using it = await acting({ options: { store } })
    it.sandbox.weather({
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

  test('that does not reach the store changes nothing', async () => {
    await using it = await acting({ options: { store: closed } })

    const done = await set(it, png(512))

    expect(done).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
    expect(it.sandbox.world.users.get('ann')?.icon).toBeNull()
  })

  test('brings nothing of the session to the store', async () => {
    const seen: string[] = []
    const watched: Transport = (post) => {
      seen.push(...Object.keys(post.headers))
      return store(post)
    }
    await using it = await acting({ options: { store: watched } })

    await set(it, png(512))

    expect(seen).toEqual(['content-type'])
  })

  test('whose answer is lost was set once, and is an open question', async () => {
    await using it = await acting({ options: { store } })
    it.sandbox.weather({ path: '/r/u_ann/api/upload_sr_img', fault: 'lost_answer' })
    const heard = it.listen()

    expect(await set(it, png(256))).toEqual({ ok: false, fault: { kind: 'unknown' } })
    expect(heard().filter((line) => line.startsWith('POST'))).toHaveLength(1)
  })
})
