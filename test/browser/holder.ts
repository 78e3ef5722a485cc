// A process that keeps a browser page open until it is killed. Its first argument is a folder.
import { startBrowserFixture } from './fixture.ts'

const it = await startBrowserFixture({ folder: process.argv[2] ?? '' })
await it.browser.withTab(it.tabOptions(null, 600_000), async ({ page }) => {
  await page.goto(it.sandbox.url)
  console.log(it.events.find(({ event }) => event === 'browser.started')?.fields['pid'])
  await new Promise(() => {})
})
