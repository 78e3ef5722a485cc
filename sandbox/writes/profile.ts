import { formDone, refuseForm } from '../faults/form-errors.ts'
import { profileName } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import { encode, json, refusal, type SandboxResponse } from '../server/response.ts'
import type { SandboxUser } from '../world/model.ts'
import { mayWrite } from './writes.ts'

const LONGEST = { title: 100, public_description: 500 } as const

/**
 * Profile settings beside texts and pictures: name on the page, name in the form, and default if
 * the form omits it.
 */
const SETTINGS: readonly (readonly [shown: string, form: string, otherwise: string | boolean])[] = [
  ['content_options', 'link_type', 'any'],
  ['wikimode', 'wikimode', 'disabled'],
  ['language', 'lang', 'en'],
  ['over_18', 'over_18', false],
  ['default_set', 'allow_top', true],
  ['show_media', 'show_media', true],
  ['show_media_preview', 'show_media_preview', true],
  ['submit_text', 'submit_text', ''],
  ['header_hover_text', 'header-title', ''],
  ['spam_comments', 'spam_comments', 'low'],
  ['hide_ads', 'hide_ads', false],
]
/** The form requires these fields. */
const REQUIRED_FIELDS = ['link_type', 'wikimode', 'type']

/** Calls that change a profile; null for every other path. */
export function profileCall(request: SandboxRequest): SandboxResponse | null {
  const { method, path } = request
  const [first, second, third, fourth] = path
  if (method === 'PATCH' && path.join('/') === 'api/v1/subreddit/update_settings')
    return updateSettings(request)
  if (method === 'POST' && path.join('/') === 'api/site_admin') return siteAdmin(request)
  if (method !== 'GET' || first !== 'r' || third !== 'about' || fourth !== 'edit') return null
  return second?.startsWith('u_') ? settings(request, second.slice('u_'.length)) : null
}

/** `GET /r/u_<name>/about/edit`: the viewer's own settings; 404 for those of others. */
function settings({ viewer }: SandboxRequest, name: string): SandboxResponse {
  const { user } = viewer
  if (user === null || user.name.toLowerCase() !== name.toLowerCase()) return refusal(404)
  const rest = SETTINGS.map(([field, , fallback]) => [field, user.settings.get(field) ?? fallback])
  const data = {
    subreddit_id: profileName(user),
    title: user.display_name,
    public_description: user.bio,
    subreddit_type: 'user',
    ...Object.fromEntries(rest),
    suggested_comment_sort: null,
    welcome_message_text: null,
  }
  return json(encode({ kind: 'subreddit_settings', data }))
}

/** Errors of the newer call have the envelope of the form. */
function asJsonForm(request: SandboxRequest): SandboxRequest {
  const query = new URLSearchParams(request.query)
  query.set('api_type', 'json')
  return { ...request, query }
}

/** `PATCH /api/v1/subreddit/update_settings`: changes the named fields only. */
function updateSettings(original: SandboxRequest): SandboxResponse {
  const request = asJsonForm(original)
  const permission = mayWrite(request)
  if (permission.user === null) return permission.refusal
  const { user } = permission
  const fields = parseJsonObject(request.body)
  // A form body in place of JSON is a server error.
  if (fields === null) return { status: 500, headers: { 'content-type': 'text/html' }, body: '' }
  const { sr, ...changes } = fields
  if (typeof sr !== 'string' || sr === '') return refuseForm(request, 'SUBREDDIT_REQUIRED')
  if (sr !== profileName(user)) return refuseForm(request, 'MOD_REQUIRED')
  const title = textOf(changes['title'])
  const bio = textOf(changes['public_description'] ?? changes['publicDescription'])
  const long = tooLong(request, title, bio)
  if (long !== null) return long
  if (title !== undefined) user.display_name = title
  if (bio !== undefined) user.bio = bio
  for (const [field] of SETTINGS) {
    const value = changes[field]
    if (typeof value === 'string' || typeof value === 'boolean') user.settings.set(field, value)
  }
  bumpVersion(request)
  return json('{}')
}

/** `POST /api/site_admin`: sets all fields; omitted ones get their defaults. */
function siteAdmin(request: SandboxRequest): SandboxResponse {
  const permission = mayWrite(request)
  if (permission.user === null) return permission.refusal
  const { user } = permission
  const { query } = request
  if (query.get('sr') !== profileName(user)) return refusal(403)
  const title = query.get('title') ?? ''
  if (title === '') return refuseForm(request, 'NO_TEXT', { field: 'title' })
  if (REQUIRED_FIELDS.some((field) => !query.get(field)))
    return refuseForm(request, 'INVALID_OPTION')
  const bio = query.get('public_description') ?? ''
  const long = tooLong(request, title, bio)
  if (long !== null) return long
  user.display_name = title
  user.bio = bio
  for (const [field, form, fallback] of SETTINGS)
    user.settings.set(field, fieldOf(query.get(form), fallback))
  bumpVersion(request)
  return formDone(request)
}

function tooLong(
  request: SandboxRequest,
  title: string | undefined,
  bio: string | undefined,
): SandboxResponse | null {
  for (const [field, text] of [
    ['title', title],
    ['public_description', bio],
  ] as const)
    if (text !== undefined && text.length > LONGEST[field])
      return refuseForm(request, 'TOO_LONG', {
        field,
        message: `this is too long (max: ${LONGEST[field]})`,
      })
  return null
}

/** An omitted checkbox is false, unless its default is true. */
function fieldOf(value: string | null, fallback: string | boolean): string | boolean {
  if (value === null) return fallback
  return typeof fallback === 'boolean' ? value === 'true' || value === 'on' : value
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

function bumpVersion({ world }: SandboxRequest): void {
  world.version++
}

function parseJsonObject(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}

/** True if a path names the viewer's own page. */
export const isOwnPage = (name: string | undefined, user: SandboxUser): boolean =>
  name?.toLowerCase() === `u_${user.name}`.toLowerCase()
