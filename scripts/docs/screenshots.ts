import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { launch } from 'puppeteer-core'

import { findChromium } from '../../src/platforms/reddit/browser/launch.ts'

// Writes docs/images: starts the demo, waits until its monitors have delivered, signs a browser in by the demo's link,
// and takes a screenshot of each page. The demo's platforms have a fixed seed; times and ids differ between runs.
// With --all FOLDER it writes every page of customer and operator there instead, in both themes and two widths, and
// reports pages that scroll sideways: `bun run screenshots --all /tmp/pages`.

const ROOT = new URL('../..', import.meta.url).pathname
const IMAGES = `${ROOT}docs/images`
const WIDTH = 1280
const HEIGHT = 820
const PHONE = { width: 390, height: 760 }
const DESKTOP = { width: 1440, height: 900 }
/** A port of its own, so that addresses in the images stay the same. */
const PORT = '47680'
/** Deliveries before the first screenshot. */
const DELIVERIES = 20
const WAIT_MS = 120_000
/** Quality of WebP: text stays sharp at a third of the bytes of PNG. */
const QUALITY = 82

const { values } = parseArgs({ options: { all: { type: 'string' } } })
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

type Started = { link: string; key: string; dir: string }
const ready = Promise.withResolvers<Started>()

/** Reads all that the demo prints, as it stops when its output closes. Resolves `ready` when it has delivered. */
async function watchDemo() {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of demo.stdout) {
    text += decoder.decode(bytes, { stream: true })
    const [link] = /http:\S+\/sign-in#\S+/.exec(text) ?? []
    const [, key] = /KEY=(\S+)/.exec(text) ?? []
    const [, dir] = /; (\S+) is removed/.exec(text) ?? []
    const all = link !== undefined && key !== undefined && dir !== undefined
    if (all && text.split('verified').length > DELIVERIES) ready.resolve({ link, key, dir })
  }
  ready.reject(new Error(`the demo ended:\n${text}`))
}

const timeout = setTimeout(() => ready.reject(new Error('the demo delivers too little')), WAIT_MS)
void watchDemo()
const { link, key, dir } = await ready.promise
clearTimeout(timeout)
const origin = new URL(link).origin

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

async function take(file: string, theme: 'light' | 'dark' = 'light', full = false) {
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: theme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ])
  await Bun.sleep(SETTLE_MS)
  const path = `${file}.webp` as const
  await page.screenshot({ path, type: 'webp', quality: QUALITY, fullPage: full })
  console.log(`${file}.webp ${Bun.file(path).size} bytes`)
}

const open = async (path: string) => {
  // An address that differs in its fragment alone is no navigation.
  if (path.includes('sign-in#')) await page.goto('about:blank')
  await page.goto(`${origin}${path}`)
  await page.waitForSelector(path.startsWith('/docs') ? '#reference h1' : 'h1')
}

/** Moves to a match of the inbox by the key, and stars one on the way. */
async function openMatch(position: number) {
  await page.waitForSelector('.match-row .row-title')
  for (let n = 1; n <= position; n++) await page.keyboard.press('j')
  await page.keyboard.press('s')
  await page.keyboard.press('j')
}

async function signIn(at: string) {
  await page.goto(at)
  await click('Sign in')
  await page.waitForSelector('.frame')
}

/** The images of README and docs. */
async function takeDocumented() {
  await signIn(link)
  await open('/dashboard')
  await take(`${IMAGES}/overview`)
  await open('/dashboard/inbox')
  await openMatch(2)
  await take(`${IMAGES}/inbox`)
  await open('/dashboard/monitors')
  await take(`${IMAGES}/monitors`, 'dark')
  await click('backups and passwords')
  await page.waitForFunction(`location.pathname !== '/dashboard/monitors'`)
  await take(`${IMAGES}/monitor`)
  await open('/dashboard/deliveries')
  await take(`${IMAGES}/deliveries`)
  await open('/docs#tag/monitoring/POST/forum/monitor/add')
  await take(`${IMAGES}/reference`)
  await page.setViewport(PHONE)
  await open('/dashboard/inbox')
  await take(`${IMAGES}/phone`, 'dark')
}

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return Object(await response.json())
}

/** Adds what the demo lacks: a receiver that refuses, one in a chat service, a paused monitor with a digest. */
async function addMore(): Promise<string> {
  const failing = await post('/forum/monitor/webhook/create', { url: 'http://127.0.0.1:9/alerts' })
  await post('/forum/monitor/webhook/create', {
    kind: 'ntfy',
    name: 'phone',
    url: 'http://127.0.0.1:9/alerts-of-the-team',
  })
  const spec = {
    filter_spec: { subforum: 'coffee', include_any: ['grinder', 'espresso', 'kettle'] },
  }
  await post('/forum/monitor/add', {
    name: 'to a broken receiver',
    ...spec,
    webhook_ids: [failing['id']],
  })
  const { id } = await post('/forum/monitor/add', {
    name: 'each morning',
    ...spec,
    attention: {
      time_zone: 'Europe/Berlin',
      quiet_hours: [{ from: '22:00', to: '07:00' }],
      digest: { every: 'day', at: '08:00' },
    },
  })
  await post('/forum/monitor/update', { id, active: false })
  return String(id)
}

/** A link that signs in, made as a command beside the daemon makes it. A customer is created first. */
function signInLink(as: 'operator' | { customer: string }): string {
  const config = join(folder, 'forumd.toml')
  const text = `[server]\nport = ${PORT}\n[storage]\ndir = ${JSON.stringify(join(dir, 'data'))}\n[[source]]\nname = "hn"\nkind = "hackernews"\n`
  writeFileSync(config, text, { mode: 0o600 })
  const run = (...command: string[]) =>
    Bun.spawnSync([process.execPath, 'src/main.ts', ...command, '--config', config], { cwd: ROOT })
  if (as !== 'operator') run('key', 'create', '--customer', as.customer)
  const { stdout, stderr } = run(
    'key',
    'sign-in-link',
    ...(as === 'operator' ? ['--operator'] : ['--customer', as.customer]),
  )
  const [found] = /http:\S+\/sign-in#\S+/.exec(stdout.toString()) ?? []
  if (found === undefined) throw new Error(`no link: ${stderr.toString()}`)
  return found
}

/** Takes pages in both themes and widths into a folder; names those that scroll sideways. */
async function takePages(into: string, pages: Record<string, string>) {
  for (const [name, path] of Object.entries(pages))
    for (const [width, viewport] of Object.entries({ wide: DESKTOP, phone: PHONE })) {
      await page.setViewport(viewport)
      await open(path)
      for (const theme of ['light', 'dark'] as const)
        await take(join(into, `${name}-${width}-${theme}`), theme, !path.startsWith('/docs'))
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (over !== 0) console.log(`${name}: ${Number(over)} px wider than ${viewport.width}`)
    }
}

/** The path of the first page that a list links. */
async function first(path: string): Promise<string> {
  await open(`/dashboard/${path}`)
  const links = `main a[href^="/dashboard/${path}/"]:not([href$="/new"])`
  const found = await page.waitForSelector(links)
  const path_found = await found?.evaluate((it) => it.getAttribute('href'))
  if (typeof path_found !== 'string') throw new Error(`${path} links no page`)
  return path_found
}

/** Id of the newest match of the inbox. */
async function firstMatch(): Promise<string> {
  const response = await fetch(`${origin}/forum/inbox?limit=1`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { items }: { items: { id: string }[] } = Object(await response.json())
  const [newest] = items
  if (newest === undefined) throw new Error('the inbox has no match')
  return encodeURIComponent(newest.id)
}

async function takeAll(into: string) {
  await mkdir(into, { recursive: true })
  await takePages(into, { 'sign-in': '/dashboard', 'sign-in-link': link.slice(origin.length) })
  const paused = await addMore()
  await signIn(link)
  await takePages(into, {
    overview: '/dashboard',
    inbox: '/dashboard/inbox',
    'inbox-open': `/dashboard/inbox?state=any&item=${await firstMatch()}`,
    'inbox-charts': '/dashboard/inbox/charts',
    monitors: '/dashboard/monitors',
    monitor: await first('monitors'),
    'monitor-paused': `/dashboard/monitors/${paused}`,
    'monitor-new': '/dashboard/monitors/new',
    'monitor-edit': `/dashboard/monitors/${paused}/edit`,
    deliveries: '/dashboard/deliveries',
    'deliveries-failed': '/dashboard/deliveries?status=failed',
    delivery: await first('deliveries'),
    webhooks: '/dashboard/webhooks',
    webhook: await first('webhooks'),
    usage: '/dashboard/usage',
    drafts: '/dashboard/drafts',
    account: '/dashboard/account',
    'not-found': '/dashboard/absent',
    reference: '/docs#tag/monitoring/POST/forum/monitor/add',
  })
  await signIn(signInLink({ customer: 'newcomer' }))
  await takePages(into, {
    'first-steps': '/dashboard',
    'monitors-none': '/dashboard/monitors',
    'webhooks-none': '/dashboard/webhooks',
    'deliveries-none': '/dashboard/deliveries',
  })
  await signIn(signInLink('operator'))
  await takePages(into, {
    'operator-overview': '/dashboard',
    'operator-sources': '/dashboard/sources',
    'operator-pool': '/dashboard/pool',
    'operator-monitors': '/dashboard/monitors',
    'operator-deliveries': '/dashboard/deliveries',
    'operator-customers': '/dashboard/customers',
    'operator-customer': await first('customers'),
    'operator-drafts': '/dashboard/drafts',
    'operator-audit': '/dashboard/audit',
  })
}

await (values.all === undefined ? takeDocumented() : takeAll(values.all))
