import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { Browser, Page } from 'puppeteer-core'

/** What of a page is looked at by functions that run in it. */
type Shown = {
  innerText: string
  textContent: string | null
  labels?: Iterable<Shown> | null
  getAttribute(name: string): string | null
  checkVisibility(): boolean
}
type Place = { querySelectorAll(selector: string): Iterable<Shown> }
declare const document: Place & { body: Shown; querySelector(selector: string): Place | null }

/** How long something may take to appear on a page of a busy machine. */
const APPEARS_MS = 15_000
/** Looked for by the clock: a page that has nothing to paint need not paint. */
const LOOKED_FOR = { polling: 50 }

const WIDTHS = { wide: 1280, phone: 390 } as const
export type Width = keyof typeof WIDTHS
export type Theme = 'light' | 'dark'

/** Somebody at a browser: what they do, and what was asked of whom meanwhile. */
export async function startVisitor(browser: Browser, url: string) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  /** Everything that was asked of another host, and everything that went wrong in the page. */
  const strange: string[] = []
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && origin !== url) strange.push(`asked ${request.url()}`)
  })
  page.on('pageerror', (error) => strange.push(`error ${String(error)}`))
  page.on('console', (message) => {
    // A refused call is an answer that the page shows; the browser notes each.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      strange.push(`console ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    strange.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.setDefaultTimeout(APPEARS_MS)
  await page.setViewport({ width: WIDTHS.wide, height: 900 })

  /** Says what was waited for in vain, what stood there instead, and what went wrong in the page. */
  async function told(what: string): Promise<never> {
    const stood = await visitor.text()
    throw new Error([`${what}; there stood:`, stood, ...strange].join('\n'))
  }

  const visitor = {
    page,
    strange,
    /** Opens a page of the dashboard by its address. */
    open: async (path = '') => {
      await page.goto(`${url}/dashboard${path}`, { waitUntil: 'domcontentloaded' })
    },
    async signIn(key: string) {
      await visitor.open()
      await visitor.type('API key', key)
      await visitor.press('Sign in')
      await page.waitForSelector('.frame').catch(() => told('signing in came to nothing'))
    },
    /** Waits until a text stands on the page. */
    sees: (text: string) =>
      page
        .waitForFunction((it) => document.body.innerText.includes(it), LOOKED_FOR, text)
        .catch(() => told(`"${text}" did not appear`)),
    /** Waits until it is gone. */
    misses: (text: string) =>
      page.waitForFunction((it) => !document.body.innerText.includes(it), LOOKED_FOR, text),
    /** Waits until an expression of the page holds. */
    holds: (expression: string) =>
      page
        .waitForFunction(expression, LOOKED_FOR)
        .catch(() => told(`${expression} did not come true`)),
    text: () => page.evaluate(() => document.body.innerText),
    /** Presses the button, or follows the link, that says so; in the box that is open, if one is. */
    press: async (name: string) => {
      const pressed = async (): Promise<boolean> => {
        const found = await find(page, { of: 'button, a, summary', name })
        try {
          await found.click()
          return true
        } catch (error) {
          // The page was drawn anew between looking and pressing: it is another element, of the same name, by now.
          if (await found.evaluate((it) => it.isConnected && it.checkVisibility())) throw error
          return false
        }
      }
      while (!(await pressed()));
    },
    /** Types into the field of that label, in place of what stood there. */
    async type(label: string, text: string) {
      const field = await find(page, { of: 'input, textarea', name: label })
      await field.focus()
      await page.keyboard.down('Control')
      await page.keyboard.press('a')
      await page.keyboard.up('Control')
      await page.keyboard.press('Delete')
      await page.keyboard.sendCharacter(text)
    },
    /** Chooses of a list what it is valued, once that is there to be chosen. */
    async choose(label: string, value: string) {
      const field = await find(page, { of: 'select', name: label })
      await page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll('option')].some(
            (it) => it.getAttribute('value') === wanted || it.textContent === wanted,
          ),
        LOOKED_FOR,
        value,
      )
      await field.select(value)
    },
    /** What stands in the field of that label. */
    async value(label: string): Promise<string> {
      const field = await find(page, { of: 'input, textarea', name: label })
      return field.evaluate((it: { value: string }) => it.value)
    },
    /** Waits until something else stands in the field of that label. */
    async changes(label: string, before: string) {
      while ((await visitor.value(label)) === before)
        await page.waitForNetworkIdle({ idleTime: 50, concurrency: 1 })
    },
    /** Goes to a page of the dashboard as its own links do: nothing is loaded again. */
    go: (path = '') =>
      page.evaluate(
        `history.pushState(null, '', '/dashboard${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
      ),
    look: async (width: Width, theme: Theme) => {
      await page.setViewport({ width: WIDTHS[width], height: width === 'phone' ? 844 : 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
    },
    /** Keeps a picture of the whole page in $FORUMD_SCREENSHOTS, if that is named. */
    picture: (name: string) => picture(page, name),
    close: () => context.close(),
    [Symbol.asyncDispose]: () => context.close(),
  }
  return visitor
}

export type Visitor = Awaited<ReturnType<typeof startVisitor>>

/** Waits for an element by what it is called: its label, or what it says. */
async function find(page: Page, { of, name }: { of: string; name: string }) {
  const found = await page
    .waitForFunction(
      (selector, called) => {
        const within = document.querySelector('dialog[open]') ?? document
        return [...within.querySelectorAll(selector)].find((it) => {
          const labels = [...(it.labels ?? [])]
          const names = [
            it.getAttribute('aria-label'),
            it.innerText,
            ...labels.map((l) => l.textContent),
          ]
          return it.checkVisibility() && names.some((text) => text?.trim() === called)
        })
      },
      LOOKED_FOR,
      of,
      name,
    )
    .catch(async () => {
      const text = await page.evaluate(() => document.body.innerText)
      throw new Error(`no ${of} called "${name}"; there stood:\n${text}`)
    })
  const element = found.asElement()
  if (element === null) throw new Error(`${name} is no element`)
  return element
}

async function picture(page: Page, name: string) {
  const folder = process.env['FORUMD_SCREENSHOTS']
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.evaluate('scrollTo(0, 0)')
  await page.screenshot({ path: `${join(folder, name)}.png`, fullPage: true })
}
