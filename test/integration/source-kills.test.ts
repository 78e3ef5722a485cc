// Goal: over kills of the process each new item of a further source is matched once, for every kind. Method: the program
// watches the simulated platforms, is killed while items come, and its matches are compared with what was posted.
import { expect, test } from 'bun:test'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { cases } from '../support/long-form.ts'
import { startSourceProgram, untilMet } from '../support/source-program.ts'

const KILLS = cases({ short: 1, long: 3 })
const POSTS_A_RUN = 4

// Each mostly waits for the next poll.
test.concurrent.each([
  ['discourse', { category: 'general' }, 'keyset'],
  ['hackernews', {}, 'dense'],
  ['lemmy', { community: 'selfhosting' }, 'sparse_walk'],
])(
  '%s: nothing is lost and nothing comes twice',
  async (kind, place, proof) => {
    await using platform = await startKind(kind, { port: 0, seed: 7, speed: 0, now: Date.now })
    using program = await startSourceProgram({ kind, url: platform.url })
    const { call } = program
    const spec = { source: 's', include_any: ['kettle'], search_in: 'title' }
    const { id } = await call('add', {
      filter_spec: { ...spec, ...('community' in place && { subforum: place.community }) },
      targets: 'none',
    })
    const everywhere = await call('add', { filter_spec: spec, targets: 'none' })
    const coverage = async (of = id) => (await call(`health?id=${of}`)).coverage_24h
    const titles = async (): Promise<string[]> =>
      (await call(`items?id=${id}&limit=100`)).items.map(({ title }: { title: string }) => title)
    await untilMet(async () => (await coverage()).audited_until !== null)

    const posted: string[] = []
    const post = async () => {
      const title = `A kettle number ${posted.length + 1} for sale`
      const answer = await fetch(`${platform.url}/__sandbox/post`, {
        method: 'POST',
        body: JSON.stringify({ ...place, title, text: 'A text that is long enough for all.' }),
      })
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
      posted.push(title)
    }
    for (let kill = 0; kill < KILLS; kill++) {
      for (let n = 0; n < POSTS_A_RUN; n++) {
        await post()
        await Bun.sleep(kill * 300)
      }
      await program.end('SIGKILL')
      await post()
      await program.startAgain()
    }
    await untilMet(async () => (await titles()).length >= posted.length)
    await Bun.sleep(2000)

    expect((await titles()).toSorted()).toEqual(posted.toSorted())
    expect(await coverage()).toMatchObject({ status: 'complete', gaps: [], proof: [proof] })
    // Communities of other servers are copies, which arrive when they arrive.
    expect(await coverage(everywhere.id)).toMatchObject(
      kind === 'lemmy' ? { status: 'partial', reason: 'copy_of_remote' } : { status: 'complete' },
    )
    await program.end('SIGTERM')
  },
  90_000,
)
