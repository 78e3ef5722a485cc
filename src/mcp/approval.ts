import { createHash, randomBytes, randomUUID } from 'node:crypto'

import {
  acceptedContent,
  type CallToolResult,
  createRequestStateCodec,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import * as z from 'zod'

import { type Called, type Connection, send } from './call.ts'

/** Seconds that a person has to answer. The draft itself stays open for longer. */
const ANSWER_S = 600
/** Open questions of a process. The oldest becomes invalid first; its draft stays open. */
const QUESTIONS_MAX = 10_000
/** A question shows the whole draft; a longer draft is approved elsewhere. */
const SHOWN_CHARACTERS_MAX = 10_000
const QUESTION = 'approval'
/** Header of a new draft whose key may approve by elicitation. */
const APPROVAL_HEADER = 'x-draft-approval'
/** Characters that are invisible, or change the direction or the line of the text around them. */
const UNRULY = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** A form cannot show their pictures, so a person could not see what is approved. */
const PICTURES = ['profile/avatar', 'profile/banner']

const pendingShape = z.object({ draft: z.string(), digest: z.string(), nonce: z.string() })
type Pending = z.infer<typeof pendingShape>

const answerShape = z.object({ send: z.boolean() })
const draftShape = z.looseObject({
  id: z.string(),
  action: z.string(),
  body: z.record(z.string(), z.unknown()),
  source: z.string().nullable(),
  status: z.string(),
})
type Draft = z.infer<typeof draftShape>

const capabilitiesShape = z.object({ elicitation: z.looseObject({}).optional() })

type ToolAnswer = CallToolResult | InputRequiredResult

export type Approval = {
  /** @throws {Error} it is forged, expired, or of another key or session */
  verify(state: string, context: ServerContext): Promise<unknown>
  /** Asks about a new draft if key, session and client allow it. `client`: the capabilities that it declares. */
  ask(
    made: Called,
    it: { client: unknown; context: ServerContext; connection: Connection },
  ): Promise<ToolAnswer>
  /**
   * @throws {ProtocolError} the state was used before, or the draft is not the one that was shown
   */
  decide(context: ServerContext, connection: Connection): Promise<ToolAnswer>
}

/** Opens the approval of a connection. `owner` identifies its key and session. */
export type OpenApproval = (owner: string) => Approval

/**
 * Creates approvals. Their states are signed with a key of this process, expire, and are accepted once.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export function createApprovals({ answer_s = ANSWER_S } = {}): OpenApproval {
  const key = randomBytes(32)
  // Records what is open, not what was used: an evicted entry is refused instead of accepted twice.
  const open = new LRUCache<string, true>({ max: QUESTIONS_MAX, ttl: answer_s * 1000 })

  return (owner) => {
    const codec = createRequestStateCodec<Pending>({
      key,
      ttlSeconds: answer_s,
      bind: ({ mcpReq }) => `${mcpReq.method}\0${owner}`,
    })

    async function questionOf(draft: Draft, context: ServerContext): Promise<ToolAnswer> {
      const nonce = randomUUID()
      const pending = { draft: draft.id, digest: digestOf(draft), nonce }
      const requestState = await codec.mint(pending, context)
      open.set(nonce, true)
      const message = `Send this to the platform now, with the account of this connection?\n\n${shown(draft)}`
      const question = inputRequired.elicit({
        message,
        requestedSchema: {
          type: 'object',
          properties: {
            // No default: a client that fills in defaults must not approve.
            send: {
              type: 'boolean',
              title: 'Send',
              description: 'Yes: send exactly this. No: decline the draft.',
            },
          },
          required: ['send'],
        },
      })
      return inputRequired({ inputRequests: { [QUESTION]: question }, requestState })
    }

    return {
      verify: codec.verify,
      async ask(made, { client, context, connection }) {
        const draft = draftShape.safeParse(made.result.structuredContent)
        const may_ask =
          made.headers?.get(APPROVAL_HEADER) === 'elicitation' &&
          hasForms(client) &&
          Object.keys(connection.session).length > 0 &&
          draft.success &&
          // The session of a connection is that of one source, and must not be sent to another instance.
          draft.data.source === null &&
          !PICTURES.includes(draft.data.action) &&
          shown(draft.data).length <= SHOWN_CHARACTERS_MAX
        return may_ask ? questionOf(draft.data, context) : made.result
      },
      async decide(context, connection) {
        const { draft: id, digest, nonce } = pendingShape.parse(context.mcpReq.requestState())
        if (!open.delete(nonce)) throw invalidState()
        const path = `/drafts/${encodeURIComponent(id)}`
        const found = await send({ method: 'GET', path }, connection)
        if (found.result.isError === true) return found.result
        const draft = draftShape.parse(found.result.structuredContent)
        if (digestOf(draft) !== digest) throw invalidState()
        const { inputResponses } = context.mcpReq
        const view = inputResponse(inputResponses, QUESTION)
        // Closing the form decides nothing: the draft waits as without elicitation.
        if (view.kind === 'elicit' && view.action !== 'accept') return found.result
        const answer = acceptedContent(inputResponses, QUESTION, answerShape)
        if (answer === undefined)
          return draft.status === 'waiting' ? questionOf(draft, context) : found.result
        const body = JSON.stringify(answer.send ? connection.session : {})
        const decision = `${path}/${answer.send ? 'approve' : 'decline'}`
        return (await send({ method: 'POST', path: decision, body }, connection)).result
      },
    }
  }
}

const invalidState = () =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
    reason: 'invalid_request_state',
  })

/** True for capabilities with forms. An empty elicitation means forms, as in revision 2025-06-18. */
function hasForms(client: unknown): boolean {
  const { elicitation } = capabilitiesShape.catch({}).parse(client)
  return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation))
}

const digestOf = ({ action, body, source }: Draft): string =>
  createHash('sha256')
    .update(JSON.stringify([action, body, source]))
    .digest('hex')

/** The whole draft as text. Each line of its content is indented, so that none looks like one of forumd. */
function shown({ action, body }: Draft): string {
  const fields = Object.entries(body).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const lines = text.split(/\r?\n/).map((line) => `    ${line.replace(UNRULY, '\ufffd')}`)
    return `${name.replace(UNRULY, '\ufffd')}:\n${lines.join('\n')}`
  })
  return [action, ...fields].join('\n')
}
