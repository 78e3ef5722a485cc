// Goal: the examples of the documentation are valid. Method: each is read from its page and checked
// by the code that it is about, or compared with a delivery.
import { beforeAll, describe, expect, test } from 'bun:test'

import { parseConfig } from '../../src/config/load.ts'
import { compileFilter } from '../../src/core/filter/compile.ts'
import { parseFilterSpec } from '../../src/core/filter/parse.ts'
import type { Comment, Item, Post } from '../../src/core/forum/items.ts'
import { createNaming, wireCode } from '../../src/core/forum/naming.ts'
import { commentOf, postOf } from '../support/items.ts'
import { type Delivered, realDelivery } from '../support/loopback-daemon.ts'
import { codeBlocks, readText } from './documentation.ts'

const blocks = codeBlocks()

describe('an example of configuration', () => {
  const found = blocks.filter(({ language, words }) => language === 'toml' && words[0] === 'config')

  test.each(found)('in $page is accepted as it is', ({ text }) => {
    const platform =
      '\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://f.example"\nsession_cookie = "s"\n'
    const whole = text.includes('[[source]]') ? text : text + platform

    expect(() => parseConfig(whole)).not.toThrow()
  })

  test('is found in at least three pages', () => {
    expect(new Set(found.map(({ page }) => page)).size).toBeGreaterThanOrEqual(3)
  })
})

describe('an example of a filter', () => {
  type Row = Partial<Post> | (Partial<Comment> & { body: string })
  type Example = { filter_spec: object; matches: Row[]; not: Row[] }
  const words = createNaming({ platform: 'forum', community: 'subforum' })
  const examples = blocks
    .filter((block) => block.words[0] === 'example')
    .map(({ text }): Example => JSON.parse(text))
  const itemOf = (row: Row): Item => ('body' in row ? commentOf(row) : postOf(row))

  test.each(examples)(
    'matches as the page says: $filter_spec',
    ({ filter_spec, ...expected_ids }) => {
      const match = compileFilter(parseFilterSpec(filter_spec, words))
      const matchedRows = (rows: Row[]) => rows.filter((row) => match(itemOf(row)) !== null)

      expect({
        matches: matchedRows(expected_ids.matches),
        not: matchedRows(expected_ids.not),
      }).toEqual({
        matches: expected_ids.matches,
        not: [],
      })
    },
  )

  test('says which texts it matches and which it does not', () => {
    expect(examples.length).toBe(5)
    for (const { matches, not } of examples) expect([matches.length, not.length]).not.toContain(0)
  })
})

let real: Delivered
beforeAll(async () => {
  real = await realDelivery('A quiet grinder for under 100 €?')
}, 60_000)

describe('the delivery in the docs', () => {
  test('has only fields and types that a real one has', () => {
    const [block] = blocks.filter(({ words }) => words[0] === 'delivery')
    const example = JSON.parse(block?.text ?? '')

    expect(JSON.parse(real.text)).toMatchObject(Object(kindsOf(example)))
    expect(example.items[0].enrichment).toEqual(JSON.parse(real.text).items[0].enrichment)
  })

  test('has every listed header', () => {
    const [, table = ''] = readText('docs/webhooks.md').split('| header ')
    const [rows = ''] = table.split('\n\n')
    const listed = [...rows.matchAll(/`((?:x-service|webhook)-[a-z-]+)`/g)].map(([, it]) => it)

    expect(listed.length).toBe(6)
    for (const name of listed) expect(real.headers.has(name ?? '')).toBe(true)
  })
})

/** The same shape with types in the place of values. */
function kindsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kindsOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, kindsOf(it)]))
  return typeof value === 'string'
    ? expect.any(String)
    : expect.any(typeof value === 'number' ? Number : Boolean)
}

test('the words of the migration page are those of the interface', () => {
  const words = createNaming({ platform: 'acme', community: 'board' })
  const page = readText('docs/migration.md')

  for (const it of [
    `${words.api}/posts`,
    `${words.monitor}/add`,
    `${words.header}session`,
    words.session,
    words.exclude_communities,
    words.communities,
    words.code('RATELIMIT'),
    wireCode(words, 'subforum_not_found'),
  ])
    expect(page).toContain(`\`${it}\``)
})

describe('the snippet for Home Assistant', () => {
  const text = readText('examples/home-assistant/forumd.yaml')

  test('is an automation with a webhook that takes POST from the local network only', () => {
    const { automation } = Object(Bun.YAML.parse(text))

    expect(automation).toMatchObject([
      {
        mode: 'queued',
        triggers: [{ trigger: 'webhook', allowed_methods: ['POST'], local_only: true }],
        actions: [{ repeat: { sequence: [{ action: 'notify.notify' }] } }],
      },
    ])
  })

  test('reads only fields that a delivery has', () => {
    const delivery = JSON.parse(real.text)
    const of_items = [...text.matchAll(/repeat\.item\.([\w.]+)/g)].map(([, it = '']) => it)
    const of_body = [...text.matchAll(/trigger\.json\['(\w+)'\]/g)].map(([, it = '']) => it)

    expect(of_body).toEqual(['items'])
    for (const field of of_body) expect(delivery).toHaveProperty(field)
    expect(of_items.length).toBeGreaterThan(4)
    for (const field of of_items)
      if (field !== 'link_title') expect(delivery.items[0]).toHaveProperty(field)
  })
})
