import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Rules, WikiPage } from '../../../core/forum/items.ts'
import { textAt } from '../../values.ts'
import {
  isoOfSeconds,
  listAt,
  type NativeRow,
  rowAt,
  secondsAt,
  unreadable,
  wholeAt,
  wordAt,
} from './fields.ts'
import { dataOf } from './items.ts'

const APPLIES_TO = { link: 'post', comment: 'comment', all: 'all' } as const

/** A community's rules in their order, and the site-wide rules. */
export function readRules(value: unknown): Outcome<Rules> {
  if (!isObject(value)) return unreadable('')
  const native = value['rules']
  if (!Array.isArray(native)) return unreadable('rules')
  const rules: Rules['rules'] = []
  for (const [index, row] of native.entries()) {
    if (!isObject(row)) return unreadable(`rules[${index}]`)
    const name = textAt(row, 'short_name')
    if (name === null) return unreadable(`rules[${index}].short_name`)
    rules.push(toRule(row, name, index))
  }
  const site_rules = listAt(value, 'site_rules').filter((it) => typeof it === 'string')
  return ok({ rules, site_rules })
}

function toRule(row: NativeRow, name: string, index: number): Rules['rules'][number] {
  const kind = textAt(row, 'kind')
  const created = secondsAt(row, 'created_utc')
  return {
    name,
    description: textAt(row, 'description') ?? '',
    applies_to: kind === 'link' || kind === 'comment' ? APPLIES_TO[kind] : 'all',
    violation_reason: wordAt(row, 'violation_reason'),
    priority: wholeAt(row, 'priority') ?? index,
    created: created === null ? null : isoOfSeconds(created),
  }
}

/** One page of a community's wiki. A page without edits has no revision. */
export function readWiki(value: unknown): Outcome<WikiPage> {
  const page = dataOf(value, 'wikipage')
  if (!page) return unreadable('kind')
  const content_md = textAt(page, 'content_md')
  if (content_md === null) return unreadable('data.content_md')
  const author = rowAt(page, 'revision_by')
  const by = author && rowAt(author, 'data')
  const date = secondsAt(page, 'revision_date')
  return ok({
    content_md,
    content_html: wordAt(page, 'content_html'),
    revision_id: wordAt(page, 'revision_id'),
    revision_date: date === null ? null : isoOfSeconds(date),
    revised_by: by && wordAt(by, 'name'),
    reason: wordAt(page, 'reason'),
  })
}
