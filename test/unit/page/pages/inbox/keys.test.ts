import { expect, test } from 'bun:test'

import {
  actOf,
  type FocusPlace,
  GENERAL_KEYS,
  KEYS,
} from '../../../../../src/page/pages/inbox/state/keys.ts'

const press = (key: string, place: FocusPlace, more: object = {}, letters = true) =>
  actOf({ key, ctrlKey: false, metaKey: false, altKey: false, ...more }, place, letters)

test('no key has two acts', () => {
  const keys: string[] = KEYS.flatMap((it) => [...it.keys])
  const others = GENERAL_KEYS.map((it) => it.shown[0])

  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.filter((it) => others.some((other) => other === it))).toEqual([])
})

test.each([
  ['e', 'list', 'dismiss'],
  ['e', 'reader', 'dismiss'],
  ['e', 'control', 'dismiss'],
  ['e', 'typing', null],
  ['Escape', 'typing', null],
  ['Escape', 'reader', 'back'],
  ['Enter', 'list', 'open'],
  // Enter presses a focused link or button.
  ['Enter', 'control', null],
  ['Enter', 'page', null],
  ['ArrowDown', 'list', 'next'],
  ['ArrowDown', 'page', 'next'],
  // Arrows scroll the text.
  ['ArrowDown', 'reader', null],
  ['End', 'list', 'last'],
  ['End', 'page', null],
  ['X', 'list', 'select_range'],
  ['q', 'list', null],
] as const)('%s in the %s does %p', (key, place, act) => {
  expect(press(key, place)).toBe(act)
})

test('a key with a modifier keeps the meaning that the browser gives it', () => {
  for (const modifier of ['ctrlKey', 'metaKey', 'altKey'])
    expect(press('e', 'list', { [modifier]: true })).toBeNull()
})

test('letters can be switched off, and the help that does it stays', () => {
  expect(press('e', 'list', {}, false)).toBeNull()
  expect(press('ArrowDown', 'list', {}, false)).toBe('next')
  expect(press('?', 'list', {}, false)).toBe('help')
})
