import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { formDone, refuseForm } from './form-errors.ts'
import { encode } from './json.ts'
import type { User } from './model.ts'
import { profileName } from './native-user.ts'
import { mayWrite } from './write.ts'

const LONGEST = { title: 100, public_description: 500 } as const

/**
 * What can be set about a profile beside its words and its pictures: the name on the page that shows it, the name in the
 * form, and what it falls back to when the form does not say.
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
/** Without these the form is refused. */
const WANTED = ['link_type', 'wikimode', 'type']

/** The calls that set a profile; null for every other. */
export function profileCall(ask: Ask): Answer | null {
  const { method, path } = ask
  const [first, second, third, fourth] = path
  if (method === 'PATCH' && path.join('/') === 'api/v1/subreddit/update_settings') return patch(ask)
  if (method === 'POST' && path.join('/') === 'api/site_admin') return siteAdmin(ask)
  if (method !== 'GET' || first !== 'r' || third !== 'about' || fourth !== 'edit') return null
  return second?.startsWith('u_') ? settings(ask, second.slice('u_'.length)) : null
}

/** `GET /r/u_<name>/about/edit`: one's own settings as they stand; others' are not there. */
function settings({ viewer }: Ask, name: string): Answer {
  const { user } = viewer
  if (user === null || user.name.toLowerCase() !== name.toLowerCase()) return refusal(404)
  const rest = SETTINGS.map(([shown, , otherwise]) => [
    shown,
    user.settings.get(shown) ?? otherwise,
  ])
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

/** Errors of the newer call come in the envelope of the form. */
function spokenAsJson(ask: Ask): Ask {
  const query = new URLSearchParams(ask.query)
  query.set('api_type', 'json')
  return { ...ask, query }
}

/** `PATCH /api/v1/subreddit/update_settings`: what is named is set, everything else stays. */
function patch(given: Ask): Answer {
  const ask = spokenAsJson(given)
  const allowed = mayWrite(ask)
  if (allowed.user === null) return allowed.refusal
  const { user } = allowed
  const fields = parsed(ask.body)
  // A form where JSON belongs breaks it.
  if (fields === null) return { status: 500, headers: { 'content-type': 'text/html' }, body: '' }
  const { sr, ...changes } = fields
  if (typeof sr !== 'string' || sr === '') return refuseForm(ask, 'SUBREDDIT_REQUIRED')
  if (sr !== profileName(user)) return refuseForm(ask, 'MOD_REQUIRED')
  const title = textOf(changes['title'])
  const bio = textOf(changes['public_description'] ?? changes['publicDescription'])
  const long = tooLong(ask, title, bio)
  if (long !== null) return long
  if (title !== undefined) user.display_name = title
  if (bio !== undefined) user.bio = bio
  for (const [shown] of SETTINGS) {
    const value = changes[shown]
    if (typeof value === 'string' || typeof value === 'boolean') user.settings.set(shown, value)
  }
  changed(ask)
  return json('{}')
}

/** `POST /api/site_admin`: sets everything; what the form does not say falls back. */
function siteAdmin(ask: Ask): Answer {
  const allowed = mayWrite(ask)
  if (allowed.user === null) return allowed.refusal
  const { user } = allowed
  const { query } = ask
  if (query.get('sr') !== profileName(user)) return refusal(403)
  const title = query.get('title') ?? ''
  if (title === '') return refuseForm(ask, 'NO_TEXT', { field: 'title' })
  if (WANTED.some((field) => !query.get(field))) return refuseForm(ask, 'INVALID_OPTION')
  const bio = query.get('public_description') ?? ''
  const long = tooLong(ask, title, bio)
  if (long !== null) return long
  user.display_name = title
  user.bio = bio
  for (const [shown, form, otherwise] of SETTINGS)
    user.settings.set(shown, fieldOf(query.get(form), otherwise))
  changed(ask)
  return formDone(ask)
}

function tooLong(ask: Ask, title: string | undefined, bio: string | undefined): Answer | null {
  for (const [field, text] of [
    ['title', title],
    ['public_description', bio],
  ] as const)
    if (text !== undefined && text.length > LONGEST[field])
      return refuseForm(ask, 'TOO_LONG', {
        field,
        message: `this is too long (max: ${LONGEST[field]})`,
      })
  return null
}

/** A box of a form that is not there is not ticked, where it is ticked by itself all the same. */
function fieldOf(value: string | null, otherwise: string | boolean): string | boolean {
  if (value === null) return otherwise
  return typeof otherwise === 'boolean' ? value === 'true' || value === 'on' : value
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

function changed({ world }: Ask): void {
  world.version++
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}

/** Whose page a path names, where it is the viewer's own. */
export const isOwnPage = (name: string | undefined, user: User): boolean =>
  name?.toLowerCase() === `u_${user.name}`.toLowerCase()
