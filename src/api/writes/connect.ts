import { Elysia } from 'elysia'

import type { Outcome } from '../../core/base/result.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import { plainPage } from '../http/page.ts'

/** A request for permission that a person has begun. `private_key` never leaves the process. */
type KeyRequest = { authorize_url: string; nonce: string; private_key: string }

/** A source at which people allow forumd to act as their accounts. */
export type Connectable = {
  url: string
  begin(request: {
    application_name: string
    auth_redirect: string | null
    random: Pick<Random, 'bytes'>
  }): Promise<KeyRequest>
  read(
    payload: string,
    request: Pick<KeyRequest, 'private_key' | 'nonce'>,
  ): Outcome<{ key: string }>
}

type Deps = {
  words: Naming
  clock: Clock
  random: Random
  public_url: () => string
  /** The address, or network, that a request is counted by. */
  networkOf: (request: Request) => string
  /** The sources by name; empty where no act is enabled. */
  sources: ReadonlyMap<string, Connectable>
}

const REQUEST_MS = 15 * 60_000
/** Requests kept in memory for one address, whose oldest makes room, and for all. */
const REQUESTS_MAX = 5
const ALL_REQUESTS_MAX = 20_000
const ID_BYTES = 16
const PAYLOAD_MAX = 4096
const TITLE = 'Connect an account'

/**
 * `/connect/{source}`: a person allows forumd to act as their account at a source, without giving it
 * a password. The credential is shown once and not stored. GET changes nothing.
 */
export function connectPage({ words, clock, random, public_url, networkOf, sources }: Deps) {
  const requests = new Map<string, KeyRequest & { source: string; network: string; at: number }>()

  const found = (source: string, id: string) => {
    const request = requests.get(id)
    return request?.source === source && clock.now() - request.at < REQUEST_MS ? request : null
  }

  const byNetwork = new Map<string, string[]>()

  function remove(id: string): void {
    const network = requests.get(id)?.network
    if (network === undefined) return
    requests.delete(id)
    const left = byNetwork.get(network)?.filter((it) => it !== id) ?? []
    if (left.length === 0) byNetwork.delete(network)
    else byNetwork.set(network, left)
  }

  /** Keeps a request; the oldest of the same network makes room, and what has ended. */
  function keep(
    id: string,
    request: KeyRequest,
    { source, network }: { source: string; network: string },
  ) {
    const at = clock.now()
    for (const [old, { at: began }] of requests)
      if (at - began >= REQUEST_MS || requests.size >= ALL_REQUESTS_MAX) remove(old)
      else break
    const own = [...(byNetwork.get(network) ?? []), id]
    requests.set(id, { ...request, source, network, at })
    byNetwork.set(network, own)
    const [oldest] = own
    if (own.length > REQUESTS_MAX && oldest !== undefined) remove(oldest)
  }

  async function begin(
    name: string,
    source: Connectable,
    { returns, network }: { returns: boolean; network: string },
  ): Promise<Response> {
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex')
    const here = `/connect/${name}?request=${id}`
    const request = await source.begin({
      application_name: `forumd at ${new URL(public_url()).host}`,
      auth_redirect: returns ? new URL(here, public_url()).href : null,
      random,
    })
    keep(id, request, { source: name, network })
    return plainPage(
      TITLE,
      `<p><a href="${Bun.escapeHTML(request.authorize_url)}" target="_blank" rel="noreferrer">Open ${Bun.escapeHTML(source.url)}</a> and allow the access.</p>
${returns ? '<p>The forum then leads you back here.</p>' : pasteForm(id)}
<p>This request ends in ${REQUEST_MS / 60_000} minutes.</p>`,
    )
  }

  function finish(name: string, id: string, payload: string): Response {
    const request = found(name, id)
    const source = sources.get(name)
    if (request === null || source === undefined) return ended(name)
    const read = source.read(payload, request)
    if (!read.ok)
      return plainPage(
        TITLE,
        `<p>This is not the answer to this request. Copy the whole text that the forum shows.</p>\n${pasteForm(id)}`,
        { status: 400 },
      )
    remove(id)
    return plainPage(
      TITLE,
      `<p>This is the key to your account at ${Bun.escapeHTML(source.url)}. It is shown once and not stored here. Keep it secret: it writes as you.</p>
<p><code>${Bun.escapeHTML(read.value.key)}</code></p>
<p>Send it as <code>${Bun.escapeHTML(words.session)}</code> in the body of a write with <code>?source=${name}</code>. To take the access back, remove this application from the security settings of your account at the forum.</p>`,
    )
  }

  return new Elysia({ name: 'connect', detail: { hide: true } })
    .get('/connect/:source', ({ params: { source: name }, request }) => {
      const source = sources.get(name)
      if (source === undefined) return absent()
      const { id, payload } = answerIn(request)
      if (payload === null) return explain(source)
      return found(name, id) === null
        ? ended(name)
        : plainPage(
            TITLE,
            '<p>The forum has answered.</p>\n<form method="post"><button type="submit">Show the key</button></form>',
          )
    })
    .post('/connect/:source', ({ params: { source: name }, request }) => {
      const source = sources.get(name)
      if (source === undefined) return absent()
      const { id, payload, returns } = answerIn(request)
      return payload === null
        ? begin(name, source, { returns, network: networkOf(request) })
        : finish(name, id, payload)
    })
}

function answerIn({ url }: Request) {
  const query = new URL(url).searchParams
  const payload = query.get('payload')?.slice(0, PAYLOAD_MAX) ?? null
  return { id: query.get('request') ?? '', payload, returns: query.get('return') === 'yes' }
}

const absent = () =>
  plainPage(TITLE, '<p>There is no such source here that accounts can be connected to.</p>', {
    status: 404,
  })

const ended = (name: string) =>
  plainPage(
    TITLE,
    `<p>This request has ended. <a href="/connect/${encodeURIComponent(name)}">Begin again</a>.</p>`,
    { status: 404 },
  )

const explain = ({ url }: Connectable) =>
  plainPage(
    TITLE,
    `<p>Programs that use this service can write at ${Bun.escapeHTML(url)} as your account, if you allow it there.</p>
<p>You sign in at the forum, in your own browser, and it asks you once. The service never sees your password. It asks for reading and writing, and for nothing else. You can take the access back at the forum at any time.</p>
<form method="post"><p><button type="submit">Begin</button></p>
<p><button type="submit" formaction="?return=yes">Begin, and return here by itself</button> if the forum's operator has allowed the address of this page.</p></form>`,
  )

const pasteForm = (id: string) =>
  `<form method="get"><input type="hidden" name="request" value="${id}"><p><label>Paste the text that the forum then shows:<br><textarea name="payload" rows="6" required></textarea></label></p><button type="submit">Continue</button></form>`
