import type { HTTPResponse, Page } from 'puppeteer-core'

import type { Clock } from '../../outside.ts'
import type { Answer } from '../classify.ts'

/** What became of a request of the page: its answer, or the browser's own name for what went wrong. */
type Heard = { ok: true; path: string; answer: Answer } | { ok: false; path: string; error: string }

/** Answers to a page's own requests, in the order in which they came to an end. */
export type Answers = {
  /** The next one; null when none came in `ms`, or before the signal. */
  next(ms: number, signal?: AbortSignal): Promise<Heard | null>
}

/** Listens to what the page posts to paths that `wanted` knows. To be called before anything is sent. */
export function hear(page: Page, clock: Clock, wanted: (path: string) => boolean): Answers {
  const heard: Heard[] = []
  let wake: (() => void) | null = null
  const tell = (it: Heard) => {
    heard.push(it)
    wake?.()
  }
  const pathOf = (method: string, url: string): string | null => {
    const path = URL.parse(url)?.pathname.replace(/\/$/, '') ?? null
    return method === 'POST' && path !== null && wanted(path) ? path : null
  }

  page.on('response', (response) => {
    const request = response.request()
    const path = pathOf(request.method(), request.url())
    if (path === null) return
    void readAnswer(response).then((answer) => {
      const error = request.failure()?.errorText
      tell(error === undefined ? { ok: true, path, answer } : { ok: false, path, error })
    })
  })
  page.on('requestfailed', (request) => {
    const path = pathOf(request.method(), request.url())
    // With an answer begun, its end is told by the reader of it.
    if (path === null || request.response() !== null) return
    tell({ ok: false, path, error: request.failure()?.errorText ?? '' })
  })

  return {
    async next(ms, signal) {
      const late = new AbortController()
      const nap = clock.sleep(ms, signal ? AbortSignal.any([late.signal, signal]) : late.signal)
      if (heard.length === 0)
        await Promise.race([nap, new Promise<void>((resolve) => (wake = resolve))])
      late.abort()
      return heard.shift() ?? null
    },
  }
}

/** A response with its body; the body of one that was left before it was read is empty. */
export async function readAnswer(response: HTTPResponse): Promise<Answer> {
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers()))
    for (const line of value.split('\n')) headers.append(name, line)
  const body = await response.text().catch(() => '')
  return { status: response.status(), headers, body }
}
