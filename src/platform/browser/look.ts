import type { Page } from 'puppeteer-core'

import { fail, ok, type Outcome } from '../../core/outcome.ts'
import type { Answer } from '../classify.ts'
import { readAnswer } from './answers.ts'

/** The page may go on by itself and cross our question. */
const TRIES = 4

/** Asks the platform a question with the page's own cookies, by going there. */
export async function look(page: Page, url: string): Promise<Outcome<Answer>> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await page.goto(url)
      if (response) return ok(await readAnswer(response))
    } catch (thrown) {
      if (page.isClosed()) throw thrown
    }
    if (tries === TRIES) return fail({ kind: 'unavailable', status: null, retry_after_s: null })
  }
}
