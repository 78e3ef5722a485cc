import type { ElementHandle, Page } from 'puppeteer-core'

/** Something on the page that a person can see. */
export type Field = ElementHandle

/** What of a page's own fields is used here; it runs in the page. */
type Input = {
  value: string
  form: { querySelector(selector: string): unknown } | null
  select(): void
}

/** Waits for an element that can be seen; null when none came in `ms`. */
export async function appears(page: Page, selector: string, ms: number): Promise<Field | null> {
  try {
    return await page.waitForSelector(selector, { visible: true, timeout: ms })
  } catch (thrown) {
    // Anything else is the end of the page, and of the call.
    if (thrown instanceof Error && thrown.name === 'TimeoutError') return null
    throw thrown
  }
}

/** Types a text into a field, in place of what is there. Whether it then stands there as it was typed. */
export async function fill(field: Field, text: string): Promise<boolean> {
  await field.focus()
  await field.evaluate((input: Input) => input.select())
  await field.type(text)
  return (await field.evaluate((input: Input) => input.value)) === text
}

/** Sends the form of a field: by its button where it has one that can be pressed, otherwise by Enter. */
export async function press(page: Page, field: Field): Promise<void> {
  const found = await field.evaluateHandle(
    ({ form }: Input) => form?.querySelector('button[type="submit"]:not([disabled])') ?? null,
  )
  const button = found.asElement()
  if (button !== null && (await button.isVisible())) return button.click()
  await field.focus()
  await page.keyboard.press('Enter')
}
