import { expect, test } from 'bun:test'

import { EmbedBuilder } from '@discordjs/builders'
import type { KnownBlock } from '@slack/types'

import { startDelivering } from '../support/delivery-fixture.ts'

const SECOND = 1000

const match = (n: number, title = `a kettle, number ${n}`) => ({
  kind: 'post',
  title,
  author: 'ann',
  subforum: 'coffee',
  url: `https://forum.example/c/${n}`,
  text: 'It should pour well. '.repeat(100),
  link_url: null,
  media_kind: null,
  created: '2026-01-01T00:00:00.000Z',
  enrichment: {
    relevance: { score: 1, matched_terms: ['kettle'], considered_terms: 1, method: 'm' },
    sentiment: { polarity: 0, label: 'neutral', method: 'm' },
    intent: { tag: 'question', method: 'm' },
  },
})
const CROWD = Array.from({ length: 25 }, (_, n) => match(n))
const SHOUT = match(1, '<!channel> @everyone')

async function chatting(kind: 'slack' | 'discord') {
  const it = await startDelivering()
  it.addWebhook('wh_chat', it.receiver.url, kind)
  return {
    it,
    async send(id: string, items: object[]) {
      it.put(id, 'wh_chat', items)
      it.nudge()
      await it.clock.advance(0)
    },
    last: () => it.receiver.received.at(-1),
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

test('Slack gets its own format, unsigned, and accepts it with ok', async () => {
  await using chat = await chatting('slack')
  chat.it.receiver.answers.push({ body: 'ok' }, { body: 'ok' })
  await chat.send('dlv_crowd', CROWD)

  const sent: { text: string; blocks: KnownBlock[] } = JSON.parse(chat.last()?.text ?? '')
  expect(sent.blocks.length).toBeLessThanOrEqual(50)
  for (const { title } of CROWD) expect(chat.last()?.text).toContain(title)
  for (const block of sent.blocks)
    if (block.type === 'section') expect(block.text?.text.length).toBeLessThanOrEqual(3000)
  const names = [...(chat.last()?.headers.keys() ?? [])]
  expect(names.filter((name) => /signature|^webhook-|x-service/.test(name))).toEqual([])
  expect(chat.it.row('dlv_crowd').status).toBe('delivered')

  await chat.send('dlv_shout', [SHOUT])
  expect(chat.last()?.text).not.toMatch(/<!channel>/)
})

test.each([
  ['a page in place of ok', { body: '<html>hello</html>' }, 'pending', 'bad_answer'],
  ['a channel that is gone', { status: 404, body: 'no_service' }, 'failed', 'http_404'],
  ['a full house', { status: 429, headers: { 'retry-after': '30' } }, 'pending', 'http_429'],
])('Slack answers with %s', async (_what, answer, status, last_error) => {
  await using chat = await chatting('slack')
  chat.it.receiver.answers.push(answer, { body: 'ok' })
  await chat.send('dlv_1', [match(1)])
  expect<object>(chat.it.row('dlv_1')).toEqual({ status, attempts: 1, last_error })

  await chat.it.clock.advance(30 * SECOND)
  const ended = status === 'pending' ? 'delivered' : status
  expect<string>(chat.it.row('dlv_1').status).toBe(ended)
})

test('Discord gets its own format, unsigned, without mentions', async () => {
  await using chat = await chatting('discord')
  chat.it.receiver.answers.push(204, 204)
  await chat.send('dlv_crowd', CROWD)

  const { content, embeds, allowed_mentions } = JSON.parse(chat.last()?.text ?? '')
  expect(allowed_mentions).toEqual({ parse: [] })
  expect(embeds.length).toBeLessThanOrEqual(10)
  let all = 0
  for (const { title, url, author, description, footer } of embeds) {
    new EmbedBuilder()
      .setTitle(title)
      .setURL(url)
      .setAuthor(author)
      .setDescription(description)
      .setFooter(footer)
    all += title.length + author.name.length + description.length + footer.text.length
  }
  expect(all).toBeLessThanOrEqual(6000)
  expect(content.length).toBeLessThanOrEqual(2000)
  for (const { title } of CROWD) expect(chat.last()?.text).toContain(title)
  const names = [...(chat.last()?.headers.keys() ?? [])]
  expect(names.filter((name) => /signature|^webhook-|x-service/.test(name))).toEqual([])
  expect(chat.it.row('dlv_crowd').status).toBe('delivered')

  await chat.send('dlv_shout', [SHOUT])
  expect(chat.last()?.text).not.toMatch(/@everyone/)
})

test("Discord's body contains the retry time", async () => {
  await using chat = await chatting('discord')
  const body = JSON.stringify({ message: 'You are being rate limited.', retry_after: 17.5 })
  chat.it.receiver.answers.push({ status: 429, body }, 204)
  await chat.send('dlv_1', [match(1)])
  // In whole seconds, rounded up.
  await chat.it.clock.advance(17.9 * SECOND)
  expect(chat.it.receiver.received).toHaveLength(1)
  await chat.it.clock.advance(0.1 * SECOND)
  expect(chat.it.row('dlv_1').status).toBe('delivered')
})
