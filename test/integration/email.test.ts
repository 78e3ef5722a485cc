import { expect, test } from 'bun:test'

import { createMailer } from '../../src/delivery/smtp.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { redeliver } from '../../src/store/delivery/redeliver.ts'
import { listTargets } from '../../src/store/delivery/targets.ts'
import { certificate } from '../support/certificate.ts'
import { postOf } from '../support/items.ts'
import { startMailServer, startReaders } from './email-fixture.ts'

const enriched = (fields: Parameters<typeof postOf>[0]) => ({
  ...postOf(fields),
  enrichment: {
    relevance: { score: 1, matched_terms: ['kettle'], considered_terms: 1, method: 'm' },
    sentiment: { polarity: 0.5, label: 'positive', method: 'm' },
    intent: { tag: 'question', method: 'm' },
  },
})

const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1)
const addressIn = (text = '') => /https?:\/\/\S+/.exec(text)?.[0] ?? ''

test.concurrent(
  'a new address gets only a confirmation mail until its recipient confirms on the linked page',
  async () => {
    await using it = await startReaders()
    const created = await it.call('/webhook/create', { url: 'mailto:Reader@Example.COM' })

    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({
      kind: 'email',
      url: 'mailto:Reader@example.com',
      active: false,
      confirmation: 'sent',
      secret: expect.stringMatching(/^whsec_/),
    })
    const [confirmation] = it.arrived
    expect(confirmation?.to).toEqual(['Reader@example.com'])
    expect(confirmation?.mail.subject).toStartWith('Confirm that you want alerts from 127.0.0.1')
    expect(listTargets(it.db, 'cus_1', null, 'mon_1')).toEqual([])
    expect(listTargets(it.db, 'cus_1', [created.body.id], 'mon_1')).toMatchObject([
      { paused: true },
    ])

    const link = addressIn(confirmation?.mail.text)
    expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
    expect((await it.call('/webhook/list')).body.webhooks[0].active).toBe(false)
    // A mail scanner follows links, with every safe method.
    for (let n = 0; n < 3; n++) {
      const followed = await fetch(link)
      const page = await followed.text()
      expect([followed.status, page]).toEqual([
        200,
        expect.stringContaining('Send alerts to Reader@example.com?'),
      ])
      expect(page).toContain('<form method="post"><button type="submit">Confirm</button></form>')
      expect(page).not.toContain('<script')
    }
    expect((await it.call('/webhook/list')).body.webhooks[0].active).toBe(false)
    expect(listTargets(it.db, 'cus_1', null, 'mon_1')).toEqual([])

    for (let n = 0; n < 2; n++) {
      const confirmed = await fetch(link, { method: 'POST' })
      expect([confirmed.status, await confirmed.text()]).toEqual([
        200,
        expect.stringContaining('Reader@example.com gets alerts from now on'),
      ])
    }
    expect(await (await fetch(link)).text()).not.toContain('<form')
    expect((await it.call('/webhook/list')).body.webhooks[0].active).toBe(true)
    expect(listTargets(it.db, 'cus_1', null, 'mon_1')).toMatchObject([{ paused: false }])
  },
)

test.concurrent(
  'a customer cannot confirm for a recipient, only repeat the confirmation mail',
  async () => {
    await using it = await startReaders()
    const id = await it.register()

    expect((await it.call('/webhook/update', { id, active: true })).body.active).toBe(false)
    expect((await it.call('/webhook/update', { id, name: 'mine' })).body.active).toBe(false)
    const tested = await it.call('/webhook/test', { id })
    expect(tested.body).toMatchObject({ ok: true, status_code: 250, reason: null })
    expect(it.arrived.map(({ mail }) => mail.subject?.slice(0, 7))).toEqual(['Confirm', 'Confirm'])

    await fetch(addressIn(it.arrived[1]?.mail.text), { method: 'POST' })
    expect((await it.call('/webhook/list')).body.webhooks[0]).toMatchObject({
      active: true,
      name: 'mine',
    })
  },
)

test.concurrent(
  'a delivery arrives over STARTTLS with its text, its page and an unsubscribe link',
  async () => {
    await using it = await startReaders()
    const id = await it.confirmed()
    it.put(id, [
      enriched({
        title: 'Which kettle – für Tee?',
        text: 'It should **pour** well.',
        link_url: 'https://media.example/k.png',
        media_kind: 'image',
      }),
    ])
    await it.sendDue()

    const { mail, secure, user } = it.arrived.at(-1) ?? {}
    expect([secure, user]).toEqual([true, 'ann'])
    expect(mail).toMatchObject({
      subject: 'Which kettle – für Tee?',
      messageId: '<dlv_1@forum.example>',
      from: { name: 'forumd', address: 'alerts@forum.example' },
      to: [{ address: 'reader@example.com' }],
    })
    for (const text of ['in cats by someone', 'It should pour well.', 'matched kettle · positive'])
      for (const part of [mail?.text, mail?.html]) expect(part).toContain(text)
    expect(mail?.html).toContain(
      '<a href="https://www.forum.example/r/cats/comments/p1/a_title/">Which kettle – für Tee?</a>',
    )
    expect(mail?.html).toContain('<img src="https://media.example/k.png"')
    const head = Object.fromEntries(mail?.headers.map(({ key, value }) => [key, value]) ?? [])
    expect(head).toMatchObject({
      'list-unsubscribe': `<${it.links.unsubscribe(id, 'mon_1')}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'auto-submitted': 'auto-generated',
    })
    expect(it.rows()).toMatchObject([{ status: 'delivered', attempts: 1, last_error: null }])
  },
)

test.concurrent('a bundle is one mail that lists every item', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  it.put(
    id,
    Array.from({ length: 25 }, (_, n) => enriched({ title: `Kettle number ${n}` })),
  )
  await it.sendDue()

  const { mail } = it.arrived.at(-1) ?? {}
  expect(mail?.subject).toBe('25 new matches: Kettle number 0')
  for (let n = 0; n < 25; n++) expect(mail?.text).toContain(`Kettle number ${n}\n`)
})

test.concurrent('the linked page is entirely dark in dark mode', async () => {
  await using it = await startReaders()
  const page = await (await fetch(it.links.unsubscribe(await it.confirmed(), 'mon_1'))).text()

  // On the body alone it would darken the button, and leave the background white.
  expect(page).toContain(':root{color-scheme:light dark}')
})

test.concurrent('one-click unsubscribe stops only this monitor for this recipient', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  it.put(id, [enriched({})])
  await it.sendDue()
  it.put(id, [enriched({})], { id: 'dlv_2' })
  it.put(id, [enriched({})], { id: 'dlv_3', monitor_id: 'mon_2' })
  const header = it.arrived.at(-1)?.mail.headers.find(({ key }) => key === 'list-unsubscribe')
  const link = header?.value.slice(1, -1) ?? ''

  const response = await fetch(link)
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.stringMatching(/Stop sending reader@example.com what the monitor “kettles” finds\?/),
  ])
  expect(listTargets(it.db, 'cus_1', null, 'mon_1')).toHaveLength(1)

  for (let n = 0; n < 2; n++) {
    const clicked = await fetch(link, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })
    expect(clicked.status).toBe(200)
    expect(await clicked.text()).toContain('gets nothing more from the monitor “kettles”')
  }
  expect(listTargets(it.db, 'cus_1', null, 'mon_1')).toEqual([])
  expect(listTargets(it.db, 'cus_1', [id], 'mon_1')).toMatchObject([{ paused: true }])
  expect(listTargets(it.db, 'cus_1', null, 'mon_2')).toMatchObject([{ id, paused: false }])
  expect(it.rows().map(({ status, last_error }) => [status, last_error])).toEqual([
    ['delivered', null],
    ['failed', 'webhook_paused'],
    ['pending', null],
  ])
})

test.concurrent(
  'a redelivery reaches no recipient who has not confirmed, or has unsubscribed',
  async () => {
    await using it = await startReaders()
    const again = (delivery_id: string) =>
      redeliver(it.db, {
        customer_id: 'cus_1',
        which: { delivery_id },
        dry_run: false,
        rows_max: 10,
        now: it.clock.now(),
      })
    const fail = (id: string) =>
      it.db.run(
        `UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE id = '${id}'`,
      )
    const registered = await it.register('asked@example.com')
    it.put(registered, [enriched({})])
    fail('dlv_1')
    expect(again('dlv_1')).toEqual({ queued: 0, skipped: 1 })

    const id = await it.confirmed()
    it.put(id, [enriched({})], { id: 'dlv_2' })
    fail('dlv_2')
    expect(again('dlv_2')).toEqual({ queued: 1, skipped: 0 })
    await fetch(it.links.unsubscribe(id, 'mon_1'), { method: 'POST' })
    expect(again('dlv_2')).toEqual({ queued: 0, skipped: 1 })
    const before = it.arrived.length
    await it.sendDue()
    expect(it.arrived).toHaveLength(before)
  },
)

test.concurrent(
  'a recipient who unsubscribes while a mail is delayed gets no further mail',
  async () => {
    await using it = await startReaders()
    const id = await it.confirmed()
    it.mail_server.refuse.data = [451, 'later']
    it.put(id, [enriched({})])
    await it.sendDue()
    delete it.mail_server.refuse.data
    await fetch(it.links.unsubscribe(id, 'mon_1'), { method: 'POST' })
    const before = it.arrived.length
    await it.clock.advance(3_600_000)
    await it.sendDue()
    expect(it.arrived).toHaveLength(before)
    expect(it.rows()).toMatchObject([{ status: 'failed', last_error: 'webhook_paused' }])
  },
)

test.concurrent.each([
  ['nonsense', 'nonsense'],
  ['a token for something else', null],
])('%s opens neither page', async (_, token) => {
  await using it = await startReaders()
  const id = await it.confirmed()
  const forged = [
    `/unsubscribe/${token ?? tokenOf(it.links.confirm(id))}`,
    `/confirm/${token ?? tokenOf(it.links.unsubscribe(id, 'mon_1'))}`,
  ]
  for (const path of forged) expect((await fetch(it.base + path)).status).toBe(404)
  for (const path of forged)
    expect((await fetch(it.base + path, { method: 'POST' })).status).toBe(404)
})

test.concurrent('links of a removed target are invalid', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  await it.call('/webhook/delete', { id })
  for (const link of [it.links.confirm(id), it.links.unsubscribe(id, 'mon_1')])
    expect((await fetch(link)).status).toBe(404)
})

test.concurrent.each([
  ['a reader that is not there', { reader: [550, 'no such user'] }, 'failed', 'smtp_550'],
  ['a reader that is busy', { reader: [451, 'later'] }, 'pending', 'smtp_451'],
  ['a mail that is not wanted', { data: [554, 'spam'] }, 'pending', 'smtp_554'],
  ['this client', { reader: [554, '5.7.1 Client host rejected'] }, 'pending', 'smtp_554'],
  ['relaying', { reader: [550, '5.7.1 Relaying denied'] }, 'pending', 'smtp_550'],
  ['a server that is full', { data: [452, 'full'] }, 'pending', 'smtp_452'],
  [
    'a refused password, an error of the operator, not of the recipient',
    { auth: [535, 'no'] },
    'pending',
    'smtp_535',
  ],
] as const)('refused: %s', async (_, refusals, status, last_error) => {
  await using it = await startReaders()
  const id = await it.confirmed()
  Object.assign(it.mail_server.refuse, refusals)
  it.put(id, [enriched({})])
  await it.sendDue()
  expect(it.rows()).toMatchObject([{ status, last_error, attempts: 1 }])
})

test.concurrent('a delayed mail is sent again with the same Message-ID', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  it.mail_server.refuse.data = [451, 'greylisted']
  it.put(id, [enriched({})])
  await it.sendDue()
  delete it.mail_server.refuse.data
  await it.clock.advance(5000)
  await it.sendDue()

  expect(it.rows()).toMatchObject([{ status: 'delivered', attempts: 2 }])
  expect(it.arrived.at(-1)?.mail.messageId).toBe('<dlv_1@forum.example>')
})

test.concurrent(
  'an unreachable mail server, or one with a wrong certificate, is retried',
  async () => {
    const { cert } = await certificate(['elsewhere.test'])
    for (const [options, last_error] of [
      [{ url: 'smtp://ann:secret@127.0.0.1:1' }, 'connect_failed'],
      [{ ca: cert }, 'tls_failed'],
    ] as const) {
      await using it = await startReaders(options)
      const id = await it.register()
      it.put(id, [enriched({})])
      await it.sendDue()
      expect(it.rows()).toMatchObject([{ status: 'pending', last_error }])
    }
  },
)

test.concurrent.each([
  'mailto:',
  'mailto:a',
  'mailto:a@b',
  'mailto:a@example.com,b@example.com',
  'mailto:a@example.com;b@example.com',
  'mailto:a@example.com?cc=b@example.com',
  'mailto:a@example.com\r\nBcc: b@example.com',
  'mailto:a%0d%0aBcc:b@example.com',
  'mailto:Ann <a@example.com>',
  'mailto:"a b"@example.com',
  'mailto:a@[127.0.0.1]',
  'mailto:a@127.0.0.1',
  'mailto:.a@example.com',
  'mailto:a..b@example.com',
  'mailto:a@exämple.com',
  'mailto:a@-example.com',
  `mailto:${'a'.repeat(65)}@example.com`,
  `mailto:a@${'b'.repeat(250)}.com`,
])('%p is not one plain address', async (url) => {
  await using it = await startReaders()
  const { status, body } = await it.call('/webhook/create', { kind: 'email', url })
  expect([status, body.code, body.field]).toEqual([400, 'webhook_url_rejected', 'url'])
  expect(body.message).toContain('one plain address')
  expect(it.arrived).toEqual([])
})

test.concurrent('kind email accepts mailto: addresses only', async () => {
  await using it = await startReaders()
  const { status, body } = await it.call('/webhook/create', {
    kind: 'email',
    url: 'https://hooks.example.com/',
  })
  expect([status, body.code]).toEqual([400, 'webhook_kind_mismatch'])
})

test.concurrent('a confirmation mail repeated by a test counts like the first one', async () => {
  await using it = await startReaders()
  const id = await it.register()
  const statuses: number[] = []
  for (let n = 0; n < 10; n++) statuses.push((await it.call('/webhook/test', { id })).status)

  expect(statuses).toEqual([200, 200, 429, 429, 429, 429, 429, 429, 429, 429])
  expect(it.arrived).toHaveLength(3)
  const refused = await it.call('/webhook/test', { id })
  expect(refused.body.code).toBe('rate_limited')
  expect(refused.body.retry_after).toBeGreaterThan(86_000)
  await it.clock.advance(86_400_001)
  expect((await it.call('/webhook/test', { id })).status).toBe(200)
})

test.concurrent(
  'concurrent requests, tags and capitals do not bypass the limit of an address',
  async () => {
    await using it = await startReaders()
    const created = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        it.call('/webhook/create', { url: `mailto:${n % 2 ? 'R' : 'r'}eader+${n}@example.com` }),
      ),
    )

    expect(created.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(it.arrived).toHaveLength(3)
  },
)

test.concurrent('a customer, and the process, have limits of their own', async () => {
  await using it = await startReaders()
  for (let n = 0; n < 20; n++) await it.register(`reader${n}@example.com`)
  const customer = await it.call('/webhook/create', { url: 'mailto:another@example.com' })
  expect([customer.status, customer.body.message]).toEqual([
    429,
    'a customer may have 20 confirmation mails sent in a day, repeated ones included',
  ])

  const row = it.db.query(
    "INSERT INTO confirmation_mails (customer_id, address, sent_at) VALUES ('cus_1', ?, ?)",
  )
  for (let n = 20; n < 500; n++) row.run(`reader${n}@example.com`, it.clock.now())
  const url = 'mailto:another@example.com'
  const all = await it.call('/webhook/create', { url }, 'cus_2')
  expect([all.status, all.body.message]).toEqual([
    429,
    'this service sends 500 confirmation mails in a day, repeated ones included',
  ])
  expect(it.arrived).toHaveLength(20)
})

test.concurrent(
  'the pages linked in a mail have no scripts, no external resources and no referrer',
  async () => {
    await using it = await startReaders()
    const id = await it.register()
    for (const link of [it.links.confirm(id), it.links.unsubscribe(id, 'mon_1')]) {
      const { headers } = await fetch(link)
      const csp = headers.get('content-security-policy') ?? ''
      expect(csp).toStartWith("default-src 'none'; style-src 'sha256-")
      expect(csp).not.toContain('unsafe')
      expect(csp).toContain("frame-ancestors 'none'")
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  },
)

test.concurrent('no address can be flooded with confirmation mails', async () => {
  await using it = await startReaders()
  for (let n = 0; n < 3; n++) {
    const id = await it.register()
    await it.call('/webhook/delete', { id })
  }
  const fourth = await it.call('/webhook/create', { url: 'mailto:reader@example.com' }, 'cus_2')
  expect([fourth.status, fourth.body.code, fourth.body.message]).toEqual([
    429,
    'rate_limited',
    'an address may be sent 3 confirmation mails in a day, repeated ones included',
  ])
  expect(it.arrived).toHaveLength(3)
  await it.clock.advance(86_400_001)
  expect((await it.call('/webhook/create', { url: 'mailto:reader@example.com' })).status).toBe(200)
})

test.concurrent.each([
  'Subject\r\nBcc: victim@example.com\r\n\r\nbody',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '=?utf-8?q?injected?=',
  '\u202emoc.live\u202c',
  '😀'.repeat(5000),
  '\ud800 half',
  '.\r\n.\r\nQUIT\r\n',
])('a title like %p changes only the text of the mail', async (title) => {
  await using it = await startReaders()
  const id = await it.confirmed()
  it.put(id, [enriched({ title, text: title, author: title, subforum: title })])
  await it.sendDue()

  const { mail, to, raw } = it.arrived.at(-1) ?? {}
  expect(it.rows()).toMatchObject([{ status: 'delivered' }])
  expect(to).toEqual(['reader@example.com'])
  expect(mail?.bcc ?? []).toEqual([])
  expect(mail?.headers.map(({ key }) => key).toSorted()).toEqual([
    'auto-submitted',
    'content-type',
    'date',
    'from',
    'list-unsubscribe',
    'list-unsubscribe-post',
    'message-id',
    'mime-version',
    'subject',
    'to',
  ])
  expect(mail?.subject?.length).toBeWithin(1, 151)
  expect(mail?.html).not.toMatch(/<script|<img src=x/)
  expect(raw?.split('\r\n').every((line) => line.length <= 998)).toBe(true)
})

test.concurrent('a test mail is marked as a test and has no unsubscribe link', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  const { body } = await it.call('/webhook/test', { id })

  expect(body).toMatchObject({ ok: true, status_code: 250, detail: 'the mail server answered 250' })
  const { mail } = it.arrived.at(-1) ?? {}
  expect(mail?.subject).toStartWith('Test delivery: A sample post')
  expect(mail?.headers.some(({ key }) => key === 'list-unsubscribe')).toBe(false)
})

test.concurrent('a test reports the refusal of the mail server', async () => {
  await using it = await startReaders()
  const id = await it.confirmed()
  it.mail_server.refuse.reader = [550, 'no such user']
  const { body } = await it.call('/webhook/test', { id })
  expect(body).toMatchObject({
    ok: false,
    status_code: 550,
    reason: 'smtp_550',
    hint: 'check that the address exists and accepts mail',
  })
})

test.concurrent('the password is never sent without TLS', async () => {
  await using plain = await startMailServer()
  // A foreign host name, to a server that offers no STARTTLS.
  const mailer = createMailer({
    tls: 'auto',
    url: plain.url.replace('127.0.0.1', '0.0.0.0') + '?ignoreTLS=true',
    from: 'a@forum.example',
    timeout_ms: 2000,
    clock: realClock,
  })
  const mail = { to: 'b@example.com', subject: 's', text: 't', html: 'h', id: 'x', headers: {} }
  expect(await mailer(mail)).toEqual({ kind: 'failed', error: 'tls_failed' })
  expect(plain.arrived).toEqual([])
})
