import { IMAGE_TYPES, type ImageKind } from '../../core/image-kind.ts'
import type { Acted } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import { fail, ok, type Outcome } from '../../core/outcome.ts'
import type { Transport } from '../../net/transport.ts'
import type { Random } from '../../outside.ts'
import type { Client } from '../client.ts'
import type { Call } from '../platform.ts'
import { addressAt, listAt, type Row, rowAt, textAt, wordAt } from '../read.ts'
import type { Actor, Forms } from './form.ts'
import { multipart } from './multipart.ts'
import { isElsewhere } from './profile.ts'

/** A picture that was looked at: its kind is what its bytes say. */
export type Picture = { bytes: Uint8Array; kind: ImageKind }
/** A picture, and where it is to be shown. */
export type PictureAsked = { place: 'avatar' | 'banner'; picture: Picture }

type Deps = {
  client: Client
  forms: Forms
  random: Random
  /** Carries a picture to where the platform has it stored: an address the platform names, so one to be guarded. */
  store?: Transport | undefined
}

/** What the one-shot upload takes at most, and the only kinds it knows. */
const ONE_SHOT_BYTES = 500 * 1024
const ONE_SHOT_KINDS: Readonly<Partial<Record<ImageKind, string>>> = { png: 'png', jpeg: 'jpg' }
const UPLOAD_TYPES = { avatar: 'icon', banner: 'banner' } as const
const STYLES = { avatar: 'profileIcon', banner: 'profileBanner' } as const
const FIELDS = { file: 'image', filepath: 'image', mimetype: 'image', imagetype: 'image' }

/** The picture and the banner of a profile, sent as they are. */
export function createPictures({ client, forms, random, store }: Deps) {
  function inOne({ place, picture }: PictureAsked, actor: Actor, call: Call) {
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

  /** Room for a file in the platform's own store, the file put there, and the profile told where it lies. */
  async function byLease(
    { place, picture }: PictureAsked,
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
    const told = await forms.write(
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
    return told.ok ? ok({ url }) : told
  }

  /** Nothing is shown until the profile is told, so what failed here has not been done. */
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
    async picture(ask: PictureAsked, call: Call): Promise<Acted<{ url: string }>> {
      const actor = await forms.actor(call)
      if (!actor.ok) return actor
      const { bytes, kind } = ask.picture
      if (ONE_SHOT_KINDS[kind] === undefined || bytes.length > ONE_SHOT_BYTES)
        return byLease(ask, actor.value, call)
      const sent = await inOne(ask, actor.value, call)
      if (sent.ok) {
        const url = isObject(sent.value) ? addressAt(sent.value, 'img_src') : null
        return url === null ? { ok: false, fault: { kind: 'unknown' } } : ok({ url })
      }
      // It wants icons of one size; the newer way takes any. Where that is not open, its word is the one that helps.
      const { fault } = sent
      const picky = fault.kind === 'refused' && fault.code === 'IMAGE_ERROR'
      if (!picky && !isElsewhere(fault)) return sent
      const leased = await byLease(ask, actor.value, call)
      return !leased.ok && picky && isElsewhere(leased.fault) ? sent : leased
    },
  }
}

/** A profile is a place of its own. */
const pathOf = ({ name }: Actor): string => `u_${encodeURIComponent(name)}`

const UNAVAILABLE = fail({ kind: 'unavailable', status: null, retry_after_s: null })

type Lease = { action: string; key: string; fields: [string, string][] }

/** Where to put a file, and with which fields; null for what is no lease. The scheme is left to the platform's own. */
function readLease(value: unknown, base: string): Lease | null {
  const lease = isObject(value) ? rowAt(value, 's3UploadLease') : null
  const action = lease && URL.parse(textAt(lease, 'action') ?? '', base)
  if (!lease || !action || !/^https?:$/.test(action.protocol)) return null
  const fields = listAt(lease, 'fields').filter(isObject).flatMap(toField)
  const key = fields.find(([name]) => name === 'key')?.[1]
  return key === undefined ? null : { action: action.href.replace(/\/+$/, ''), key, fields }
}

function toField(row: Row): [string, string][] {
  const name = wordAt(row, 'name')
  return name === null ? [] : [[name, textAt(row, 'value') ?? '']]
}
