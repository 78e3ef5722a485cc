import { iso } from '../core/instant.ts'
import { escapeMarkup } from '../core/markup.ts'
import { readMessage } from '../core/shown.ts'
import type { FeedMonitor } from '../store/feeds.ts'
import type { MatchBody } from '../store/match-bodies.ts'

/** What a monitor matched as an Atom document (RFC 4287), newest first as the rows come. */
export function atomOf({
  monitor,
  rows,
  community,
  self,
}: {
  monitor: FeedMonitor
  rows: readonly MatchBody[]
  /** Under which word a community stands in a body. */
  community: string
  /** The feed's own address. */
  self: string
}): string {
  const updated_at = rows[0]?.matched_at ?? monitor.created_at
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:forumd:${xml(monitor.id)}</id>`,
    `<title>${xml(monitor.name ?? 'Matches')}</title>`,
    `<updated>${iso(updated_at)}</updated>`,
    `<link rel="self" type="application/atom+xml" href="${xml(self)}"/>`,
    '<generator>forumd</generator>',
    ...rows.flatMap((row) => entriesOf(row, community)),
    '</feed>',
    '',
  ].join('\n')
}

/** An entry for each item: what travelled as a bundle is read one by one. */
function entriesOf({ body, matched_at }: MatchBody, community: string): string[] {
  const { delivery_id, items } = readMessage(body, { community, media_hosts: [] })
  return items.map(({ title, url, author, subforum, text, created }, at) => {
    const created_at = Date.parse(created ?? '')
    return [
      '<entry>',
      `<id>urn:forumd:${xml(items.length === 1 ? delivery_id : `${delivery_id}:${at + 1}`)}</id>`,
      `<title>${xml(title.trim() || 'untitled')}</title>`,
      `<updated>${iso(matched_at)}</updated>`,
      ...(Number.isNaN(created_at) ? [] : [`<published>${iso(created_at)}</published>`]),
      `<author><name>${xml(author || 'unknown')}</name></author>`,
      ...(url === null ? [] : [`<link rel="alternate" href="${xml(url)}"/>`]),
      ...(subforum === '' ? [] : [`<category term="${xml(subforum)}"/>`]),
      `<content type="text">${xml(text)}</content>`,
      '</entry>',
    ].join('\n')
  })
}

/** Characters that no XML document may hold, not even escaped. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const xml = (text: string): string => escapeMarkup(text.toWellFormed().replace(FORBIDDEN, ''))
