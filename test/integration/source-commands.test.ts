import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { parseConfig } from '../../src/config/load.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { runForumd } from '../support/process.ts'

/** A configuration with a secret in a file and no line end, and the commands on it. */
function configured(folder: Folder) {
  const config = folder.file('forumd.toml')
  writeFileSync(folder.file('token'), 'scrape-me')
  writeFileSync(
    config,
    `storage = { dir = "${folder.file('data')}" }
metrics = { token = "file:${folder.file('token')}" }
[[source]]
name = "forum"
kind = "reddit"
base_url = "http://127.0.0.1:1"
session_cookie = "s"`,
  )
  const forumd = (...args: string[]) => runForumd([...args, '--config', config])
  return { config, forumd, before: readFileSync(config, 'utf8') }
}

test('a source is appended to the configuration, which keeps its text', async () => {
  using folder = tempFolder()
  const { config, forumd, before } = configured(folder)

  await forumd('source', 'add', 'hn', 'hackernews')
  await forumd('source', 'add', 'meta', 'discourse', 'https://meta.example.org')

  const text = readFileSync(config, 'utf8')
  expect(text.startsWith(before)).toBe(true)
  const { source } = parseConfig(text, { readFile: (path) => readFileSync(path, 'utf8') })
  expect(source.map(({ name, kind, base_url }) => [name, kind, base_url])).toEqual([
    ['forum', 'reddit', 'http://127.0.0.1:1'],
    ['hn', 'hackernews', ''],
    ['meta', 'discourse', 'https://meta.example.org'],
  ])
  expect(JSON.parse(await forumd('source', 'list', '--json')).sources).toHaveLength(3)
})

test.each([
  [['hn', 'hackernews'], 'which another source has'],
  [['meta', 'discourse'], 'the address of the site is needed'],
  [['all', 'hackernews'], 'other than all'],
  [['x', 'fidonet'], 'one of "discourse"'],
])('%j is refused, and the file stays as it was', async (args, sentence) => {
  using folder = tempFolder()
  const { config, forumd } = configured(folder)
  await forumd('source', 'add', 'hn', 'hackernews')
  const before = readFileSync(config, 'utf8')

  const refusal = await forumd('source', 'add', ...args).catch(String)
  expect(refusal).toContain(sentence)
  expect(readFileSync(config, 'utf8')).toBe(before)
})

test('each source is requested once, and one that cannot be reached fails the command', async () => {
  using folder = tempFolder()
  const { forumd } = configured(folder)
  await using platform = await startKind('discourse', {
    port: 0,
    seed: 7,
    speed: 0,
    now: Date.now,
  })
  await forumd('source', 'add', 'meta', 'discourse', platform.url)
  const { sources } = JSON.parse(await forumd('source', 'test', 'meta', '--json'))
  expect(sources).toMatchObject([{ name: 'meta', verdict: 'works', error: null }])

  await forumd('source', 'add', 'gone', 'discourse', 'http://127.0.0.1:1')
  const failure = await forumd('source', 'test').catch(String)
  expect(failure).toContain('ended with 1')
})

test('apply checks sources and their places as the API does', async () => {
  using folder = tempFolder()
  const { forumd } = configured(folder)
  await forumd('customer', 'create', 'ann')
  await forumd('source', 'add', 'hn', 'hackernews')
  const file = folder.file('monitors.toml')
  const applied = (filter_spec: object) => {
    const monitors = [{ name: 'one', filter_spec }]
    writeFileSync(file, JSON.stringify({ version: 1, customers: [{ name: 'ann', monitors }] }))
    return forumd('apply', file).catch(String)
  }
  const refusals: [object, string][] = [
    [{ source: 'nowhere' }, 'nowhere cannot be monitored; the sources are forum, hn'],
    [{ source: 'hn', subforum: 'coffee' }, 'filter_spec.subforum: coffee is no place of hn'],
    [{ source: 'hn', exclude_subforums: 'coffee' }, 'filter_spec.exclude_subforums: coffee'],
    [{ source: 'hn', subforum: 'all' }, 'all stands for many'],
  ]
  for (const [spec, sentence] of refusals) expect(await applied(spec)).toContain(sentence)
  expect(await applied({ source: 'hn', subforum: 'show' })).toContain('1 created')
})

test('a source that was added in the dashboard is listed, tested and removed', async () => {
  using folder = tempFolder()
  const { config, forumd } = configured(folder)
  await using platform = await startKind('lemmy', { port: 0, seed: 7, speed: 0, now: Date.now })
  await forumd('customer', 'create', 'ann')
  await forumd('source', 'add', 'hn', 'hackernews')
  using db = new Database(folder.file('data/forumd.sqlite'))
  db.run("INSERT INTO sources VALUES ('cats', 'lemmy', ?, 1)", [platform.url])
  // The guard holds for what was added, as the address may have come from a browser.
  expect(await forumd('source', 'test', 'cats').catch(String)).not.toContain('works')
  const guard = 'guard = { allow_targets = ["127.0.0.1/32"], allow_http = true }'
  writeFileSync(config, `${guard}\n${readFileSync(config, 'utf8')}`)

  const { sources } = JSON.parse(await forumd('source', 'list', '--json'))
  expect(sources).toMatchObject([
    { name: 'forum', from: 'file' },
    { name: 'hn', from: 'file' },
    { name: 'cats', from: 'dashboard', address: platform.url },
  ])
  const tested = JSON.parse(await forumd('source', 'test', 'cats', '--json'))
  expect(tested.sources).toMatchObject([{ name: 'cats', verdict: 'works' }])
  expect(await forumd('source', 'remove', 'cats')).toContain('cats is removed')
  expect(JSON.parse(await forumd('source', 'list', '--json')).sources).toHaveLength(2)
  expect(await forumd('source', 'remove', 'hn').catch(String)).toContain(
    'a table of the configuration file',
  )
  expect(await forumd('source', 'remove', 'cats').catch(String)).toContain('there is no source')
})
