import type { Page } from 'puppeteer-core'

import type { WriteFault } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import type { Place } from '../../core/permalink.ts'
import type { Clock } from '../../outside.ts'
import { classify } from '../classify.ts'
import { ME, readMe } from '../me.ts'
import { listAt, type Row, rowAt, wordAt } from '../read.ts'
import { refusedAs } from './alerts.ts'
import { look } from './look.ts'

/** Finds out why a page has no place to write. */
export type WhyShut = (page: Page, place: Place) => Promise<WriteFault>

const BARE: WriteFault = { kind: 'forbidden', reason: null }

/** The page only leaves the composer out; who we are, what is answered and where tell why. Nothing is written. */
export function createWhyShut({ base, clock }: { base: string; clock: Clock }): WhyShut {
  async function ask(page: Page, path: string): Promise<unknown> {
    const answer = await look(page, base + path)
    const read = answer.ok ? classify(answer.value, { now: clock.now() }) : answer
    return read.ok ? read.value : null
  }

  /** The thing itself; null when it is not there, undefined when nobody said. */
  async function find(page: Page, name: string): Promise<Row | null | undefined> {
    const value = await ask(page, `/api/info.json?raw_json=1&id=${name}`)
    const data = isObject(value) ? rowAt(value, 'data') : null
    if (data === null || !Array.isArray(data['children'])) return undefined
    const [child] = listAt(data, 'children')
    return isObject(child) ? rowAt(child, 'data') : null
  }

  return async (page, { post_id, comment_id }) => {
    const me = readMe(await ask(page, `${ME.path}?raw_json=1`))
    if (me.ok && me.value === null) return { kind: 'login_required' }
    if (me.ok && me.value?.is_suspended) return { kind: 'forbidden', reason: 'user_suspended' }
    const post = await find(page, `t3_${post_id}`)
    if (post === null) return { kind: 'not_found', reason: 'absent' }
    if (post === undefined) return BARE
    if (post['archived'] === true) return refusedAs('TOO_OLD')
    if (post['locked'] === true) return refusedAs('THREAD_LOCKED')
    const place = wordAt(post, 'subreddit')
    const about =
      place && (await ask(page, `/r/${encodeURIComponent(place)}/about.json?raw_json=1`))
    const data = isObject(about) ? rowAt(about, 'data') : null
    if (data?.['user_is_banned'] === true) return refusedAs('BANNED_FROM_SUBREDDIT')
    if (comment_id === null) return BARE
    const comment = await find(page, `t1_${comment_id}`)
    if (comment === null) return { kind: 'not_found', reason: 'absent' }
    if (comment?.['locked'] === true) return refusedAs('THREAD_LOCKED')
    return comment?.['author'] === '[deleted]' ? refusedAs('DELETED_COMMENT') : BARE
  }
}
