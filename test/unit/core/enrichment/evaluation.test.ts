import { describe, expect, test } from 'bun:test'

import { ours, pairsOf, simple, type Task } from '../../../../scripts/checks/evaluation/answers.ts'
import { macroF1, majority, scoresOf } from '../../../../scripts/checks/evaluation/score.ts'
import {
  type Labelled,
  recordedSet,
  reviewSet,
} from '../../../../scripts/checks/evaluation/sets.ts'
import { recordingsFolder } from '../../../support/replay.ts'

// Goal: enrichment predicts labels of unseen items better than the majority class does. Method: the
// held-out halves of the labelled sets (docs/enrichment.md); figures come from scripts/checks/evaluate.ts.

const folder = recordingsFolder()
const CLEARLY = 0.2
const TASKS: Task[] = ['sentiment', 'intent']

const measured = (all: readonly Labelled[]) => all.filter((it) => it.held_out)

function beatsAGuess(all: readonly Labelled[], task: Task) {
  const pairs = pairsOf(measured(all), task, ours)
  expect(pairs.length).toBeGreaterThan(100)
  expect(macroF1(pairs)).toBeGreaterThan(macroF1(majority(pairs)) + CLEARLY)
  expect(macroF1(pairs)).toBeGreaterThan(macroF1(pairsOf(measured(all), task, simple)))
}

describe('sentences of reviews', () => {
  test.each(TASKS)('%s is predicted clearly better than by the most common class', async (task) => {
    beatsAGuess(await reviewSet(), task)
  })

  test('the set has its declared content', async () => {
    const set = await reviewSet()

    expect(set.length).toBe(600)
    expect(set.filter(({ intent }) => intent !== null).length).toBe(220)
    expect(Math.abs(measured(set).length - 300)).toBeLessThan(40)
  })
})

describe.skipIf(folder === null)('recorded posts and comments', () => {
  const set = folder === null ? Promise.resolve([]) : recordedSet(folder)

  test.each(TASKS)('%s is predicted clearly better than by the most common class', async (task) => {
    beatsAGuess(await set, task)
  })

  test('every label belongs to a recorded item', async () => {
    expect((await set).length).toBe(830)
  })
})

test('every item gets the same result twice', async () => {
  for (const { item } of await reviewSet()) expect(ours({ ...item })).toEqual(ours({ ...item }))
})

describe('the measure', () => {
  const pairs = [
    ...Array.from({ length: 6 }, () => ({ due: 'a', got: 'a' })),
    ...Array.from({ length: 2 }, () => ({ due: 'a', got: 'b' })),
    ...Array.from({ length: 5 }, () => ({ due: 'b', got: 'b' })),
    { due: 'b', got: 'a' },
    { due: 'rare', got: 'a' },
  ]

  test('precision refers to the predictions of a class, recall to its members', () => {
    expect(scoresOf(pairs)).toMatchObject([
      { label: 'a', items: 8, precision: 6 / 8, recall: 6 / 8, f1: 12 / 16 },
      { label: 'b', items: 6, precision: 5 / 7, recall: 5 / 6, f1: 10 / 13 },
      { label: 'rare', items: 1, precision: 0, recall: 0, f1: 0 },
    ])
  })

  test('the mean omits a class with too few items', () => {
    expect(macroF1(pairs)).toBeCloseTo((12 / 16 + 10 / 13) / 2)
  })

  test('the majority predicts one class for all', () => {
    expect(new Set(majority(pairs).map(({ got }) => got))).toEqual(new Set(['a']))
  })
})
