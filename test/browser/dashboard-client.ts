import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { Browser, Handler, Page, PageEvents } from 'puppeteer-core'

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
const APPEARS_MS = 60_000
/** Polls by interval: an idle page produces no animation frames. */
const POLLING = { polling: 50 }

const WIDTHS = { wide: 1440, narrow: 1130, phone: 390 } as const
export type Width = keyof typeof WIDTHS
export type Theme = 'light' | 'dark'

/** Opens users of the dashboard, each with a page that has no cookies and no storage. */
export function createClients(browser: Browser, url: string) {
  /** A new page is a new process without a cache: two thirds of the cost of a short scenario. */
  const left: Page[] = []
  const create = async () => (await browser.createBrowserContext()).newPage()
  return {
    /** `own`: in a context of its own, which ends with it, for a scenario that changes more than storage. */
    async open({ own = false }: { own?: boolean } = {}) {
      const page = (own ? undefined : left.pop()) ?? (await create())
      return openDashboardClient(page, url, async () => {
        if (own) return page.browserContext().close()
        await emptied(page, url)
        left.push(page)
      })
    },
  }
}

/** Removes all that a user has left in a page. */
async function emptied(page: Page, url: string) {
  // Ends the scripts, the requests and the event stream of the document.
  await page.goto('about:blank')
  const context = page.browserContext()
  await context.deleteCookie(...(await context.cookies()))
  const session = await page.createCDPSession()
  await session.send('Storage.clearDataForOrigin', { origin: url, storageTypes: 'all' })
  await session.detach()
  await page.emulateMediaFeatures([])
  await page.mouse.move(0, 0)
}

/** A user of the dashboard in a page, with a record of unexpected requests and errors. */
async function openDashboardClient(page: Page, url: string, leave: () => Promise<void>) {
  using stack = new DisposableStack()
  function on<E extends keyof PageEvents>(event: E, handler: Handler<PageEvents[E]>) {
    page.on(event, handler)
    stack.defer(() => page.off(event, handler))
  }
  /** Requests to other hosts, and errors of the page. */
  const strange: string[] = []
  on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && origin !== url) strange.push(`asked ${request.url()}`)
  })
  on('pageerror', (error) => strange.push(`error ${String(error)}`))
  on('console', (message) => {
    // The browser logs each error response, which the page itself shows.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      strange.push(`console ${message.text()}`)
  })
  on('dialog', (dialog) => {
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

  const listeners = stack.move()
  const client = {
    page,
    strange,
    /** Opens a page of the dashboard by its URL, and waits for a text. */
    open: async (path = '', shown?: string) => {
      await page.goto(`${url}/dashboard${path}`, { waitUntil: 'domcontentloaded' })
      if (shown !== undefined) await client.waitForText(shown)
    },
    async signIn(key: string) {
      await client.open()
      await client.type('API key', key)
      await client.press('Sign in')
      await page.waitForSelector('.frame').catch(() => failWith('signing in failed'))
    },
    /** Opens the overview in a new session with the key, without the form. */
    async enter(key: string) {
      const answer = await fetch(`${url}/dashboard/session`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          origin: url,
          'sec-fetch-site': 'same-origin',
        },
        body: JSON.stringify({ key }),
      })
      const [name = '', value = ''] = answer.headers.getSetCookie()[0]?.split(/[=;]/) ?? []
      if (!answer.ok || value === '') throw new Error(`no session: ${await answer.text()}`)
      await page.setCookie({ name, value, url: `${url}/dashboard`, httpOnly: true })
      await client.open()
      await page.waitForSelector('.frame').catch(() => failWith('there is no session'))
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
    /** Clicks the button or link with that name, within the open dialog if there is one, and waits for a text. */
    press: async (name: string, shown?: string) => {
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
      if (shown !== undefined) await client.waitForText(shown)
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
    /** Replaces the texts of fields, in this order. */
    async typeAll(fields: Record<string, string>) {
      for (const [label, text] of Object.entries(fields)) await client.type(label, text)
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
    [Symbol.asyncDispose]: async () => {
      listeners.dispose()
      await leave()
    },
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
