import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import { needsLogin, newStatus, paused } from '../../../../src/core/accounts/status.ts'
import { createRing, SealBroken } from '../../../../src/core/base/secrets.ts'
import {
  type AccountSecrets,
  type AccountUpdate,
  changeAccount,
  findAccountByName,
  insertAccount,
  listAccounts,
  openAccount,
  removeAccount,
  writeAccountUpdate,
  writtenByOthers,
} from '../../../../src/store/accounts/accounts.ts'
import {
  insertProxy,
  listProxies,
  openProxy,
  recordProxyTest,
  removeProxy,
} from '../../../../src/store/accounts/proxies.ts'
import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'

const ring = createRing(new Uint8Array(32).fill(1), (count) =>
  crypto.getRandomValues(new Uint8Array(count)),
)
const SECRETS: AccountSecrets = { kind: 'session', password: 'pw-pw-pw', totp_secret: 'JBSW' }
const PROXY = {
  scheme: 'http',
  host: 'way.test',
  port: 1,
  username: 'me',
  password: 'pass',
} as const
const NOW = 1_000_000

let folder: Folder
let db: Db
beforeEach(() => {
  folder = tempFolder()
  db = openDb(folder.file('x.sqlite'), { create: true })
})
afterEach(() => {
  db.close()
  folder[Symbol.dispose]()
})

function add(name: string, proxy_id: string | null = null) {
  insertAccount(db, ring, {
    id: `acc_${name}`,
    name,
    username: null,
    secrets: SECRETS,
    jar: { text: `jar of ${name}`, expires_at: 7 },
    proxy_id,
    status: newStatus(NOW),
    created_at: NOW,
  })
}
const learned = (change: Partial<AccountUpdate> = {}): AccountUpdate => ({
  id: 'acc_a',
  revision: 1,
  status: needsLogin(NOW, 'logged_out'),
  login_failures: 1,
  next_login_at: NOW + 5,
  last_used_at: NOW,
  last_ok_at: null,
  ...change,
})

describe('an account', () => {
  test('is read back as stored, with its secrets absent from lists', () => {
    add('b')
    add('a')

    expect(listAccounts(db).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(findAccountByName(db, 'a')).toMatchObject({
      kind: 'session',
      state: 'ready',
      jar_expires_at: 7,
      revision: 1,
    })
    expect(openAccount(db, ring, 'acc_a')).toEqual({ secrets: SECRETS, jar: 'jar of a' })
    expect(openAccount(db, ring, 'acc_c')).toBeNull()
  })

  test('is stored sealed, and can only be decrypted in its own row', () => {
    add('a')
    add('b')
    const rows = db.query<{ secrets: Uint8Array; jar: Uint8Array }, []>('SELECT * FROM accounts')
    for (const { secrets, jar } of rows.all()) {
      expect(Buffer.from(secrets).includes('pw-pw-pw')).toBe(false)
      expect(Buffer.from(jar).includes('jar of')).toBe(false)
    }

    db.run("UPDATE accounts SET jar = (SELECT jar FROM accounts WHERE name = 'b')")
    expect(() => openAccount(db, ring, 'acc_a')).toThrow(SealBroken)
    db.run('UPDATE accounts SET jar = secrets')
    expect(() => openAccount(db, ring, 'acc_b')).toThrow(SealBroken)
  })

  test('stores observed changes and keeps all other fields', () => {
    add('a')
    expect(writeAccountUpdate(db, ring, learned())).toBe(true)
    expect(findAccountByName(db, 'a')).toMatchObject({
      state: 'needs_login',
      state_reason: 'logged_out',
      login_failures: 1,
    })
    expect(openAccount(db, ring, 'acc_a')?.jar).toBe('jar of a')

    writeAccountUpdate(
      db,
      ring,
      learned({ jar: { text: 'newer', expires_at: null }, username: 'ann' }),
    )
    expect(openAccount(db, ring, 'acc_a')).toEqual({ secrets: SECRETS, jar: 'newer' })
    writeAccountUpdate(db, ring, learned())
    expect(findAccountByName(db, 'a')?.username).toBe('ann')
  })

  test("keeps an operator's change when the daemon writes an outdated state", () => {
    add('a')
    changeAccount(db, ring, 'acc_a', { status: paused(NOW) })

    expect(
      writeAccountUpdate(db, ring, learned({ jar: { text: 'older', expires_at: null } })),
    ).toBe(false)
    expect(findAccountByName(db, 'a')).toMatchObject({ state: 'paused', revision: 2 })
    expect(openAccount(db, ring, 'acc_a')?.jar).toBe('jar of a')
  })

  test('notices writes of another connection, not its own', () => {
    const before = writtenByOthers(db)
    add('a')
    expect(writtenByOthers(db)).toBe(before)

    const other = openDb(folder.file('x.sqlite'))
    removeAccount(other, 'acc_a')
    other.close()
    expect(writtenByOthers(db)).not.toBe(before)
    expect(listAccounts(db)).toEqual([])
  })
})

const addProxy = () =>
  insertProxy(db, ring, { id: 'prx_1', name: 'home', proxy: PROXY, created_at: 1 })

describe('a proxy', () => {
  test('is sealed with its credentials and decrypts to the same value', () => {
    addProxy()
    const [row] = db.query<{ url: Uint8Array }, []>('SELECT url FROM proxies').all()

    expect(Buffer.from(row?.url ?? []).includes('pass')).toBe(false)
    expect(openProxy(db, ring, 'prx_1')).toEqual(PROXY)
    expect(openProxy(db, ring, 'prx_2')).toBeNull()
  })

  test('is not removed while an account uses it', () => {
    addProxy()
    add('a', 'prx_1')
    expect(removeProxy(db, 'prx_1')).toEqual(['a'])
    expect(listProxies(db).length).toBe(1)

    removeAccount(db, 'acc_a')
    expect(removeProxy(db, 'prx_1')).toEqual([])
    expect(listProxies(db)).toEqual([])
  })

  test('keeps its last success after later failures', () => {
    addProxy()
    recordProxyTest(db, 'prx_1', null, 5)
    recordProxyTest(db, 'prx_1', 'unreachable', 9)

    expect(listProxies(db)).toMatchObject([{ last_ok_at: 5, last_error: 'unreachable' }])
  })
})
