import type { Acted, WriteFault } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import { ok, type Outcome } from '../../core/outcome.ts'
import type { Client } from '../client.ts'
import { dataOf } from '../items.ts'
import type { Call } from '../platform.ts'
import { type Row, rowAt, unreadable, wordAt } from '../read.ts'
import type { Actor, Forms } from './form.ts'
import { settingsForm } from './settings-form.ts'

const FIELDS = {
  title: 'display_name',
  public_description: 'description',
  publicDescription: 'description',
}

/** What is to be changed of a profile; what is left out stays. */
export type ProfileChange = { description?: string; display_name?: string }

/** A profile is a place of its own, and what stands in it are that place's settings. */
export function createProfile({ client, forms }: { client: Client; forms: Forms }) {
  /** The fullname of somebody's own place. */
  async function placeOf(name: string, call: Call): Promise<Outcome<string>> {
    const path = `/user/${encodeURIComponent(name)}/about.json`
    const answer = await client.get({ path_kind: 'user', path }, call)
    if (!answer.ok) return answer
    const person = dataOf(answer.value, 't2')
    const place = person && wordAt(rowAt(person, 'subreddit') ?? {}, 'name')
    return place ? ok(place) : unreadable('data.subreddit.name')
  }

  /** The newer call changes what is named and nothing else. */
  const inPart = (place: string, changes: Row, actor: Actor, call: Call) =>
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

  /** The older one sets everything: what was not asked for is sent back as it stands. */
  async function inWhole(place: string, changes: Row, actor: Actor, call: Call) {
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
    async profile(ask: ProfileChange, call: Call): Promise<Acted<null>> {
      const actor = await forms.actor(call)
      if (!actor.ok) return actor
      const place = await placeOf(actor.value.name, call)
      if (!place.ok) return place
      const changes: Row = {
        ...(ask.display_name !== undefined && { title: ask.display_name }),
        ...(ask.description !== undefined && { public_description: ask.description }),
      }
      const part = await inPart(place.value, changes, actor.value, call)
      if (part.ok) return ok(null)
      if (!isElsewhere(part.fault)) return part
      const whole = await inWhole(place.value, changes, actor.value, call)
      return whole.ok ? ok(null) : whole
    },
  }
}

/** Whether it is the way that was refused, and not what was asked for: www may not know the newer call. */
export function isElsewhere(fault: WriteFault): boolean {
  if (fault.kind === 'not_found' || fault.kind === 'forbidden') return true
  return fault.kind === 'refused' && /^HTTP_4(?:00|05|13|15)$/.test(fault.code)
}
