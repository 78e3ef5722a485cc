import type { Direction } from '../../core/acting.ts'
import { type Acted, final } from '../../core/native-refusals.ts'
import type { Call } from '../platform.ts'
import type { Forms } from './form.ts'

const DIR: Readonly<Record<Direction, string>> = { up: '1', down: '-1', none: '0' }

/** Votes once, as whoever asked; a vote that is taken says nothing. */
export const createVote =
  (forms: Forms) =>
  async (ask: { id: string; direction: Direction }, call: Call): Promise<Acted<null>> => {
    const actor = await forms.actor(call)
    if (!actor.ok) return actor
    const write = {
      path_kind: 'vote',
      path: '/api/vote',
      form: { id: ask.id, dir: DIR[ask.direction] },
      fields: { id: 'id', dir: 'direction' },
      // The only thing it finds wrong with a vote of ours is what it is for.
      statuses: { 400: final('ARCHIVED') },
    }
    const done = await forms.write(write, actor.value, call)
    return done.ok ? { ok: true, value: null } : done
  }
