// Goal: over kills of the process each new item of a further source is matched once, for every kind. Method: the program
// watches the simulated platforms, is killed while items come, and its matches are compared with what was posted.
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { cases } from '../support/long-form.ts'
import { runForumd, startProcess } from '../support/process.ts'

const KILLS = cases({ short: 1, long: 3 })
const POSTS_A_RUN = 4
const WAIT_MAX_MS = 20_000

/** Waits until a condition holds, or for too long. */
async function until(met: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT_MAX_MS; Date.now() < end && !(await met());)
    await Bun.sleep(100)
}

// Each mostly waits for the next poll.
test.concurrent.each([
  ['discourse', { category: 'general' }, 'keyset'],
  ['hackernews', {}, 'dense'],
  ['lemmy', { community: 'main' }, 'sparse_walk'],
])(
  '%s: nothing is lost and nothing comes twice',
  async (kind, place, proof) => {
    await using platform = await startKind(kind, { port: 0, seed: 7, speed: 0, now: Date.now })
    using folder = tempFolder()
    const config = folder.file('forumd.toml')
    writeFileSync(
      config,
      `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
platform = { base_url = "http://127.0.0.1:1", session_cookie = "s" }
billing = { enabled = false }
[plans.entry]
cadence_s = 1
[[source]]
name = "s"
kind = "${kind}"
base_url = "${platform.url}"
requests_per_minute = 6000
`,
    )
    const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    let daemon = await startProcess(config)
    const call = async (path: string, body?: object): Promise<any> =>
      (
        await fetch(`${daemon.url}/forum/monitor/${path}`, {
          headers,
          ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        })
      ).json()
    const spec = { source: 's', include_any: ['kettle'], search_in: 'title' }
    const { id } = await call('add', {
      filter_spec: { ...spec, ...('community' in place && { subforum: place.community }) },
      targets: 'none',
    })
    const everywhere = await call('add', { filter_spec: spec, targets: 'none' })
    const coverage = async (of = id) => (await call(`health?id=${of}`)).coverage_24h
    const titles = async (): Promise<string[]> =>
      (await call(`items?id=${id}&limit=100`)).items.map(({ title }: { title: string }) => title)
    await until(async () => (await coverage()).audited_until !== null)

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
      await daemon.end('SIGKILL')
      await post()
      daemon = await startProcess(config)
    }
    await until(async () => (await titles()).length >= posted.length)
    await Bun.sleep(2000)

    expect((await titles()).toSorted()).toEqual(posted.toSorted())
    expect(await coverage()).toMatchObject({ status: 'complete', gaps: [], proof: [proof] })
    // Communities of other servers are copies, which arrive when they arrive.
    expect(await coverage(everywhere.id)).toMatchObject(
      kind === 'lemmy' ? { status: 'partial', reason: 'copy_of_remote' } : { status: 'complete' },
    )
    await daemon.end('SIGTERM')
  },
  90_000,
)
