import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, checkAll, invalid } from '../../core/base/errors.ts'
import { describeFault } from '../../core/base/fault-texts.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { iso } from '../../core/base/time.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import {
  insertSource,
  listSourceAccounts,
  listStoredSources,
  putSourceAccount,
  removeSourceAccount,
  removeStoredSource,
} from '../../store/accounts/sources.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { listSourceFeeds } from '../../store/monitoring/source-feeds.ts'
import { bodySchema, patternText } from '../http/fields.ts'
import type { SourceInfo } from '../reads/sources.ts'
import { maybeTotp } from './account-changes.ts'
import type { RecordAction } from './actions.ts'

export type OperatedSource = SourceInfo & {
  /** Bound of all requests to it; null: the accounts of the pool have budgets of their own. */
  requests_per_minute: number | null
  /** True if it is of the configuration file, which alone can remove it. */
  of_file: boolean
  /** Way to connect the operator's account; null: its acts need none, or it has none. */
  account_by: 'password' | 'permission' | null
}

/** A request for permission that was begun; `read` takes what the site shows to the person. */
type Permission = {
  authorize_url: string
  /** The credential in the answer; null if it is not the answer to this request. */
  read(answer: string): string | null
}

type AddedSource = { name: string; kind: string; base_url: string }

/** `found`: null if there is nothing to watch, which `why` explains; `asked`: the addresses that were requested. */
type Discovered = {
  found: { kind: string; base_url: string; place: string | null; name: string } | null
  why: string
  asked: string[]
}

/** The answer to a request; `fault` and its `text` are null if it was good. */
type TestedSource = {
  fault: string | null
  text: string | null
  title: string | null
  version: string | null
  notes: string[]
}

export type SourceDesk = {
  /** Kinds of source that may be added. */
  kinds: readonly { kind: string; title: string; address: string | null }[]
  /** Sentences about what a further source must not be, by field. */
  problems(added: AddedSource): Promise<{ field: string; sentence: string }[]>
  /** Looks for what is at an address that a person has pasted, with at most six requests. */
  discover(address: string): Promise<Discovered>
  /** Requests a source that may be added; null: it is read from the next start on. `start` makes the daemon read it. */
  open(
    added: AddedSource,
    how: { untested: boolean },
  ): Promise<{ tested: TestedSource | null; start: () => void } | null>
  /** Ends a source that was removed. */
  end(name: string): void
  /** Requests a configured source once; null: there is none of this name. */
  probe(name: string): Promise<TestedSource | null>
  /** Signs the operator's account in; null: this source has no such way. */
  signIn(
    name: string,
    account: { username: string; password: string; totp_secret: string | null },
  ): Promise<{ ok: true; credential: string } | { ok: false; code: string } | null>
  /** Begins a request for permission; null: this source has no such way. */
  authorize(name: string): Promise<Permission | null>
}

export type SourceDeps = {
  db: Db
  ring: Ring
  clock: Clock
  random: Random
  sources: () => OperatedSource[]
  source_desk: SourceDesk
}

const ADDRESS_MAX = 2048
const TEXT_MAX = 4096
const ANSWER_MAX = 16_384
/** Requests for permission in memory; the oldest makes room. */
const PERMISSIONS_MAX = 20
const PERMISSION_MS = 15 * 60_000
const ID_BYTES = 16

const text = (name: string, max: number) => {
  const rule = `text of 1 to ${max} characters`
  return z
    .string({
      error: ({ input }) =>
        input === undefined ? `${name} is required: ${rule}` : `${name} must be ${rule}`,
    })
    .trim()
    .min(1, `${name} is required: ${rule}`)
    .max(max, `${name} must be ${rule}`)
}

export const discoverBody = bodySchema(() => ({ address: text('address', ADDRESS_MAX) }))

export const addBody = bodySchema(() => ({
  name: text('name', 64),
  kind: text('kind', 64),
  base_url: z
    .string('base_url must be an address, or left out')
    .max(ADDRESS_MAX, `base_url must be at most ${ADDRESS_MAX} characters`)
    .optional(),
  untested: z.boolean('untested must be true or false').optional(),
}))

export const signInBody = bodySchema(() => ({
  username: text('username', TEXT_MAX),
  password: text('password', TEXT_MAX),
  totp_secret: maybeTotp(),
}))

export const permissionBody = bodySchema(() => ({
  request: patternText('request', /^[0-9a-f]{32}$/, 'the request of an answer of …/account/begin'),
  answer: text('answer', ANSWER_MAX),
}))

const noSource = (name: string) =>
  new ApiError('NOT_FOUND', { message: `there is no source "${name.slice(0, 80)}"` })

const noAccount = (name: string, way: 'with a username and a password' | 'in a browser') =>
  new ApiError('NOT_FOUND', { message: `${name} takes no account that is added ${way}` })

/** Operator routes of the sources: what each can do, further sources, and the operator's accounts at them. */
export function operatorSources(deps: SourceDeps, record: RecordAction) {
  const { db, ring, clock, random, sources, source_desk } = deps
  const permissions = new Map<string, Permission & { source: string; at: number }>()
  const signing_in = new Set<string>()

  function sourceOf(name: string): OperatedSource {
    const source = sources().find((it) => it.name === name)
    if (source) return source
    throw noSource(name)
  }

  function store(request: Request, name: string, credential: string) {
    transact(db, () => {
      putSourceAccount(db, ring, { source: name, credential, created_at: clock.now() })
      record(request, { action: 'source_account.added', subject: name, subject_name: name })
    })
    return { source: name, connected: true }
  }

  return new Elysia({ name: 'operator sources', prefix: '/operator', detail: { hide: true } })
    .get('/sources', () => listOperated(deps))
    .post(
      '/sources',
      async ({ body: { name, kind, base_url = '', untested = false }, request }) => {
        const added = { name, kind, base_url: base_url.trim() }
        const problems = await source_desk.problems(added)
        await checkAll(
          ...problems.map(({ field, sentence }) => () => {
            throw invalid(field, `${field}: ${sentence}`)
          }),
        )
        const opened = await source_desk.open(added, { untested })
        const tested = opened?.tested ?? null
        if (tested !== null && tested.fault !== null)
          throw invalid(
            'base_url',
            `base_url: ${tested.text}; correct it, or add it all the same with untested: true`,
          )
        const created_at = clock.now()
        transact(db, () => {
          // Another call may have taken the name meanwhile.
          if (listStoredSources(db).some((it) => it.name === name))
            throw invalid('name', 'name must be one that no other source has')
          insertSource(db, { ...added, created_at })
          record(request, {
            action: 'source.added',
            subject: name,
            subject_name: name,
            detail: { kind, base_url: added.base_url },
          })
        })
        opened?.start()
        return { ...added, created_at: iso(created_at), needs_restart: opened === null, tested }
      },
      { body: addBody },
    )
    .post(
      '/sources/discover',
      async ({ body: { address } }) => {
        const discovered = await source_desk.discover(address)
        if (discovered.found === null) throw invalid('address', `address: ${discovered.why}`)
        const { kind, base_url, name } = discovered.found
        const there = sources().find(
          (it) => it.kind === kind && (base_url === '' || it.url.startsWith(base_url)),
        )
        return { ...discovered, there: there?.name ?? null, name: freeName(name, sources()) }
      },
      { body: discoverBody },
    )
    .post('/sources/:name/remove', ({ params: { name }, request }) => {
      transact(db, () => {
        if (!removeStoredSource(db, name)) {
          if (sourceOf(name).of_file)
            throw invalid(
              'name',
              'name must be of a source that was added here: this one is a table of the configuration file',
            )
          throw noSource(name)
        }
        record(request, { action: 'source.removed', subject: name, subject_name: name })
      })
      source_desk.end(name)
      return { name, removed: true }
    })
    .post('/sources/:name/test', async ({ params: { name } }) => {
      const answer = await source_desk.probe(name)
      if (answer === null) throw noSource(name)
      return { ok: answer.fault === null, ...answer }
    })
    .post(
      '/sources/:name/account',
      async ({ params: { name }, body, request }) => {
        sourceOf(name)
        if (signing_in.has(name))
          throw new ApiError('IN_PROGRESS', {
            message: 'a sign-in at this source is in progress: wait for its result',
          })
        signing_in.add(name)
        try {
          const signed = await source_desk.signIn(name, {
            ...body,
            totp_secret: body.totp_secret ?? null,
          })
          if (signed === null) throw noAccount(name, 'with a username and a password')
          if (signed.ok) return store(request, name, signed.credential)
          const [field, sentence] = REFUSALS[signed.code] ?? [
            'password',
            'the site did not answer the sign-in: try again later',
          ]
          throw invalid(field, sentence)
        } finally {
          signing_in.delete(name)
        }
      },
      { body: signInBody },
    )
    .post('/sources/:name/account/begin', async ({ params: { name } }) => {
      sourceOf(name)
      const permission = await source_desk.authorize(name)
      if (permission === null) throw noAccount(name, 'in a browser')
      const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex')
      permissions.set(id, { ...permission, source: name, at: clock.now() })
      const [oldest] = permissions.keys()
      if (permissions.size > PERMISSIONS_MAX && oldest !== undefined) permissions.delete(oldest)
      return { request: id, authorize_url: permission.authorize_url }
    })
    .post(
      '/sources/:name/account/finish',
      ({ params: { name }, body: { request: id, answer }, request }) => {
        const begun = permissions.get(id)
        if (begun?.source !== name || clock.now() - begun.at >= PERMISSION_MS)
          throw invalid(
            'request',
            `request must be of an answer of …/account/begin for this source, at most ${PERMISSION_MS / 60_000} minutes old: begin again`,
          )
        const credential = begun.read(answer)
        if (credential === null)
          throw invalid(
            'answer',
            'answer must be the whole text that the site shows for this request',
          )
        permissions.delete(id)
        return store(request, name, credential)
      },
      { body: permissionBody },
    )
    .post('/sources/:name/account/remove', ({ params: { name }, request }) =>
      transact(db, () => {
        if (!removeSourceAccount(db, name))
          throw new ApiError('NOT_FOUND', { message: 'there is no account at this source' })
        record(request, { action: 'source_account.removed', subject: name, subject_name: name })
        return { source: name, connected: false }
      }),
    )
}

/** A name that no source has. */
function freeName(wanted: string, taken: readonly { name: string }[]): string {
  const isTaken = (name: string) => taken.some((it) => it.name === name)
  let name = wanted
  for (let n = 2; isTaken(name); n += 1) name = `${wanted}-${n}`
  return name
}

const REFUSALS: Readonly<Record<string, readonly [string, string]>> = {
  AUTH_FAILED: ['password', 'password must be one that the site accepts for username'],
  TWO_FACTOR_REQUIRED: [
    'totp_secret',
    'totp_secret is required, because the account has a second factor',
  ],
  TWO_FACTOR_INVALID: [
    'totp_secret',
    'totp_secret must give a code that the site accepts: check it, and the clock of this machine',
  ],
}

type Facts = Pick<OperatedSource, 'state'> & {
  feeds: number
  lag_s: number | null
  open_gaps: number
  partial: string | null
}

/** The state of a source; `text` and `fix` are null if it works. */
type Standing = {
  state: 'fails' | 'untried' | 'late' | 'incomplete' | 'works'
  text: string | null
  fix: string | null
}

const LATE_S = 900

const PARTIALS: { [code: string]: string } = {
  order_is_not_arrival: 'the list is not in the order of arrival',
  copy_of_remote: 'copies from other servers may be incomplete',
  seen_as_anonymous: 'the site answered as to a reader without an account',
  not_affordable: 'more ids were skipped than its requests allow',
  no_paging: 'its list of comments has no further pages',
}

/** Judges a source for its page and for the state of the whole. */
function standingOf({ state, lag_s, open_gaps, partial }: Facts): Standing {
  if (state.fault !== null) {
    const known = describeFault(state.fault)
    return { state: 'fails', text: known.text, fix: known.operator }
  }
  if (state.status === 'never_tried')
    return {
      state: 'untried',
      text: 'nothing was requested from it yet',
      fix: 'Test it; a monitor reads it too',
    }
  if ((lag_s ?? 0) > LATE_S)
    return {
      state: 'late',
      text: `it is read ${Math.round((lag_s ?? 0) / 60)} minutes late`,
      fix: `Allow more than ${state.requests_per_minute ?? 'its'} requests a minute, or watch fewer places`,
    }
  if (open_gaps > 0)
    return {
      state: 'incomplete',
      text: `some items could not be read (${open_gaps} open ${open_gaps === 1 ? 'gap' : 'gaps'})`,
      fix: 'The page of each monitor says which',
    }
  if (partial !== null)
    return {
      state: 'incomplete',
      text: `completeness is not proved: ${PARTIALS[partial] ?? partial.replaceAll('_', ' ')}`,
      fix: 'See docs/sources.md for what this kind of source can prove',
    }
  return { state: 'works', text: null, fix: null }
}

/** The sources with their feeds and accounts; `waiting`: those that the next start of the daemon reads. */
export function listOperated({
  db,
  clock,
  sources,
  source_desk: { kinds },
}: Pick<SourceDeps, 'db' | 'clock' | 'sources'> & { source_desk: Pick<SourceDesk, 'kinds'> }) {
  const feeds = new Map(listSourceFeeds(db).map((it) => [it.source, it]))
  const accounts = new Map(listSourceAccounts(db).map((it) => [it.source, it.created_at]))
  const stored = listStoredSources(db)
  const running = sources()
  return {
    kinds,
    sources: running.map(({ of_file, ...source }) => {
      const watched = feeds.get(source.name)
      const verified_until = watched?.verified_until ?? null
      const facts = {
        feeds: watched?.feeds ?? 0,
        lag_s:
          verified_until === null
            ? null
            : Math.max(0, Math.round((clock.now() - verified_until) / 1000)),
        partial: watched?.partial ?? null,
        open_gaps: watched?.open_gaps ?? 0,
      }
      return {
        ...source,
        ...facts,
        standing: standingOf({ ...source, ...facts }),
        origin: of_file ? 'file' : 'added',
        account_at: iso(accounts.get(source.name) ?? null),
        last_check_at: iso(watched?.last_check_at ?? null),
      }
    }),
    waiting: stored
      .filter(({ name }) => !running.some((it) => it.name === name))
      .map(({ created_at, ...it }) => ({ ...it, created_at: iso(created_at) })),
  }
}
