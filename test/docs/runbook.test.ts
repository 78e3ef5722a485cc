// An alert at night links the section of docs/operations.md that says what to do.
import { expect, test } from 'bun:test'

import { operationsPage } from '../../src/api/openapi/operations-page.ts'
import { noticeFor, runbookUrl } from '../../src/delivery/operator-notices.ts'
import { anchorOf, codeCells, readText } from './documentation.ts'

/** The sections of the runbook by their anchors. */
function sections(): Map<string, string> {
  const [, runbook = ''] = readText('docs/operations.md').split('\n## Troubleshooting\n')
  const [body = ''] = runbook.split('\n## ')
  return new Map(
    body
      .split('\n### ')
      .slice(1)
      .map((section) => {
        const [heading = ''] = section.split('\n')
        return [anchorOf(heading), section]
      }),
  )
}

test('every alert links a section of the runbook that exists', () => {
  const anchors = sections()
  const rules = readText('docs/grafana/alerts.yml').split('- alert: ').slice(1)

  expect(rules.length).toBeGreaterThan(25)
  for (const rule of rules) {
    const [name] = rule.split('\n')
    const anchor =
      /runbook_url: 'docs\/operations\.md#([\w-]+)'/.exec(rule)?.[1] ?? 'no runbook_url'
    expect([name, anchor, anchors.has(anchor)]).toEqual([name, anchor, true])
  }
})

test('every operator event links a section of the runbook that exists', () => {
  const anchors = sections()
  const events = [...readText('docs/events.md').matchAll(/^\| `([^`]+)`/gm)].map(
    ([, it]) => it ?? '',
  )
  const kinds = new Set(events.flatMap((event) => noticeFor(event, {})?.kind ?? []))

  expect(kinds.size).toBeGreaterThan(12)
  for (const kind of kinds) {
    const [page, anchor = 'none'] = runbookUrl(kind, '')?.split('#') ?? []
    expect([kind, page, anchors.has(anchor)]).toEqual([kind, 'docs/operations.md', true])
    expect(runbookUrl(kind, 'https://api.example')).toBe(
      `https://api.example/docs/operations#${anchor}`,
    )
    expect(operationsPage()).toContain(`<h3 id="${anchor}">`)
  }
})

test('the index of symptoms leads to every section, and each of its events exists', () => {
  const text = readText('docs/operations.md')
  const index = /\| You see[\s\S]*?\n\n/.exec(text)?.[0] ?? ''
  const linked = new Set([...index.matchAll(/\(#([\w-]+)\)/g)].map(([, anchor]) => anchor))
  const events = new Set(codeCells(readText('docs/events.md')))
  const named = [...index.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, event = '']) => event)

  expect([...sections().keys()].filter((anchor) => !linked.has(anchor))).toEqual([])
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((event) => !events.has(event))).toEqual([])
})
