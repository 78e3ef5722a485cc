import * as z from 'zod'

import { afterWrite, EXPIRED, pathOfDraft, statusOf } from '../core/draft.ts'
import { ApiError, invalid } from '../core/errors.ts'
import type { Session } from '../core/session.ts'
import { type Db, isStorageError } from '../store/db.ts'
import {
  type Draft,
  endDraft,
  failRunningDrafts,
  findDraft,
  moveDraft,
  queuedDrafts,
} from '../store/drafts.ts'
import { findKeyById, type KeyHolder } from '../store/keys.ts'
import { render } from './errors.ts'
import type { Infra } from './infra.ts'
import type { Manner } from './inside.ts'

/** A session of one account of the pool, or why it cannot be had. */
type Lend = (name: string) => { ok: true; session: Session } | { ok: false; why: string }

export type DraftsDeps = { db: Db; lend: Lend }

/** What a write was answered with. */
export type Written = { status: number; headers: Headers; body: Record<string, unknown> }

/** Does what drafts ask for, each once. */
export type DraftDesk = {
  /** Checks the fields of a draft as its write would; what it would be refused with. */
  rehearse(draft: Pick<Draft, 'action' | 'body'>, holder: KeyHolder): Promise<Written>
  /** Writes it as the account of a session, which is used for this once. Throws 409 when it does not wait any more. */
  approveAs(draft: Draft, session: Record<string, unknown>, by: KeyHolder): Promise<Written>
  /** Writes it as an account of the pool, for the customer's credit. */
  approveFor(draft: Draft, account: string): Promise<Written>
  /** Throws 409 when it does not wait any more. */
  decline(draft: Draft): void
  /** Begins what was approved beside the daemon. */
  takeUp(): void
  /** Resolves when what was taken up has ended. */
  idle(): Promise<void>
}

const bodyShape = z.record(z.string(), z.unknown())
/** Stands where a session would, when there is none or another is meant: nobody sends it anywhere. */
const NOBODYS = 'none'

/** Why an account of the pool does not write, by how it stands. */
const NOT_LENT: Readonly<Record<string, string>> = {
  absent: 'account must be the name of an account of the pool',
  oauth: 'account must be one with cookies: an application has no session to write with',
}

/** Makes the desk, and ends what an earlier run was at: nobody knows whether it was written. */
export function createDraftDesk(infra: Infra, { db, lend }: DraftsDeps): DraftDesk {
  const { words, inside, clock, log } = infra
  const nobodys = { [words.session]: NOBODYS, loid: NOBODYS }
  let work = Promise.resolve()

  const lost = render(
    new ApiError('OUTCOME_UNKNOWN', {
      message:
        'forumd was ended while this was being written: look whether it was done before doing it again',
    }),
    words,
  )
  const count = failRunningDrafts(db, lost.body)
  if (count > 0) log('warn', 'drafts.interrupted', { count })

  async function put(
    { action, body }: Pick<Draft, 'action' | 'body'>,
    session: Record<string, unknown>,
    holder: KeyHolder,
    manner: Manner,
  ): Promise<Written> {
    const request = new Request(`http://localhost${words.api}${pathOfDraft(action)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // The draft comes last: who approves says as whom, and nothing of what.
      body: JSON.stringify({ ...session, ...body }),
    })
    const response = await inside.ask(request, holder, manner)
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

  /** Of two that want the same draft, one goes on. */
  function begin({ id }: Draft, from: 'waiting' | 'queued', account: string | null) {
    if (!moveDraft(db, id, { from, to: 'running', account, now: clock.now() })) throw notWaiting(id)
  }

  /** Writes a draft that has begun, and how that ended. */
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
      // It is done all the same, and stays begun: nobody does it twice.
      log('error', 'drafts.answer_not_kept', { id: draft.id })
    }
    return written
  }

  function sessionOf(account: string): Session {
    const lent = lend(account)
    if (lent.ok) return lent.session
    throw invalid(
      'account',
      NOT_LENT[lent.why] ?? `account must be one that is ready; ${account} is ${lent.why}`,
    )
  }

  function holderOf({ key_id }: Draft): KeyHolder {
    const holder = findKeyById(db, key_id, clock.now())
    if (holder !== null) return holder
    throw new ApiError('draft_not_waiting', {
      message: 'the key that this draft was made with does not open any more',
      extra: { status: 'orphaned' },
    })
  }

  async function writeFor(draft: Draft, session: Session, holder: KeyHolder): Promise<Written> {
    return finish(draft, () => put(draft, nobodys, holder, { session }))
  }

  async function takeUpOne(draft: Draft): Promise<void> {
    try {
      begin(draft, 'queued', null)
    } catch (error) {
      if (error instanceof ApiError) return
      throw error
    }
    try {
      const session = sessionOf(draft.account ?? '')
      await writeFor(draft, session, holderOf(draft))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      endDraft(db, draft.id, { state: 'waiting', answer: render(error, words).body })
    }
  }

  return {
    rehearse: (draft, holder) => put(draft, nobodys, holder, { rehearsed: true }),
    async approveAs(draft, session, by) {
      // Before it begins: what is wrong with the session is said, and the draft goes on waiting.
      const rehearsed = await put(draft, session, by, { rehearsed: true })
      if (rehearsed.status !== 200) return rehearsed
      begin(draft, 'waiting', null)
      return finish(draft, () => put(draft, session, by, {}))
    },
    async approveFor(draft, account) {
      const session = sessionOf(account)
      const holder = holderOf(draft)
      begin(draft, 'waiting', account)
      return writeFor(draft, session, holder)
    },
    decline({ id }) {
      if (!moveDraft(db, id, { from: 'waiting', to: 'declined', now: clock.now() }))
        throw notWaiting(id)
    },
    takeUp() {
      const queued = queuedDrafts(db, clock.now())
      if (queued.length === 0) return
      // One after another: it is no hurry, and they are of few accounts.
      work = work
        .then(async () => {
          for (const draft of queued) await takeUpOne(draft)
        })
        .catch((error: unknown) => {
          log('error', 'drafts.take_up_failed', {
            error: error instanceof Error ? error.name : typeof error,
          })
        })
    },
    idle: () => work,
  }
}
