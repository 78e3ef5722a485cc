import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'

import { tempFolder } from '../support/folder.ts'
import { cases } from '../support/long-form.ts'
import { inBrowser, startBrowserFixture, TEST_MS } from './fixture.ts'
import { browsersOf, leftOf } from './processes.ts'

setDefaultTimeout(TEST_MS)

// Goal: no browser outlives its calls, the daemon's stop, or the daemon's death.
// Method: lists the processes of this machine, without zombies.

const LANES = 4
/** Calls of the first test, one in five of them aborted. FORUMD_RUNS=50 is the long form. */
const CALLS = Number(process.env['FORUMD_RUNS'] ?? cases({ short: 10, long: 20 }))
/** A browser is replaced after so many calls: more than two of them are needed. */
const USES_MAX = Math.floor((CALLS * 2) / 5)
const KILLS = Math.ceil(CALLS / 10)
const HOLDER = Bun.fileURLToPath(new URL('./holder.ts', import.meta.url))

inBrowser('processes of the browser', () => {
  test('many calls, some of them aborted by their deadline, leave none behind', async () => {
    await using it = await startBrowserFixture({
      max_pages: LANES,
      uses_max: USES_MAX,
      idle_ms: 500,
    })
    it.sandbox.addFault({ path: '/slow', fault: 'slow', delay_s: 600 })
    const waiting = Array.from({ length: CALLS }, (_, at) => at % 5 === 4)
    const aborted = waiting.filter(Boolean).length
    const ends: string[] = []
    const lane = async () => {
      for (let cut = waiting.pop(); cut !== undefined; cut = waiting.pop()) {
        const path = cut ? '/slow' : '/login/'
        const visit_result = await it.browser.withTab(
          it.tabOptions(null, cut ? 1_000 : 30_000),
          ({ page }) => page.goto(it.sandbox.url + path),
        )
        ends.push(visit_result.ok ? 'ok' : visit_result.fault.kind)
      }
    }

    await Promise.all(Array.from({ length: LANES }, lane))

    const groups = it.events.flatMap(({ event, fields }) =>
      event === 'browser.started' ? [Number(fields['pid'])] : [],
    )
    expect(ends.filter((end) => end === 'ok').length).toBe(CALLS - aborted)
    expect(ends.filter((end) => end === 'timeout').length).toBe(aborted)
    expect(groups.length).toBeGreaterThan(2)
    // Nothing closes the browser: an idle one ends by itself.
    expect(await leftOf(it.folder, groups)).toEqual([])
    // Its files are removed afterwards.
    const files = () => readdirSync(`${it.folder}/browser`)
    for (let tries = 0; files().length > 0 && tries < 200; tries++) await Bun.sleep(50)
    expect(files()).toEqual([])
  })

  test('the browser ends when its owner is killed, several times, and the next start removes its files', async () => {
    for (let kill = 0; kill < KILLS; kill++) await holdAndKill()
  })

  test('starts below a folder whose path exceeds the limit of a socket path', async () => {
    using outer = tempFolder()
    const folder = outer.file('long'.repeat(30))
    await using it = await startBrowserFixture({ folder })

    const visit_result = await it.browser.withTab(it.tabOptions(), ({ page }) =>
      page.goto(it.sandbox.url),
    )

    expect(visit_result.ok).toBeTrue()
    // Temporary files are beside its profile and are removed with it.
    const [profile = ''] = readdirSync(`${folder}/browser`)
    expect(readdirSync(`${folder}/browser/${profile}/tmp`)).not.toEqual([])
    await it.browser.close()
    expect(readdirSync(`${folder}/browser`)).toEqual([])
  })

  test('closing stops the browser during a call', async () => {
    await using it = await startBrowserFixture()
    it.sandbox.addFault({ path: '/slow', fault: 'slow', delay_s: 600 })
    const opened = Promise.withResolvers<void>()
    const visit = it.browser.withTab(it.tabOptions(), async ({ page }) => {
      opened.resolve()
      await page.goto(`${it.sandbox.url}/slow`)
    })
    await opened.promise
    const groups = it.events.map(({ fields }) => Number(fields['pid']))

    await it.browser.close()

    expect(await visit).toEqual({ ok: false, fault: { kind: 'lost', trouble: null } })
    expect(await leftOf(it.folder, groups)).toEqual([])
    expect(await it.browser.withTab(it.tabOptions(), () => Promise.resolve())).toEqual({
      ok: false,
      fault: { kind: 'unavailable', why: 'the daemon is stopping' },
    })
  })

  test('replaces a browser that is killed during a call', async () => {
    await using it = await startBrowserFixture()
    const first = await it.browser.withTab(it.tabOptions(), async ({ page }) => {
      process.kill(Number(it.events[0]?.fields['pid']), 'SIGKILL')
      await page.goto(it.sandbox.url)
    })

    const second = await it.browser.withTab(it.tabOptions(), ({ page }) =>
      page.goto(it.sandbox.url),
    )

    expect(first).toEqual({ ok: false, fault: { kind: 'lost', trouble: null } })
    expect(second.ok).toBeTrue()
  })
})

/** Runs one process with a browser until it is killed, and returns its remains. */
async function holdAndKill() {
  using folder = tempFolder()
  const temporary = folder.file('tmp')
  mkdirSync(temporary)
  const holder = Bun.spawn([process.execPath, HOLDER, folder.path], {
    env: { ...process.env, TMPDIR: temporary },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await holder.stdout.getReader().read()
  const group = Number(new TextDecoder().decode(value))
  const before = browsersOf(folder.path, [group]).length

  holder.kill('SIGKILL')
  await holder.exited

  expect(before).toBeGreaterThan(3)
  expect(await leftOf(folder.path, [group])).toEqual([])
  const left = readdirSync(`${folder.path}/browser`)
  await using _ = await startBrowserFixture({ folder: folder.path })
  expect(left.length).toBe(1)
  expect(readdirSync(temporary)).toEqual([])
  expect(existsSync(`${folder.path}/browser`)).toBeFalse()
}
