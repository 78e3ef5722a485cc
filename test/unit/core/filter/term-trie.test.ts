import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createAutomaton } from '../../../../src/core/filter/term-trie.ts'

/** Runs of the property; FORUMD_RUNS sets more. */
const numRuns = Number(process.env.FORUMD_RUNS ?? 1500)

const JOINS = /[a-z0-9]/i

/** The words that the automaton finds in a text, in order, each by the name it was added under. */
function termsFound(
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
  test('words that are prefixes of each other are all found', () => {
    const words = plain('he', 'her', 'hers', 'she', 'her son')

    expect(termsFound('word', words, 'he, she: hers; her son')).toEqual([
      'he',
      'her',
      'her son',
      'hers',
      'she',
    ])
  })

  test('a word is not found within another, unless that is allowed', () => {
    expect(termsFound('word', plain('cat'), 'concat category cat')).toEqual(['cat'])
    expect(termsFound('word', [{ word: 'cat', open: true }], 'concat category cat')).toEqual([
      'cat',
      'cat',
    ])
    expect(
      termsFound('anywhere', [{ word: 'cat', open: true }], 'concat category cat'),
    ).toHaveLength(3)
  })

  test('a non-ASCII letter may end a word, which the caller decides', () => {
    expect(termsFound('word', plain('caf'), 'café')).toEqual(['caf'])
    expect(termsFound('word', plain('tre'), 'être')).toEqual(['tre'])
  })

  test('a word may be longer than the rest of the text', () => {
    expect(termsFound('word', plain('rate limit', 'rate'), 'my rate')).toEqual(['rate'])
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

test('the trie finds the same words as a naive search', () => {
  fc.assert(
    fc.property(begins, listed, text, (how, words, haystack) => {
      expect(termsFound(how, words, haystack)).toEqual(tried(how, words, haystack))
    }),
    { numRuns },
  )
})

test('words added later are found too, and every entry is known', () => {
  fc.assert(
    fc.property(begins, listed, listed, text, (how, words, others, haystack) => {
      const automaton = createAutomaton(how)
      const [first, rest] = [words.slice(0, 10), words.slice(10)]
      for (const [i, it] of first.entries()) automaton.add(it.word, it.open, i + 1)
      automaton.scan(haystack, () => {})
      for (const [i, it] of rest.entries()) automaton.add(it.word, it.open, i + 11)
      const found: string[] = []
      automaton.scan(haystack, (entry) => void found.push(words[entry - 1]?.word ?? '?'))

      expect(found.toSorted()).toEqual(tried(how, words, haystack))
      for (const [i, it] of words.entries()) expect(automaton.find(it.word, it.open)).toBe(i + 1)
      const keys = new Set(words.map(key))
      for (const it of others)
        if (!keys.has(key(it))) expect(automaton.find(it.word, it.open)).toBe(0)
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
  expect(termsFound('anywhere', words, words.map((it) => it.word).join(' '))).toHaveLength(400)
})
