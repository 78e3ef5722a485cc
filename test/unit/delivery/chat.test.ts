import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { alarmBody, envelope } from '../../../src/core/delivery/envelope.ts'
import { readMessage } from '../../../src/core/delivery/message.ts'
import { discordBody } from '../../../src/delivery/kinds/discord.ts'
import { slackBody } from '../../../src/delivery/kinds/slack.ts'
import { excerpt, truncate } from '../../../src/delivery/text.ts'

const SHOWING = { community: 'subforum', media_hosts: ['media.example'] }

const post = (fields: object = {}) => ({
  kind: 'post',
  title: 'Which kettle?',
  author: 'ann',
  subforum: 'coffee',
  url: 'https://forum.example/c/1',
  text: 'It should pour well.',
  link_url: null,
  media_kind: null,
  created: '2026-01-01T00:00:00.000Z',
  ...fields,
})
const picture = post({
  title: 'My kettle',
  text: '',
  link_url: 'https://media.example/k.JPG?w=1',
  media_kind: 'image',
})

const message = (items: object[], test_delivery = false) =>
  readMessage(
    envelope({
      delivery_id: 'dlv_1',
      monitor_id: 'mon_1',
      items,
      grouped: items.length > 1,
      ...(test_delivery && { test: true }),
    }),
    SHOWING,
  )
const slack = (...items: object[]): any => slackBody(message(items))
const discord = (...items: object[]): any => discordBody(message(items))

test('Slack gets title, place, author and text in one section', () => {
  expect(slack(post())).toEqual({
    text: 'Which kettle?',
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: '*<https://forum.example/c/1|Which kettle?>*\nin coffee by ann\nIt should pour well.',
        },
      },
    ],
    unfurl_links: false,
    unfurl_media: false,
  })
})

test('Discord gets an embed, and mentions notify no user', () => {
  expect(discord(post())).toEqual({
    embeds: [
      {
        title: 'Which kettle?',
        url: 'https://forum.example/c/1',
        author: { name: 'ann in coffee' },
        description: 'It should pour well.',
        timestamp: '2026-01-01T00:00:00.000Z',
      },
    ],
    allowed_mentions: { parse: [] },
  })
})

test("a picture on the platform's own media hosts is shown under its title", () => {
  expect(slack(picture).blocks[1]).toEqual({
    type: 'image',
    image_url: 'https://media.example/k.JPG?w=1',
    alt_text: 'My kettle',
  })
  expect(discord(picture).embeds[0].image).toEqual({ url: 'https://media.example/k.JPG?w=1' })
})

test.each([
  ['a picture elsewhere', { link_url: 'https://elsewhere.example/k.jpg', media_kind: 'image' }],
  ['a host that only looks alike', { link_url: 'https://media.example.evil.net/k.jpg' }],
  ['a gallery', { link_url: 'https://media.example/k.jpg', media_kind: 'gallery' }],
  ['a video', { link_url: 'https://media.example/k.jpg', media_kind: 'video' }],
  ['a page', { link_url: 'https://media.example/k' }],
  ['plain http', { link_url: 'http://media.example/k.jpg' }],
  ['no address', { link_url: 'k.jpg' }],
])('%s is title and link only', (_, fields) => {
  const item = post({ text: '', ...fields })
  expect(slack(item).blocks).toHaveLength(1)
  expect(discord(item).embeds[0].image).toBeUndefined()
})

test('a comment is named after its post', () => {
  const comment = { ...post(), kind: 'comment', body: 'Mine leaks.', link_title: 'Which kettle?' }
  expect(slack(comment).blocks[0].text.text).toBe(
    '*<https://forum.example/c/1|Comment on Which kettle?>*\nin coffee by ann\nMine leaks.',
  )
  expect(discord(comment).embeds[0]).toMatchObject({
    title: 'Comment on Which kettle?',
    description: 'Mine leaks.',
  })
})

test('untrusted text can neither mention users nor forge links', () => {
  const evil = post({
    title: '<!channel> a & b|c\n<https://evil.example|safe>',
    text: '<@U1> <#C1>',
    url: 'https://forum.example/?a=1&b=<>|x',
  })
  const { text, blocks } = slack(evil)
  const rendered: string = blocks[0].text.text
  expect(text).toBe('&lt;!channel&gt; a &amp; b|c &lt;https://evil.example|safe&gt;')
  expect(rendered.match(/</g)).toHaveLength(1)
  expect(rendered).toContain('&lt;@U1&gt; &lt;#C1&gt;')
  expect(discord(post({ title: '[x](https://evil.example) @everyone' })).embeds[0].title).toBe(
    '\\[x\\]\\(https://evil.example\\) @\u200beveryone',
  )
})

test('an address that browsers cannot open is left out', () => {
  const item = post({ url: 'javascript:alert(1)' })
  expect(slack(item).blocks[0].text.text).toStartWith('*Which kettle?*')
  expect(discord(item).embeds[0].url).toBeUndefined()
})

test('a community is shown under its configured word', () => {
  const body = envelope({
    delivery_id: 'd',
    monitor_id: 'm',
    items: [{ ...post(), subforum: undefined, board: 'tea' }],
    grouped: false,
  })
  const rendered = readMessage(body, { ...SHOWING, community: 'board' })
  expect(rendered.items[0]?.subforum).toBe('tea')
})

test('a test delivery is marked as one', () => {
  const rendered: any = slackBody(message([post()], true))
  expect(rendered.text).toBe('Test delivery: Which kettle?')
  expect(rendered.blocks[0].text.text).toBe('_Test delivery_')
  expect(discordBody(message([post()], true))).toMatchObject({ content: 'Test delivery' })
})

test('texts and items of any length keep within the limits of both services', () => {
  const long = fc.string({ unit: 'binary', maxLength: 6000, size: 'max' })
  const item = fc.record({
    kind: fc.constantFrom('post', 'comment'),
    title: long,
    body: long,
    text: long,
    author: long,
    subforum: long,
    link_title: fc.option(long),
    url: fc.constantFrom('https://forum.example/', `https://forum.example/${'&'.repeat(3000)}`),
    link_url: fc.constantFrom(null, `https://media.example/${'a'.repeat(2900)}.png`),
    media_kind: fc.constant(null),
    created: fc.constantFrom(null, 'never'),
  })
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 25 }), (items) => {
      const { blocks, text } = slack(...items)
      expect(blocks.length).toBeLessThanOrEqual(50)
      expect(text.length).toBeLessThanOrEqual(4000)
      for (const block of blocks) {
        const { type } = block
        if (type === 'section') expect(block.text.text.length).toBeLessThanOrEqual(3000)
        if (type === 'section') expect(block.text.text.length).toBeGreaterThan(0)
        if (type === 'image') expect(block.image_url.length).toBeLessThanOrEqual(3000)
        if (type === 'image') expect(block.alt_text.length).toBeLessThanOrEqual(2000)
      }

      const { embeds, content = '' } = discord(...items)
      expect(content.length).toBeLessThanOrEqual(2000)
      expect(embeds.length).toBeLessThanOrEqual(10)
      let all = 0
      for (const { title, description = '', author = { name: '' } } of embeds) {
        expect(title.length).toBeGreaterThan(0)
        expect(title.length).toBeLessThanOrEqual(256)
        expect(author.name.length).toBeLessThanOrEqual(256)
        all += title.length + description.length + author.name.length
      }
      expect(all).toBeLessThanOrEqual(6000)
    }),
    { numRuns: 40 },
  )
}, 60_000)

test('all of 25 items are in Slack, with as many pictures as blocks remain', () => {
  const { blocks } = slack(...Array.from({ length: 25 }, () => picture))
  expect(blocks).toHaveLength(50)
  expect(blocks[0]).toEqual({
    type: 'header',
    text: { type: 'plain_text', text: '25 new matches' },
  })
  expect(blocks.filter(({ type }: { type: string }) => type === 'section')).toHaveLength(25)
})

test('all of 25 items are in Discord, ten as embeds and the others as lines', () => {
  const items = Array.from({ length: 25 }, (_, n) =>
    post({ title: `Number ${n}: ${'which kettle pours well? '.repeat(8)}` }),
  )
  const { embeds, content } = discord(...items)
  const lines = content.split('\n')

  expect(embeds).toHaveLength(10)
  expect(lines[0]).toBe('25 new matches')
  expect(lines.slice(1).map((line: string) => line.slice(0, 9))).toEqual(
    items.slice(10).map(({ title }) => title.slice(0, 9)),
  )
  for (const line of lines.slice(1)) expect(line).toEndWith('<https://forum.example/c/1>')
})

const ENRICHED = {
  enrichment: {
    relevance: { score: 1, matched_terms: ['kettle', 'pour*'], considered_terms: 2, method: 'm' },
    sentiment: { polarity: 0.5, label: 'positive', method: 'm' },
    intent: { tag: 'recommendation_request', method: 'm' },
  },
}

test('the reason for a match is shown under it', () => {
  const item = post(ENRICHED)
  const why = 'matched kettle, pour* · positive · recommendation request'
  expect(slack(item).blocks[0].text.text).toEndWith(`\n_${why}_`)
  expect(discord(item).embeds[0].footer).toEqual({ text: why })
})

test('a long text is cut to the part around the match', () => {
  const text = `${'Nothing of note here. '.repeat(200)}My kettle sings. ${'More follows. '.repeat(200)}`
  const item = post({ text, ...ENRICHED })
  for (const rendered of [slack(item).blocks[0].text.text, discord(item).embeds[0].description]) {
    expect(rendered).toContain('My kettle sings.')
    expect(rendered).toContain('…')
  }
  expect(excerpt(text, ['kettle'], 100)).toMatch(/^…\S.{20,60}kettle.*…$/)
  expect(excerpt(text, ['absent'], 20)).toBe('Nothing of note her…')
  expect(excerpt('short', ['absent'], 20)).toBe('short')
})

test('an invisible title becomes "untitled", and control characters cannot reverse the line', () => {
  expect(discord(post({ title: '\u200b\u3164 \u2060' })).embeds[0].title).toBe('untitled')
  expect(discord(post({ title: 'safe\u202egpj.exe' })).embeds[0].title).toBe('safegpj.exe')
})

const ampersands = (character: string) => (character === '&' ? '&amp;' : character)

test('a cut falls between characters and escapes, and is marked', () => {
  expect(truncate('abc', 3)).toBe('abc')
  expect(truncate('abcd', 3)).toBe('ab…')
  expect(truncate('ab😀d', 4)).toBe('ab…')
  expect(truncate('a&bc', 7, ampersands)).toBe('a&amp;…')
  expect(truncate('a&bc', 6, ampersands)).toBe('a…')
})

test('an alarm is shown by its title and message', () => {
  const body = alarmBody({
    delivery_id: 'dlv_1',
    monitor_id: 'mon_1',
    monitor_name: 'grinders',
    type: 'monitor.alarm',
    kind: 'silent',
    since_at: Date.parse('2026-01-31T12:00:00Z'),
    repeat: 2,
    silent_after_h: 24,
  })
  const shown = readMessage(body, { community: 'subforum', media_hosts: [] })
  const title = 'Alarm: no matches: grinders'
  const text =
    'The monitor grinders has had no match for 24 hours or more. Repeat 2: the alarm is not acknowledged yet.'
  expect(shown.items).toMatchObject([{ title, text, url: null }])
  expect(slackBody(shown).text).toBe(title)
  expect(JSON.stringify(slackBody(shown).blocks)).toContain(text)
  expect(discordBody(shown).embeds).toEqual([{ title, description: text }])
})
