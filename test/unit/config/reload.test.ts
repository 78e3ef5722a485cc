import { expect, test } from 'bun:test'

import { parseConfig } from '../../../src/config/load.ts'
import { changesBetween, takeLive } from '../../../src/config/reload.ts'

const PLATFORM =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n'
const config = (text = '') => parseConfig(PLATFORM + text)
const keysOf = (text: string, live: boolean) =>
  changesBetween(config(), config(text))
    .filter((it) => it.live === live)
    .map(({ key }) => key)

test('equal configurations have no changes', () => {
  expect(changesBetween(config(), config())).toEqual([])
})

test.each([
  ['[log]\nlevel = "debug"', ['log.level']],
  [
    '[limits]\nkey_rate = 3\ndegraded_waiting_per_key = 1',
    ['limits.key_rate', 'limits.degraded_waiting_per_key'],
  ],
  [
    '[billing]\nstarting_credit = 1\n[billing.prices]\ndm = 0.5',
    ['billing.starting_credit', 'billing.prices.dm'],
  ],
  ['[plans.entry]\nslots = 3', ['plans.entry.slots']],
  [
    '[plans.entry]\n[plans.big]\nslots = 100',
    ['slots', 'sitewide_slots', 'cadence_s', 'daily_deliveries'].map((it) => `plans.big.${it}`),
  ],
])('%j is applied on reload and reported by its name in the file', (text, keys) => {
  expect(keysOf(text, true)).toEqual(keys)
  expect(keysOf(text, false)).toEqual([])
})

test.each([
  ['[server]\nport = 1', ['server.port']],
  [
    '[limits]\ntree_fetches = 1\nread_cache_s = 1\nhealth_cache_s = 1',
    ['limits.tree_fetches', 'limits.read_cache_s', 'limits.health_cache_s'],
  ],
  ['[billing]\nenabled = false', ['billing.enabled']],
  ['[log]\njson = true', ['log.json']],
  ['[guard]\nallow_targets = ["a.test"]', ['guard.allow_targets']],
])('%j needs a restart', (text, keys) => {
  expect(keysOf(text, false)).toEqual(keys)
  expect(keysOf(text, true)).toEqual([])
})

test('a reload changes the live keys of the shared object and no others', () => {
  const now = config('[plans.entry]\n[plans.old]\n')
  const { limits, plans } = now
  const { price_micros } = now.billing
  const next = config(
    '[plans.entry]\nslots = 3\n[limits]\nkey_rate = 3\nread_cache_s = 9\n[billing]\nenabled = false\n[billing.prices]\nread = 1\n[log]\nlevel = "error"\njson = true\n[server]\nport = 1\n',
  )

  takeLive(now, next)

  expect(limits.key_rate).toBe(3)
  expect(Object.keys(plans)).toEqual(['entry'])
  expect(plans['entry']?.slots).toBe(3)
  expect(price_micros.read).toBe(1_000_000)
  expect(now.log.level).toBe('error')
  expect(changesBetween(now, next).map(({ key }) => key)).toEqual([
    'server.port',
    'billing.enabled',
    'limits.read_cache_s',
    'log.json',
  ])
})

test('every change is either applied or reported to need a restart', () => {
  const now = config()
  const next = config(
    '[limits]\nkey_burst = 1\n[plans.entry]\ncadence_s = 5\n[billing.prices]\nvote = 0\n',
  )

  takeLive(now, next)

  expect(changesBetween(now, next)).toEqual([])
})
