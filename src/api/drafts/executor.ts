import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { afterWrite, EXPIRED, pathOfDraft, statusOf } from '../../core/forum/draft.ts'
import { type Naming, sourceNames } from '../../core/forum/naming.ts'
import type { Session } from '../../core/forum/session.ts'
import type { Log } from '../../runtime/runtime.ts'
import {
  type Draft,
  endDraft,
  failRunningDrafts,
  findDraft,
  moveDraft,
} from '../../store/customers/drafts.ts'
import { findKeyById, type KeyHolder } from '../../store/customers/keys.ts'
import { type Db, isStorageError, transact } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import { render } from '../http/errors.ts'
import type { RequestOptions } from '../http/internal.ts'
import { sourcePath } from '../http/routes.ts'

type DelegateSession = (
  source: string | null,
  name: string,
) => { ok: true; session: Session } | { ok: false; why: string }

export type DraftsDeps = {
  db: Db
  delegate: DelegateSession
  /** The operator's credential at each further source, by name. Null: it has a pool of accounts. */
  sources: ReadonlyMap<string, (() => string | null) | null>
}

export type Written = { status: number; headers: Headers; body: Record<string, unknown> }

/** Executes drafts, each at most once. */
export type DraftExecutor = {
  /** Checks the fields of a draft like its write. Returns the answer, which may be a refusal. */
  dryRun(draft: Pick<Draft, 'action' | 'body' | 'source'>, holder: KeyHolder): Promise<Written>
  /**
   * Executes it as the account of a session, which is not stored.
   * @throws {ApiError} draft_not_waiting if it is not waiting
   */
  approveAs(draft: Draft, session: Record<string, unknown>, by: KeyHolder): Promise<Written>
  /**
   * Executes it as an account of the pool, billed to the customer. For a further source the account
   * has the source's name. `note` runs in the transaction that starts it.
   */
  approveFor(draft: Draft, account: string, note: () => void): Promise<Written>
  /**
   * Declines a draft. `note` runs in the same transaction.
   * @throws {ApiError} draft_not_waiting if it is not waiting
   */
  decline(draft: Draft, note?: () => void): void
}

const bodyShape = z.record(z.string(), z.unknown())
/** Placeholder for a session in a dry run or a pool write; it is never sent to the platform. */
const PLACEHOLDER = 'none'

/** Reasons why a pool account cannot write, by its state. */
const UNAVAILABLE_REASONS: Readonly<Record<string, string>> = {
  absent: 'account must be the name of an account of the pool',
  oauth: 'account must have cookies: an OAuth application has no session for writes',
}

/** Closes the drafts that an earlier run of the daemon had started: their outcome is unknown. */
export function failInterrupted(db: Db, words: Naming, log: Log): void {
  const lost = new ApiError('OUTCOME_UNKNOWN', {
    message:
      'forumd was ended while this was being written: look whether it was done before doing it again',
  })
  const count = failRunningDrafts(db, render(lost, words).body)
  if (count > 0) log('warn', 'drafts.interrupted', { count })
}

export function createDraftExecutor(
  context: RouteContext,
  { db, delegate, sources }: DraftsDeps,
): DraftExecutor {
  const { words, internal, clock, log } = context
  const placeholderSession = ({ source }: Pick<Draft, 'source'>) => ({
    [words.session]: PLACEHOLDER,
    ...(source === null && { loid: PLACEHOLDER }),
  })

  async function submit(
    { action, body, source }: Pick<Draft, 'action' | 'body' | 'source'>,
    session: Record<string, unknown>,
    holder: KeyHolder,
    options: RequestOptions,
  ): Promise<Written> {
    // A source may have left the configuration since the draft was made.
    if (source !== null && !sources.has(source))
      throw invalid('source', `source must be one of ${sourceNames(words, [...sources.keys()])}`)
    const place = source === null ? words.api : sourcePath(words, source)
    const request = new Request(`http://localhost${place}${pathOfDraft(action)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // The draft's fields override the approver's, who selects the account and cannot change the
      // content.
      body: JSON.stringify({ ...session, ...body }),
    })
    const response = await internal.send(request, holder, options)
    const { status, headers } = response
    return { status, headers, body: bodyShape.parse(await response.json()) }
  }

  const notWaiting = (id: string) => {
    const found = findDraft(db, id, null)
    const status = found === null ? 'gone' : statusOf(found, clock.now())
    return new ApiError('draft_not_waiting', {
      message:
        status === 'expired'
          ? `this draft has ended: ${EXPIRED}`
          : `this draft is ${status} already`,
      extra: { status },
    })
  }

  /** Starts a draft. Of two concurrent approvals one succeeds. */
  function begin({ id }: Draft, account: string | null) {
    if (!moveDraft(db, id, { to: 'running', account, now: clock.now() })) throw notWaiting(id)
  }

  async function finish(draft: Draft, write: () => Promise<Written>): Promise<Written> {
    const written = await write()
    const { status, body } = written
    const code = typeof body['code'] === 'string' ? body['code'] : null
    const state = afterWrite(status, code)
    log(state === 'done' ? 'info' : 'warn', 'draft.written', {
      id: draft.id,
      act: draft.action,
      customer: draft.customer_id,
      state,
      code: code ?? undefined,
    })
    try {
      endDraft(db, draft.id, { state, answer: body })
    } catch (error) {
      if (!isStorageError(error)) throw error
      // The write was made, and the draft stays started so that it is not repeated.
      log('error', 'drafts.result_not_stored', { id: draft.id })
    }
    return written
  }

  function sessionOf(account: string, { source }: Draft): Session {
    const credentialOf = source === null ? null : (sources.get(source) ?? null)
    if (credentialOf !== null) {
      const credential = account === source ? credentialOf() : null
      if (credential !== null)
        return { cookies: [{ name: words.session, value: credential }], proxy: null }
      throw invalid(
        'account',
        account === source
          ? `account must be connected: forumd account add --source ${source}`
          : `account must be ${source}, the name of the draft's source`,
      )
    }
    const delegation = delegate(source, account)
    if (delegation.ok) return delegation.session
    throw invalid(
      'account',
      UNAVAILABLE_REASONS[delegation.why] ??
        `account must be ready; ${account} is ${delegation.why}`,
    )
  }

  function holderOf({ key_id }: Draft): KeyHolder {
    const holder = findKeyById(db, key_id, clock.now())
    if (holder !== null) return holder
    throw new ApiError('draft_not_waiting', {
      message: 'the API key that created this draft is revoked or expired',
      extra: { status: 'orphaned' },
    })
  }

  return {
    dryRun: (draft, holder) => submit(draft, placeholderSession(draft), holder, { dry_run: true }),
    async approveAs(draft, session, by) {
      // Before the start: an invalid session is reported, and the draft keeps waiting.
      const outcome = await submit(draft, session, by, { dry_run: true })
      if (outcome.status !== 200) return outcome
      begin(draft, null)
      return finish(draft, () => submit(draft, session, by, {}))
    },
    async approveFor(draft, account, note) {
      const session = sessionOf(account, draft)
      const holder = holderOf(draft)
      transact(db, () => {
        begin(draft, account)
        note()
      })
      return finish(draft, () => submit(draft, placeholderSession(draft), holder, { session }))
    },
    decline({ id }, note = () => {}) {
      transact(db, () => {
        if (!moveDraft(db, id, { to: 'declined', now: clock.now() })) throw notWaiting(id)
        note()
      })
    },
  }
}
