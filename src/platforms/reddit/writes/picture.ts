import { isObject } from '../../../core/base/object.ts'
import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import { peerUrl } from '../../../core/base/url.ts'
import type { Acted } from '../../../core/forum/native-refusals.ts'
import { IMAGE_TYPES, type ImageKind } from '../../../core/forum/writes.ts'
import type { Transport } from '../../../net/transport.ts'
import type { Random } from '../../../runtime/runtime.ts'
import type { Call, PictureChange } from '../../port.ts'
import { textAt } from '../../values.ts'
import type { Client } from '../client.ts'
import { addressAt, listAt, type NativeRow, rowAt, wordAt } from '../readers/fields.ts'
import type { Actor, Forms } from './form.ts'
import { isElsewhere } from './profile.ts'

/** A file in a form. Without a name, the platform does not treat it as a file. */
export type FilePart = { field: string; name: string; type: string; bytes: Uint8Array }

/**
 * Encodes a form with one file after its fields, with its content type. The boundary must occur in
 * none of them.
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
export function multipart(
  fields: readonly (readonly [string, string])[],
  file: FilePart,
  boundary: string,
): { type: string; bytes: Uint8Array<ArrayBuffer> } {
  const parts = fields.map(([name, value]) => `${head(boundary, name)}\r\n\r\n${value}\r\n`)
  const opened = `${head(boundary, file.field)}; filename="${quoted(file.name)}"\r\ncontent-type: ${file.type}\r\n\r\n`
  const bytes = Buffer.concat([
    Buffer.from(parts.join('') + opened),
    file.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: new Uint8Array(bytes) }
}

const head = (boundary: string, name: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`

/** Escapes a name as browsers do. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

type Deps = {
  client: Client
  forms: Forms
  random: Random
  /** The platform names the address, so the transport must be guarded. */
  store?: Transport | undefined
}

/** Size limit and supported formats of the upload in one request. */
const ONE_SHOT_BYTES = 500 * 1024
const ONE_SHOT_KINDS: Readonly<Partial<Record<ImageKind, string>>> = { png: 'png', jpeg: 'jpg' }
const UPLOAD_TYPES = { avatar: 'icon', banner: 'banner' } as const
const STYLES = { avatar: 'profileIcon', banner: 'profileBanner' } as const
const FIELDS = { file: 'image', filepath: 'image', mimetype: 'image', imagetype: 'image' }

export function createPictures({ client, forms, random, store }: Deps) {
  function inOne({ place, picture }: PictureChange, actor: Actor, call: Call) {
    const { type, suffix } = IMAGE_TYPES[picture.kind]
    const file = { field: 'file', name: `${place}.${suffix}`, type, bytes: picture.bytes }
    const fields = (token: string | null): [string, string][] => [
      ['upload_type', UPLOAD_TYPES[place]],
      ['img_type', ONE_SHOT_KINDS[picture.kind] ?? 'png'],
      ['name', place],
      ['header', '0'],
      ['formid', 'image-upload'],
      ['api_type', 'json'],
      ...(token === null ? [] : ([['uh', token]] satisfies [string, string][])),
    ]
    return forms.write(
      {
        path_kind: 'picture',
        path: `/r/${pathOf(actor)}/api/upload_sr_img`,
        multipart: (token) => multipart(fields(token), file, `----${random.uuid()}`),
        fields: FIELDS,
      },
      actor,
      call,
    )
  }

  /**
   * Uploads in three steps: reserves a place in the platform's file store, uploads the file, and
   * sets its address in the profile.
   */
  async function byLease(
    { place, picture }: PictureChange,
    actor: Actor,
    call: Call,
  ): Promise<Acted<{ url: string }>> {
    const { type, suffix } = IMAGE_TYPES[picture.kind]
    const name = `${place}.${suffix}`
    const form = { filepath: name, mimetype: type, imagetype: STYLES[place] }
    const path = `/api/v1/style_asset_upload_s3/${pathOf(actor)}`
    const leased = await forms.write(
      { path_kind: 'picture', path, form, fields: FIELDS },
      actor,
      call,
    )
    if (!leased.ok) return leased
    const lease = readLease(leased.value, client.base)
    if (lease === null) return fail({ kind: 'unreadable', path: 's3UploadLease' })
    const file = { field: 'file', name, type, bytes: picture.bytes }
    const stored = await put(lease, file)
    if (!stored.ok) return stored
    const url = `${lease.action}/${lease.key}`
    const result = await forms.write(
      {
        path_kind: 'picture',
        method: 'PATCH',
        path: `/api/v1/structured_styles/${pathOf(actor)}`,
        json: { [STYLES[place]]: url },
        fields: FIELDS,
      },
      actor,
      call,
    )
    return result.ok ? ok({ url }) : result
  }

  /**
   * The upload shows nothing until the profile is changed, so a failure here means that nothing was
   * done.
   */
  async function put(lease: Lease, file: Parameters<typeof multipart>[1]): Promise<Outcome<null>> {
    if (!store) return UNAVAILABLE
    const { type, bytes } = multipart(lease.fields, file, `----${random.uuid()}`)
    const answer = await store({
      url: lease.action,
      headers: { 'content-type': type },
      body: bytes,
    })
    if (answer.kind === 'failed') return UNAVAILABLE
    const { status } = answer
    if (status >= 200 && status < 300) return ok(null)
    return fail({ kind: 'unavailable', status, retry_after_s: null })
  }

  return {
    async picture(change: PictureChange, call: Call): Promise<Acted<{ url: string }>> {
      const actor = await forms.actor(call)
      if (!actor.ok) return actor
      const { bytes, kind } = change.picture
      if (ONE_SHOT_KINDS[kind] === undefined || bytes.length > ONE_SHOT_BYTES)
        return byLease(change, actor.value, call)
      const sent = await inOne(change, actor.value, call)
      if (sent.ok) {
        const url = isObject(sent.value) ? addressAt(sent.value, 'img_src') : null
        return url === null ? { ok: false, fault: { kind: 'unknown' } } : ok({ url })
      }
      // The old call requires icons of one size, the newer one accepts any. If the newer one is
      // unavailable, the old one's refusal is the useful one.
      const { fault } = sent
      const picky = fault.kind === 'refused' && fault.code === 'IMAGE_ERROR'
      if (!picky && !isElsewhere(fault)) return sent
      const leased = await byLease(change, actor.value, call)
      return !leased.ok && picky && isElsewhere(leased.fault) ? sent : leased
    },
  }
}

/** A profile is a subforum of its own. */
const pathOf = ({ name }: Actor): string => `u_${encodeURIComponent(name)}`

const UNAVAILABLE = fail({ kind: 'unavailable', status: null, retry_after_s: null })

type Lease = { action: string; key: string; fields: [string, string][] }

/**
 * Address and fields of an upload; null if the answer has none. Its scheme is replaced by that of
 * the platform.
 */
function readLease(value: unknown, base: string): Lease | null {
  const lease = isObject(value) ? rowAt(value, 's3UploadLease') : null
  const action = lease && peerUrl(textAt(lease, 'action') ?? '', base)
  if (!lease || !action || !/^https?:$/.test(action.protocol)) return null
  const fields = listAt(lease, 'fields').filter(isObject).flatMap(toField)
  const key = fields.find(([name]) => name === 'key')?.[1]
  return key === undefined ? null : { action: action.href.replace(/\/+$/, ''), key, fields }
}

function toField(row: NativeRow): [string, string][] {
  const name = wordAt(row, 'name')
  return name === null ? [] : [[name, textAt(row, 'value') ?? '']]
}
