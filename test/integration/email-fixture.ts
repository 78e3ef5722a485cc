import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

import { createApp } from '../../src/api/app.ts'
import { atomFeed } from '../../src/api/matches/atom.ts'
import { items } from '../../src/api/matches/pull.ts'
import { sse } from '../../src/api/matches/sse.ts'
import { confirmPage, unsubscribePage } from '../../src/api/webhooks/mail-consent.ts'
import { webhooks } from '../../src/api/webhooks/routes.ts'
import { createRing } from '../../src/core/base/secrets.ts'
import { openCredentials, sealCredentials } from '../../src/core/delivery/credentials.ts'
import { deliveryId, envelope } from '../../src/core/delivery/envelope.ts'
import { createLinks } from '../../src/core/forum/links.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { createEmailSender } from '../../src/delivery/email.ts'
import { createSend } from '../../src/delivery/send.ts'
import { createSender } from '../../src/delivery/sender.ts'
import { createMailer } from '../../src/delivery/smtp.ts'
import { createTester } from '../../src/delivery/test-delivery.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { NO_LIMITS, quietApp } from '../support/app-options.ts'
import { certificate } from '../support/certificate.ts'
import { fakeClock } from '../support/clock.ts'
import { addCustomer, addKey } from '../support/customers.ts'
import { memoryDb } from '../support/memory-db.ts'
import { insertPulled } from '../support/pulled.ts'

/** Refusals of the mail server, as `[code, text]`; null: none. */
type Refusals = {
  auth?: [number, string]
  reader?: [number, string]
  data?: [number, string]
}
type Arrived = { mail: Email; raw: string; secure: boolean; user: string; to: string[] }

const refused = ([code, text]: [number, string]) =>
  Object.assign(new Error(text), { responseCode: code })

/** A mail server with STARTTLS and a password on the loopback, which stores received mails. */
export async function startMailServer(refuse: Refusals = {}) {
  const { cert, key } = await certificate(['mail.test', '127.0.0.1'])
  const arrived: Arrived[] = []
  const server = new SMTPServer({
    key,
    cert,
    authOptional: false,
    onAuth({ username = '', password = '' }, _, done) {
      if (refuse.auth) return done(refused(refuse.auth))
      if (password !== 'secret') return done(refused([535, 'no']))
      return done(null, { user: username })
    },
    onRcptTo: (_address, _session, done) => (refuse.reader ? done(refused(refuse.reader)) : done()),
    onData(data, session, done) {
      const parts: Buffer[] = []
      data.on('data', (part: Buffer) => void parts.push(part))
      data.on('end', () => {
        if (refuse.data) return done(refused(refuse.data))
        const raw = Buffer.concat(parts).toString('utf8')
        const to = session.envelope.rcptTo.map(({ address }) => address)
        void PostalMime.parse(raw).then((mail) => {
          arrived.push({ mail, raw, secure: session.secure, user: String(session.user), to })
          done()
        })
        return undefined
      })
    },
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    arrived,
    refuse,
    ca: cert,
    url: `smtp://ann:secret@127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

type Named = object & { name: string }

/** Mail targets and the pull API over HTTP, with two customers, a mail server, and a fake clock. */
export async function startReaders({ url, ca }: { url?: string; ca?: string } = {}) {
  await using stack = new AsyncDisposableStack()
  const mail_server = stack.use(await startMailServer())
  const clock = fakeClock(() => Bun.sleep(1))
  const db = stack.use(memoryDb())
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    fraction: () => 0.5,
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const ring = createRing(random.bytes(32), random.bytes)
  const words = createNaming({ platform: 'forum', community: 'subforum' })
  let base = ''
  const public_url = () => base
  const links = createLinks({ ring, words, public_url })
  const showing = { community: 'subforum', media_hosts: ['media.example'] }
  const email = createEmailSender({
    mailer: createMailer({
      tls: 'auto',
      url: url ?? mail_server.url,
      from: 'forumd <alerts@forum.example>',
      // By the real clock: no mail server of these tests hangs.
      timeout_ms: 60_000,
      ca: ca ?? mail_server.ca,
      clock,
    }),
    links,
    display: showing,
    public_url,
  })
  const send = createSend({
    transport: () => Promise.reject(new Error('nothing but mail leaves here')),
    clock,
    clock_offset_ms: () => 0,
    openSecret: (id, sealed) => ring.unseal(`webhooks.secret:${id}`, sealed),
    openCredentials: (id, sealed) => openCredentials(ring, id, sealed),
    publish: () => Promise.reject(new Error('nothing but mail leaves here')),
    display: showing,
    user_agent: 'forumd/test',
    email,
  })
  const sender = createSender({
    db,
    run_id: 'boot_1',
    send,
    clock,
    random,
    log: () => {},
    retry_schedule: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0 },
    concurrency: 64,
    per_target_concurrency: 4,
    pause_after_ms: 168 * 3_600_000,
    nudge: () => {},
  })
  const ended = new AbortController()
  const app = createApp({
    db,
    ...quietApp(clock),
    random,
    words,
    limits: NO_LIMITS,
    public_url,
    routes: (context) => [
      webhooks(context, {
        db,
        sealSecret: (id, secret) => ring.seal(`webhooks.secret:${id}`, secret),
        openSecret: (id, sealed) => ring.unseal(`webhooks.secret:${id}`, sealed),
        sealCredentials: (id, credentials) => sealCredentials(ring, id, credentials),
        checkTarget: () => Promise.resolve(null),
        testTarget: createTester({ db, send, clock, random, words, email }),
        mails: true,
        nudge: () => {},
      }),
      items(context, db),
      sse(context, { db, ended: ended.signal }),
      atomFeed(context, { db, links }),
      confirmPage({ db, links }),
      unsubscribePage({ db, links }),
    ],
  })
  app.listen({ port: 0, hostname: '127.0.0.1' })
  stack.defer(async () => void (await app.stop(true)))
  base = `http://127.0.0.1:${app.server?.port}`

  for (const id of ['cus_1', 'cus_2']) {
    addCustomer(db, id, { at: clock.now() })
    addKey(db, id, {
      token: `fk_${id}`,
      scopes: ['monitor', 'webhook'],
      id: `key_${id}`,
      at: clock.now(),
    })
  }
  const addMonitor = (id: string, customer = 'cus_1', name: string | null = null) =>
    db
      .query(
        `INSERT INTO monitors (id, customer_id, name, filter_spec, cadence_s, active_since, created_at, updated_at)
         VALUES (?, ?, ?, '{}', 60, 0, 0, 0)`,
      )
      .run(id, customer, name)
  addMonitor('mon_1', 'cus_1', 'kettles')
  addMonitor('mon_2', 'cus_1')

  /** Calls with a customer's key; body is null for an answer that is not JSON. */
  async function call(path: string, body?: object, customer = 'cus_1') {
    const response = await fetch(`${base}/forum/monitor${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer fk_${customer}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : null }
  }

  const owned = stack.move()
  return {
    db,
    clock,
    base,
    links,
    mail_server,
    arrived: mail_server.arrived,
    call,
    addMonitor,
    endStreams: () => ended.abort(),
    /** Registers an address and returns the target's id. */
    async register(address = 'reader@example.com') {
      const { body } = await call('/webhook/create', { url: `mailto:${address}` })
      return String(body.id)
    },
    /** Registers an address, and confirms it for its recipient. */
    async confirmed(address = 'reader@example.com') {
      const id = await this.register(address)
      await fetch(links.confirm(id), { method: 'POST' })
      return id
    },
    /** Commits a delivery as a check would. */
    put(webhook_id: string, content: object[], { id = 'dlv_1', monitor_id = 'mon_1' } = {}) {
      const body = envelope({
        delivery_id: id,
        monitor_id,
        items: content,
        grouped: content.length > 1,
      })
      const row = { id, customer_id: 'cus_1', monitor_id, webhook_id, body, now: clock.now() }
      insertDelivery(db, { ...row, status: 'pending' })
    },
    /** Sends what is due, and waits until the outcome is stored. */
    async sendDue() {
      await sender.turn()
      await sender.idle()
    },
    rows: () =>
      db
        .query<{ id: string; status: string; attempts: number; last_error: string | null }, []>(
          'SELECT id, status, attempts, last_error FROM deliveries ORDER BY id',
        )
        .all(),
    /** Stores a match, or a bundle, for the pull API, as a check does. */
    match(item: Named | Named[], monitor_id = 'mon_1') {
      const found = [item].flat()
      const names = found.map(({ name }) => name)
      const delivery_id = deliveryId('ins_1', monitor_id, null, names)
      const grouped = found.length > 1
      const body = envelope({ delivery_id, monitor_id, items: found, grouped })
      insertPulled(db, [{ monitor_id, body, matched_at: clock.now() }])
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
