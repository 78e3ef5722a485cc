import { type Answer, json, refusal } from './answer.ts'
import type { Ask, UploadedFile } from './ask.ts'
import { fieldsOf } from './json.ts'
import type { User } from './model.ts'
import { isOwnPage } from './profile.ts'
import { mayWrite } from './write.ts'

/** Where files are put before anybody is told of them. The platform has another house for that. */
export const STORE = 'sandbox-store'

const ONE_SHOT_BYTES = 500 * 1024
const ICON_SIDE = 256
const STYLES: Readonly<Record<string, 'icon' | 'banner'>> = {
  profileIcon: 'icon',
  profileBanner: 'banner',
}
const MIME = /^image\/(?:png|jpeg|webp)$/

/** The calls that change the pictures of a profile; null for every other. */
export function uploadCall(ask: Ask): Answer | null {
  const { method, path } = ask
  const [first, second, third, fourth] = path
  if (method === 'POST' && first === 'r' && third === 'api') return upload(ask, second, fourth)
  if (first !== 'api' || second !== 'v1') return null
  if (method === 'POST' && third === 'style_asset_upload_s3') return lease(ask, fourth)
  return method === 'PATCH' && third === 'structured_styles' ? style(ask, fourth) : null
}

function upload(ask: Ask, page: string | undefined, call: string | undefined): Answer | null {
  if (call !== 'upload_sr_img' && call !== 'delete_sr_icon' && call !== 'delete_sr_banner')
    return null
  const allowed = mayWrite(ask)
  if (allowed.user === null) return allowed.refusal
  const { user } = allowed
  if (!isOwnPage(page, user)) return refusal(403)
  if (call !== 'upload_sr_img') {
    set(ask, user, call === 'delete_sr_icon' ? 'icon' : 'banner', null)
    return json('{}')
  }
  const file = ask.files.get('file')
  // A file without a name is none to it.
  if (file === undefined || file.name === '') return refusal(500)
  const which = ask.query.get('upload_type') === 'banner' ? 'banner' : 'icon'
  const wrong = wrongImage(file, which)
  if (wrong !== null)
    return json(JSON.stringify({ errors: ['IMAGE_ERROR'], img_src: '', errors_values: [wrong] }))
  const img_src = `https://styles.redditmedia.com/t5_${user.id}/styles/profile_${which}_${ask.noise.text(10)}.png`
  set(ask, user, which, img_src)
  return json(JSON.stringify({ errors: [], img_src, errors_values: [] }))
}

/** What the one-shot upload finds wrong with a picture; null when nothing. */
function wrongImage({ bytes }: UploadedFile, which: 'icon' | 'banner'): string | null {
  const size = sizeOf(bytes)
  if (size === null || bytes.length > ONE_SHOT_BYTES) return 'Invalid image or general image error'
  const square = size[0] === ICON_SIDE && size[1] === ICON_SIDE
  return which === 'icon' && !square ? `must be ${ICON_SIDE}x${ICON_SIDE} pixels` : null
}

const PNG_HEAD = '89504e470d0a1a0a'
const SIZE_AT = 16

/** Width and height of a PNG; a JPEG is taken at its word; null for anything else. */
function sizeOf(bytes: Uint8Array): readonly [number, number] | null {
  const whole = Buffer.from(bytes)
  if (whole.subarray(0, 3).toString('hex') === 'ffd8ff') return [ICON_SIDE, ICON_SIDE]
  if (whole.subarray(0, 8).toString('hex') !== PNG_HEAD || whole.length < SIZE_AT + 8) return null
  return [whole.readUInt32BE(SIZE_AT), whole.readUInt32BE(SIZE_AT + 4)]
}

/** `POST /api/v1/style_asset_upload_s3/u_<name>`: where to put a file, and under which name. */
function lease(ask: Ask, page: string | undefined): Answer {
  const allowed = mayWrite(ask)
  if (allowed.user === null) return allowed.refusal
  if (!isOwnPage(page, allowed.user)) return refusal(403)
  const { query, origin, noise } = ask
  const filepath = query.get('filepath') ?? ''
  const mimetype = query.get('mimetype') ?? ''
  if (filepath === '' || !MIME.test(mimetype)) return badImage('filepath')
  if (!Object.hasOwn(STYLES, query.get('imagetype') ?? '')) return badImage('imagetype')
  const key = `t5_${allowed.user.id}/styles/${noise.text(13)}.${mimetype.slice('image/'.length)}`
  const fields = [
    { name: 'acl', value: 'public-read' },
    { name: 'key', value: key },
    { name: 'Content-Type', value: mimetype },
    { name: 'x-amz-security-token', value: noise.text(24) },
  ]
  const action = `${origin.replace(/^https?:/, '')}/${STORE}`
  return json(JSON.stringify({ s3UploadLease: { action, fields }, websocketUrl: '' }))
}

const badImage = (field: string): Answer =>
  json(
    JSON.stringify({
      fields: [field],
      explanation: 'image problem',
      message: 'Bad Request',
      reason: 'BAD_IMAGE',
    }),
    400,
  )

/** The store: takes a file with its key, and says where it lies. */
export function store({ query, files, origin }: Ask): Answer {
  const key = query.get('key') ?? ''
  const file = files.get('file')
  const type = { 'content-type': 'application/xml' }
  if (key === '' || file === undefined || file.bytes.length === 0)
    return { status: 400, headers: type, body: '<Error><Code>InvalidArgument</Code></Error>' }
  const body = `<PostResponse><Location>${origin}/${STORE}/${key}</Location><Key>${key}</Key></PostResponse>`
  return { status: 201, headers: type, body }
}

/** `PATCH /api/v1/structured_styles/u_<name>`: what lies in the store is shown from now on. */
function style(ask: Ask, page: string | undefined): Answer {
  const allowed = mayWrite(ask)
  if (allowed.user === null) return allowed.refusal
  if (!isOwnPage(page, allowed.user)) return refusal(403)
  const named = Object.entries(fieldsOf(ask.body))
  if (named.length === 0 || named.some(([name, url]) => !STYLES[name] || typeof url !== 'string'))
    return refusal(400)
  for (const [name, url] of named) {
    const which = STYLES[name]
    if (which !== undefined) set(ask, allowed.user, which, String(url))
  }
  return json('{}')
}

function set({ world }: Ask, user: User, which: 'icon' | 'banner', url: string | null): void {
  user[which] = url
  world.version++
}
