import { expect, test } from 'bun:test'

import { EmbedBuilder } from '@discordjs/builders'
import type { KnownBlock } from '@slack/types'
import * as fc from 'fast-check'

import { envelope } from '../../../src/core/delivery/envelope.ts'
import { type DeliveryMessage, readMessage } from '../../../src/core/delivery/message.ts'
import { discordBody } from '../../../src/delivery/kinds/discord.ts'
import { slackBody } from '../../../src/delivery/kinds/slack.ts'

/** Hostile texts. */
const HOSTILE = [
  '',
  ' ',
  '\n\n\n',
  '\u0000',
  '\u0007bell',
  'tab\tin\ttitle',
  '\u200b',
  '\u200b\u200c\u200d\u2060\ufeff',
  '\u3164\u3164',
  '\u2800',
  '\u202egnp.exe',
  '\u2066\u2067\u2068 isolates',
  'مرحبا بالعالم',
  'שלום עולם',
  'می‌خواهم',
  'a\u0300\u0301\u0302\u0303\u0304'.repeat(200),
  '👩‍👩‍👧‍👦'.repeat(100),
  '𝕳𝖊𝖑𝖑𝖔',
  '😀'.repeat(5000),
  '\ud800',
  '\udc00 tail',
  'half \ud83d of a face',
  '<!channel>',
  '<!here> <!everyone>',
  '<!subteam^S1|team>',
  '<@U024BE7LH>',
  '<#C024BE7LH|general>',
  '<https://evil.example|https://good.example>',
  '<mailto:a@evil.example|write>',
  '@everyone',
  '@here',
  '<@123456789012345678>',
  '<@&123456789012345678>',
  '<#123456789012345678>',
  '</command:123456789012345678>',
  '<t:0:R>',
  '<:emoji:123456789012345678>',
  '[good.example](https://evil.example)',
  '![x](https://evil.example/x.png)',
  '**bold** __under__ ~~gone~~ ||spoiler||',
  '*bold* _it_ ~gone~ `code`',
  '```\ncode\n```',
  '``` unclosed',
  '> quote\n>>> more',
  '# heading\n- list\n1. one',
  '&lt;!channel&gt;',
  '&amp;lt;!channel&amp;gt;',
  '&&&&&&&&&&'.repeat(1000),
  '<<<<<<<<<<'.repeat(1000),
  '**********'.repeat(1000),
  '\\\\\\\\\\'.repeat(1000),
  '@@@@@@@@@@'.repeat(1000),
  'x'.repeat(10_000),
  'word '.repeat(4000),
  '"},{"type":"section"',
  "'; DROP TABLE deliveries; --",
  '${process.env.SECRET}',
  '{{constructor}}',
  '\r\nSet-Cookie: a=b',
  'line\u2028separator\u2029here',
  '\u001b[31mred\u001b[0m',
  'null',
  '漢字'.repeat(3000),
]

const item = (text: string, other: string = text) => ({
  kind: 'post',
  title: text,
  author: other,
  subforum: other,
  url: 'https://forum.example/c/1',
  text,
  link_url: 'https://media.example/k.png',
  media_kind: 'image',
  created: '2026-01-01T00:00:00.000Z',
  enrichment: {
    relevance: { score: 1, matched_terms: [other, text], considered_terms: 2, method: 'm' },
    sentiment: { polarity: 0, label: 'neutral', method: 'm' },
    intent: { tag: 'question', method: 'm' },
  },
})

const read = (...items: object[]): DeliveryMessage =>
  readMessage(envelope({ delivery_id: 'dlv_1', monitor_id: 'mon_1', items, grouped: false }), {
    community: 'subforum',
    media_hosts: ['media.example'],
  })

/** Rejects a body as Slack would: by its published limits, and by characters that its markup must not contain. */
function acceptSlack(message: DeliveryMessage) {
  const { text, blocks }: { text: string; blocks: KnownBlock[] } = slackBody(message)
  expect(blocks.length).toBeLessThanOrEqual(50)
  let all = 0
  for (const block of blocks) {
    if (block.type === 'header') {
      expect(block.text.text.length).toBeWithin(1, 151)
      all += block.text.text.length
    } else if (block.type === 'section') {
      const shown_text = block.text?.text ?? ''
      expect(shown_text.length).toBeWithin(1, 3001)
      // The only link is our own, and no character within it ends it early.
      expect(shown_text.match(/<[^>]*>/g) ?? []).toEqual(
        shown_text.includes('<')
          ? [expect.stringMatching(/^<https:\/\/forum\.example\/c\/1\|/)]
          : [],
      )
      all += shown_text.length
    } else if (block.type === 'image') {
      expect('image_url' in block && block.image_url.length <= 2000).toBe(true)
      expect(block.alt_text.length).toBeWithin(1, 2001)
    } else throw new Error(`a block of type ${block.type} was not expected`)
  }
  expect(all).toBeLessThanOrEqual(12_200)
  expect(text).not.toMatch(/<[!@#]/)
  const sent = JSON.stringify({ text, blocks })
  expect(sent).not.toMatch(/\\ud[89a-f]/i)
}

/** Rejects a body as Discord's own builders do, and by the limit over all embeds. */
function acceptDiscord(message: DeliveryMessage) {
  const { embeds, content = '', allowed_mentions } = discordBody(message)
  expect(allowed_mentions).toEqual({ parse: [] })
  expect(content.length).toBeLessThanOrEqual(2000)
  expect(content).not.toMatch(/@(everyone|here)|(?<!\\)<[@#&:/t]/)
  expect(embeds.length).toBeLessThanOrEqual(10)
  let all = 0
  for (const { title, url, author, description, image, footer, timestamp } of embeds) {
    const builder = new EmbedBuilder().setTitle(title)
    if (url !== undefined) builder.setURL(url)
    if (author !== undefined) builder.setAuthor(author)
    if (description !== undefined) builder.setDescription(description)
    if (image !== undefined) builder.setImage(image.url)
    if (footer !== undefined) builder.setFooter(footer)
    if (timestamp !== undefined) builder.setTimestamp(new Date(timestamp))
    expect(builder.toJSON().title).toBe(title)
    expect(title.trim()).not.toBe('')
    expect(description ?? '').not.toMatch(/@(everyone|here)/)
    all += title.length + (author?.name.length ?? 0)
    all += (description?.length ?? 0) + (footer?.text.length ?? 0)
  }
  expect(all).toBeLessThanOrEqual(6000)
  expect(JSON.stringify({ embeds, content })).not.toMatch(/\\ud[89a-f]/i)
}

test.each(HOSTILE.map((text) => [JSON.stringify(text).slice(0, 60), text]))(
  'both services accept %s in every field, alone and 25 times',
  (_, text) => {
    for (const items of [[item(text)], [item('plain', text)], Array(25).fill(item(text))]) {
      const message = read(...items)
      acceptSlack(message)
      acceptDiscord(message)
    }
  },
)

test('both services accept any mixture of such texts', () => {
  const some = fc.constantFrom(...HOSTILE)
  const mixed = fc
    .array(fc.oneof(some, fc.string({ unit: 'binary' })), { maxLength: 4 })
    .map((parts) => parts.join(' '))
  fc.assert(
    fc.property(fc.array(fc.tuple(mixed, mixed), { minLength: 1, maxLength: 25 }), (texts) => {
      const message = read(...texts.map(([text, other]) => item(text, other)))
      acceptSlack(message)
      acceptDiscord(message)
    }),
    { numRuns: 20 },
  )
})
