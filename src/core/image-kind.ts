/** The pictures that a profile takes, by what they are, not by what they are called. */
export type ImageKind = 'png' | 'jpeg' | 'webp'

/** How much a picture may weigh, as people are told it. */
export const IMAGE_MIB_MAX = 5
/** The same in bytes. */
export const IMAGE_BYTES_MAX = IMAGE_MIB_MAX * 1024 * 1024

/** What each kind is called on the wire, and how its files end. */
export const IMAGE_TYPES: Readonly<Record<ImageKind, { type: string; suffix: string }>> = {
  png: { type: 'image/png', suffix: 'png' },
  jpeg: { type: 'image/jpeg', suffix: 'jpg' },
  webp: { type: 'image/webp', suffix: 'webp' },
}

/** A picture that may be sent, or a sentence that says what is wrong with it. */
export type ImageRead = { ok: true; kind: ImageKind } | { ok: false; why: string }

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
const RIFF = [0x52, 0x49, 0x46, 0x46]
const WEBP = [0x57, 0x45, 0x42, 0x50]
/** Where a RIFF file says what is in it. */
const RIFF_FORM_AT = 8
/** Shorter than any picture: a beginning alone is none. */
const SHORTEST = 16

/** Looks at the bytes alone: a name or a content type may say anything. */
export function readImage(bytes: Uint8Array): ImageRead {
  if (bytes.length > IMAGE_BYTES_MAX)
    return { ok: false, why: `must have at most ${IMAGE_MIB_MAX} MiB` }
  const kind = bytes.length < SHORTEST ? null : kindOf(bytes)
  return kind === null
    ? { ok: false, why: 'must be a PNG, JPEG or WebP picture' }
    : { ok: true, kind }
}

function kindOf(bytes: Uint8Array): ImageKind | null {
  if (hasAt(bytes, 0, PNG)) return 'png'
  if (hasAt(bytes, 0, JPEG)) return 'jpeg'
  return hasAt(bytes, 0, RIFF) && hasAt(bytes, RIFF_FORM_AT, WEBP) ? 'webp' : null
}

const hasAt = (bytes: Uint8Array, at: number, mark: readonly number[]): boolean =>
  mark.every((byte, index) => bytes[at + index] === byte)
