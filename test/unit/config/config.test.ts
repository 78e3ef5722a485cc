import { describe, expect, test } from 'bun:test'

import { parse } from 'smol-toml'

import { warningsOf } from '../../../src/cli/configuration.ts'
import { ConfigError, keysByTable, parseConfig } from '../../../src/config/load.ts'
import { homeOf, sourceWords } from '../../../src/config/schema.ts'
import { REMOVED } from '../../../src/core/base/removed.ts'

const REQUIRED =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://f.example"\nsession_cookie = "s"\n'
const EXAMPLE = `${import.meta.dir}/../../../config.example.toml`

function problemsOf(text: string, environment: Parameters<typeof parseConfig>[1] = {}): string[] {
  try {
    parseConfig(text, environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

/** The problems of a text followed by a source, without the file name. */
const problemsIn = (text: string) =>
  problemsOf(`${text}\n${REQUIRED}`).map((line) => line.replace('forumd.toml:', ''))

describe('the example', () => {
  test('contains exactly the defaults', async () => {
    const example = parseConfig(await Bun.file(EXAMPLE).text())

    const { base_url, session_cookie } = homeOf(example)!
    const defaults = parseConfig(
      `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${base_url}"\nsession_cookie = "${session_cookie}"\n[[source]]\nname = "hn"\nkind = "hackernews"\n[[source]]\nname = "boards"\nkind = "feed"\nbase_url = "https://forum.example.org/feed"`,
    )
    expect(example).toEqual(defaults)
  })

  test('contains every key', async () => {
    const example_keys = keysOf(parse(await Bun.file(EXAMPLE).text()))

    const schema_keys = [...keysByTable()].flatMap(([table, keys]) =>
      keys.map((key) => `${table && `${table.replace('*', 'entry')}.`}${key}`),
    )
    expect(example_keys.toSorted()).toEqual(schema_keys.concat('plans.entry').toSorted())
  })

  test('describes each key in the line above it', async () => {
    const lines = (await Bun.file(EXAMPLE).text()).split('\n')

    const silent = lines.filter(
      (line, index) => /^\w+ = /.test(line) && !/^# \S.{10}/.test(lines[index - 1] ?? ''),
    )
    expect(silent).toEqual([])
    expect(lines.filter((line) => /^#\s*$/.test(line)).length).toBeLessThan(3)
  })
})

test('reports five problems in five lines, each with its position', () => {
  const text = [
    '[server]',
    'prot = 80',
    'trusted_proxies = ["10.0.0.0/8", "10.0.0.0/33"]',
    '[[source]]',
    'name = "forum"',
    'kind = "reddit"',
    'base_url = "ftp://f.example"',
    'session_cookie = "s"',
    '[moniter]',
    '[limits]',
    '  key_burst = "20"',
  ].join('\n')

  expect(problemsOf(text, { file: '/etc/forumd/forumd.toml' })).toEqual([
    '/etc/forumd/forumd.toml:2:1: server.prot: unknown key; did you mean "port"?',
    '/etc/forumd/forumd.toml:3:34: server.trusted_proxies[1]: found "10.0.0.0/33"; allowed: an IP address or a CIDR range such as 10.0.0.0/8',
    '/etc/forumd/forumd.toml:7:1: source[0].base_url: found "ftp://f.example"; allowed: an address that begins with http:// or https://, without user name, query and fragment, or "" for none',
    '/etc/forumd/forumd.toml:9:2: moniter: unknown key; did you mean "monitor"?',
    '/etc/forumd/forumd.toml:11:3: limits.key_burst: found "20"; allowed: a whole number from 0 to 1000000',
  ])
})

test('an empty file lacks a source', () => {
  expect(problemsOf('')).toEqual([
    'forumd.toml:1:1: source: missing; needed: a [[source]] table with name and kind; forumd init writes one',
  ])
})

test('the first source of the kind reddit needs the name of its cookie', () => {
  const table = '[[source]]\nname = "a"\nkind = "reddit"\nbase_url = "https://a.example"\n'
  const second = table.replaceAll('a"', 'b"').replace('a.', 'b.')
  const [problem = '', ...more] = problemsOf(table + second)

  expect(problem).toStartWith(
    'forumd.toml:1:3: source[0].session_cookie: missing; needed for the first source of this kind',
  )
  expect(more).toEqual([])
})

test('a key of another kind is refused, with the keys of this one', () => {
  expect(problemsIn('[[source]]\nname = "hn"\nkind = "hackernews"\nchat_url = ""')).toEqual([
    '4:1: source[0].chat_url: unknown key; a source of this kind takes name, base_url, user_agent, ends_at, kind, requests_per_minute, api_key',
  ])
})

test('the old tables are refused with the text that takes their place', () => {
  const old = [
    '[platform]',
    'base_url = "https://f.example"',
    'session_cookie = "env:COOKIE"',
    'user_agent = "me/1.0"',
    'media_hosts = ["i.f.example"]',
    'retries = 1',
    '[pool]',
    'allow_anonymous = false',
  ].join('\n')
  const problem = problemsOf(old).join('\n')
  const [sentence, ...tables] = problem.split('\n\n')

  expect(sentence).toBe(
    `forumd.toml:1:2: platform: unknown key; ${REMOVED.config['platform']}; in place of [platform] and [pool]:`,
  )
  const config = parseConfig(tables.join('\n\n'), { env: { COOKIE: 'c' } })
  expect(config.requests.user_agent).toBe('me/1.0')
  expect(config.delivery.media_hosts).toEqual(['i.f.example'])
  expect(homeOf(config)).toMatchObject({
    base_url: 'https://f.example',
    session_cookie: 'c',
    retries: 1,
    accounts: { allow_anonymous: false },
  })
})

test('a wrong kind of source is one problem', () => {
  const source = '[[source]]\nname = "hn"\nkind = "hackernew"\n'

  expect(problemsOf(source)).toEqual([
    expect.stringContaining('source[0].kind: found "hackernew"; allowed: one of'),
  ])
  expect(problemsOf(source.replace('hackernew', 'lemmy'))).toEqual([
    expect.stringContaining('source[0].base_url: missing'),
  ])
})

test.each([
  ['', 'forum', 'forum'],
  ['[[source]]\nname = "hn"\nkind = "hackernews"\n', 'hn', 'forum'],
])(
  'the first source is the default, and the first platform has no prefix: %j',
  (before, first, home) => {
    expect(sourceWords(parseConfig(before + REQUIRED))).toEqual({ default_source: first, home })
  },
)

test('a configuration without a platform has no source of accounts', () => {
  const config = parseConfig('[[source]]\nname = "hn"\nkind = "hackernews"\n')

  expect(sourceWords(config)).toEqual({ default_source: 'hn', home: null })
})

test.each([
  ['a = 1\nb = [1\n', '3:1: expected comma or end of structure'],
  ['[server]\nport = 1\nport = 2', '3:1: trying to redefine an already defined table or value'],
  ['key "x" = 1', '1:5: illegal character in key'],
])('%j is rejected as TOML, with its position', (text, beginning) => {
  const [line = '', ...more] = problemsOf(text)

  expect(line).toStartWith(`forumd.toml:${beginning}; `)
  expect(more).toEqual([])
})

test.each([
  ['[server]\nhost = ""', 'server.host: found ""'],
  ['[server]\nport = 65536', 'server.port: found 65536; allowed: a whole number from 0 to 65535'],
  ['[server]\nport = 80.5', 'server.port: found 80.5'],
  ['[server]\nport = 1979-05-27', 'server.port: found a date'],
  ['[server]\nhosts = "a"', 'server.hosts: found "a"; allowed: a list'],
  ['[server]\nhosts = ["https://a"]', 'server.hosts[0]: found "https://a"'],
  ['server = 1', 'server: found 1; allowed: a table'],
  ['[storage]\ndir = ""', 'storage.dir: found ""'],
  ['[wire]\nplatform = "Forum"', 'wire.platform: found "Forum"'],
  ['[wire]\ncommunity = "1st"', 'wire.community: found "1st"'],
  ['[wire]\nplatform = "docs"', 'wire.platform: found "docs"'],
  ['[wire]\ncommunity = "title"', 'wire.community: found "title"'],
  ['[features]\nvote = "yes"', 'features.vote: found "yes"; allowed: true or false'],
  ['[billing]\nstarting_credit = -1', 'billing.starting_credit: found -1'],
  ['[billing]\nstarting_credit = 0.0000001', 'billing.starting_credit: found 1e-7'],
  ['[billing.prices]\nreed = 1', 'billing.prices.reed: unknown key; did you mean "read"?'],
  ['[plans.pro]\nslots = 1', 'billing.default_plan: found "entry", but there is no such plan'],
  ['[plans."a b"]\n[plans.entry]', 'plans."a b": found this name'],
  ['[plans.entry]\nslot = 1', 'plans.entry.slot: unknown key; did you mean "slots"?'],
  ['[monitor]\nschedule = "61 * * * * *"', 'monitor.schedule: found "61 * * * * *"'],
  ['[monitor]\nschedule = "0 0 30 2 *"', 'monitor.schedule: found "0 0 30 2 *"'],
  ['[maintenance]\ntime_zone = "Mars/Base"', 'maintenance.time_zone: found "Mars/Base"'],
  ['[maintenance]\ntime_zone = "+02:00"', 'maintenance.time_zone: found "+02:00"'],
  ['[guard]\nallow_targets = ["10.0.0.0/"]', 'guard.allow_targets[0]: found "10.0.0.0/"'],
  ['[guard]\nallow_targets = ["a/8"]', 'guard.allow_targets[0]: found "a/8"'],
  ['[delivery]\nretry_delays_s = []', 'delivery.retry_delays_s: found a list of 0'],
  ['[delivery]\nretry_delays_s = [0, -1]', 'delivery.retry_delays_s[1]: found -1'],
  ['[delivery]\njitter = nan', 'delivery.jitter: found NaN'],
  ['[browser]\nsandbox = "on"', 'browser.sandbox: found "on"; allowed: "auto", true or false'],
  ['[log]\nlevel = "loud"', 'log.level: found "loud"; allowed: one of "debug", "info"'],
  ['[smtp]\nurl = "smtp://h:25"', 'smtp.from: missing'],
  ['[operator]\nsecret = "s"', 'operator.webhook: missing'],
  ['base_url = "https://a"', 'base_url: unknown key; it belongs in [[source]] or [relevance]'],
  ['[server]\n"__proto__" = 1', 'server.__proto__: unknown key; [server] takes host, port'],
])('%j is rejected', (text, sentence) => {
  const [line = '', ...more] = problemsIn(text)

  expect(line.replace(/^\d+:\d+: /, '')).toStartWith(sentence)
  expect(more).toEqual([])
})

test.each(Object.entries(REMOVED.config))(
  'the removed key %s is refused, and the message says what replaces it',
  (name, sentence) => {
    const [, table = '', key] = /^(?:(.*)\.)?([^.]+)$/.exec(name) ?? []
    const heading =
      { '': '', 'source.*': '[[source]]' }[table] ?? `[${table.replace('*', 'entry')}]`
    const line = `${heading}\n${key} = 1\n`

    const problems = problemsIn(line)
    expect(problems).toContainEqual(expect.stringContaining(`: unknown key; ${sentence}`))
  },
)

test.each(['env:FORUMD_UNSET', 'file:/nowhere/lease'])(
  'a removed key that refers to %s is refused as removed',
  (reference) => {
    expect(problemsIn(`[standby]\nlease = "${reference}"`)).toEqual([
      `2:1: standby.lease: unknown key; ${REMOVED.config['standby.lease']}`,
    ])
  },
)

test('reports contradictions between keys together with invalid keys', () => {
  expect(problemsIn('[billing]\ndefault_plan = "pro"\nenabled = 1')).toEqual([
    '2:1: billing.default_plan: found "pro", but there is no such plan; add [plans.pro], or name one of entry',
    '3:1: billing.enabled: found 1; allowed: true or false',
  ])
})

test.each([
  '[smtp]\nurl = "ftp://u:hunter22@h"',
  '[operator]\nsecret = "hunter22 hunter22"',
  '[metrics]\ntoken = "hunter22 "',
  '[operator]\nwebhook = "hunter22"',
  '[server]\npublic_url = "https://u:hunter22@h"',
  '[smtp]\nurl = hunter22',
])('a problem of %j does not repeat the secret', (text) => {
  const problems = problemsIn(text).join('\n')

  expect(problems).not.toBe('')
  expect(problems).not.toContain('hunter22')
})

describe('env: and file:', () => {
  const environment = {
    env: { COOKIE: 'session_id', TOKEN: 'from the environment', EMPTY: '' },
    readFile: (path: string) => {
      if (path === '/run/cred/token') return 'from-a-file\r\n'
      throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' })
    },
    credentials_dir: '/run/cred',
  }
  const base =
    '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://f.example"\nsession_cookie = "env:COOKIE"\n'

  test('resolve to the variable or the file content', () => {
    const config = parseConfig(
      `${base}[metrics]\ntoken = "file:token"\n[operator]\nwebhook = "https://x"\nsecret = "file:/run/cred/token"`,
      environment,
    )

    expect(homeOf(config)!.session_cookie).toBe('session_id')
    expect(config.metrics.token).toBe('from-a-file')
    expect(config.operator.secret).toBe('from-a-file')
  })

  test('resolve to a path for a key that names a file', () => {
    const { storage } = parseConfig(`${base}[storage]\nkey_file = "file:secrets.key"`, environment)

    expect(storage.key_file).toBe('/run/cred/secrets.key')
  })

  test('are reported with their position if the target is missing', () => {
    const text = `${base}[metrics]\ntoken = "file:nope"\n[server]\nhosts = ["a", "env:NOPE"]`

    expect(problemsOf(text, environment)).toEqual([
      'forumd.toml:7:1: metrics.token: found "file:nope", but /run/cred/nope cannot be read (ENOENT); allowed: a text file that the user who runs forumd may read',
      'forumd.toml:9:15: server.hosts[1]: found "env:NOPE", but that environment variable is not set; set NOPE before forumd starts, or write the value here',
    ])
  })

  test('report an unset $CREDENTIALS_DIRECTORY for a name without a slash', () => {
    const [line] = problemsOf(`${base}[metrics]\ntoken = "file:token"`, {
      ...environment,
      credentials_dir: null,
    })

    expect(line).toContain('$CREDENTIALS_DIRECTORY is not set')
    expect(line).toEndWith(
      'CREDENTIALS_DIRECTORY=/run/credentials/forumd.service before the command',
    )
  })

  test('report an invalid value without repeating it', () => {
    const [line] = problemsOf(`${base}[log]\nlevel = "env:TOKEN"`, environment)

    expect(line).toContain('found the value of "env:TOKEN"; allowed: one of "debug"')
    expect(line).not.toContain('from the environment')
  })
})

test('amounts are exact micro-dollars', () => {
  const { billing } = parseConfig(
    `${REQUIRED}[billing]\nstarting_credit = 1.000001\n[billing.prices]\nread = 0.000003`,
  )

  expect(billing.starting_credit_micros).toBe(1_000_001)
  expect(billing.price_micros).toEqual({
    read: 3,
    deep_search: 20_000,
    vote: 5000,
    write: 12_000,
    dm: 25_000,
  })
})

test('defined plans replace the default plan', () => {
  const { plans } = parseConfig(
    `${REQUIRED}[billing]\ndefault_plan = "pro"\n[plans.pro]\nslots = 50`,
  )

  expect(plans).toEqual({
    pro: { slots: 50, sitewide_slots: 2, cadence_s: 60, daily_deliveries: 10_000 },
  })
})

test('host names are lower-cased and lose a trailing dot', () => {
  const hosts = '["Old.Forum.Example", "M.forum.example.", "2001:DB8::1"]'

  const config = parseConfig(
    `${REQUIRED}link_hosts = ${hosts}\n[delivery]\nmedia_hosts = ["I.Forum.Example"]`,
  )

  expect(homeOf(config)!.link_hosts).toEqual([
    'old.forum.example',
    'm.forum.example',
    '2001:db8::1',
  ])
  expect(config.delivery.media_hosts).toEqual(['i.forum.example'])
})

test('URLs lose a trailing slash', () => {
  const config = parseConfig(`${REQUIRED}api_url = "https://a.example/forum//"`)

  expect(homeOf(config)!.api_url).toBe('https://a.example/forum')
})

test.each(['http://127.0.0.1:8080/forumd', 'https://a.example/x/', 'https://a.example/%20'])(
  'a public_url with a path is refused by name: %s',
  (url) => {
    expect(problemsIn(`[server]\npublic_url = "${url}"`)).toEqual([
      expect.stringContaining('without a path: give forumd a host name of its own'),
    ])
  },
)

test.each([
  ['https://a.example/', 'https://a.example'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['', ''],
])('a public_url of a host alone is accepted: %j', (url, taken) => {
  expect(parseConfig(`${REQUIRED}[server]\npublic_url = "${url}"`).server.public_url).toBe(taken)
})

test.each([
  ['[delivery]\nretry_delays_s = [0, 5]', 'delivery.retry_delays_s has 2 entries'],
  ['[guard]\nallow_http = true', 'guard.allow_http has no effect'],
  ['[plans.entry]\nslots = 1', 'plans.entry.sitewide_slots is above slots'],
  ['[smtp]\nfrom = "a@b.example"', 'smtp.from has no effect'],
  ['[server]\npublic_url = "https://a.example"', 'server.trusted_proxies is empty'],
])('%j is accepted with a warning', (text, sentence) => {
  const warnings = warningsOf(parseConfig(`${REQUIRED}${text}`))

  expect(warnings).toEqual([expect.stringContaining(sentence)])
})

test('the defaults cause no warning', () => {
  expect(warningsOf(parseConfig(REQUIRED))).toEqual([])
})

function keysOf(table: object): string[] {
  const found = (value: unknown, prefix: string): string[] => {
    if (Array.isArray(value) && typeof value[0] === 'object')
      return value.flatMap((it) => found(it, `${prefix}entry.`))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
    return Object.entries(value).flatMap(([key, it]) => [
      `${prefix}${key}`,
      ...found(it, `${prefix}${key}.`),
    ])
  }
  return [...new Set(found(table, ''))]
}
