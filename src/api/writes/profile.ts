import { Elysia } from 'elysia'
import * as z from 'zod'

import { type AddressRefusal, REFUSALS } from '../../core/base/address.ts'
import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import { IMAGE_MIB_MAX, type ImageKind, readImage } from '../../core/forum/writes.ts'
import type { AccountWrites } from '../../gateway/writes.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, exampleBody } from '../openapi/route-docs.ts'
import { sessionShape, textField, type WriteContext } from './context.ts'

export type PictureFile = { bytes: Uint8Array; kind: ImageKind }

/** Loads the image at an address, or states why it cannot be used. */
export type LoadPicture = (
  url: string,
) => Promise<
  | { ok: true; bytes: Uint8Array }
  | { ok: false; why: AddressRefusal | 'unreachable' | 'not_found' | 'too_large' | 'too_slow' }
>

const TROUBLE = {
  ...REFUSALS,
  unreachable: 'could not be reached',
  not_found: 'must answer 200 with the image itself',
  too_large: `must have at most ${IMAGE_MIB_MAX} MiB`,
  too_slow: 'did not answer in time',
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Image of a body: exactly one of `image_url` and `image_base64`.
 * @throws {ApiError} INVALID_REQUEST (400) if it is absent or invalid
 */
async function pictureOf(
  {
    image_url,
    image_base64,
  }: { image_url?: string | undefined; image_base64?: string | undefined },
  load: LoadPicture,
): Promise<PictureFile> {
  if (image_url !== undefined && image_base64 !== undefined)
    throw invalid('image_base64', 'image_base64 must be left out where image_url is given')
  if (image_base64 !== undefined) return checkImage('image_base64', decodeBase64(image_base64))
  if (image_url === undefined) throw invalid('image_url', 'image_url or image_base64 is required')
  const loaded = await load(image_url)
  if (!loaded.ok) throw invalid('image_url', `image_url ${TROUBLE[loaded.why]}`)
  return checkImage('image_url', loaded.bytes)
}

function decodeBase64(text: string): Uint8Array {
  if (text.length % 4 === 0 && BASE64.test(text)) return new Uint8Array(Buffer.from(text, 'base64'))
  throw invalid(
    'image_base64',
    'image_base64 must be base64, with its padding and nothing before it',
  )
}

function checkImage(field: string, bytes: Uint8Array): PictureFile {
  const read = readImage(bytes)
  if (read.ok) return { bytes, kind: read.kind }
  throw invalid(field, `${field} ${read.why}`)
}

const DESCRIPTION_MAX = 200
const DISPLAY_NAME_MAX = 30
const URL_MAX = 2048

const descriptionFields = once(() => ({
  description: textField('description', { min: 0, max: DESCRIPTION_MAX }),
}))
const displayNameFields = once(() => ({
  display_name: textField('display_name', { min: 0, max: DISPLAY_NAME_MAX }),
}))
const pictureFields = once(() => ({
  image_url: z
    .string({ error: 'image_url must be text' })
    .max(URL_MAX, `image_url must be at most ${URL_MAX} characters`)
    .optional()
    .describe('https, on the public internet.'),
  image_base64: z.string({ error: 'image_base64 must be text' }).optional(),
}))
const PLACES = ['avatar', 'banner'] as const

const tags = ['Profile']

export function profileWrites(context: WriteContext, acting: AccountWrites, load: LoadPicture) {
  const { words, keyed, shapes } = context
  const session = once(() => sessionShape(words, PROXY_SCHEMES))
  const reads = (fields: () => object) =>
    context.reads(fields, { forwards: false, schemes: PROXY_SCHEMES, capability: 'profile' })
  const call_options = { tier: 'write', act: 'profile' } as const

  const app = new Elysia({ name: 'writes.profile', prefix: `${words.api}/profile` })
    .use(keyed)
    .post(
      '/description',
      ({ request, holder, set, body: { description } }) =>
        context.perform({ request, holder, set, ...call_options }, async (writer) => {
          await writer.run(() => acting.profile({ description }, writer.session))
          return { success: true, description }
        }),
      {
        transform: reads(descriptionFields),
        body: bodySchema(
          () => ({ ...session(), ...descriptionFields() }),
          exampleBody(words, { description: 'Mostly beans.' }),
        ),
        detail: {
          summary: 'Set the profile description',
          tags,
          operationId: 'profileDescription',
          ...answers(() => shapes().description),
        },
      },
    )
    .post(
      '/display-name',
      ({ request, holder, set, body: { display_name } }) =>
        context.perform({ request, holder, set, ...call_options }, async (writer) => {
          await writer.run(() => acting.profile({ display_name }, writer.session))
          return { success: true, display_name }
        }),
      {
        transform: reads(displayNameFields),
        body: bodySchema(
          () => ({ ...session(), ...displayNameFields() }),
          exampleBody(words, { display_name: 'Ann' }),
        ),
        detail: {
          summary: 'Set the display name',
          tags,
          operationId: 'profileDisplayName',
          ...answers(() => shapes().display_name),
        },
      },
    )
  for (const place of PLACES)
    app.post(
      `/${place}`,
      ({ request, holder, set, body }) =>
        context.perform({ request, holder, set, ...call_options }, async (writer) => {
          const picture = await pictureOf(body, load)
          const uploaded = await writer.run(() =>
            acting.picture({ place, picture }, writer.session),
          )
          return { success: true, url: uploaded.url }
        }),
      {
        transform: reads(pictureFields),
        body: bodySchema(
          () => ({ ...session(), ...pictureFields() }),
          exampleBody(words, { image_url: `https://www.example.com/${place}.png` }),
        ),
        detail: {
          summary: place === 'avatar' ? 'Change your picture' : 'Change your banner',
          description: `A PNG, JPEG or WebP picture of at most ${IMAGE_MIB_MAX} MiB, sent on as it is.`,
          tags,
          operationId: place === 'avatar' ? 'profileAvatar' : 'profileBanner',
          ...answers(() => shapes().picture),
        },
      },
    )
  return app
}
