import type { Page } from 'puppeteer-core'

import type { Posted } from '../../core/acting.ts'
import type { Acted, WriteFault } from '../../core/native-refusals.ts'
import type { Place } from '../../core/permalink.ts'
import type { Clock } from '../../outside.ts'
import { type Answer, classify } from '../classify.ts'
import { isHumanCheck, isLoginPage } from '../pages.ts'
import type { Call } from '../platform.ts'
import { alertIn, refusedAs, refusedWith } from './alerts.ts'
import { hear, readAnswer } from './answers.ts'
import type { Browser, VisitFault } from './browser.ts'
import { findSend, openBox, readState, write } from './composer.ts'
import { readMade } from './made.ts'
import { isUnsent } from './net-errors.ts'
import type { Brought, Tab } from './tab.ts'
import { createWhyShut, type WhyShut } from './why-shut.ts'

type BrowserCommentRequest = {
  place: Place
  text: string
  /** Canonical: see core/locale.ts. */
  locale: string
  /** Primary: see core/timezone.ts. */
  timezone: string
}

type NoBrowser = Extract<VisitFault, { kind: 'unavailable' | 'scheme' }>

/** As over HTTP; or `no_browser`: there is none, or none that knows the proxy's scheme. Nothing was sent then. */
export type BrowserCommentResult = Acted<Posted> | { ok: false; no_browser: NoBrowser }

/**
 * Answers a post or a comment on its own page, with the session of the call's eyes. Sent once at most: what is lost
 * after the bytes have left is `unknown`. `comment` is not read back here.
 */
export type BrowserComment = (
  request: BrowserCommentRequest,
  call: Call,
) => Promise<BrowserCommentResult>

type Deps = { browser: Browser; clock: Clock; base_url: string; session_cookie: string }

const CALL = /^\/svc\/shreddit\/t[13]_[a-z0-9]+\/create-comment$/i
const ANSWER_MS = 30_000
const failed = (fault: WriteFault): Acted<never> => ({ ok: false, fault })

/** How far the one request has come. */
type Progress = { left: boolean; pressed: boolean }

/** Makes comments through the composer of the platform's own pages. */
export function createBrowserComment(deps: Deps): BrowserComment {
  const { base_url: base, clock } = deps
  const whyShut = createWhyShut({ base, clock })

  return async (request, { eyes, deadline_at, signal }) => {
    if (eyes.cookie === null) return failed({ kind: 'login_required' })
    const progress: Progress = { left: false, pressed: false }
    const cookies = broughtOf(eyes.cookie, deps.session_cookie)
    const { locale, timezone } = request
    const visited = await deps.browser.visit(
      { ...eyes, locale, timezone, cookies, deadline_at, signal },
      (tab) => comment({ base, clock, whyShut }, tab, request, progress),
    )
    if (visited.ok) return visited.value
    const { fault } = visited
    if (fault.kind === 'unavailable' || fault.kind === 'scheme')
      return { ok: false, no_browser: fault }
    if (progress.pressed) return failed({ kind: 'unknown' })
    if (fault.kind === 'timeout') return failed({ kind: 'timeout' })
    return failed(lost(fault, eyes.whose === 'caller' && eyes.lent === undefined))
  }
}

function lost({ trouble }: Extract<VisitFault, { kind: 'lost' }>, callers: boolean): WriteFault {
  if (trouble !== null && callers) return { kind: 'proxy', trouble }
  const nothing = { kind: 'unavailable', status: null, retry_after_s: null } as const
  return trouble === null ? nothing : { ...nothing, trouble }
}

/** The session as the browser holds it. What a page needs for its forms its scripts may read. */
const broughtOf = (header: string, session_cookie: string): Brought[] =>
  header.split(/;\s*/).flatMap((pair) => {
    const split = pair.indexOf('=')
    if (split < 1) return []
    const name = pair.slice(0, split)
    const hidden = name === session_cookie || name === 'token_v2'
    return [{ name, value: pair.slice(split + 1), hidden }]
  })

type Within = { base: string; clock: Clock; whyShut: WhyShut }

async function comment(
  { base, clock, whyShut }: Within,
  tab: Tab,
  { place, text }: BrowserCommentRequest,
  progress: Progress,
): Promise<Acted<Posted>> {
  const { page } = tab
  const { post_id, comment_id } = place
  const path = `/comments/${post_id}/${comment_id === null ? '' : `comment/${comment_id}/`}`
  const opened = await page.goto(base + path, { waitUntil: 'domcontentloaded' })
  const shut = opened && pageFault(await readAnswer(opened), clock)
  if (opened === null || shut) return failed(shut ?? { kind: 'unreadable', path: 'page' })
  const { logged_in, banner } = await readState(page)
  if (logged_in === false) return failed({ kind: 'login_required' })
  if (banner !== null) return failed(refusedAs(banner))

  const box = await openBox(page, comment_id === null ? null : `t1_${comment_id}`)
  if (box === null) return failed(await whyShut(page, place))
  if (!(await write(page, box, text))) return failed({ kind: 'unreadable', path: 'composer' })
  const send = await findSend(box)
  if (send === null) return failed({ kind: 'unreadable', path: 'composer' })

  const answers = hear(page, clock, (it) => CALL.test(it))
  tab.admit(({ method, url }) => {
    if (method !== 'POST' || !CALL.test(URL.parse(url)?.pathname ?? '')) return true
    // Once, whatever the page thinks of the answer.
    if (progress.left) return false
    progress.left = true
    return true
  })
  tab.freshen()
  progress.pressed = true
  await send.click()
  const heard = await answers.next(ANSWER_MS)
  if (heard === null) return failed(await saidInstead(page, progress))
  if (!heard.ok)
    return failed(
      isUnsent(heard.error)
        ? { kind: 'unavailable', status: null, retry_after_s: null }
        : { kind: 'unknown' },
    )
  const made = readMade(heard.answer, { base, post_id, now: clock.now() })
  const bare = !made.ok && made.fault.kind === 'forbidden' && made.fault.reason === null
  return bare ? failed(await whyShut(page, place)) : made
}

/** What a page says that is no post's page; null when it may be one. */
function pageFault(answer: Answer, clock: Clock): WriteFault | null {
  const { status, body } = answer
  if (isHumanCheck(body)) return { kind: 'blocked' }
  if (status >= 200 && status < 300) return isLoginPage(body) ? { kind: 'login_required' } : null
  const read = classify(answer, { now: clock.now() })
  return read.ok ? { kind: 'unreadable', path: 'page' } : read.fault
}

/** The page sent nothing, or nothing came back: what it shows of its own accord, or the honest word. */
async function saidInstead(page: Page, { left }: Progress): Promise<WriteFault> {
  if (left) return { kind: 'unknown' }
  const alert = alertIn(await page.content())
  return alert === null ? { kind: 'unknown' } : refusedWith(alert)
}
