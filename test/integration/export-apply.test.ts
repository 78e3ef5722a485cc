// Goal: a customer's monitors can be stored as a file: exported, edited, applied anywhere, and
// applied again without a change. Method: the program itself, its own export, and a daemon that
// must pick up the changes.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'
import { run as forumd } from '../../src/cli/run.ts'
import { tempFolder } from '../support/folder.ts'
import { startProcess } from '../support/process.ts'
import { surroundings } from '../unit/cli/environment.ts'

// A daemon is started, and the machine may be busy.
setDefaultTimeout(60_000)

const SLACK = 'https://hooks.slack.com/services/T0/B0/verysecret'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0, seed: 1, speed: 0, world: 'seeded', now: Date.now })
})
afterAll(() => sandbox.stop())

/** An installation with the customer ann, and the program in it. */
async function setUp(more = '') {
  const folder = tempFolder()
  const config = folder.file('forumd.toml')
  writeFileSync(
    config,
    `[server]\nport = 0\n[storage]\ndir = "${folder.file('data')}"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${sandbox.url}"\nsession_cookie = "${sandbox.session_cookie}"\n[guard]\nallow_targets = ["127.0.0.1"]\nallow_http = true\n[plans.entry]\nslots = 3\nsitewide_slots = 1\ncadence_s = 1\n${more}`,
  )
  /** Runs the program within this process: there are many runs. */
  async function run(args: string, { stdin = '', env = {} } = {}) {
    const { around: environment, said: output } = surroundings({ env })
    const code = await forumd([...args.split(' '), '--config', config], {
      ...environment,
      readStdin: () => Promise.resolve(stdin),
    })
    return { code, ...output }
  }
  await run('customer create ann')
  return {
    config,
    database: folder.file('data/forumd.sqlite'),
    run,
    [Symbol.dispose]: folder[Symbol.dispose],
    /** Applies a text from standard input. */
    apply: (text: string, options = '', env = {}) =>
      run(`apply - ${options}`.trim(), { stdin: text, env }),
    /** Applies it and returns the program's JSON output. */
    async steps(text: string, options = '', env = {}) {
      const { code, out, err } = await run(`apply - --json ${options}`.trim(), { stdin: text, env })
      if (code !== 0) throw new Error(err)
      const { customers, secrets } = JSON.parse(out)
      const steps: {
        action: string
        what: string
        name: string | null
        id: string
        fields?: string[]
      }[] = customers.flatMap((it: { steps: unknown }) => it.steps)
      return {
        secrets,
        steps,
        summary: steps.map(({ action, what, name, fields }) =>
          [action, what, name, ...(fields ?? [])].join(' '),
        ),
      }
    },
    exported: async (options = '') => (await run(`export ${options}`.trim())).out,
  }
}

const FILE = `
version = 1
[[customers]]
name = "ann"

[[customers.webhooks]]
name = "ops"
url = "https://ops.example.com/forumd"
max_per_second = 2
ordered = true

[[customers.webhooks]]
name = "team"
url = "env:TEAM"

[[customers.monitors]]
name = "food"
filter_spec = { subforum = ["cats", "dogs"], include_any = ["food"] }
webhooks = ["ops"]

[[customers.monitors]]
name = "everywhere"
filter_spec = { q = "bun runtime" }
cadence_s = 120
active = false
`
const TEAM = { TEAM: SLACK }

test('declared objects are created, each secret is shown once, and a second apply changes nothing', async () => {
  using it = await setUp()

  const first = await it.steps(FILE, '', TEAM)
  const again = await it.apply(FILE, '', TEAM)

  expect(first.summary).toEqual([
    'create webhook ops',
    'create webhook team',
    'create monitor food',
    'create monitor everywhere',
  ])
  expect(first.secrets).toMatchObject([
    { name: 'ops', secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/) },
    { name: 'team', secret: expect.stringMatching(/^whsec_/) },
  ])
  expect(again).toEqual({
    code: 0,
    out: '0 created, 0 changed, 0 removed, 4 unchanged\n',
    err: '',
  })
})

test('a dry run lists every change and writes nothing', async () => {
  using it = await setUp()

  const dry = await it.apply(FILE, '--dry-run', TEAM)

  expect(dry.code).toBe(0)
  expect(dry.out.replace(/\([a-z]+_[\w-]+\)/g, '(id)')).toBe(
    `ann
  + webhook ops (id)
      kind: "webhook"
      url: "https://ops.example.com/forumd"
      active: true
      ordered: true
      max_per_second: 2
  + webhook team (id)
      kind: "slack"
      url: "https://hooks.slack.com/…"
      active: true
      ordered: false
  + monitor food (id)
      filter_spec.subforum: ["cats","dogs"]
      filter_spec.kind: "post"
      filter_spec.include_any: ["food"]
      webhooks: ["ops"]
      active: true
  + monitor everywhere (id)
      filter_spec.kind: "post"
      filter_spec.q: "bun runtime"
      cadence_s: 120
      active: false
reads env:TEAM
4 would be created, 0 would be changed, 0 would be removed, 0 unchanged
`,
  )
  expect(JSON.parse(await it.exported('--json')).customers).toEqual([
    { name: 'ann', webhooks: [], monitors: [] },
  ])
})

test('a dry run lists every file and variable that the document reads', async () => {
  using it = await setUp()
  writeFileSync(`${it.config}.token`, 'tk_secret')
  const text = `version = 1
[[customers]]
name = "ann"
[[customers.webhooks]]
name = "a"
url = "env:WHERE"
[[customers.webhooks]]
name = "b"
kind = "ntfy"
url = "https://ntfy.sh/topic"
token = "file:${it.config}.token"
`
  const dry = await it.apply(text, '--dry-run', { WHERE: 'https://hooks.slack.com/services/T/B/x' })

  expect(dry.err).toBe('')
  expect(dry.out).toContain(`\nreads env:WHERE\nreads file:${it.config}.token\n`)
})

test('a dry run shows the old and the new value of each changed field', async () => {
  using it = await setUp()
  await it.apply(FILE, '', TEAM)
  const file = FILE.replace('"food"]', '"food", "bowl"]')
    .replace('cadence_s = 120', 'cadence_s = 60')
    .replace('webhooks = ["ops"]', 'webhooks = ["team"]')
    .replace('max_per_second = 2', '')
  const dry = await it.apply(file, '--dry-run', TEAM)

  expect(dry.out.replace(/\([a-z]+_[\w-]+\)/g, '(id)')).toBe(`ann
  ~ webhook ops (id)
      max_per_second: 2 → (default)
  ~ monitor food (id)
      filter_spec.include_any: ["food"] → ["food","bowl"]
      webhooks: ["ops"] → ["team"]
  ~ monitor everywhere (id)
      cadence_s: 120 → 60
reads env:TEAM
0 would be created, 3 would be changed, 0 would be removed, 1 unchanged
`)
  expect(await it.exported()).not.toContain('bowl')
})

test('a refused address comes with the lines that would allow it', async () => {
  using it = await setUp()
  const file = FILE.replace('https://ops.example.com', 'https://192.168.1.5')
  const { code, err } = await it.apply(file, '', TEAM)

  expect(code).toBe(2)
  expect(err).toContain('or add to the configuration: [guard] allow_targets = ["192.168.1.5"]')
})

describe('an export', () => {
  test.each([[''], ['--json']])(
    'with %j, applied at its origin, changes nothing',
    async (options) => {
      using it = await setUp()
      await it.apply(FILE, '', TEAM)

      // The address omitted from the file is not required again.
      const { steps, summary } = await it.steps(await it.exported(options))

      expect(summary).toHaveLength(4)
      expect(new Set(steps.map(({ action }) => action))).toEqual(new Set(['keep']))
    },
  )

  test('holds no secret: none of forumd, no chat service address, no token in a query', async () => {
    using it = await setUp()
    const { secrets } = await it.steps(
      `${FILE}\n[[customers.webhooks]]\nname = "token"\nurl = "https://h.example.com/?token=verysecret"\n`,
      '',
      TEAM,
    )

    const both = (await it.exported()) + (await it.exported('--json'))

    for (const { secret } of secrets) expect(both).not.toContain(secret.slice('whsec_'.length, 20))
    expect(both).not.toContain('verysecret')
    expect(both).toContain('https://ops.example.com/forumd')
  })

  test('creates the same objects with the same ids in another instance, once the omitted addresses are set', async () => {
    using here = await setUp()
    using there = await setUp()
    await here.apply(FILE, '', TEAM)
    const file = await here.exported()

    const refused = await there.apply(file)
    const created = await there.steps(
      file.replace('kind = "slack"', 'kind = "slack"\nurl = "env:TEAM"'),
      '',
      TEAM,
    )
    const again = await there.steps(file)

    expect(refused.code).toBe(2)
    expect(refused.err).toContain('customers[0].webhooks[1].url: missing; needed: its address')
    expect(created.summary.every((it) => it.startsWith('create '))).toBe(true)
    expect(again.summary.every((it) => it.startsWith('keep '))).toBe(true)
    expect(await there.exported()).toBe(file)
  })

  test('for one customer holds only that one', async () => {
    using it = await setUp()
    await it.run('customer create bob')

    expect(JSON.parse(await it.exported('--json --customer bob')).customers).toMatchObject([
      { name: 'bob' },
    ])
  })
})

test('differences are updated, by field name, and omitted fields return to their default', async () => {
  using it = await setUp()
  await it.apply(FILE, '', TEAM)

  const { summary } = await it.steps(
    FILE.replace('max_per_second = 2\nordered = true\n', '')
      .replace('"food"] }\nwebhooks = ["ops"]', '"snacks"] }')
      .replace('cadence_s = 120\nactive = false', 'cadence_s = 300'),
    '',
    TEAM,
  )

  expect(summary).toEqual([
    'change webhook ops ordered max_per_second',
    'keep webhook team',
    'change monitor food filter_spec webhooks',
    'change monitor everywhere cadence_s active',
  ])
  const [ann] = JSON.parse(await it.exported('--json')).customers
  expect(ann.monitors).toMatchObject([
    { name: 'food', filter_spec: { subforum: ['cats', 'dogs'], include_any: ['snacks'] } },
    { name: 'everywhere', cadence_s: 300 },
  ])
  expect(ann.monitors[0]).not.toHaveProperty('webhooks')
  expect(ann.monitors[1]).not.toHaveProperty('active')
})

test('a monitor resumed by the file starts over; a changed one does not', async () => {
  using it = await setUp()
  await it.apply(FILE, '', TEAM)
  using db = new Database(it.database)
  const long_ago = 1000
  db.run('UPDATE monitors SET active_since = ?, baseline_item_id = ?', [long_ago, 't3_old'])

  await it.apply(FILE.replace('"food"] }', '"snacks"] }').replace('\nactive = false', ''), '', TEAM)

  const since = (name: string) =>
    db
      .query<{ active_since: number; baseline_item_id: string | null }, [string]>(
        'SELECT active_since, baseline_item_id FROM monitors WHERE name = ?',
      )
      .get(name)
  expect(since('food')).toEqual({ active_since: long_ago, baseline_item_id: 't3_old' })
  expect(since('everywhere')?.active_since).toBeGreaterThan(long_ago)
  expect(since('everywhere')?.baseline_item_id).toBeNull()
})

test('objects missing in the file stay and are listed; --prune removes them', async () => {
  using it = await setUp()
  await it.apply(FILE, '', TEAM)
  const one =
    'version = 1\n[[customers]]\nname = "ann"\n[[customers.monitors]]\nname = "food"\nfilter_spec = { subforum = "cats" }\n'

  const left = await it.steps(one)
  const pruned = await it.steps(one, '--prune')

  expect(left.summary).toEqual([
    'left webhook ops',
    'left webhook team',
    'change monitor food filter_spec webhooks',
    'left monitor everywhere',
  ])
  expect(pruned.summary).toEqual([
    'remove webhook ops',
    'remove webhook team',
    'keep monitor food',
    'remove monitor everywhere',
  ])
  const [ann] = JSON.parse(await it.exported('--json')).customers
  expect([ann.webhooks.length, ann.monitors.length]).toEqual([0, 1])
})

const sitewide = (name: string) =>
  `version = 1\n[[customers]]\nname = "ann"\n[[customers.monitors]]\nname = "${name}"\nfilter_spec = { q = "${name}" }\n`

test('a slot freed by pruning can be used in the same apply', async () => {
  using it = await setUp()
  await it.apply(sitewide('one'))

  const without = await it.apply(sitewide('two'))
  const pruned = await it.steps(sitewide('two'), '--prune')

  expect(without.err).toContain('more site-wide monitors than the plan entry allows; allowed: 1')
  expect(pruned.summary).toEqual(['create monitor two', 'remove monitor one'])
})

test("control characters in a customer's names do not reach the terminal", async () => {
  using it = await setUp()
  const one = 'a\\u001b[2Jb'
  const hooks = `${HEAD}[[customers.webhooks]]\nname = "${one}"\nurl = "https://a.example.com/"\n`

  const applied = await it.apply(hooks)
  const left = await it.apply(HEAD)

  for (const { out } of [applied, left]) {
    expect(out).not.toContain('\u001b')
    expect(out).toContain(`webhook ${one} (wh_`)
  }
  expect(applied.out).toContain(`${one} signs with whsec_`)
})

const HEAD = 'version = 1\n[[customers]]\nname = "ann"\n'
const hook = (url: string, more = '') =>
  `${HEAD}[[customers.webhooks]]\nname = "x"\nurl = "${url}"\n${more}`
const watch = (spec: string, more = '') =>
  `${HEAD}[[customers.monitors]]\nname = "x"\nfilter_spec = ${spec}\n${more}`

test.each<[string, string, string]>([
  ['no TOML', 'version = ', 'standard input:1:'],
  ['a version to come', 'version = 2\n', ':1:1: version: found 2; allowed: 1'],
  [
    'a field that there is not',
    `${HEAD}colour = 1\n`,
    ':4:1: customers[0].colour: unknown key; allowed: name, webhooks, monitors',
  ],
  [
    'a customer that there is not',
    'version = 1\n[[customers]]\nname = "bob"\n',
    ':3:1: customers[0].name: found "bob", which is not a customer; create it with forumd customer create bob',
  ],
  [
    'a webhook that nothing tells apart',
    `${HEAD}[[customers.webhooks]]\nurl = "https://a.example.com/"\n`,
    'customers[0].webhooks[0]: neither id nor name',
  ],
  [
    'an address within the house',
    hook('https://10.0.0.1/'),
    'customers[0].webhooks[0].url: found this address; it must',
  ],
  ['an address without TLS', hook('ftp://a.example.com/'), 'it must begin with https://'],
  [
    'an address of another kind',
    hook(SLACK, 'kind = "discord"\n'),
    'customers[0].webhooks[0].kind: found "discord"; it takes https://discord.com/api/webhooks/',
  ],
  [
    'a mail where there is no mail server',
    hook('mailto:a@example.com'),
    'needed: [smtp] in the configuration',
  ],
  ['an address from nowhere', hook('env:NOT_SET'), 'that environment variable is not set'],
  [
    'a pace out of bounds',
    hook('https://a.example.com/', 'max_per_second = 0\n'),
    'max_per_second: found 0; allowed: a number from 0.01 to 1000',
  ],
  [
    'a name twice',
    `${hook('https://a.example.com/')}[[customers.webhooks]]\nname = "x"\nurl = "https://b.example.com/"\n`,
    'customers[0].webhooks[1].name: found "x" twice',
  ],
  [
    'a filter with a slip',
    watch('{ subforum = "cats", includ_any = "x" }'),
    ':6:36: customers[0].monitors[0].filter_spec.includ_any: refused; filter_spec.includ_any is not a field of filter_spec; did you mean include_any?',
  ],
  [
    'a filter that does not parse',
    watch('{ q = "(" }'),
    'customers[0].monitors[0].filter_spec.q: refused; filter_spec.q, position 2',
  ],
  [
    'a pattern that no monitor can afford',
    watch('{ subforum = "cats", regex = ["\\\\bgrinder\\\\b", "a[ab]{240}c"] }'),
    ':6:62: customers[0].monitors[0].filter_spec.regex[1]: found "a[ab]{240}c", which takes too long on some texts',
  ],
  [
    'no filter',
    `${HEAD}[[customers.monitors]]\nname = "x"\n`,
    'customers[0].monitors[0].filter_spec: missing',
  ],
  [
    'a webhook that there will not be',
    watch('{ q = "x" }', 'webhooks = ["ops"]\n'),
    'customers[0].monitors[0].webhooks[0]: found "ops", and not the name of a webhook',
  ],
  [
    'id of another customer',
    watch('{ q = "x" }', 'id = "{bob}"\n'),
    'which belongs to another customer or was removed',
  ],
  [
    'more than the plan has room for',
    HEAD +
      [1, 2, 3, 4]
        .map((n) => `[[customers.monitors]]\nname = "${n}"\nfilter_spec = { subforum = "cats" }\n`)
        .join(''),
    'more monitors than the plan entry allows; allowed: 3',
  ],
])('%s is refused with its position, and nothing is written', async (_, text, sentence) => {
  using it = await setUp()
  let given = text
  if (text.includes('{bob}')) {
    await it.run('customer create bob')
    const { steps } = await it.steps(watch('{ q = "x" }').replace('"ann"', '"bob"'))
    given = text.replace('{bob}', steps[0]?.id ?? '')
  }

  const refused = await it.apply(given)

  expect({ code: refused.code, out: refused.out }).toEqual({ code: 2, out: '' })
  expect(refused.err).toContain(sentence)
  const [ann] = JSON.parse(await it.exported('--json --customer ann')).customers
  expect(ann).toEqual({ name: 'ann', webhooks: [], monitors: [] })
})

test('one problem prevents all changes, and all problems are reported at once', async () => {
  using it = await setUp()

  const refused = await it.apply(
    `${FILE}\n[[customers.monitors]]\nname = "a"\nfilter_spec = { q = "(" }\n\n[[customers.monitors]]\nname = "b"\nfilter_spec = {}\n`,
    '',
    TEAM,
  )

  expect(refused.code).toBe(2)
  expect(refused.err.trim().split('\n')).toHaveLength(2)
  expect(JSON.parse(await it.exported('--json')).customers).toEqual([
    { name: 'ann', webhooks: [], monitors: [] },
  ])
})

test('a new address takes the place of the former one; id and secret stay', async () => {
  using it = await setUp()
  await it.apply(hook('https://a.example.com/'))
  const stored = () => {
    using db = new Database(it.database, { readonly: true })
    return db
      .query<{ id: string; url: string; secret: Uint8Array }, []>(
        'SELECT id, url, secret FROM webhooks',
      )
      .all()
  }
  const [before] = stored()

  const planned = await it.apply(hook('https://b.example.com/'), '--dry-run')
  expect(planned.out).toContain('url: "https://a.example.com/" → "https://b.example.com/"')
  expect(stored()).toEqual([before!])
  const changed = await it.steps(hook('https://b.example.com/'))
  expect(changed.summary).toEqual(['change webhook x url'])
  expect(stored()).toEqual([{ ...before!, url: 'https://b.example.com/' }])
  expect((await it.steps(hook('https://b.example.com/'))).summary).toEqual(['keep webhook x'])

  const inner = await it.apply(hook('http://10.0.0.1/'))
  expect([inner.code, inner.err]).toEqual([2, expect.stringContaining('allow_targets')])
  const chat = await it.apply(hook(SLACK))
  expect([chat.code, chat.err]).toEqual([
    2,
    expect.stringContaining('url: found an address of another kind than webhook'),
  ])
  expect(stored()).toEqual([{ ...before!, url: 'https://b.example.com/' }])
})

test('another secret address of the same host is shown as another, and not itself', async () => {
  using it = await setUp()
  await it.apply(hook(SLACK))

  const { out } = await it.apply(hook(SLACK.replace('very', 'other')), '--dry-run')
  expect(out).toContain('"https://hooks.slack.com/…" → "https://hooks.slack.com/… (another)"')
  expect(out).not.toContain('secret')
})

const ntfyHook = (url: string, more = '') => hook(url, `kind = "ntfy"\n${more}`)

test('credentials do not go to a new address unless the file has them', async () => {
  using it = await setUp()
  const sealed = () => {
    using db = new Database(it.database, { readonly: true })
    return db.query<{ it: Uint8Array | null }, []>('SELECT credentials AS it FROM webhooks').get()
      ?.it
  }
  await it.apply(ntfyHook('https://a.example.com/alerts', 'token = "tk_first"\n'))
  const first = sealed()
  expect(first).toBeInstanceOf(Uint8Array)

  await it.apply(ntfyHook('https://b.example.com/alerts', 'token = "tk_second"\n'))
  expect(sealed()).toBeInstanceOf(Uint8Array)
  expect(sealed()).not.toEqual(first!)
  expect((await it.apply(ntfyHook('https://c.example.com/alerts'))).code).toBe(0)
  expect(sealed()).toBe(null)
})

test('the address of a mail target never changes, because its owner has agreed', async () => {
  using it = await setUp('[smtp]\nurl = "smtp://127.0.0.1:1"\nfrom = "a@example.com"\n')
  await it.apply(hook('mailto:ann@example.com'))

  const refused = await it.apply(hook('mailto:bob@example.com'))

  expect(refused.code).toBe(2)
  expect(refused.err).toContain('found an address that differs from its current one')
})

test('a mail target waits for its confirmation, and the output says so', async () => {
  using it = await setUp('[smtp]\nurl = "smtp://127.0.0.1:1"\nfrom = "a@example.com"\n')

  const { out } = await it.apply(hook('mailto:Ann@Example.com'))
  const again = await it.steps(hook('mailto:Ann@Example.com'))

  expect(out).toContain('x is waiting for confirmation')
  expect(out).not.toContain('whsec_')
  expect(again.summary).toEqual(['keep webhook x'])
})

test('a running daemon picks up an apply, and signs with the secret that was shown', async () => {
  using it = await setUp()
  const arrived = Promise.withResolvers<{ headers: Headers; body: string }>()
  using receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      arrived.resolve({ headers: request.headers, body: await request.text() })
      return new Response()
    },
  })
  const place = sandbox.overview().subforums[0] ?? ''
  const daemon = await startProcess(it.config)

  const { secrets } = await it.steps(
    `${hook(`http://127.0.0.1:${receiver.port}/`)}[[customers.monitors]]\nname = "news"\nfilter_spec = { subforum = "${place}" }\n`,
  )
  sandbox.post({ subforum: place, title: 'the news' })
  const { headers, body } = await arrived.promise
  await daemon.end('SIGTERM')

  const [, at = '', given = ''] =
    /^t=(\d+),v1=([0-9a-f]+)$/.exec(headers.get('x-service-signature') ?? '') ?? []
  expect(given).toBe(createHmac('sha256', secrets[0].secret).update(`${at}.${body}`).digest('hex'))
  expect(JSON.parse(body).items).toMatchObject([{ title: 'the news' }])
})

const SERVICES = `version = 1
[[customers]]
name = "ann"
[[customers.webhooks]]
name = "phone"
kind = "ntfy"
url = "https://ntfy.sh/topic"
token = "env:NTFY"
[[customers.webhooks]]
name = "open"
kind = "ntfy"
url = "https://ntfy.sh/secret-topic"
[[customers.webhooks]]
name = "bot"
url = "env:BOT"
[[customers.webhooks]]
name = "house"
kind = "mqtt"
url = "mqtts://broker.example.com/forum"
username = "ann"
token = "env:HOUSE"
`
const BOT_TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'
const SERVICE_ENV = {
  NTFY: 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2',
  BOT: `https://api.telegram.org/bot${BOT_TOKEN}/sendMessage?chat_id=1`,
  HOUSE: 'house-password',
}

test('credentials of services are declared by reference; an export names variables in their place', async () => {
  using here = await setUp()
  using there = await setUp()
  const names = ['phone', 'open', 'bot', 'house']
  const created = await here.steps(SERVICES, '', SERVICE_ENV)
  const again = await here.steps(SERVICES, '', SERVICE_ENV)
  expect(created.summary).toEqual(names.map((name) => `create webhook ${name}`))
  expect(again.summary).toEqual(names.map((name) => `keep webhook ${name}`))

  const exported = await here.exported()
  expect(exported).toContain('url = "https://api.telegram.org/bot***/sendMessage?chat_id=1"')
  expect(exported).toContain('url = "mqtts://broker.example.com/forum"')
  for (const secret of [SERVICE_ENV.NTFY, BOT_TOKEN, SERVICE_ENV.HOUSE, 'secret-topic'])
    expect(exported).not.toContain(secret)
  expect((await here.steps(exported)).summary).toEqual(names.map((name) => `keep webhook ${name}`))

  const variables = [...exported.matchAll(/"env:((?:TOKEN|USER)_[0-9A-F]{12})"/g)].map(
    ([, name = '']) => name,
  )
  expect(variables).toHaveLength(4)
  const refused = await there.apply(exported)
  expect(refused.err).toContain(`found "env:${variables[0]}", but that environment variable`)
  const whole = exported.replace(
    'name = "open"\n',
    'name = "open"\nurl = "https://ntfy.sh/secret-topic"\n',
  )
  const env = Object.fromEntries(variables.map((name) => [name, BOT_TOKEN]))
  const moved = await there.steps(whole, '', env)
  expect(moved.summary).toEqual(names.map((name) => `create webhook ${name}`))
  using db = new Database(there.database, { readonly: true })
  const stored = db
    .query('SELECT name FROM webhooks WHERE credentials IS NOT NULL ORDER BY name')
    .all()
  expect(stored).toEqual([{ name: 'bot' }, { name: 'house' }, { name: 'phone' }])
})

test.each([
  [
    'a token for a webhook',
    'url = "https://a.example.com/"\ntoken = "x"',
    '.token: found this token; it is for kinds ntfy',
  ],
  [
    'no token',
    'kind = "gotify"\nurl = "https://g.example.com/"',
    '.token: missing; it is required: the token of an application',
  ],
  [
    'another form',
    'kind = "ntfy"\nurl = "https://ntfy.sh/"',
    '.url: found this url; it must be https://ntfy.sh/your-topic, with a topic',
  ],
  [
    'a private broker',
    'url = "mqtts://10.0.0.1/a"',
    '.url: found this address; it must resolve to public',
  ],
])('%s is refused with its position', async (_what, lines, sentence) => {
  using it = await setUp()
  const { code, err } = await it.apply(
    `version = 1\n[[customers]]\nname = "ann"\n[[customers.webhooks]]\nname = "x"\n${lines}\n`,
  )
  expect(code).toBe(2)
  expect(err).toContain(`customers[0].webhooks[0]${sentence}`)
})

test('attention rules are exported without what is off, and applied with webhooks by name', async () => {
  using it = await setUp()
  const rules = `
[customers.monitors.attention]
time_zone = "Europe/Berlin"
quiet_hours = [{ from = "22:00", to = "07:00" }]
silent_after_h = 24

[[customers.monitors.attention.targets]]
webhook_id = "ops"
digest = { every = "week", day = "mon", at = "08:00" }
`
  const file = FILE + rules
  const first = await it.apply(file, '', TEAM)
  expect([first.code, first.err]).toEqual([0, ''])
  expect(
    (await it.steps(file, '', TEAM)).summary.filter((step) => !step.startsWith('keep')),
  ).toEqual([])

  const exported = JSON.parse(await it.exported('--json'))
  const [, monitor] = exported.customers[0].monitors
  expect(monitor.attention).toMatchObject({
    silent_after_h: 24,
    targets: [{ webhook_id: 'ops', digest: { every: 'week', day: 'mon', at: '08:00' } }],
  })
  expect(monitor.attention).not.toHaveProperty('escalate')
  const toml = await it.exported()
  expect((await it.steps(toml)).summary.filter((step) => !step.startsWith('keep'))).toEqual([])
  const changed = await it.steps(file.replace('22:00', '21:00'), '', TEAM)
  expect(changed.summary).toContain('change monitor everywhere attention')

  const wrong = await it.apply(file.replace('webhook_id = "ops"', 'webhook_id = "opps"'), '', TEAM)
  expect(wrong.err).toContain('found "opps", and not the name of a webhook')
  const hour = await it.apply(file.replace('"08:00"', '"8"'), '', TEAM)
  expect(hour.err).toContain('must be a local time from 00:00 to 23:59')
})

test('declared signatures make a key pair, are exported, and are refused for a chat', async () => {
  using it = await setUp()
  const keys = FILE.replace('ordered = true', 'ordered = true\nsignatures = ["v1", "v1a"]')

  expect((await it.steps(FILE, '', TEAM)).summary).toContain('create webhook ops')
  expect((await it.steps(keys, '', TEAM)).summary).toContain('change webhook ops signatures')
  expect((await it.apply(keys, '', TEAM)).out).toContain('0 changed')
  expect(await it.exported()).toContain('signatures = [ "v1", "v1a" ]')
  const chat = FILE.replace('url = "env:TEAM"', 'url = "env:TEAM"\nsignatures = ["v1", "v1a"]')
  const refused = await it.apply(chat, '', TEAM)
  expect({ code: refused.code, err: refused.err }).toEqual({
    code: 2,
    err: expect.stringContaining('found v1a for kind slack; allowed: for kind webhook'),
  })
})

const JUDGED = `version = 1
[[customers]]
name = "ann"
[[customers.monitors]]
name = "grinders"
filter_spec = { subforum = ["coffee"] }
relevance = { prompt = "People who want to buy a grinder.", min_score = 0.7, when_down = "hold" }
`

test('relevance rules are applied, exported as they are, and removed by leaving them out', async () => {
  using it = await setUp('[relevance]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "small"\n')
  expect((await it.steps(JUDGED)).steps).toMatchObject([{ action: 'create', what: 'monitor' }])
  const out = await it.exported()
  expect(out).toContain('People who want to buy a grinder.')
  expect((await it.steps(out)).steps).toMatchObject([{ action: 'keep' }])
  const without = JUDGED.replace(/\nrelevance = .*/, '')
  expect((await it.steps(without)).steps).toMatchObject([
    { action: 'change', fields: ['relevance'] },
  ])
})

test('relevance rules without a model are refused with their line', async () => {
  using it = await setUp()
  const { code, err } = await it.apply(JUDGED)

  expect(code).not.toBe(0)
  expect(err).toContain('relevance: found rules for a model, and none is configured')
})
