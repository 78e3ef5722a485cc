import { deliver } from './inbox.ts'
import type { Message, Subforum, User, World } from './model.ts'
import { draw, nowSeconds } from './world.ts'

/** A message that is to arrive. */
export type Draft = {
  author: User
  to: User | Subforum
  subject: string
  text: string
  parent?: Message
  created_s?: number
}

/** Sends mail: to a person, or to all who moderate a subforum. */
export function send(world: World, { parent, created_s, ...draft }: Draft): Message {
  const serial = draw(world, 'message')
  const id = serial.toString(36)
  const first = parent === undefined ? null : (parent.first ?? parent)
  const message: Message = {
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
  for (const user of recipients(message)) deliver(user, message)
  world.version++
  return message
}

const recipients = ({ to }: Message): readonly User[] => (to.kind === 't2' ? [to] : to.moderators)

/** Whether somebody wrote it or was sent it. */
export const concerns = (message: Message, user: User): boolean =>
  message.author === user || recipients(message).includes(user)
