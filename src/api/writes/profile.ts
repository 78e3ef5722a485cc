import { Elysia } from 'elysia'
import * as z from 'zod'

import { IMAGE_MIB_MAX } from '../../core/image-kind.ts'
import { once } from '../../core/once.ts'
import { PROXY_SCHEMES } from '../../core/proxy.ts'
import type { Acting } from '../../gateway/act.ts'
import { closed } from '../fields.ts'
import { answers } from '../openapi.ts'
import type { WriteDesk } from './desk.ts'
import { exampleBody } from './document.ts'
import { sessionShape, textOf } from './fields.ts'
import { type LoadPicture, pictureOf } from './pictures.ts'

const DESCRIPTION_MAX = 200
const DISPLAY_NAME_MAX = 30
const URL_MAX = 2048

const described = once(() => ({
  description: textOf('description', { min: 0, max: DESCRIPTION_MAX }),
}))
const named = once(() => ({
  display_name: textOf('display_name', { min: 0, max: DISPLAY_NAME_MAX }),
}))
const pictured = once(() => ({
  image_url: z
    .string({ error: 'image_url must be text' })
    .max(URL_MAX, `image_url must be at most ${URL_MAX} characters`)
    .optional()
    .meta({ description: 'https, on the public internet.' }),
  image_base64: z.string({ error: 'image_base64 must be text' }).optional(),
}))
const PLACES = ['avatar', 'banner'] as const

const tags = ['Profile']

/** The profile of the account: what it says, what it is called, how it looks. Nothing else of it is touched. */
export function profile(desk: WriteDesk, acting: Acting, load: LoadPicture) {
  const { words, keyed, shapes } = desk
  const session = once(() => sessionShape(words, PROXY_SCHEMES))
  const reads = (fields: () => object) =>
    desk.reads(fields, { forwards: false, schemes: PROXY_SCHEMES })
  const manner = { tier: 'write', act: 'profile' } as const

  const app = new Elysia({ name: 'writes.profile', prefix: `${words.api}/profile` })
    .use(keyed)
    .post(
      '/description',
      ({ request, holder, set, body: { description } }) =>
        desk.perform({ request, holder, set, ...manner }, async (hands) => {
          await hands.ask(() => acting.profile({ description }, hands.session))
          return { success: true, description }
        }),
      {
        transform: reads(described),
        body: closed(
          () => ({ ...session(), ...described() }),
          exampleBody(words, { description: 'Mostly beans.' }),
        ),
        detail: {
          summary: 'Say something about yourself',
          tags,
          operationId: 'profileDescription',
          ...answers(() => shapes().description, { success: true, description: 'Mostly beans.' }),
        },
      },
    )
    .post(
      '/display-name',
      ({ request, holder, set, body: { display_name } }) =>
        desk.perform({ request, holder, set, ...manner }, async (hands) => {
          await hands.ask(() => acting.profile({ display_name }, hands.session))
          return { success: true, display_name }
        }),
      {
        transform: reads(named),
        body: closed(
          () => ({ ...session(), ...named() }),
          exampleBody(words, { display_name: 'Ann' }),
        ),
        detail: {
          summary: 'Choose the name that is shown',
          tags,
          operationId: 'profileDisplayName',
          ...answers(() => shapes().display_name, { success: true, display_name: 'Ann' }),
        },
      },
    )
  for (const place of PLACES)
    app.post(
      `/${place}`,
      ({ request, holder, set, body }) =>
        desk.perform({ request, holder, set, ...manner }, async (hands) => {
          const picture = await pictureOf(body, load)
          const made = await hands.ask(() => acting.picture({ place, picture }, hands.session))
          return { success: true, url: made.url }
        }),
      {
        transform: reads(pictured),
        body: closed(
          () => ({ ...session(), ...pictured() }),
          exampleBody(words, { image_url: `https://www.example.com/${place}.png` }),
        ),
        detail: {
          summary: place === 'avatar' ? 'Change your picture' : 'Change your banner',
          description: `A PNG, JPEG or WebP picture of at most ${IMAGE_MIB_MAX} MiB, sent on as it is.`,
          tags,
          operationId: place === 'avatar' ? 'profileAvatar' : 'profileBanner',
          ...answers(() => shapes().picture, {
            success: true,
            url: `https://styles.forum.example/${place}.png`,
          }),
        },
      },
    )
  return app
}
