import type { WriteFault } from '../../core/native-refusals.ts'
import { refusalOf } from '../native-refusals.ts'

// The modern page is told why in a sentence for people. Each stands for the code that the older calls give.
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/log ?in to (?:do that|comment|continue)/i, 'USER_REQUIRED'],
  [/doing that (?:too much|a lot)|take a break for|try again in \d/i, 'RATELIMIT'],
  [/(?:comments|thread|post|comment) (?:are|is|has been|have been) locked/i, 'THREAD_LOCKED'],
  [/piece of history|too late to (?:reply|comment)|\barchived\b/i, 'TOO_OLD'],
  [
    /(?:link|post) you are (?:commenting on|replying to) has been (?:deleted|removed)/i,
    'DELETED_LINK',
  ],
  [/(?:comment|reply) (?:has been|was|is) (?:deleted|removed)/i, 'DELETED_COMMENT'],
  [/\bbanned\b/i, 'BANNED_FROM_SUBREDDIT'],
  [/\bsuspended\b/i, 'IN_TIMEOUT'],
  [/\bblocked\b/i, 'USER_BLOCKED'],
  [/something is broken/i, 'SOMETHING_IS_BROKEN'],
  [/need something here/i, 'NO_TEXT'],
  [/\btoo long\b/i, 'TOO_LONG'],
  [/linking to subreddits/i, 'SUBREDDIT_OUTBOUND_LINKING_DISALLOWED'],
  [/valid email|verif(?:y|ied) (?:your )?email/i, 'VERIFIED_USER_REQUIRED'],
]

const FIELD: Readonly<Record<string, string>> = {
  NO_TEXT: 'text',
  TOO_LONG: 'text',
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: 'text',
}

/** A refusal that is known by its code alone. */
export const refusedAs = (code: string, message: string | null = null): WriteFault =>
  refusalOf({ code, message, field: FIELD[code] ?? 'post_url', pause_s: null }, OURS)

const OURS = { text: 'text', post_url: 'post_url' }

/** What an alert's sentence means; UNNAMED where we do not know it. */
export function refusedWith(message: string): WriteFault {
  const code = SENTENCES.find(([shape]) => shape.test(message))?.[1] ?? 'UNNAMED'
  return refusedAs(code, message)
}

const ALERT = /<faceplate-alert\b[^>]*>/gi
const MESSAGE = /\bmessage\s*=\s*(?:"([^"]*)"|'([^']*)')/i

/** The sentence of the first alert in a piece of a page; null when there is none. */
export function alertIn(html: string): string | null {
  for (const [tag] of html.matchAll(ALERT)) {
    if (/\blevel\s*=\s*["']?(?:info|success)/i.test(tag)) continue
    const [, double, single] = MESSAGE.exec(tag) ?? []
    const text = plain(double ?? single ?? '').trim()
    if (text !== '') return text
  }
  return null
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

/** An attribute's value as it was before it was written into a page. */
export const plain = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{1,8}));/gi, (all, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : null
    if (code !== null) return code <= 0x10ffff ? String.fromCodePoint(code) : all
    return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all
  })
