import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'

import { tempFolder } from '../support/folder.ts'
import { browsersOf, leftOf } from './processes.ts'
import { inBrowser, startStage, TEST_MS } from './stage.ts'

// Goal: no browser outlives its calls, the daemon's stop, or the daemon's death.
// Method: the processes of this machine are looked at, those left out that are dead and not yet buried.

const LANES = 4
const KILLS = 5
const HOLDER = Bun.fileURLToPath(new URL('./holder.ts', import.meta.url))

inBrowser('processes of the browser', () => {
  test(
    'fifty calls, ten of them cut off by their deadline, leave none behind',
    async () => {
      await using it = await startStage({ max_pages: LANES, uses_max: 20, idle_ms: 500 })
      it.sandbox.weather({ path: '/slow', fault: 'slow', delay_s: 600 })
      const waiting = Array.from({ length: 50 }, (_, at) => at % 5 === 4)
      const ends: string[] = []
      const lane = async () => {
        for (let cut = waiting.pop(); cut !== undefined; cut = waiting.pop()) {
          const path = cut ? '/slow' : '/login/'
          const visited = await it.browser.visit(
            it.visiting(null, cut ? 1_000 : 30_000),
            ({ page }) => page.goto(it.sandbox.url + path),
          )
          ends.push(visited.ok ? 'ok' : visited.fault.kind)
        }
      }

      await Promise.all(Array.from({ length: LANES }, lane))

      const groups = it.events.flatMap(({ event, fields }) =>
        event === 'browser.started' ? [Number(fields['pid'])] : [],
      )
      expect(ends.filter((end) => end === 'ok').length).toBe(40)
      expect(ends.filter((end) => end === 'timeout').length).toBe(10)
      expect(groups.length).toBeGreaterThan(2)
      // Nobody closes it: what nobody uses goes by itself.
      expect(await leftOf(it.folder, groups)).toEqual([])
      // Its files go after it.
      const files = () => readdirSync(`${it.folder}/browser`)
      for (let tries = 0; files().length > 0 && tries < 200; tries++) await Bun.sleep(50)
      expect(files()).toEqual([])
    },
    TEST_MS,
  )

  test(
    'when the process that holds one is killed, five times, the browser goes too, and the next start removes its files',
    async () => {
      for (let kill = 0; kill < KILLS; kill++) await holdAndKill()
    },
    TEST_MS,
  )

  test(
    'it starts below a folder whose path is longer than that of a socket may be',
    async () => {
      using outer = tempFolder()
      const folder = outer.file('long'.repeat(30))
      await using it = await startStage({ folder })

      const visited = await it.browser.visit(it.visiting(), ({ page }) => page.goto(it.sandbox.url))

      expect(visited.ok).toBeTrue()
      // What it needs for a while lies beside its profile, and goes with it.
      const [profile = ''] = readdirSync(`${folder}/browser`)
      expect(readdirSync(`${folder}/browser/${profile}/tmp`)).not.toEqual([])
      await it.browser.close()
      expect(readdirSync(`${folder}/browser`)).toEqual([])
    },
    TEST_MS,
  )

  test(
    'closing ends it in the middle of a call',
    async () => {
      await using it = await startStage()
      it.sandbox.weather({ path: '/slow', fault: 'slow', delay_s: 600 })
      const opened = Promise.withResolvers<void>()
      const visit = it.browser.visit(it.visiting(), async ({ page }) => {
        opened.resolve()
        await page.goto(`${it.sandbox.url}/slow`)
      })
      await opened.promise
      const groups = it.events.map(({ fields }) => Number(fields['pid']))

      await it.browser.close()

      expect(await visit).toEqual({ ok: false, fault: { kind: 'lost', trouble: null } })
      expect(await leftOf(it.folder, groups)).toEqual([])
      expect(await it.browser.visit(it.visiting(), () => Promise.resolve())).toEqual({
        ok: false,
        fault: { kind: 'unavailable', why: 'the daemon is stopping' },
      })
    },
    TEST_MS,
  )

  test(
    'a browser that is killed under a call is replaced for the next one',
    async () => {
      await using it = await startStage()
      const first = await it.browser.visit(it.visiting(), async ({ page }) => {
        process.kill(Number(it.events[0]?.fields['pid']), 'SIGKILL')
        await page.goto(it.sandbox.url)
      })

      const second = await it.browser.visit(it.visiting(), ({ page }) => page.goto(it.sandbox.url))

      expect(first).toEqual({ ok: false, fault: { kind: 'lost', trouble: null } })
      expect(second.ok).toBeTrue()
    },
    TEST_MS,
  )
})

/** One process with a browser, from its start to what is left of it. */
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
  await using _ = await startStage({ folder: folder.path })
  expect(left.length).toBe(1)
  expect(readdirSync(temporary)).toEqual([])
  expect(existsSync(`${folder.path}/browser`)).toBeFalse()
}
