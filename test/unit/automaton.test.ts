import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createAutomaton } from '../../src/core/automaton.ts'

/** Runs of the property, more of them by the environment. */
const numRuns = Number(process.env.FORUMD_RUNS ?? 1500)

const JOINS = /[a-z0-9]/i

/** What the automaton says of a text, each word by the name it was added under, in order. */
function heard(
  begins: 'word' | 'anywhere',
  words: { word: string; open: boolean }[],
  text: string,
): string[] {
  const automaton = createAutomaton(begins)
  for (const [i, { word, open }] of words.entries()) automaton.add(word, open, i + 1)
  const found: string[] = []
  automaton.scan(text, (entry) => void found.push(words[entry - 1]?.word ?? '?'))
  return found.toSorted()
}

/** The same by trying every word at every letter. */
function tried(
  begins: 'word' | 'anywhere',
  words: { word: string; open: boolean }[],
  text: string,
): string[] {
  const found: string[] = []
  for (const { word, open } of words)
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
      const left = begins === 'anywhere' || !JOINS.test(text[at - 1] ?? '')
      const right = open || !JOINS.test(text[at + word.length] ?? '')
      if (left && right) found.push(word)
    }
  return found.toSorted()
}

const plain = (...list: string[]) => list.map((word) => ({ word, open: false }))

describe('finding', () => {
  test('words of which one begins another are all found', () => {
    const words = plain('he', 'her', 'hers', 'she', 'her son')

    expect(heard('word', words, 'he, she: hers; her son')).toEqual([
      'he',
      'her',
      'her son',
      'hers',
      'she',
    ])
  })

  test('a word is not found within another, unless it may be', () => {
    expect(heard('word', plain('cat'), 'concat category cat')).toEqual(['cat'])
    expect(heard('word', [{ word: 'cat', open: true }], 'concat category cat')).toEqual([
      'cat',
      'cat',
    ])
    expect(heard('anywhere', [{ word: 'cat', open: true }], 'concat category cat')).toHaveLength(3)
  })

  test('a letter that is not ASCII ends no word for certain, and is left to the caller', () => {
    expect(heard('word', plain('caf'), 'café')).toEqual(['caf'])
    expect(heard('word', plain('tre'), 'être')).toEqual(['tre'])
  })

  test('a word may be longer than what is left of the text', () => {
    expect(heard('word', plain('rate limit', 'rate'), 'my rate')).toEqual(['rate'])
  })
})

const letters = fc.constantFrom('a', 'b', 'é', '漢', ' ', '_', '.', '🚀', '\0')
const word = fc.array(letters, { minLength: 1, maxLength: 5 }).map((it) => it.join(''))
const listed = fc.uniqueArray(fc.record({ word, open: fc.boolean() }), {
  selector: ({ word: it, open }) => `${open} ${it}`,
  maxLength: 30,
})
const text = fc.array(letters, { maxLength: 40 }).map((it) => it.join(''))
const begins = fc.constantFrom('word' as const, 'anywhere' as const)

const key = (it: { word: string; open: boolean }): string => `${it.open} ${it.word}`

test('it finds what trying every word at every letter finds', () => {
  fc.assert(
    fc.property(begins, listed, text, (how, words, said) => {
      expect(heard(how, words, said)).toEqual(tried(how, words, said))
    }),
    { numRuns },
  )
})

test('words that come later are found too, and of all it is known which they are', () => {
  fc.assert(
    fc.property(begins, listed, listed, text, (how, words, others, said) => {
      const automaton = createAutomaton(how)
      const [first, rest] = [words.slice(0, 10), words.slice(10)]
      for (const [i, it] of first.entries()) automaton.add(it.word, it.open, i + 1)
      automaton.scan(said, () => {})
      for (const [i, it] of rest.entries()) automaton.add(it.word, it.open, i + 11)
      const found: string[] = []
      automaton.scan(said, (entry) => void found.push(words[entry - 1]?.word ?? '?'))

      expect(found.toSorted()).toEqual(tried(how, words, said))
      for (const [i, it] of words.entries()) expect(automaton.find(it.word, it.open)).toBe(i + 1)
      const known = new Set(words.map(key))
      for (const it of others)
        if (!known.has(key(it))) expect(automaton.find(it.word, it.open)).toBe(0)
    }),
    { numRuns },
  )
})

test('a node with many children still finds each, of every script', () => {
  const chars = Array.from({ length: 400 }, (_, i) => String.fromCodePoint(33 + i))
  const words = chars.map((it) => ({ word: `x${it}y`, open: true }))
  const automaton = createAutomaton('anywhere')
  for (const [i, it] of words.entries()) automaton.add(it.word, it.open, i + 1)

  expect(words.map((it) => automaton.find(it.word, true))).toEqual(words.map((_, i) => i + 1))
  expect(automaton.find('xäy', false)).toBe(0)
  expect(heard('anywhere', words, words.map((it) => it.word).join(' '))).toHaveLength(400)
})
