import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { launch } from 'puppeteer-core'

import { findChromium } from '../src/platforms/reddit/browser/launch.ts'

// Writes docs/images: starts the demo, waits until its monitors have delivered, signs a browser in by the demo's link,
// and takes a screenshot of each page. The demo's platforms have a fixed seed; times and ids differ between runs.

const ROOT = new URL('..', import.meta.url).pathname
const IMAGES = `${ROOT}docs/images`
const WIDTH = 1120
const HEIGHT = 760
const PHONE = { width: 390, height: 760 }
/** A port of its own, so that addresses in the images stay the same. */
const PORT = '47680'
/** Deliveries before the first screenshot. */
const DELIVERIES = 20
const WAIT_MS = 120_000
/** Quality of WebP: text stays sharp at a third of the bytes of PNG. */
const QUALITY = 82

const chromium = findChromium(process.env['CHROMIUM'] ?? '')
if (chromium === null) throw new Error('needs Chromium on PATH, or its path in CHROMIUM')

await using stack = new AsyncDisposableStack()
const demo = Bun.spawn([process.execPath, 'src/main.ts', 'demo', '--port', PORT], {
  cwd: ROOT,
  stdin: 'ignore',
  stdout: 'pipe',
  stderr: 'inherit',
})
stack.defer(async () => {
  demo.kill('SIGINT')
  await demo.exited
})

const ready = Promise.withResolvers<string>()

/** Reads all that the demo prints, as it stops when its output closes. Resolves `ready` with the sign-in link. */
async function watchDemo() {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of demo.stdout) {
    text += decoder.decode(bytes, { stream: true })
    const link = /http:\S+\/sign-in#\S+/.exec(text)?.[0]
    if (link !== undefined && text.split('verified').length > DELIVERIES) ready.resolve(link)
  }
  ready.reject(new Error(`the demo ended:\n${text}`))
}

const timeout = setTimeout(() => ready.reject(new Error('the demo delivers too little')), WAIT_MS)
void watchDemo()
const link = await ready.promise
clearTimeout(timeout)

const folder = await mkdtemp(join(tmpdir(), 'forumd-screenshots-'))
stack.defer(() => rm(folder, { recursive: true, force: true }))
const browser = await launch({
  executablePath: chromium,
  headless: true,
  pipe: true,
  userDataDir: join(folder, 'profile'),
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--hide-scrollbars', '--lang=en-US'],
  env: { ...process.env, TZ: 'UTC' },
})
stack.defer(() => browser.close())
const page = await browser.newPage()
await page.setViewport({ width: WIDTH, height: HEIGHT })
await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])

/** Clicks the first visible button or link whose text starts like this. */
async function click(text: string) {
  const found = await page.waitForFunction(
    `[...document.querySelectorAll('main a, main button')].find((it) => it.innerText.trim().startsWith(${JSON.stringify(text)}) && it.checkVisibility())`,
  )
  await page.evaluate((it) => (it as { click(): void }).click(), found)
}

/** Time for the answers of a page; it keeps asking for news, so the network is never idle. */
const SETTLE_MS = 2500

async function take(name: string, theme: 'light' | 'dark' = 'light') {
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: theme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ])
  await Bun.sleep(SETTLE_MS)
  const path = `${IMAGES}/${name}.webp` as const
  await page.screenshot({ path, type: 'webp', quality: QUALITY })
  console.log(`${name}.webp ${Bun.file(path).size} bytes`)
}

await page.goto(link)
await click('Sign in')
await page.waitForSelector('.frame')
const origin = new URL(link).origin
const open = async (path: string) => {
  await page.goto(`${origin}${path}`)
  await page.waitForSelector(path.startsWith('/docs') ? '#reference h1' : 'h1')
}

await open('/dashboard')
await take('overview')
await open('/dashboard/monitors')
await take('monitors', 'dark')
await click('backups and passwords')
await page.waitForFunction(`location.pathname !== '/dashboard/monitors'`)
await take('monitor')
await open('/dashboard/deliveries')
await take('deliveries')
await open('/docs#tag/monitoring/POST/forum/monitor/add')
await take('reference')
await page.setViewport(PHONE)
await open('/dashboard/monitors')
await take('phone', 'dark')
