import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Acted, WriteFault } from '../../../core/forum/native-refusals.ts'
import type { Call, ProfileChange } from '../../port.ts'
import type { Client } from '../client.ts'
import { type NativeRow, rowAt, unreadable, wordAt } from '../readers/fields.ts'
import { dataOf } from '../readers/items.ts'
import type { Actor, Forms } from './form.ts'

/** Settings whose name in the form differs from the page that returns them. */
const RENAMED: Readonly<Record<string, string>> = {
  default_set: 'allow_top',
  domain_css: 'css_on_cname',
  domain_sidebar: 'show_cname_sidebar',
  content_options: 'link_type',
  header_hover_text: 'header-title',
  language: 'lang',
  over_18: 'over_18',
  prev_description_id: 'prev_public_description_id',
  prev_public_description_id: 'prev_public_description_id',
  submit_link_label: 'submit_link_label',
  subreddit_type: 'type',
}
/** Names of the subforum itself, which the form states separately. */
const NOT_SETTINGS = new Set(['subreddit_id', 'sr', 'name'])

/**
 * All settings of a subforum in its form. An absent setting would be reset to its default. Settings
 * without a simple value (null, list, object) are not part of the form.
 */
export function settingsForm(place: string, settings: NativeRow): Record<string, string> {
  const form: Record<string, string> = {}
  for (const [name, value] of Object.entries(settings)) {
    if (NOT_SETTINGS.has(name)) continue
    const text = asField(value)
    if (text !== null) form[RENAMED[name] ?? name] = text
  }
  return { ...form, sr: place }
}

function asField(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  // A page omits an unticked box; the form also accepts the word.
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}

const FIELDS = {
  title: 'display_name',
  public_description: 'description',
  publicDescription: 'description',
}

/**
 * Creates the call that changes a profile: a profile is a subforum, and its texts are settings of
 * that subforum.
 */
export function createProfile({ client, forms }: { client: Client; forms: Forms }) {
  async function placeOf(name: string, call: Call): Promise<Outcome<string>> {
    const path = `/user/${encodeURIComponent(name)}/about.json`
    const answer = await client.get({ path_kind: 'user', path }, call)
    if (!answer.ok) return answer
    const person = dataOf(answer.value, 't2')
    const place = person && wordAt(rowAt(person, 'subreddit') ?? {}, 'name')
    return place ? ok(place) : unreadable('data.subreddit.name')
  }

  /** The newer call changes the named settings only. */
  const inPart = (place: string, changes: NativeRow, actor: Actor, call: Call) =>
    forms.write(
      {
        path_kind: 'profile',
        method: 'PATCH',
        path: '/api/v1/subreddit/update_settings',
        json: { sr: place, ...changes },
        fields: FIELDS,
      },
      actor,
      call,
    )

  /** The older call sets everything: unchanged settings are sent back as they are. */
  async function inWhole(place: string, changes: NativeRow, actor: Actor, call: Call) {
    const path = `/r/u_${encodeURIComponent(actor.name)}/about/edit.json`
    const answer = await client.get({ path_kind: 'profile', path, own: true }, call)
    if (!answer.ok) return answer
    const settings = isObject(answer.value) ? dataOf(answer.value, 'subreddit_settings') : null
    if (settings === null) return unreadable('kind')
    const form = settingsForm(place, { ...settings, ...changes })
    const write = { path_kind: 'profile', path: '/api/site_admin', form, fields: FIELDS }
    return forms.write(write, actor, call)
  }

  return {
    async profile(change: ProfileChange, call: Call): Promise<Acted<null>> {
      const actor = await forms.actor(call)
      if (!actor.ok) return actor
      const place = await placeOf(actor.value.name, call)
      if (!place.ok) return place
      const changes: NativeRow = {
        ...(change.display_name !== undefined && { title: change.display_name }),
        ...(change.description !== undefined && { public_description: change.description }),
      }
      const part = await inPart(place.value, changes, actor.value, call)
      if (part.ok) return ok(null)
      if (!isElsewhere(part.fault)) return part
      const whole = await inWhole(place.value, changes, actor.value, call)
      return whole.ok ? ok(null) : whole
    },
  }
}

/** True if the call was refused, not its content: www may not offer the newer call. */
export function isElsewhere(fault: WriteFault): boolean {
  if (fault.kind === 'not_found' || fault.kind === 'forbidden') return true
  return fault.kind === 'refused' && /^HTTP_4(?:00|05|13|15)$/.test(fault.code)
}
