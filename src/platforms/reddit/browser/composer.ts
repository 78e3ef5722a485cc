import type { ElementHandle, Page } from 'puppeteer-core'

import { appears } from './page.ts'

// Elements of a post's page. Its custom elements may keep their content in shadow trees.
const BANNERS = [
  ['[slot="post-locked-banner"]', 'THREAD_LOCKED'],
  ['[slot="post-archived-banner"]', 'TOO_OLD'],
  ['[slot="post-removed-banner"]', 'DELETED_LINK'],
] as const
const TRIGGER = 'pierce/comment-composer-host [data-testid="trigger-button"]'
const REPLY = '[data-reply], [slot="reply-button"], [name="reply"], [aria-label^="Reply" i]'
const TEXT = '[contenteditable]:not([contenteditable="false"]), textarea'
/** Scripts may still be drawing the composer. */
const BOX_MS = 5_000

export type PageState = {
  /** Null if the page does not state it. */
  logged_in: boolean | null
  /** Native code of the banner in place of the composer; null: no banner. */
  banner: string | null
}

/**
 * Runs in the page. The DOM types are not loaded, so these are the members of an element in use.
 */
type Element = {
  getAttribute(name: string): string | null
  querySelector(selector: string): Element | null
  textContent: string | null
  localName: string
  value?: string
}

export async function readState(page: Page): Promise<PageState> {
  const flag = await attribute(page, 'shreddit-app', 'user-logged-in')
  const logged_in = flag === null ? null : flag !== 'false'
  for (const [selector, code] of BANNERS) {
    const banner = await page.$(`pierce/${selector}`)
    if (banner !== null) return { logged_in, banner: code }
  }
  return { logged_in, banner: null }
}

async function attribute(page: Page, selector: string, name: string): Promise<string | null> {
  const found = await page.$(selector)
  if (found === null) return null
  return found.evaluate((element: Element, wanted: string) => element.getAttribute(wanted), name)
}

/**
 * Opens the composer for a reply to the post or to one of its comments; null if the page has none.
 */
export async function openBox(page: Page, comment: string | null): Promise<ElementHandle | null> {
  if (comment === null) {
    const found = await appears(page, `${TRIGGER}, shreddit-composer`, BOX_MS)
    const is_box = await found?.evaluate((it: Element) => it.localName === 'shreddit-composer')
    if (!found || is_box) return found
    await found.click()
    return appears(page, 'pierce/shreddit-composer', BOX_MS)
  }
  const at = `shreddit-comment[thingid="${comment}" i]`
  const there = await appears(page, at, BOX_MS)
  const reply = await there?.$(`pierce/${REPLY}`)
  if (!reply) return null
  await reply.click()
  return appears(page, `${at} shreddit-composer`, BOX_MS)
}

/** Types a text into the composer, one line per paragraph. True if it then contains the text. */
export async function typeText(page: Page, box: ElementHandle, text: string): Promise<boolean> {
  const area = await box.$(`pierce/${TEXT}`)
  if (area === null) return false
  await area.focus()
  const lines = text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  for (const [at, line] of lines.entries()) {
    if (at > 0) await page.keyboard.press('Enter')
    // Whole lines, as if pasted: some editors treat text typed by letter as their own markup.
    if (line !== '') await page.keyboard.sendCharacter(line)
  }
  const written = await area.evaluate((it: Element) => it.value ?? it.textContent ?? '')
  return bare(written) === bare(text)
}

/** Removes white space and zero-width marks, which editors add. */
const bare = (text: string): string => text.replace(/[\s\u200b\u2060\ufeff]/g, '')

/** The enabled submit button of the composer; null if it has none. */
export const findSend = (box: ElementHandle): Promise<ElementHandle | null> =>
  box.$('pierce/[slot="submit-button"]:not([disabled]), button[type="submit"]:not([disabled])')
