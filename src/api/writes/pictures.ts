import { type Refusal, REFUSALS } from '../../core/address.ts'
import { invalid } from '../../core/errors.ts'
import { IMAGE_MIB_MAX, type ImageKind, readImage } from '../../core/image-kind.ts'

/** A picture that may be sent. */
export type Picture = { bytes: Uint8Array; kind: ImageKind }

/** What an address holds, or why it is not to be had. */
export type LoadPicture = (
  url: string,
) => Promise<
  | { ok: true; bytes: Uint8Array }
  | { ok: false; why: Refusal | 'unreachable' | 'not_found' | 'too_large' | 'too_slow' }
>

const TROUBLE = {
  ...REFUSALS,
  unreachable: 'could not be reached',
  not_found: 'must answer 200 with the picture itself',
  too_large: `must have at most ${IMAGE_MIB_MAX} MiB`,
  too_slow: 'did not answer in time',
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The picture that a body brings or names: exactly one of `image_url` and `image_base64`. 400 for what is none. */
export async function pictureOf(
  {
    image_url,
    image_base64,
  }: { image_url?: string | undefined; image_base64?: string | undefined },
  load: LoadPicture,
): Promise<Picture> {
  if (image_url !== undefined && image_base64 !== undefined)
    throw invalid('image_base64', 'image_base64 must be left out where image_url is given')
  if (image_base64 !== undefined) return looked('image_base64', decoded(image_base64))
  if (image_url === undefined) throw invalid('image_url', 'image_url or image_base64 is required')
  const loaded = await load(image_url)
  if (!loaded.ok) throw invalid('image_url', `image_url ${TROUBLE[loaded.why]}`)
  return looked('image_url', loaded.bytes)
}

function decoded(text: string): Uint8Array {
  if (text.length % 4 === 0 && BASE64.test(text)) return new Uint8Array(Buffer.from(text, 'base64'))
  throw invalid(
    'image_base64',
    'image_base64 must be base64, with its padding and nothing before it',
  )
}

function looked(field: string, bytes: Uint8Array): Picture {
  const read = readImage(bytes)
  if (read.ok) return { bytes, kind: read.kind }
  throw invalid(field, `${field} ${read.why}`)
}
