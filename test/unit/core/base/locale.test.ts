import { expect, test } from 'bun:test'

import { languagesOf, parseLocale } from '../../../../src/core/base/text.ts'
import { parseTimezone } from '../../../../src/core/base/time.ts'

test.each([
  ['en-US', 'en-US'],
  ['EN-us', 'en-US'],
  ['de', 'de'],
  ['zh-hans-cn', 'zh-Hans-CN'],
  ['iw', 'he'],
])('the language tag %s becomes %s', (text, locale) => {
  expect(parseLocale(text)).toBe(locale)
})

test.each([
  '',
  'en_US',
  'english language',
  'e',
  'x-own',
  '*',
  'en-US;q=1',
  `en-${'a'.repeat(99)}`,
])('%p is not a language tag', (text) => {
  expect(parseLocale(text)).toBeNull()
})

test.each([
  ['de-AT', 'de-AT,de'],
  ['de', 'de'],
  ['zh-Hans-CN', 'zh-Hans-CN,zh'],
  ['en-US-u-ca-buddhist', 'en-US,en'],
])('a browser with locale %s requests %s', (locale, languages) => {
  expect(languagesOf(locale)).toBe(languages)
})

test.each([
  ['America/New_York', 'America/New_York'],
  ['europe/VIENNA', 'Europe/Vienna'],
  ['utc', 'UTC'],
  ['GMT', 'UTC'],
  ['Etc/UTC', 'UTC'],
  ['Zulu', 'UTC'],
  ['US/Eastern', 'America/New_York'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Etc/GMT+5', 'Etc/GMT+5'],
])('the time zone %s becomes %s', (text, zone) => {
  expect(parseTimezone(text)).toBe(zone)
})

test.each([
  '',
  '+05:30',
  '-03',
  '\u221205:00',
  '05:30',
  'UTC+1',
  'GMT+5',
  'Z',
  'PST',
  'Mars/Olympus',
  '2026-01-01T00:00[Europe/Vienna]',
  'Europe/Vienna '.repeat(9),
])('%p is not a time zone', (text) => {
  expect(parseTimezone(text)).toBeNull()
})

test('every zone of a browser is its own primary name', () => {
  const zones = Intl.supportedValuesOf('timeZone')

  expect(zones.filter((zone) => parseTimezone(zone) !== zone)).toEqual([])
})
