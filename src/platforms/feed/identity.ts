import type { FeedEntry } from './document.ts'

/** An entry with its id at its source, and what tells it from others when its key moves. */
export type Listed = {
  id: string
  /** Epoch ms by which lists are ordered; null: it has no date. */
  at: number | null
  /** Of title and text, without counters. */
  digest: string
  link: string
  /** Of title and date; '' if one of them is missing. */
  title: string
  /** Number of its post or thread; null: its address has none. */
  number: number | null
  entry: FeedEntry
}

/**
 * Numbers in the addresses of forum software: ids hold a title that is renamed, or the last reply. The pattern is that of the
 * whole address, so that one feed has one form.
 */
const NUMBERS: readonly [name: string, pattern: RegExp][] = [
  ['p', /\/viewtopic\.php\?(?:[^#]*&)?p=(\d{1,15})/],
  ['t', /\/viewtopic\.php\?(?:[^#]*&)?t=(\d{1,15})/],
  ['pid', /\/viewtopic\.php\?(?:[^#]*&)?pid=(\d{1,15})/],
  ['msg', /[?&;/]topic[=,]\d+\.msg(\d{1,15})/],
  ['post', /\/showthread\.php\?(?:[^#]*&)?(?:p|pid)=(\d{1,15})/],
  ['thread', /\/showthread\.php\?(?:[^#]*&)?(?:t|tid)=(\d{1,15})/],
  ['thread', /\/showthread\.php\?(\d{1,15})(?:-|$)/],
  ['post', /\/threads\/[^/?#]*\.\d+\/(?:page-\d+)?(?:post-|#post-)(\d{1,15})/],
  ['thread', /\/threads\/(?:[^/?#]*\.)?(\d{1,15})\/?(?:unread|latest)?$/],
  ['post', /\/post\/(\d{1,15})$/],
  ['topic', /\/topic\/(\d{1,15})(?:\/[^/?#]*)?\/?$/],
  ['thread', /\/thread\/(\d{1,15})(?:\/[^/?#]*)?\/?$/],
  ['discussion', /\/discussion\/(\d{1,15})(?:\/[^/?#]*)?(?:#.*)?$/],
  ['d', /\/d\/(\d{1,15})(?:-[^/?#]*)?$/],
  ['message', /#message-(\d{1,15})$/],
]

/** Addresses are compared without their scheme, and as they are encoded. */
const normal = (text: string): string =>
  /^https?:/i.test(text) ? (URL.parse(text)?.href ?? text).replace(/^https?:/i, '') : text

/** The number in an address, with its name; null: none that is known. */
function numberIn(address: string): { name: string; number: number } | null {
  for (const [name, pattern] of NUMBERS) {
    const number = Number(pattern.exec(address)?.[1] ?? NaN)
    if (Number.isSafeInteger(number)) return { name, number }
  }
  return null
}

export const hashOf = (text: string, length = 12): string =>
  (Bun.hash.wyhash(text).toString(36) + Bun.hash.wyhash(text, 1n).toString(36))
    .padStart(length, '0')
    .slice(0, length)

/** Counters in texts: replies, participants, points, ages. */
const COUNTERS =
  /\b\d{1,9}\s+(?:posts?|repl(?:y|ies)|participants?|comments?|points?|votes?|views?|likes?|(?:second|minute|hour|day|week|month|year)s?\s+ago)\b|(?:points|comments|score|views|votes|replies|# comments):\s*\d{1,9}/gi

const TEXT_READ_MAX = 100_000

const keyOf = ({ id, link, title, html, published, updated }: FeedEntry): string => {
  const numbered = numberIn(link === '' ? id : link) ?? numberIn(id)
  if (numbered !== null) return `${numbered.name}=${numbered.number}`
  const at = published ?? updated
  if (id !== '' || link !== '') return normal(id || link)
  return at === null ? `${title}\n${html.slice(0, 200)}` : `${title}\n${at}`
}

/** Ids of entries on one host: two feeds of it that list an entry give it one id. */
export function listedOf(entries: readonly FeedEntry[], host: string): Listed[] {
  const known = new Map<string, Listed[]>()
  return entries.flatMap((entry) => {
    const { title, html, link, discussion, published, updated } = entry
    if (title === '' && html === '' && link === '') return []
    const at = published ?? updated
    const key = keyOf(entry)
    const same = known.get(key) ?? []
    const isOne = (it: Listed) =>
      it.at === at || (it.link === normal(link) && it.entry.title === title)
    // A document that lists one entry twice lists it once, whichever text it has there.
    if (same.some(isOne)) return []
    const of_its_own = same.length === 0 ? key : `${key}\n${link}\n${title}\n${at}`
    const listed: Listed = {
      id: hashOf(`${host}\n${of_its_own}`),
      at,
      digest: hashOf(`${title}\n${html.slice(0, TEXT_READ_MAX).replace(COUNTERS, '#')}`, 8),
      link: normal(discussion || link),
      title: title === '' || at === null ? '' : hashOf(`${title}\n${at}`, 8),
      number: numberIn(link)?.number ?? null,
      entry,
    }
    known.set(key, [...same.slice(-9), listed])
    return [listed]
  })
}
