import type { Page } from 'puppeteer-core'

import { isObject } from '../../../core/base/object.ts'
import { peerUrl } from '../../../core/base/url.ts'
import type { Acted, WriteFault } from '../../../core/forum/native-refusals.ts'
import type { PermalinkTarget } from '../../../core/forum/permalink.ts'
import type { Posted } from '../../../core/forum/writes.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { BrowserComment, BrowserCommentRequest, BrowserFault } from '../../port.ts'
import { refusalOf } from '../native-refusals.ts'
import { listAt, type NativeRow, rowAt, wordAt } from '../readers/fields.ts'
import { ME, readMe } from '../readers/people.ts'
import { classify, isHumanCheck, isLoginPage, type NativeResponse } from '../response.ts'
import { judgeWrite } from '../writes/verdict.ts'
import type { Browser } from './browser.ts'
import { findSend, openBox, readState, typeText } from './composer.ts'
import { type BrowserCookie, loadPage, readAnswer, type Tab, watchAnswers } from './page.ts'

// The modern page shows its reason as a sentence for people. Each maps to the code of the older
// calls.
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/log ?in to (?:do that|comment|continue)/i, 'USER_REQUIRED'],
  [/doing that (?:too much|a lot)|take a break for|try again in \d/i, 'RATELIMIT'],
  [/(?:comments|thread|post|comment) (?:are|is|has been|have been) locked/i, 'THREAD_LOCKED'],
  [/piece of history|too late to (?:reply|comment)|\barchived\b/i, 'TOO_OLD'],
  [
    /(?:link|post) you are (?:commenting on|replying to) has been (?:deleted|removed)/i,
    'DELETED_LINK',
  ],
  [/(?:comment|reply) (?:has been|was|is) (?:deleted|removed)/i, 'DELETED_COMMENT'],
  [/\bbanned\b/i, 'BANNED_FROM_SUBREDDIT'],
  [/\bsuspended\b/i, 'IN_TIMEOUT'],
  [/\bblocked\b/i, 'USER_BLOCKED'],
  [/something is broken/i, 'SOMETHING_IS_BROKEN'],
  [/need something here/i, 'NO_TEXT'],
  [/\btoo long\b/i, 'TOO_LONG'],
  [/linking to subreddits/i, 'SUBREDDIT_OUTBOUND_LINKING_DISALLOWED'],
  [/valid email|verif(?:y|ied) (?:your )?email/i, 'VERIFIED_USER_REQUIRED'],
]

const FIELD: Readonly<Record<string, string>> = {
  NO_TEXT: 'text',
  TOO_LONG: 'text',
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: 'text',
}

/** A refusal that is identified by its code alone. */
const refusedAs = (code: string, message: string | null = null): WriteFault =>
  refusalOf({ code, message, field: FIELD[code] ?? 'post_url', pause_s: null }, OURS)

const OURS = { text: 'text', post_url: 'post_url' }

/** Meaning of an alert's sentence; UNNAMED if it is unknown. */
export function refusedWith(message: string): WriteFault {
  const code = SENTENCES.find(([shape]) => shape.test(message))?.[1] ?? 'UNNAMED'
  return refusedAs(code, message)
}

const ALERT = /<faceplate-alert\b[^>]*>/gi
const MESSAGE = /\bmessage\s*=\s*(?:"([^"]*)"|'([^']*)')/i

/** The sentence of the first alert in an HTML fragment; null if it has none. */
export function alertIn(html: string): string | null {
  for (const [tag] of html.matchAll(ALERT)) {
    if (/\blevel\s*=\s*["']?(?:info|success)/i.test(tag)) continue
    const [, double, single] = MESSAGE.exec(tag) ?? []
    const text = plainText(double ?? single ?? '').trim()
    if (text !== '') return text
  }
  return null
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

const plainText = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{1,8}));/gi, (all, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : null
    if (code !== null) return code <= 0x10ffff ? String.fromCodePoint(code) : all
    return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all
  })

const ELEMENT = /<shreddit-comment\b[^>]*>/i
const NAME = /\bthingid\s*=\s*["']?(t1_[a-z0-9]{1,13})\b/i
const PERMALINK = /\bpermalink\s*=\s*["'](\/[^"']{1,1000})["']/i
const UNKNOWN: WriteFault = { kind: 'unknown' }

type Where = { base: string; post_id: string; now: number }

export function readCreated(answer: NativeResponse, { base, post_id, now }: Where): Acted<Posted> {
  const { status, body } = answer
  const well = status >= 200 && status < 300
  const [element] = well ? (ELEMENT.exec(body) ?? []) : []
  const name = element && NAME.exec(element)?.[1]?.toLowerCase()
  if (element && name) {
    const path = PERMALINK.exec(element)?.[1]
    const permalink =
      path === undefined ? null : (peerUrl(plainText(path), `${base}/`)?.href ?? null)
    const own = permalink?.startsWith(`${base}/`) ? permalink : null
    return {
      ok: true,
      value: {
        name,
        permalink: own ?? `${base}/comments/${post_id}/comment/${name.slice(3)}/`,
        comment: null,
      },
    }
  }
  const alert = alertIn(body)
  if (alert !== null) return failed(refusedWith(alert))
  if (isHumanCheck(body)) return failed({ kind: 'blocked' })
  if (isLoginPage(body)) return failed({ kind: 'login_required' })
  // Neither a comment nor a refusal.
  if (well) return failed(UNKNOWN)
  const judged = judgeWrite({ ok: true, value: answer }, { now })
  return judged.ok ? failed(UNKNOWN) : judged
}

/** Chromium's names for failures before any part of a request was sent. */
const UNSENT =
  /ERR_(?:CONNECTION_REFUSED|CONNECTION_TIMED_OUT|NAME_NOT_RESOLVED|ADDRESS_\w+|INTERNET_DISCONNECTED|PROXY_\w+|TUNNEL_\w+|CERT_\w+|SSL_PROTOCOL_ERROR|SSL_VERSION\w*|BLOCKED_BY_CLIENT|INVALID_URL)\b/

/** True if a request that failed with this error cannot have reached the platform. */
const isUnsent = (error: string): boolean => UNSENT.test(error)

type WhyShut = (page: Page, place: PermalinkTarget) => Promise<WriteFault>

const BARE: WriteFault = { kind: 'forbidden', reason: null }

/** The page only leaves the composer out. Account, parent item and subforum tell why. Read-only. */
function createWhyShut({ base, clock }: { base: string; clock: Clock }): WhyShut {
  async function fetchJson(page: Page, path: string): Promise<unknown> {
    const answer = await loadPage(page, base + path)
    const read = answer.ok ? classify(answer.value, { now: clock.now() }) : answer
    return read.ok ? read.value : null
  }

  /** The item itself; null if it does not exist, undefined if that is unknown. */
  async function find(page: Page, name: string): Promise<NativeRow | null | undefined> {
    const value = await fetchJson(page, `/api/info.json?raw_json=1&id=${name}`)
    const data = isObject(value) ? rowAt(value, 'data') : null
    if (data === null || !Array.isArray(data['children'])) return undefined
    const [child] = listAt(data, 'children')
    return isObject(child) ? rowAt(child, 'data') : null
  }

  return async (page, { post_id, comment_id }) => {
    const me = readMe(await fetchJson(page, `${ME.path}?raw_json=1`))
    if (me.ok && me.value === null) return { kind: 'login_required' }
    if (me.ok && me.value?.is_suspended) return { kind: 'forbidden', reason: 'user_suspended' }
    const post = await find(page, `t3_${post_id}`)
    if (post === null) return { kind: 'not_found', reason: 'absent' }
    if (post === undefined) return BARE
    if (post['archived'] === true) return refusedAs('TOO_OLD')
    if (post['locked'] === true) return refusedAs('THREAD_LOCKED')
    const place = wordAt(post, 'subreddit')
    const about =
      place && (await fetchJson(page, `/r/${encodeURIComponent(place)}/about.json?raw_json=1`))
    const data = isObject(about) ? rowAt(about, 'data') : null
    if (data?.['user_is_banned'] === true) return refusedAs('BANNED_FROM_SUBREDDIT')
    if (comment_id === null) return BARE
    const parent = await find(page, `t1_${comment_id}`)
    if (parent === null) return { kind: 'not_found', reason: 'absent' }
    if (parent?.['locked'] === true) return refusedAs('THREAD_LOCKED')
    return parent?.['author'] === '[deleted]' ? refusedAs('DELETED_COMMENT') : BARE
  }
}

type Deps = { browser: Browser; clock: Clock; base_url: string; session_cookie: string }

const CALL = /^\/svc\/shreddit\/t[13]_[a-z0-9]+\/create-comment$/i
const ANSWER_MS = 30_000
const failed = (fault: WriteFault): Acted<never> => ({ ok: false, fault })

/** Progress of the one request. */
type Progress = { left: boolean; pressed: boolean }

/** Creates comments through the composer of the platform's own pages. */
export function createBrowserComment(deps: Deps): BrowserComment {
  const { base_url: base, clock } = deps
  const whyShut = createWhyShut({ base, clock })

  return async (request, { identity, deadline_at, signal }) => {
    if (identity.cookie === null) return failed({ kind: 'login_required' })
    const progress: Progress = { left: false, pressed: false }
    const cookies = browserCookies(identity.cookie, deps.session_cookie)
    const { locale, timezone } = request
    const result = await deps.browser.withTab(
      { ...identity, locale, timezone, cookies, deadline_at, signal },
      (tab) => comment({ base, clock, whyShut }, tab, request, progress),
    )
    if (result.ok) return result.value
    const { fault } = result
    if (fault.kind === 'unavailable' || fault.kind === 'scheme')
      return { ok: false, no_browser: fault }
    if (progress.pressed) return failed({ kind: 'unknown' })
    if (fault.kind === 'timeout') return failed({ kind: 'timeout' })
    return failed(lost(fault, identity.whose === 'caller' && identity.pool_proxy === undefined))
  }
}

function lost({ trouble }: Extract<BrowserFault, { kind: 'lost' }>, callers: boolean): WriteFault {
  if (trouble !== null && callers) return { kind: 'proxy', trouble }
  const nothing = { kind: 'unavailable', status: null, retry_after_s: null } as const
  return trouble === null ? nothing : { ...nothing, trouble }
}

/** The session and its token are hidden from scripts; the page's forms need the others. */
const browserCookies = (header: string, session_cookie: string): BrowserCookie[] =>
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
  if (!(await typeText(page, box, text))) return failed({ kind: 'unreadable', path: 'composer' })
  const send = await findSend(box)
  if (send === null) return failed({ kind: 'unreadable', path: 'composer' })

  const answers = watchAnswers(page, clock, (it) => CALL.test(it))
  tab.admit(({ method, url }) => {
    if (method !== 'POST' || !CALL.test(URL.parse(url)?.pathname ?? '')) return true
    // Sent once, even if the page tries again.
    if (progress.left) return false
    progress.left = true
    return true
  })
  tab.freshen()
  progress.pressed = true
  await send.click()
  const event = await answers.next(ANSWER_MS)
  if (event === null) return failed(await pageRefusal(page, progress))
  if (!event.ok)
    return failed(
      isUnsent(event.error)
        ? { kind: 'unavailable', status: null, retry_after_s: null }
        : { kind: 'unknown' },
    )
  const outcome = readCreated(event.answer, { base, post_id, now: clock.now() })
  const bare = !outcome.ok && outcome.fault.kind === 'forbidden' && outcome.fault.reason === null
  return bare ? failed(await whyShut(page, place)) : outcome
}

/** Fault of a page that is not a post's page; null if it may be one. */
function pageFault(answer: NativeResponse, clock: Clock): WriteFault | null {
  const { status, body } = answer
  if (isHumanCheck(body)) return { kind: 'blocked' }
  if (status >= 200 && status < 300) return isLoginPage(body) ? { kind: 'login_required' } : null
  const read = classify(answer, { now: clock.now() })
  return read.ok ? { kind: 'unreadable', path: 'page' } : read.fault
}

/**
 * The page sent nothing, or no answer arrived: `unknown` if it was sent, otherwise the refusal that
 * the page shows.
 */
async function pageRefusal(page: Page, { left }: Progress): Promise<WriteFault> {
  if (left) return { kind: 'unknown' }
  const alert = alertIn(await page.content())
  return alert === null ? { kind: 'unknown' } : refusedWith(alert)
}
