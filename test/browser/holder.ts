// A process that holds a browser with a page open, until somebody ends it. Its first argument is a folder.
import { startStage } from './stage.ts'

const it = await startStage({ folder: process.argv[2] ?? '' })
await it.browser.visit(it.visiting(null, 600_000), async ({ page }) => {
  await page.goto(it.sandbox.url)
  console.log(it.events.find(({ event }) => event === 'browser.started')?.fields['pid'])
  await new Promise(() => {})
})
