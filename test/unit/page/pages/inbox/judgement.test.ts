import { expect, test } from 'bun:test'

import { percent, readJudgement } from '../../../../../src/page/pages/inbox/state/judgement.ts'

test.each([
  [{}, null],
  [{ judgement: null }, null],
  [{ judgement: 'yes' }, null],
  [
    {
      judgement: {
        status: 'judged',
        score: 0.82,
        min_score: 0.5,
        reason: 'asks',
        model: 'm',
        fault: null,
      },
    },
    { score: 0.82, reason: 'asks', model: 'm', fault: null },
  ],
  [
    {
      judgement: {
        status: 'unavailable',
        score: null,
        reason: null,
        model: null,
        fault: 'timeout',
      },
    },
    { score: null, reason: null, model: null, fault: 'timeout' },
  ],
  [
    { judgement: { score: '1', reason: 7, model: '' } },
    { score: null, reason: null, model: null, fault: null },
  ],
])('the judgement in %p', (enrichment, expected) => {
  expect(readJudgement(enrichment)).toEqual(expected)
})

test('a share is a whole percentage', () => {
  expect([0, 0.826, 1].map(percent)).toEqual(['0 %', '83 %', '100 %'])
})
