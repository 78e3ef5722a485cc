// Goal: a daemon that is killed while it judges loses no match and bills no call twice. Method: the program, a source, and a
// model that counts its requests and keeps some answers back until the kill; after the last start every match has one
// result, and what was counted is what was sent.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { completionOf, startFakeModel } from '../support/fake-model.ts'
import { cases } from '../support/long-form.ts'
import { startSourceProgram, untilMet } from '../support/source-program.ts'

const KILLS = cases({ short: 3, long: 8 })
const POSTS_A_RUN = 6
const PAGE = 50

test('SIGKILL while matches are judged', async () => {
  await using platform = await startKind('hackernews', {
    port: 0,
    seed: 7,
    speed: 0,
    now: Date.now,
  })
  await using model = startFakeModel()
  using program = await startSourceProgram({
    kind: 'hackernews',
    url: platform.url,
    more: `relevance = { base_url = "${model.base_url}", model = "small", concurrency = 3, timeout_s = 60 }`,
  })
  const { call } = program
  const { id } = await call('add', {
    filter_spec: { source: 's', include_any: ['kettle'] },
    targets: 'none',
    relevance: { prompt: 'kettles', when_down: 'hold' },
  })
  await untilMet(async () => (await call(`health?id=${id}`)).coverage_24h.audited_until !== null)

  const held: (() => void)[] = []
  const texts = new Set<string>()
  let before = 0
  /** Answers some requests of a run, and keeps the others back until its kill. */
  const begin = (run: number) => {
    before = model.requests.length
    model.script(() =>
      run < KILLS && model.requests.length - before > run % 4
        ? new Promise((resolve) => {
            held.push(() => resolve(completionOf({ score: 1, reason: 'late' })))
          })
        : completionOf({ score: 1, reason: 'in time' }),
    )
  }
  begin(0)
  for (let run = 0; run < KILLS; run++) {
    for (let n = 0; n < POSTS_A_RUN; n++) {
      const title = `Kettle ${run}.${n} for sale`
      texts.add(title)
      await fetch(`${platform.url}/__sandbox/post`, {
        method: 'POST',
        body: JSON.stringify({ title, text: 'A text that is long enough.' }),
      })
    }
    await untilMet(() => model.requests.length - before > run % 4)
    expect(model.requests.length - before).toBeGreaterThan(run % 4)
    await program.end('SIGKILL')
    for (const answer of held.splice(0)) answer()
    begin(run + 1)
    await program.startAgain()
  }
  const matches = async () =>
    (await call(`items?id=${id}&limit=${PAGE}`)).items as { title: string; judgement: any }[]
  await untilMet(async () => {
    if ((await matches()).length < texts.size) return false
    return (await call(`health?id=${id}`)).relevance.waiting === 0
  }, 100)
  const found = await matches()
  await program.end('SIGTERM')

  // Nothing is lost, and nothing is there twice or without a verdict.
  expect(found.map(({ title }) => title).toSorted((a, b) => a.localeCompare(b))).toEqual(
    [...texts].toSorted((a, b) => a.localeCompare(b)),
  )
  expect(found.every(({ judgement }) => judgement.status === 'judged')).toBe(true)
  using db = new Database(program.database, { readonly: true })
  const counted = db
    .query<{ calls: number }, []>('SELECT sum(calls) AS calls FROM judgements')
    .get()?.calls
  const sent = model.requests.length
  // Every request was counted before it was sent. A call that was reserved and not sent yet at a kill is counted too: at
  // most as many a kill as there are calls at once.
  expect(counted).toBeGreaterThanOrEqual(sent)
  expect(counted).toBeLessThanOrEqual(sent + 3 * KILLS)
  // A match has a second call only if the first was under way at a kill.
  expect(sent).toBeLessThanOrEqual(texts.size + 3 * KILLS)
}, 120_000)
