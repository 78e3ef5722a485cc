// Goal: people read which monitor, how many matches and which period a digest has. Method: the frozen body of a digest,
// as each kind of target for people is sent it.
import { expect, test } from 'bun:test'

import { createRing } from '../../../src/core/base/secrets.ts'
import { envelope } from '../../../src/core/delivery/envelope.ts'
import { readMessage } from '../../../src/core/delivery/message.ts'
import { createLinks } from '../../../src/core/forum/links.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { createEmailSender } from '../../../src/delivery/email.ts'
import { discordBody } from '../../../src/delivery/kinds/discord.ts'
import { slackBody } from '../../../src/delivery/kinds/slack.ts'
import type { Mail } from '../../../src/delivery/smtp.ts'
import { kindRequest } from '../../support/kind-request.ts'

const display = { community: 'subforum', media_hosts: [] }
const PERIOD = 'Sat 28 Mar, 08:00 to Sun 29 Mar, 08:00 (Europe/Berlin)'

/** A digest over the hour that the clocks of Berlin leave out. */
const digestOf = (monitor_name: string | null, titles: readonly string[]): Uint8Array =>
  envelope({
    delivery_id: 'dlv_1',
    monitor_id: 'mon_1',
    items: titles.map((title) => ({ kind: 'post', title, url: 'https://forum.example/1' })),
    grouped: titles.length > 1,
    digest: {
      monitor_name,
      from: '2026-03-28T07:00:00.000Z',
      to: '2026-03-29T06:00:00.000Z',
      time_zone: 'Europe/Berlin',
    },
  })
const read = (body: Uint8Array) => readMessage(body, display)
const body = digestOf('kettles <&> co', ['one', 'two'])

test('Slack shows the heading, then the period, and notifies with the heading', () => {
  const { blocks, text } = slackBody(read(body))

  expect(blocks.slice(0, 2)).toEqual([
    { type: 'header', text: { type: 'plain_text', text: 'Digest of kettles <&> co: 2 matches' } },
    { type: 'section', text: { type: 'mrkdwn', text: PERIOD } },
  ])
  expect(text).toBe('Digest of kettles &lt;&amp;&gt; co: 2 matches')
})

test('Discord shows both above the embeds', () => {
  expect(discordBody(read(body)).content).toBe(`Digest of kettles \\<&\\> co: 2 matches\n${PERIOD}`)
})

test.each<[string, string, string]>([
  ['ntfy', 'https://n.example/t', `${PERIOD}\n\none\n`],
  ['gotify', 'https://g.example', `${PERIOD}\n\none\n`],
  [
    'telegram',
    'https://api.telegram.org/bot***/sendMessage?chat_id=1',
    `<i>Digest of kettles &lt;&amp;&gt; co: 2 matches</i>\n\n<i>${PERIOD}</i>\n\n<b>`,
  ],
  [
    'matrix',
    'https://m.example/send/m.room.message',
    `<i>Digest of kettles &lt;&amp;&gt; co: 2 matches</i><br><br><i>${PERIOD}</i><br><br><b>`,
  ],
])('%s begins with both, the heading in a title where it has one', async (kind, url, start) => {
  const { body: sent } = await kindRequest(kind, read(body), url)

  expect(sent.formatted_body ?? sent.message ?? sent.text).toStartWith(start)
  if ('title' in sent) expect(sent.title).toBe('Digest of kettles <&> co: 2 matches')
})

const ring = createRing(new Uint8Array(32), (count) => new Uint8Array(count))
const words = createNaming({ platform: 'forum', community: 'subforum' })
const public_url = () => 'https://forumd.example'

test('a mail has the heading as its subject, and both above the matches', async () => {
  const mails: Mail[] = []
  const sender = createEmailSender({
    async mailer(mail) {
      mails.push(mail)
      return { kind: 'mailed', code: 250, accepted: true, refused: false }
    },
    links: createLinks({ ring, words, public_url }),
    display,
    public_url,
  })
  await sender.deliver({ webhook_id: 'wh_1', url: 'mailto:ann@mail.example' } as never, body)

  const [mail] = mails
  expect(mail?.subject).toBe('Digest of kettles <&> co: 2 matches')
  expect(mail?.text).toStartWith(`Digest of kettles <&> co: 2 matches\n${PERIOD}\n\n* * *\n\none\n`)
  expect(mail?.html).toContain(
    `<h1>Digest of kettles &lt;&amp;&gt; co: 2 matches</h1>\n<p>${PERIOD}</p>\n<hr>\n<h2>`,
  )
})

test('a digest of one match, of a monitor without a name, has both too', () => {
  const { heading, period } = read(digestOf(null, ['one']))

  expect([heading, period]).toEqual(['Digest: 1 match', PERIOD])
})
