import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import BetterSqlite from 'better-sqlite3'

import { sealCredentials } from '../../src/core/delivery/credentials.ts'
import { createLinks } from '../../src/core/forum/links.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { openAccount } from '../../src/store/accounts/accounts.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { deleteWebhook, insertWebhook, rotateSecret } from '../../src/store/delivery/webhooks.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { pathsOf } from '../../src/store/maintenance/paths.ts'
import { openBackup, restoreInstance } from '../../src/store/maintenance/restore.ts'
import { pruneEvents } from '../../src/store/monitoring/checks.ts'
import { listMatchesAfter } from '../../src/store/monitoring/matches.ts'
import { mountMemory, unavailableReason } from '../chaos/mounts.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM, startProcess } from '../support/process.ts'
import { insertPulled } from '../support/pulled.ts'

const DAY_MS = 86_400_000
// Each run starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

const CONFIG =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n'
const PASSWORD = 'correct horse battery staple'

const world = {
  clock: { now: Date.now },
  random: {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  },
}

/** Runs the program in `dir`. */
function forumd(dir: string, args: string[], stdin = '') {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...PROGRAM, ...args], {
    cwd: dir,
    stdin: Buffer.from(stdin),
    env: { PATH: process.env['PATH'] ?? '' },
  })
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

const opened = (dir: string) =>
  openInstance({ dir: join(dir, 'data'), key_file: '', ...world }, { mode: 'beside' })

/** A folder that {@link backedUp} copies: commands take most of the time of a test. */
let original: Folder | undefined
afterAll(() => original?.[Symbol.dispose]())

/** A data folder with data of every kind, and a backup of it. `another`: of an instance of its own. */
function backedUp({ another = false } = {}): Folder & { backup: string; key: string } {
  if (another) return filesOf(filled())
  original ??= filled()
  const folder = tempFolder()
  cpSync(original.path, folder.path, { recursive: true, preserveTimestamps: true })
  return filesOf(folder)
}

const filesOf = (folder: Folder) => ({
  ...folder,
  [Symbol.dispose]: folder[Symbol.dispose],
  backup: folder.file('backup.sqlite'),
  key: folder.file('data/secrets.key'),
})

function filled(): Folder {
  const folder = tempFolder()
  writeFileSync(folder.file('forumd.toml'), CONFIG)
  expect(forumd(folder.path, ['customer', 'create', 'ann']).code).toBe(0)
  const added = ['account', 'add', 'mule', '--username', 'mule', '--password-file', '-']
  // Nothing listens at the platform's address, and the account is stored all the same.
  expect(forumd(folder.path, added, PASSWORD).out).toContain('mule is in the pool')
  const instance = opened(folder.path)
  const id = instance.db.query<{ id: string }, []>('SELECT id FROM customers').get()?.id ?? ''
  insertWebhook(instance.db, {
    id: 'wh_1',
    customer_id: id,
    kind: 'webhook',
    url: 'https://hooks.example.com/',
    secret: instance.ring.seal('webhooks.secret:wh_1', 'whsec_secret'),
    created_at: 0,
  })
  insertWebhook(instance.db, {
    id: 'wh_9',
    customer_id: id,
    kind: 'gotify',
    url: 'https://gotify.example.com/message',
    secret: instance.ring.seal('webhooks.secret:wh_9', 'whsec_other'),
    credentials: sealCredentials(instance.ring, 'wh_9', { username: null, token: 'A' }),
    created_at: 0,
  })
  instance.close()
  const backup = folder.file('backup.sqlite')
  expect(forumd(folder.path, ['backup', backup])).toMatchObject({ code: 0, err: '' })
  return folder
}

const customers = (dir: string): string[] =>
  JSON.parse(forumd(dir, ['customer', 'list', '--json']).out).customers.map(
    ({ name }: { name: string }) => name,
  )

test('a backup holds everything except the key, says so, and is readable by another SQLite engine', () => {
  using it = backedUp()
  const { out } = forumd(it.path, ['backup', it.file('second.sqlite')])
  expect(out).toContain(`The key file ${it.key} is not in it`)

  const db = new BetterSqlite(it.backup, { readonly: true })
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(db.prepare('SELECT name FROM customers').pluck().all()).toEqual(['ann'])
  db.close()
  const bytes = readFileSync(it.backup)
  expect(bytes.includes(readFileSync(it.key))).toBe(false)
  expect(bytes.includes(PASSWORD)).toBe(false)
})

/** Customers in a backup. */
const customersIn = (file: string) => {
  const db = new BetterSqlite(file, { readonly: true })
  const found = db.prepare('SELECT name FROM customers ORDER BY name').pluck().all()
  db.close()
  return found
}

test('a backup replaces an earlier one of the same name; no other file is overwritten', () => {
  using it = backedUp()
  forumd(it.path, ['customer', 'create', 'bob'])
  expect(forumd(it.path, ['backup', it.backup])).toMatchObject({ code: 0, err: '' })
  expect(customersIn(it.backup)).toEqual(['ann', 'bob'])

  const other = it.file('notes.txt')
  writeFileSync(other, 'precious')
  using elsewhere = backedUp({ another: true })
  for (const file of [other, it.file('data/forumd.sqlite'), elsewhere.backup])
    expect(forumd(it.path, ['backup', file])).toMatchObject({
      code: 1,
      err: expect.stringContaining('name another file'),
    })
  expect(readFileSync(other, 'utf8')).toBe('precious')
  expect(customersIn(elsewhere.backup)).toEqual(['ann'])
})

/** A backup, after which a key is revoked, a secret rotated and a webhook deleted. */
function revokedSince() {
  const it = backedUp()
  const created = forumd(it.path, ['key', 'create', '--customer', 'ann', '--json']).out
  const { key_id: key } = JSON.parse(created) as { key_id: string }
  const kept = JSON.parse(forumd(it.path, ['key', 'create', '--customer', 'ann', '--json']).out)
  const first = opened(it.path)
  const customer_id = first.db.query<{ id: string }, []>('SELECT id FROM customers').get()?.id ?? ''
  const hook = { customer_id, kind: 'webhook' as const, url: 'https://hooks.example.com/2' }
  const sealed = (id: string, secret: string) => first.ring.seal(`webhooks.secret:${id}`, secret)
  for (const id of ['wh_2', 'wh_3'])
    insertWebhook(first.db, { ...hook, id, secret: sealed(id, 'whsec_first'), created_at: 0 })
  first.close()
  expect(forumd(it.path, ['backup', it.backup]).code).toBe(0)

  expect(forumd(it.path, ['key', 'revoke', key]).code).toBe(0)
  const { db, ring, close } = opened(it.path)
  // Sealing the same secret again is not a rotation.
  const resealed = ring.seal('webhooks.secret:wh_1', 'whsec_secret')
  rotateSecret(db, customer_id, { id: 'wh_1', secret: resealed, until: null, now: 1 })
  const secret = ring.seal('webhooks.secret:wh_2', 'whsec_second')
  rotateSecret(db, customer_id, { id: 'wh_2', secret, until: null, now: 1 })
  deleteWebhook(db, customer_id, 'wh_3', Date.now())
  close()
  const state = () => {
    const now = opened(it.path)
    const revoked = now.db.query('SELECT id FROM api_keys WHERE revoked_at IS NOT NULL').all()
    const secrets = now.db
      .query<{ id: string; secret: Uint8Array }, []>(
        "SELECT id, secret FROM webhooks WHERE deleted_at IS NULL AND kind = 'webhook' ORDER BY id",
      )
      .all()
      .map(({ id, secret: bytes }) => [id, now.ring.unseal(`webhooks.secret:${id}`, bytes)])
    now.close()
    return { revoked, secrets }
  }
  return { ...it, key, kept: kept.key_id as string, state, [Symbol.dispose]: it[Symbol.dispose] }
}

test('a restore lists the keys and webhooks that it reactivates', () => {
  using it = revokedSince()
  const { code, out } = forumd(it.path, ['restore', it.backup])

  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`key ${it.key} \\(\\S+…\\) of ann, revoked \\d{4}-`))
  expect(out).toContain('webhook wh_2 of ann: its secret was rotated')
  expect(out).toContain('webhook wh_3 of ann: it was deleted')
  expect(out).toContain(`forumd key revoke ${it.key}`)
  expect(out).not.toContain('wh_1')
  expect(out).not.toContain(it.kept)
  expect(it.state().revoked).toEqual([])
})

test('restore --revoke-again revokes them again', () => {
  using it = revokedSince()
  const { code, out } = forumd(it.path, ['restore', it.backup, '--revoke-again', '--json'])

  expect(code).toBe(0)
  expect(JSON.parse(out).revived).toEqual({
    keys: [expect.objectContaining({ id: it.key, customer: 'ann' })],
    webhooks: [
      { id: 'wh_2', customer: 'ann', change: 'secret_rotated' },
      { id: 'wh_3', customer: 'ann', change: 'deleted' },
    ],
    revoked_again: true,
  })
  expect(it.state()).toEqual({
    revoked: [{ id: it.key }],
    secrets: [
      ['wh_1', 'whsec_secret'],
      ['wh_2', 'whsec_second'],
    ],
  })
})

test('a restore over an unreadable database reports that revoked keys are unknown', () => {
  using it = revokedSince()
  rmSync(it.file('data/forumd.sqlite-wal'), { force: true })
  writeFileSync(it.file('data/forumd.sqlite'), 'not a database')

  expect(forumd(it.path, ['restore', it.backup])).toMatchObject({
    code: 0,
    err: expect.stringContaining('cannot be read, so that keys and webhook secrets'),
  })
})

test('lost data is restored, and the existing files are moved aside', () => {
  using it = backedUp()
  forumd(it.path, ['customer', 'create', 'bob'])
  const { code, out } = forumd(it.path, ['restore', it.backup])
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringContaining('The replaced database is now'),
  })

  expect(customers(it.path)).toEqual(['ann'])
  expect(readdirSync(it.file('data')).filter((name) => name.includes('.before-'))).not.toEqual([])
  const { db, ring, close } = opened(it.path)
  const account = db.query<{ id: string }, []>('SELECT id FROM accounts').get()?.id ?? ''
  expect(openAccount(db, ring, account)?.secrets).toMatchObject({ password: PASSWORD })
  expect(
    db.query("SELECT count(*) AS n FROM observation_events WHERE kind = 'restore_detected'").get(),
  ).toEqual({ n: 1 })
  close()
})

const UNPRIVILEGED_UID = 65_534

test.skipIf(process.getuid?.() !== 0)(
  'files restored by root belong to the owner of the folder',
  () => {
    using it = backedUp()
    chmodSync(it.path, 0o755)
    chmodSync(it.backup, 0o600)
    mkdirSync(it.file('fresh'))
    chownSync(it.file('fresh'), UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    writeFileSync(it.file('forumd.toml'), `[storage]\ndir = "fresh"\n${CONFIG}`)

    expect(forumd(it.path, ['restore', it.backup, '--without-secrets']).code).toBe(0)

    const owners = readdirSync(it.file('fresh')).map((name) => [
      name,
      statSync(it.file(`fresh/${name}`)).uid,
    ])
    expect(Object.fromEntries(owners)).toEqual({
      'forumd.sqlite': UNPRIVILEGED_UID,
      'instance.id': UNPRIVILEGED_UID,
      'lock.db': UNPRIVILEGED_UID,
      'secrets.key': UNPRIVILEGED_UID,
    })
  },
)

test('a reader ahead of the backup gets all later matches, even a month later', () => {
  using it = backedUp()
  const match = (monitor_id: string) => {
    const { db, close } = opened(it.path)
    insertPulled(db, [{ monitor_id, body: new Uint8Array(1), matched_at: 0 }])
    const { length, [length - 1]: last } = listMatchesAfter(db, { monitor_id, seq: 0, limit: 99 })
    close()
    return last?.seq ?? 0
  }
  const { db, close } = opened(it.path)
  for (const id of ['mon_old', 'mon_new'])
    db.run(
      `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
       SELECT ?, id, '{}', 60, 0, 0, 0 FROM customers`,
      [id],
    )
  close()
  match('mon_old')
  const backup = it.file('with-matches.sqlite')
  expect(forumd(it.path, ['backup', backup]).code).toBe(0)
  const issued = { mon_old: [match('mon_old'), match('mon_old')], mon_new: [match('mon_new')] }
  expect(issued).toEqual({ mon_old: [2, 3], mon_new: [1] })

  for (let nth = 0; nth < 2; nth++) {
    expect(forumd(it.path, ['restore', backup]).code).toBe(0)
    const later = opened(it.path)
    pruneEvents(later.db, Date.now() + 30 * DAY_MS)
    later.close()
    for (const [monitor_id, seqs] of Object.entries(issued)) {
      const next = match(monitor_id)
      expect(next).toBeGreaterThan(Math.max(...seqs))
      seqs.push(next)
    }
  }
})

/** Kills a daemon with recent writes only in its WAL, and restores the backup over it. */
async function killedAndRestored(it: { path: string; backup: string; file: Folder['file'] }) {
  const storage = `[server]\nport = 0\n[storage]\ndir = "${it.file('data')}"\n`
  writeFileSync(it.file('forumd.toml'), storage + CONFIG)
  const daemon = await startProcess(it.file('forumd.toml'))
  forumd(it.path, ['customer', 'create', 'bob'])
  await daemon.end('SIGKILL')
  expect(statSync(it.file('data/forumd.sqlite-wal')).size).toBeGreaterThan(0)
  const { code, out } = forumd(it.path, ['restore', it.backup])
  expect(code).toBe(0)
  return /\S+before-\w+/.exec(out)?.[0] ?? expect.unreachable(out)
}

test('moved files can be restored, including the WAL of a killed daemon', async () => {
  using it = backedUp()
  const aside = await killedAndRestored(it)
  expect(customers(it.path)).toEqual(['ann'])

  expect(forumd(it.path, ['restore', aside]).code).toBe(0)

  expect(customers(it.path)).toEqual(['ann', 'bob'])
  expect(existsSync(`${aside}-wal`)).toBe(true)
})

test('a database with a WAL damaged in the middle is not restored as complete', async () => {
  using it = backedUp()
  const aside = await killedAndRestored(it)
  const log = readFileSync(`${aside}-wal`)
  log.fill(0x5a, 32 + 24, 32 + 24 + 64)
  writeFileSync(`${aside}-wal`, log)

  expect(forumd(it.path, ['restore', aside])).toMatchObject({
    code: 78,
    err: expect.stringContaining('damaged in the middle'),
  })
  expect(customers(it.path)).toEqual(['ann'])
})

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)(
  'a backup without disk space reports it, and leaves no file',
  async () => {
    using it = backedUp()
    await using disk = await mountMemory(1)
    writeFileSync(join(disk.path, 'fill'), new Uint8Array(900 * 1024))

    expect(forumd(it.path, ['backup', join(disk.path, 'copy.sqlite')])).toEqual({
      code: 1,
      out: '',
      err: 'forumd: the copy could not be made: its disk has not enough space (SQLITE_FULL)\n',
    })
    expect(readdirSync(disk.path)).toEqual(['fill'])
  },
)

const at = (now: number) => ({ ...world, clock: { now: () => now }, without_secrets: false })

test('two restores within a second keep both moved copies', () => {
  using it = backedUp()
  const paths = pathsOf({ dir: it.file('data'), key_file: '' })
  const first = restoreInstance(openBackup(it.backup), paths, at(1000))
  const second = restoreInstance(openBackup(it.backup), paths, at(1999))

  expect(new Set([first.moved_to, second.moved_to]).size).toBe(2)
  for (const path of [first.moved_to, second.moved_to]) expect(existsSync(path ?? '')).toBe(true)
})

test('if only the database is lost, the marker stays and the backup replaces it', () => {
  using it = backedUp()
  for (const end of ['', '-wal', '-shm'])
    rmSync(it.file(`data/forumd.sqlite${end}`), { force: true })
  expect(forumd(it.path, ['customer', 'list']).code).toBe(78)
  expect(forumd(it.path, ['restore', it.backup]).code).toBe(0)
  expect(customers(it.path)).toEqual(['ann'])
})

test('with another key or none, it refuses with a fix, and changes nothing', () => {
  using it = backedUp()
  forumd(it.path, ['customer', 'create', 'bob'])
  renameSync(it.key, it.file('kept.key'))
  const none = forumd(it.path, ['restore', it.backup])
  expect(none.code).toBe(78)
  expect(none.err).toContain('restore the key file')
  expect(none.err).toContain('--without-secrets')
  expect(existsSync(it.key)).toBe(false)

  writeFileSync(it.key, world.random.bytes(32))
  const other = forumd(it.path, ['restore', it.backup])
  expect(other.code).toBe(78)
  expect(other.err).toContain('is not the one that the backup is sealed with')

  copyFileSync(it.file('kept.key'), it.key)
  expect(customers(it.path)).toEqual(['ann', 'bob'])
})

test('without the secrets everything else is restored, and the values to enter again are listed', () => {
  using it = backedUp()
  using fresh = tempFolder()
  writeFileSync(fresh.file('forumd.toml'), CONFIG)
  const { code, out } = forumd(fresh.path, ['restore', it.backup, '--without-secrets'])
  expect(code).toBe(0)
  expect(out).toContain('Enter again: forumd account add mule')
  expect(out).toContain('rotates its secret and enables it: wh_1')
  expect(out).toContain('sets its token and enables it: wh_9')

  expect(customers(fresh.path)).toEqual(['ann'])
  const { db, ring, close } = opened(fresh.path)
  const row = db
    .query<{ active: number; secret: Uint8Array }, []>('SELECT active, secret FROM webhooks')
    .get()
  expect(row?.active).toBe(0)
  expect(db.query("SELECT active, credentials FROM webhooks WHERE id = 'wh_9'").get()).toEqual({
    active: 0,
    credentials: null,
  })
  expect(ring.unseal('webhooks.secret:wh_1', row?.secret ?? new Uint8Array())).not.toBe(
    'whsec_secret',
  )
  close()
})

/** Links created in a data folder. */
const linksOf = (dir: string) => {
  const { ring, close } = opened(dir)
  const words = createNaming({ platform: 'forum', community: 'subforum' })
  close()
  return createLinks({ ring, words, public_url: () => 'https://api.forum.example' })
}
const tokenOf = (url: string) => new URL(url).pathname.split('/').at(-1) ?? ''

test('links created with the lost key are reported as invalid; with the present key they stay valid', () => {
  using it = backedUp()
  using fresh = tempFolder()
  writeFileSync(fresh.file('forumd.toml'), CONFIG)
  const before = linksOf(it.path)
  const feed = tokenOf(before.feed('mon_1', 1))
  const unsubscribe = tokenOf(before.unsubscribe('wh_1', 'mon_1'))

  const { out } = forumd(fresh.path, ['restore', it.backup, '--without-secrets'])
  expect(out).toContain('Feed links of the old key are no longer valid')
  expect(out).toContain('Links in earlier mails are no longer valid')
  const after = linksOf(fresh.path)
  expect([after.readFeed(feed), after.readUnsubscribe(unsubscribe)]).toEqual([null, null])

  const restored = forumd(it.path, ['restore', it.backup, '--without-secrets', '--json'])
  expect(JSON.parse(restored.out).lost).toEqual({
    webhooks: [],
    credentials: [],
    accounts: [],
    proxies: [],
    links: false,
  })
  expect(linksOf(it.path).readFeed(feed)).toEqual({ monitor_id: 'mon_1', revision: 1 })
})

test.each([
  ['cut short', (file: string) => truncateSync(file, 20_480)],
  [
    'overwritten in the middle',
    (file: string) => {
      const bytes = readFileSync(file)
      bytes.fill(0x5a, 4096 * 3, 4096 * 6)
      writeFileSync(file, bytes)
    },
  ],
  ['empty', (file: string) => writeFileSync(file, '')],
  ['a picture', (file: string) => writeFileSync(file, Buffer.alloc(100_000, 'PNG'))],
])('a backup that is %s is refused, and the existing data stays', (_, damage) => {
  using it = backedUp()
  damage(it.backup)
  const { code, err } = forumd(it.path, ['restore', it.backup])
  expect(code).not.toBe(0)
  expect(err).toMatch(/is damaged|is not a backup|names no instance/)
  expect(customers(it.path)).toEqual(['ann'])
  expect(
    readdirSync(it.file('data')).filter((name) => /before-|sqlite\.[0-9a-f]/.test(name)),
  ).toEqual([])
})

test("a backup is not restored into another instance's folder", () => {
  using it = backedUp()
  using other = backedUp({ another: true })
  copyFileSync(it.key, other.key)
  const { code, err } = forumd(other.path, ['restore', it.backup])
  expect(code).not.toBe(0)
  expect(err).toContain('restore it into a folder of its own')
})

test('a backup of a running daemon has every acknowledged write, and restores completely', async () => {
  using folder = tempFolder()
  using fresh = tempFolder()
  writeFileSync(
    folder.file('forumd.toml'),
    `[server]
port = 0
[storage]
dir = "${folder.file('data')}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "http://127.0.0.1:1"
session_cookie = "s"
[guard]
allow_targets = ["127.0.0.1"]
[limits]
management_per_minute = 0
[log]
json = true
`,
  )
  const minted = forumd(folder.path, ['key', 'create', '--customer', 'ann', '--json'])
  const daemon = await startProcess(folder.file('forumd.toml'))
  const acknowledged: string[] = []
  const writing = new AbortController()
  const writer = (async () => {
    for (let n = 0; !writing.signal.aborted; n++) {
      const response = await fetch(`${daemon.url}/forum/monitor/webhook/create`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${JSON.parse(minted.out).key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ url: `https://127.0.0.1/${n}` }),
      })
      const { id } = (await response.json()) as { id?: string }
      if (id !== undefined) acknowledged.push(id)
    }
  })()
  try {
    while (acknowledged.length < 20) await Bun.sleep(5)
    const before = [...acknowledged]
    const file = folder.file('backup.sqlite')
    const child = Bun.spawn([...PROGRAM, 'backup', file], {
      cwd: folder.path,
      stdout: 'ignore',
      stderr: 'inherit',
    })
    expect(await child.exited).toBe(0)
    // The daemon continued to write.
    expect(acknowledged.length).toBeGreaterThan(before.length)

    writeFileSync(fresh.file('forumd.toml'), CONFIG)
    mkdirSync(fresh.file('data'))
    copyFileSync(folder.file('data/secrets.key'), fresh.file('data/secrets.key'))
    expect(forumd(fresh.path, ['restore', file])).toMatchObject({ code: 0, err: '' })
    const db = new BetterSqlite(fresh.file('data/forumd.sqlite'), { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(db.pragma('foreign_key_check')).toEqual([])
    const ids = new Set(db.prepare('SELECT id FROM webhooks').pluck().all())
    expect(before.filter((id) => !ids.has(id))).toEqual([])
    // Rows of one commit are present together: each target, and its audit row.
    const CREATED_COUNT_SQL = "SELECT count(*) FROM audit WHERE kind = 'webhook.created'"
    expect(db.prepare(CREATED_COUNT_SQL).pluck().get()).toBe(ids.size)
    db.close()
    // Sealed with the same key, so it can be opened.
    const { db: restored, ring, close } = opened(fresh.path)
    const row = restored
      .query<{ id: string; secret: Uint8Array }, []>('SELECT id, secret FROM webhooks')
      .get()
    expect(ring.unseal(`webhooks.secret:${row?.id}`, row?.secret ?? new Uint8Array())).toStartWith(
      'whsec_',
    )
    close()
    // A restore is refused while the daemon runs.
    expect(forumd(folder.path, ['restore', file])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/another forumd is using this data folder.*stop that one first/s),
    })
  } finally {
    writing.abort()
    await writer
    await daemon.end('SIGTERM')
  }
})

test('a missing folder, or a file in its place, is named', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('forumd.toml'), CONFIG)
  mkdirSync(folder.file('data'))
  expect(forumd(folder.path, ['restore', 'nothing.sqlite'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no file'),
  })
  expect(forumd(folder.path, ['backup', 'no/where.sqlite'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no folder'),
  })
})

test('the operator lists dead deliveries and redelivers them', () => {
  using it = backedUp()
  const instance = opened(it.path)
  const customer_id =
    instance.db.query<{ id: string }, []>('SELECT id FROM customers').get()?.id ?? ''
  instance.db
    .query(
      `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
       VALUES ('mon_1', ?, '{}', 60, 0, 0, 0)`,
    )
    .run(customer_id)
  for (const id of ['dlv_1', 'dlv_2'])
    insertDelivery(instance.db, {
      id,
      customer_id,
      monitor_id: 'mon_1',
      webhook_id: 'wh_1',
      status: 'pending',
      body: new TextEncoder().encode('{}'),
      // True time, which this machine's clock is a minute behind.
      now: Date.now() + 60_000,
    })
  instance.db.run("UPDATE deliveries SET status = 'dead', next_attempt_at = NULL")
  instance.close()

  const list = (status: string) =>
    JSON.parse(
      forumd(it.path, ['deliveries', 'list', '--status', status, '--json']).out,
    ).deliveries.map(({ delivery_id }: { delivery_id: string }) => delivery_id)
  expect(list('dead')).toEqual(['dlv_2', 'dlv_1'])
  const redrive = (...args: string[]) => forumd(it.path, ['deliveries', 'redrive', ...args])
  expect(redrive('--since', '2020-01-01', '--dry-run').out).toBe(
    '2 would be sent again, 0 skipped\n',
  )
  expect(redrive('dlv_1').out).toBe('1 queued to be sent again, 0 skipped\n')
  expect(list('waiting')).toEqual(['dlv_1'])
  // A skipped delivery has a reason.
  expect(redrive('dlv_1').out).toMatch(
    /^0 queued to be sent again, 1 skipped: already pending, .*target/,
  )
  expect(redrive('--since', '2020-01-01').out).toBe('1 queued to be sent again, 0 skipped\n')
  expect(redrive('dlv_none')).toMatchObject({
    code: 1,
    err: 'forumd: there is no delivery "dlv_none"\n',
  })
  expect(redrive().code).toBe(2)
  expect(redrive('--since', 'yesterday').err).toContain('since must be an ISO 8601 timestamp')
  expect(redrive('--since', '2020-01-01', '--status', 'lost').err).toContain(
    'status must be one of delivered, failed, dead',
  )
})
