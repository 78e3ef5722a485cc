import type { SandboxRequest, UploadedFile } from '../server/request.ts'
import { json, parseJsonFields, refusal, type SandboxResponse } from '../server/response.ts'
import type { SandboxUser } from '../world/model.ts'
import { isOwnPage } from './profile.ts'
import { mayWrite } from './writes.ts'

/** Host of uploaded files, separate from the platform's own. */
export const STORE = 'sandbox-store'

const ONE_SHOT_BYTES = 500 * 1024
const ICON_SIDE = 256
const STYLES: Readonly<Record<string, 'icon' | 'banner'>> = {
  profileIcon: 'icon',
  profileBanner: 'banner',
}
const MIME = /^image\/(?:png|jpeg|webp)$/

/** Calls that change the pictures of a profile; null for every other path. */
export function uploadCall(request: SandboxRequest): SandboxResponse | null {
  const { method, path } = request
  const [first, second, third, fourth] = path
  if (method === 'POST' && first === 'r' && third === 'api') return upload(request, second, fourth)
  if (first !== 'api' || second !== 'v1') return null
  if (method === 'POST' && third === 'style_asset_upload_s3') return uploadLease(request, fourth)
  return method === 'PATCH' && third === 'structured_styles' ? style(request, fourth) : null
}

function upload(
  request: SandboxRequest,
  page: string | undefined,
  call: string | undefined,
): SandboxResponse | null {
  if (call !== 'upload_sr_img' && call !== 'delete_sr_icon' && call !== 'delete_sr_banner')
    return null
  const permission = mayWrite(request)
  if (permission.user === null) return permission.refusal
  const { user } = permission
  if (!isOwnPage(page, user)) return refusal(403)
  if (call !== 'upload_sr_img') {
    setPicture(request, user, call === 'delete_sr_icon' ? 'icon' : 'banner', null)
    return json('{}')
  }
  const file = request.files.get('file')
  // A file without a name counts as absent.
  if (file === undefined || file.name === '') return refusal(500)
  const which = request.query.get('upload_type') === 'banner' ? 'banner' : 'icon'
  const image_error = imageError(file, which)
  if (image_error !== null)
    return json(
      JSON.stringify({ errors: ['IMAGE_ERROR'], img_src: '', errors_values: [image_error] }),
    )
  const img_src = `https://styles.redditmedia.com/t5_${user.id}/styles/profile_${which}_${request.noise.text(10)}.png`
  setPicture(request, user, which, img_src)
  return json(JSON.stringify({ errors: [], img_src, errors_values: [] }))
}

/** Error of a picture in a direct upload; null if it is valid. */
function imageError({ bytes }: UploadedFile, which: 'icon' | 'banner'): string | null {
  const size = sizeOf(bytes)
  if (size === null || bytes.length > ONE_SHOT_BYTES) return 'Invalid image or general image error'
  const square = size[0] === ICON_SIDE && size[1] === ICON_SIDE
  return which === 'icon' && !square ? `must be ${ICON_SIDE}x${ICON_SIDE} pixels` : null
}

const PNG_SIGNATURE = '89504e470d0a1a0a'
const SIZE_AT = 16

/** Width and height of a PNG; a nominal size for a JPEG; null for any other file. */
function sizeOf(bytes: Uint8Array): readonly [number, number] | null {
  const whole = Buffer.from(bytes)
  if (whole.subarray(0, 3).toString('hex') === 'ffd8ff') return [ICON_SIDE, ICON_SIDE]
  if (whole.subarray(0, 8).toString('hex') !== PNG_SIGNATURE || whole.length < SIZE_AT + 8)
    return null
  return [whole.readUInt32BE(SIZE_AT), whole.readUInt32BE(SIZE_AT + 4)]
}

/** `POST /api/v1/style_asset_upload_s3/u_<name>`: address and key for an upload. */
function uploadLease(request: SandboxRequest, page: string | undefined): SandboxResponse {
  const permission = mayWrite(request)
  if (permission.user === null) return permission.refusal
  if (!isOwnPage(page, permission.user)) return refusal(403)
  const { query, origin, noise } = request
  const filepath = query.get('filepath') ?? ''
  const mimetype = query.get('mimetype') ?? ''
  if (filepath === '' || !MIME.test(mimetype)) return badImage('filepath')
  if (!Object.hasOwn(STYLES, query.get('imagetype') ?? '')) return badImage('imagetype')
  const key = `t5_${permission.user.id}/styles/${noise.text(13)}.${mimetype.slice('image/'.length)}`
  const fields = [
    { name: 'acl', value: 'public-read' },
    { name: 'key', value: key },
    { name: 'Content-Type', value: mimetype },
    { name: 'x-amz-security-token', value: noise.text(24) },
  ]
  const action = `${origin.replace(/^https?:/, '')}/${STORE}`
  return json(JSON.stringify({ s3UploadLease: { action, fields }, websocketUrl: '' }))
}

const badImage = (field: string): SandboxResponse =>
  json(
    JSON.stringify({
      fields: [field],
      explanation: 'image problem',
      message: 'Bad Request',
      reason: 'BAD_IMAGE',
    }),
    400,
  )

/** Stores an uploaded file by its key and returns its address. */
export function store({ query, files, origin }: SandboxRequest): SandboxResponse {
  const key = query.get('key') ?? ''
  const file = files.get('file')
  const type = { 'content-type': 'application/xml' }
  if (key === '' || file === undefined || file.bytes.length === 0)
    return { status: 400, headers: type, body: '<Error><Code>InvalidArgument</Code></Error>' }
  const body = `<PostResponse><Location>${origin}/${STORE}/${key}</Location><Key>${key}</Key></PostResponse>`
  return { status: 201, headers: type, body }
}

/** `PATCH /api/v1/structured_styles/u_<name>`: applies uploaded files. */
function style(request: SandboxRequest, page: string | undefined): SandboxResponse {
  const permission = mayWrite(request)
  if (permission.user === null) return permission.refusal
  if (!isOwnPage(page, permission.user)) return refusal(403)
  const changes = Object.entries(parseJsonFields(request.body))
  if (
    changes.length === 0 ||
    changes.some(([name, url]) => !STYLES[name] || typeof url !== 'string')
  )
    return refusal(400)
  for (const [name, url] of changes) {
    const which = STYLES[name]
    if (which !== undefined) setPicture(request, permission.user, which, String(url))
  }
  return json('{}')
}

function setPicture(
  { world }: SandboxRequest,
  user: SandboxUser,
  which: 'icon' | 'banner',
  url: string | null,
): void {
  user[which] = url
  world.version++
}
