// An alert at night links the section of docs/operations.md that says what to do.
import { expect, test } from 'bun:test'

import { operationsPage } from '../../src/api/openapi/operations-page.ts'
import { noticeFor, runbookUrl } from '../../src/delivery/operator.ts'

const docs = `${import.meta.dir}/../../docs/`
const read = (name: string) => Bun.file(docs + name).text()

/** The sections of the runbook by their anchors, as GitHub makes them. */
async function sections(): Promise<Map<string, string>> {
  const [, runbook = ''] = (await read('operations.md')).split('\n## Troubleshooting\n')
  const [body = ''] = runbook.split('\n## ')
  return new Map(
    body
      .split('\n### ')
      .slice(1)
      .map((section) => {
        const [heading = ''] = section.split('\n')
        return [
          heading
            .toLowerCase()
            .replaceAll(' ', '-')
            .replace(/[^\w-]/g, ''),
          section,
        ]
      }),
  )
}

test('every alert links a section of the runbook that exists', async () => {
  const anchors = await sections()
  const rules = (await read('grafana/alerts.yml')).split('- alert: ').slice(1)

  expect(rules.length).toBeGreaterThan(25)
  for (const rule of rules) {
    const [name] = rule.split('\n')
    const anchor =
      /runbook_url: 'docs\/operations\.md#([\w-]+)'/.exec(rule)?.[1] ?? 'no runbook_url'
    expect([name, anchor, anchors.has(anchor)]).toEqual([name, anchor, true])
  }
})

test('every operator event links a section of the runbook that exists', async () => {
  const anchors = await sections()
  const events = [...(await read('events.md')).matchAll(/^\| `([^`]+)`/gm)].map(
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
    expect(operationsPage()).toContain(`<strong id="${anchor}">### `)
  }
})

test('every section says what to type', async () => {
  for (const [anchor, section] of await sections())
    expect([anchor, /```sh\n|`forumd /.test(section)]).toEqual([anchor, true])
})

test.each([
  'clock-wrong',
  'no-inodes',
  'read-only-disk',
  'file-descriptors',
  'start-limit',
  'platform-unreachable',
  'a-loop-fails',
  'volume-missing',
])('the section %s has symptom, cause and command', async (anchor) => {
  const section = (await sections()).get(anchor) ?? ''

  expect(section).toContain('**Symptom**')
  expect(section).toContain('**Cause**')
  expect(section).toContain('```sh\n')
})

test('the index of symptoms leads to every section, and each of its events exists', async () => {
  const text = await read('operations.md')
  const index = /\| You see[\s\S]*?\n\n/.exec(text)?.[0] ?? ''
  const linked = new Set([...index.matchAll(/\(#([\w-]+)\)/g)].map(([, anchor]) => anchor))
  const events = new Set(
    [...(await read('events.md')).matchAll(/^\| `([^`]+)`/gm)].map(([, event]) => event),
  )
  const named = [...index.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, event]) => event)

  expect([...(await sections()).keys()].filter((anchor) => !linked.has(anchor))).toEqual([])
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((event) => !events.has(event))).toEqual([])
})
