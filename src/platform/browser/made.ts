import type { Posted } from '../../core/acting.ts'
import type { Acted, WriteFault } from '../../core/native-refusals.ts'
import { judge } from '../acts/verdict.ts'
import type { Answer } from '../classify.ts'
import { isHumanCheck, isLoginPage } from '../pages.ts'
import { alertIn, plain, refusedWith } from './alerts.ts'

const ELEMENT = /<shreddit-comment\b[^>]*>/i
const NAME = /\bthingid\s*=\s*["']?(t1_[a-z0-9]{1,13})\b/i
const PERMALINK = /\bpermalink\s*=\s*["'](\/[^"']{1,1000})["']/i
const UNKNOWN: WriteFault = { kind: 'unknown' }

type Where = { base: string; post_id: string; now: number }

/** What the platform made of a comment that was sent, from its answer to the composer. */
export function readMade(answer: Answer, { base, post_id, now }: Where): Acted<Posted> {
  const { status, body } = answer
  const well = status >= 200 && status < 300
  const [element] = well ? (ELEMENT.exec(body) ?? []) : []
  const name = element && NAME.exec(element)?.[1]?.toLowerCase()
  if (element && name) {
    const path = PERMALINK.exec(element)?.[1]
    const permalink = path === undefined ? null : (URL.parse(plain(path), `${base}/`)?.href ?? null)
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
  // Neither a comment nor a word against it.
  if (well) return failed(UNKNOWN)
  const judged = judge({ ok: true, value: answer }, { now })
  return judged.ok ? failed(UNKNOWN) : judged
}

const failed = (fault: WriteFault): Acted<never> => ({ ok: false, fault })
