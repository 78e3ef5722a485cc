import type { ElementHandle, Page } from 'puppeteer-core'

import { appears } from './hands.ts'

// What the page of a post is made of. Its custom elements may keep their insides in trees of their own.
const BANNERS = [
  ['[slot="post-locked-banner"]', 'THREAD_LOCKED'],
  ['[slot="post-archived-banner"]', 'TOO_OLD'],
  ['[slot="post-removed-banner"]', 'DELETED_LINK'],
] as const
const TRIGGER = 'pierce/comment-composer-host [data-testid="trigger-button"]'
const REPLY = '[data-reply], [slot="reply-button"], [name="reply"], [aria-label^="Reply" i]'
const TEXT = '[contenteditable]:not([contenteditable="false"]), textarea'
/** Scripts may still be drawing it. */
const BOX_MS = 5_000

/** What a page says of itself before anything is written. */
export type PageState = {
  /** Null where it does not tell. */
  logged_in: boolean | null
  /** The native code of the banner that stands where the composer would. */
  banner: string | null
}

/** Runs in the page; without a library of its types, this is what is used of an element. */
type Element = {
  getAttribute(name: string): string | null
  querySelector(selector: string): Element | null
  textContent: string | null
  localName: string
  value?: string
}

/** Reads a post's page. */
export async function readState(page: Page): Promise<PageState> {
  const told = await attribute(page, 'shreddit-app', 'user-logged-in')
  const logged_in = told === null ? null : told !== 'false'
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

/** Opens the box for an answer to the post, or to one of its comments; null where the page has none. */
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

/** Writes a text into the box, a paragraph a line. Whether it then stands there as it was given. */
export async function write(page: Page, box: ElementHandle, text: string): Promise<boolean> {
  const area = await box.$(`pierce/${TEXT}`)
  if (area === null) return false
  await area.focus()
  const lines = text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  for (const [at, line] of lines.entries()) {
    if (at > 0) await page.keyboard.press('Enter')
    // Whole lines, as they are pasted: what is typed letter by letter some editors take for their own markup.
    if (line !== '') await page.keyboard.sendCharacter(line)
  }
  const written = await area.evaluate((it: Element) => it.value ?? it.textContent ?? '')
  return bare(written) === bare(text)
}

/** Editors have their own white space, and marks of no width. */
const bare = (text: string): string => text.replace(/[\s\u200b\u2060\ufeff]/g, '')

/** The button that sends the box; null where it has none that can be pressed. */
export const findSend = (box: ElementHandle): Promise<ElementHandle | null> =>
  box.$('pierce/[slot="submit-button"]:not([disabled]), button[type="submit"]:not([disabled])')
