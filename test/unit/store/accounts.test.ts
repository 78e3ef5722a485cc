import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import { needsLogin, newStanding, paused } from '../../../src/core/pool.ts'
import { createRing, SealBroken } from '../../../src/core/seal.ts'
import {
  type AccountSecrets,
  changeAccount,
  findAccountByName,
  insertAccount,
  type Learned,
  listAccounts,
  openAccount,
  recordLearned,
  removeAccount,
  writtenByOthers,
} from '../../../src/store/accounts.ts'
import { type Db, openDb } from '../../../src/store/db.ts'
import {
  insertProxy,
  listProxies,
  openWay,
  recordProxyTest,
  removeProxy,
} from '../../../src/store/proxies.ts'
import { type Folder, tempFolder } from '../../support/folder.ts'

const ring = createRing(new Uint8Array(32).fill(1), (count) =>
  crypto.getRandomValues(new Uint8Array(count)),
)
const SECRETS: AccountSecrets = { kind: 'session', password: 'pw-pw-pw', totp_secret: 'JBSW' }
const WAY = { scheme: 'http', host: 'way.test', port: 1, username: 'me', password: 'pass' } as const
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
    standing: newStanding(NOW),
    created_at: NOW,
  })
}
const learned = (change: Partial<Learned> = {}): Learned => ({
  id: 'acc_a',
  revision: 1,
  standing: needsLogin(NOW, 'logged_out'),
  login_failures: 1,
  next_login_at: NOW + 5,
  last_used_at: NOW,
  last_ok_at: null,
  ...change,
})

describe('an account', () => {
  test('comes back as it was put in, its secrets apart from what lists show', () => {
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

  test('is on the disk sealed, and opens in its own row alone', () => {
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

  test('remembers what a daemon learned of it; what was not learned stays', () => {
    add('a')
    expect(recordLearned(db, ring, learned())).toBe(true)
    expect(findAccountByName(db, 'a')).toMatchObject({
      state: 'needs_login',
      state_reason: 'logged_out',
      login_failures: 1,
    })
    expect(openAccount(db, ring, 'acc_a')?.jar).toBe('jar of a')

    recordLearned(db, ring, learned({ jar: { text: 'newer', expires_at: null }, username: 'ann' }))
    expect(openAccount(db, ring, 'acc_a')).toEqual({ secrets: SECRETS, jar: 'newer' })
    recordLearned(db, ring, learned())
    expect(findAccountByName(db, 'a')?.username).toBe('ann')
  })

  test("that its operator has changed keeps the change against an older daemon's knowledge", () => {
    add('a')
    changeAccount(db, ring, 'acc_a', { standing: paused(NOW) })

    expect(recordLearned(db, ring, learned({ jar: { text: 'older', expires_at: null } }))).toBe(
      false,
    )
    expect(findAccountByName(db, 'a')).toMatchObject({ state: 'paused', revision: 2 })
    expect(openAccount(db, ring, 'acc_a')?.jar).toBe('jar of a')
  })

  test('that is written by another connection is noticed, one of our own is not', () => {
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

const addWay = () => insertProxy(db, ring, { id: 'prx_1', name: 'home', way: WAY, created_at: 1 })

describe('a way out', () => {
  test('is sealed with its credentials, and opens as it was', () => {
    addWay()
    const [row] = db.query<{ way: Uint8Array }, []>('SELECT way FROM proxies').all()

    expect(Buffer.from(row?.way ?? []).includes('pass')).toBe(false)
    expect(openWay(db, ring, 'prx_1')).toEqual(WAY)
    expect(openWay(db, ring, 'prx_2')).toBeNull()
  })

  test('is not removed while an account leaves through it', () => {
    addWay()
    add('a', 'prx_1')
    expect(removeProxy(db, 'prx_1')).toEqual(['a'])
    expect(listProxies(db).length).toBe(1)

    removeAccount(db, 'acc_a')
    expect(removeProxy(db, 'prx_1')).toEqual([])
    expect(listProxies(db)).toEqual([])
  })

  test('keeps when it last worked, whatever came later', () => {
    addWay()
    recordProxyTest(db, 'prx_1', null, 5)
    recordProxyTest(db, 'prx_1', 'unreachable', 9)

    expect(listProxies(db)).toMatchObject([{ last_ok_at: 5, last_error: 'unreachable' }])
  })
})
