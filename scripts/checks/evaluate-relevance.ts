/**
 * Measures a model of yours on the labelled sets, with the requests that a monitor makes:
 * `bun scripts/checks/evaluate-relevance.ts http://127.0.0.1:11434/v1 llama3.2:3b`. MODEL_KEY is the key of the service;
 * `--min-score` (0.5), `--items` (100 of each label, 0: all). Every item is a call, which may cost money.
 */
import { parseArgs } from 'node:util'

import { createEgress } from '../../src/net/egress.ts'
import { createModelClient } from '../../src/net/model.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { recordingsFolder } from '../../test/support/replay.ts'
import { measureRelevance, PROMPTS } from './evaluation/relevance.ts'
import { macroF1, scoresOf } from './evaluation/score.ts'
import { type Labelled, recordedSet, reviewSet } from './evaluation/sets.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'min-score': { type: 'string', default: '0.5' },
    items: { type: 'string', default: '100' },
  },
})
const [base_url, model] = positionals
if (base_url === undefined || model === undefined)
  throw new Error(
    'usage: bun scripts/checks/evaluate-relevance.ts BASE_URL MODEL [--min-score N] [--items N]',
  )

const runtime = createRuntime(() => {})
const client = createModelClient(
  {
    egress: createEgress({ ...runtime, guard: () => Promise.reject(new Error('unused')) }),
    clock: runtime.clock,
    signal: new AbortController().signal,
  },
  { base_url, key: process.env['MODEL_KEY'] ?? '', timeout_ms: 120_000 },
)
async function ask(body: string): Promise<string | null> {
  const reply = await client(body)
  return reply.kind === 'answered' && reply.status === 200 ? reply.body : null
}

const folder = recordingsFolder()
const all = [...(folder === null ? [] : await recordedSet(folder)), ...(await reviewSet())]
const held_out = all.filter((it) => it.held_out && it.intent !== null)
const min_score = Number(values['min-score'])
const most = Number(values.items) || Infinity

/** All items with a label up to the bound, and as many of the others, in the order of the sets. */
function sampleOf(intent: string): Labelled[] {
  const of = held_out.filter((it) => it.intent === intent).slice(0, most)
  return [...of, ...held_out.filter((it) => it.intent !== intent).slice(0, of.length)]
}

console.log(`${model}, minimum ${min_score}, held-out halves\n`)
console.log('| label | items | precision | recall | F1 | macro-F1 | no verdict | s |')
console.log('| --- | --: | --: | --: | --: | --: | --: | --: |')
for (const intent of Object.keys(PROMPTS) as (keyof typeof PROMPTS)[]) {
  const began = performance.now()
  const set = sampleOf(intent)
  const { pairs, unjudged } = await measureRelevance(set, {
    intent,
    model,
    min_score,
    ask,
  })
  const found = scoresOf(pairs).find(({ label }) => label === 'relevant')
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  const figures = [found?.precision, found?.recall, found?.f1, macroF1(pairs)]
  console.log(
    `| ${intent} | ${set.length} | ${figures.map((it) => it?.toFixed(2) ?? '–').join(' | ')} | ${unjudged} | ${seconds} |`,
  )
}
