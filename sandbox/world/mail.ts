import { deliverToInbox } from './inbox.ts'
import type { SandboxMessage, SandboxUser, Subforum, World } from './model.ts'
import { nextSerial, nowSeconds } from './world.ts'

/** Message to send. */
export type MessagePlan = {
  author: SandboxUser
  to: SandboxUser | Subforum
  subject: string
  text: string
  parent?: SandboxMessage
  created_s?: number
}

/** Sends mail to a user, or to all moderators of a subforum. */
export function sendMail(
  world: World,
  { parent, created_s, ...draft }: MessagePlan,
): SandboxMessage {
  const serial = nextSerial(world, 'message')
  const id = serial.toString(36)
  const first = parent === undefined ? null : (parent.first ?? parent)
  const message: SandboxMessage = {
    ...draft,
    kind: 't4',
    id,
    name: `t4_${id}`,
    serial,
    created_s: created_s ?? nowSeconds(world),
    parent: parent ?? null,
    first,
    replies: [],
  }
  first?.replies.push(message)
  world.messages.set(message.name, message)
  draft.author.sent.push(message)
  for (const user of recipients(message)) deliverToInbox(user, message)
  world.version++
  return message
}

const recipients = ({ to }: SandboxMessage): readonly SandboxUser[] =>
  to.kind === 't2' ? [to] : to.moderators

/** True for the sender and the recipients of a message. */
export const isParticipant = (message: SandboxMessage, user: SandboxUser): boolean =>
  message.author === user || recipients(message).includes(user)
