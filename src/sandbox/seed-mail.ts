import type { Chance } from './chance.ts'
import { lettersOf } from './inbox.ts'
import { send } from './mail.ts'
import type { User, World } from './model.ts'
import { grant } from './sessions.ts'
import { nowSeconds } from './world.ts'

const DAY_S = 86_400
const LEFT_UNREAD = 5

/** What people have written to each other: subject, then who said what in turn. */
const THREADS = [
  ['Your guide', 'It saved me a weekend. Thank you & all the best!', 'Glad to hear it.'],
  ['About the meeting', 'Will you be there on Friday?', 'I hope so.', 'See you < then >.'],
  ['A question', 'Where did you get the small screws?'],
  ['Spare part', 'I still have one. Do you want it?', 'Yes, please!'],
] as const

/** Fills the mail of the accounts that can be signed in as; all but the newest few have been read. */
export function correspond(world: World, chance: Chance, people: readonly User[]): void {
  const accounts = people.filter(({ password }) => password !== null)
  const others = people.filter((it) => it.standing === 'good' && it.password === null)
  const now_s = nowSeconds(world)
  for (const account of accounts)
    for (const [index, [subject, ...texts]] of THREADS.entries()) {
      const peer = chance.pick(others)
      let parent = undefined
      let created_s = now_s - (THREADS.length - index) * DAY_S
      for (const [turn, text] of texts.entries()) {
        const [author, to] = turn % 2 === index % 2 ? [peer, account] : [account, peer]
        parent = send(world, {
          author,
          to,
          subject: turn === 0 ? subject : `re: ${subject}`,
          text,
          created_s,
          ...(parent && { parent }),
        })
        created_s += chance.whole(60, 20_000)
      }
    }
  const [account] = accounts
  const home = world.subforums.get('selfhosting')
  if (account !== undefined && home !== undefined)
    send(world, { author: account, to: home, subject: 'A rule', text: 'May I link my own page?' })
  for (const user of world.users.values()) {
    const fresh = new Set(lettersOf(user).slice(0, LEFT_UNREAD))
    for (const letter of user.inbox) letter.unread = fresh.has(letter)
  }
}

/** A token that renews itself, for every account; one of them has had enough of somebody. */
export function authorize(world: World, chance: Chance, people: readonly User[]): void {
  for (const user of people) if (user.password !== null) grant(world, user, chance)
  const [account, ...others] = people
  const annoying = others.find(({ password, standing }) => password === null && standing === 'good')
  if (account !== undefined && annoying !== undefined) account.blocked.add(annoying)
}
