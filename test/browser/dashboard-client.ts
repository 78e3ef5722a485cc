import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { Browser, Page } from 'puppeteer-core'

/** The part of the DOM that functions evaluated in the page use. */
type PageElement = {
  innerText: string
  textContent: string | null
  labels?: Iterable<PageElement> | null
  getAttribute(name: string): string | null
  checkVisibility(): boolean
}
type Place = { querySelectorAll(selector: string): Iterable<PageElement> }
declare const document: Place & { body: PageElement; querySelector(selector: string): Place | null }

/** Timeout for content to appear on a busy machine. */
const APPEARS_MS = 15_000
/** Polls by interval: an idle page produces no animation frames. */
const POLLING = { polling: 50 }

const WIDTHS = { wide: 1440, narrow: 1130, phone: 390 } as const
export type Width = keyof typeof WIDTHS
export type Theme = 'light' | 'dark'

/** A user of the dashboard in a browser, with a record of unexpected requests and errors. */
export async function openDashboardClient(browser: Browser, url: string) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  /** Requests to other hosts, and errors of the page. */
  const strange: string[] = []
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && origin !== url) strange.push(`asked ${request.url()}`)
  })
  page.on('pageerror', (error) => strange.push(`error ${String(error)}`))
  page.on('console', (message) => {
    // The browser logs each error response, which the page itself shows.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      strange.push(`console ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    strange.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.setDefaultTimeout(APPEARS_MS)
  await page.setViewport({ width: WIDTHS.wide, height: 900 })

  /** Throws with the failed expectation, the text of the page and its errors. */
  async function failWith(what: string): Promise<never> {
    const stood = await client.text()
    throw new Error([`${what}; the page shows:`, stood, ...strange].join('\n'))
  }

  const client = {
    page,
    strange,
    /** Opens a page of the dashboard by its URL. */
    open: async (path = '') => {
      await page.goto(`${url}/dashboard${path}`, { waitUntil: 'domcontentloaded' })
    },
    async signIn(key: string) {
      await client.open()
      await client.type('API key', key)
      await client.press('Sign in')
      await page.waitForSelector('.frame').catch(() => failWith('signing in failed'))
    },
    /** Waits until a text is on the page. */
    waitForText: (text: string) =>
      page
        .waitForFunction((it) => document.body.innerText.includes(it), POLLING, text)
        .catch(() => failWith(`"${text}" did not appear`)),
    /** Waits until a text is gone. */
    misses: (text: string) =>
      page.waitForFunction((it) => !document.body.innerText.includes(it), POLLING, text),
    /** Waits until an expression is true in the page. */
    waitFor: (expression: string) =>
      page
        .waitForFunction(expression, POLLING)
        .catch(() => failWith(`${expression} did not become true`)),
    text: () => page.evaluate(() => document.body.innerText),
    /** Clicks the button or link with that name, within the open dialog if there is one. */
    press: async (name: string) => {
      const pressed = async (): Promise<boolean> => {
        const found = await find(page, { of: 'button, a, summary', name })
        try {
          await found.click()
          return true
        } catch (error) {
          // A render replaced the element between the search and the click.
          if (await found.evaluate((it) => it.isConnected && it.checkVisibility())) throw error
          return false
        }
      }
      while (!(await pressed()));
    },
    /** Clicks the checkbox or radio button with that label. */
    check: async (label: string) => (await find(page, { of: 'input', name: label })).click(),
    /** Replaces the text of the field with that label. */
    async type(label: string, text: string) {
      const field = await find(page, { of: 'input, textarea', name: label })
      await field.focus()
      await page.keyboard.down('Control')
      await page.keyboard.press('a')
      await page.keyboard.up('Control')
      await page.keyboard.press('Delete')
      await page.keyboard.sendCharacter(text)
    },
    /** Selects an option by value, once it exists. */
    async choose(label: string, value: string) {
      const field = await find(page, { of: 'select', name: label })
      await page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll('option')].some(
            (it) => it.getAttribute('value') === wanted || it.textContent === wanted,
          ),
        POLLING,
        value,
      )
      await field.select(value)
    },
    /** The value of the field with that label. */
    async value(label: string): Promise<string> {
      const field = await find(page, { of: 'input, textarea', name: label })
      return field.evaluate((it: { value: string }) => it.value)
    },
    /** Waits until the value of the field with that label differs from `before`. */
    async changes(label: string, before: string) {
      while ((await client.value(label)) === before)
        await page.waitForNetworkIdle({ idleTime: 50, concurrency: 1 })
    },
    /** Navigates within the dashboard like its own links, without a reload. */
    go: (path = '') =>
      page.evaluate(
        `history.pushState(null, '', '/dashboard${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
      ),
    setViewport: async (width: Width, theme: Theme) => {
      await page.setViewport({ width: WIDTHS[width], height: width === 'phone' ? 844 : 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
    },
    /** Saves a screenshot of the whole page in $FORUMD_SCREENSHOTS, if set. */
    picture: (name: string) => picture(page, name),
    close: () => context.close(),
    [Symbol.asyncDispose]: () => context.close(),
  }
  return client
}

export type DashboardClient = Awaited<ReturnType<typeof openDashboardClient>>

/** Waits for an element by its label or text. */
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
      POLLING,
      of,
      name,
    )
    .catch(async () => {
      const text = await page.evaluate(() => document.body.innerText)
      throw new Error(`no ${of} called "${name}"; the page shows:
${text}`)
    })
  const element = found.asElement()
  if (element === null) throw new Error(`${name} is not an element`)
  return element
}

async function picture(page: Page, name: string) {
  const folder = process.env['FORUMD_SCREENSHOTS']
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.evaluate('scrollTo(0, 0)')
  await page.screenshot({ path: `${join(folder, name)}.png`, fullPage: true })
}
