import type { Words } from '../core/wire.ts'
import type { Policy } from './policy.ts'

/** What a tag of the document holds, in a sentence. */
export const TAGS: Readonly<Record<string, string>> = {
  Health: 'Whether the service is up and takes calls; no key is needed.',
  Account: 'What your key is worth: plan, balance, payments and use.',
  Drafts: 'Writes that a program proposes and a person approves.',
  Writes: 'Sign in as an account, comment and vote.',
  'Direct messages': 'Messages of an account, read and sent.',
  Profile: 'What an account says of itself.',
  Reads: 'Posts, one by one or as a subforum lists them.',
  Search: 'Posts, comments, subforums and users by words.',
  Comments: 'Comment trees, single comments, and whether they are still there.',
  Users: 'Public profiles and what users wrote.',
  Communities: 'What a subforum says of itself, its rules, wiki and comments.',
  'Own account': 'What only a session of your own account can read.',
  Monitoring:
    'Monitors of new content, the targets they deliver to, and what became of each delivery. Every path of this group answers at the same path under `/api` too, alike.',
  Feedback: 'Word to the operator, and the answer.',
}

/** What it takes to call a route, as sentences. */
export function toldPolicy({ open, scope, limit, feature }: Policy): string {
  const sentences = [
    open ? null : scope === null ? 'Takes any key.' : `Takes a key with the scope \`${scope}\`.`,
    limit === 'none' ? null : `Counts towards the pace of \`${limit}\`.`,
    feature === null ? null : `The operator may switch it off as \`${feature}\`.`,
  ]
  return sentences.filter((it) => it !== null).join(' ')
}

/**
 * The document with what it says in sentences put into the words of the wire. Names of fields and paths are made of
 * those words already.
 */
export function inWords(words: Words, told: unknown): unknown {
  if (words.community === 'subforum') return told
  if (Array.isArray(told)) return told.map((it) => inWords(words, it))
  if (typeof told !== 'object' || told === null) return told
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      SENTENCES.includes(name) && typeof value === 'string'
        ? value
            .replaceAll(/\bsubforums\b/g, words.communities)
            .replaceAll(/\bsubforum\b/g, words.community)
        : inWords(words, value),
    ]),
  )
}
const SENTENCES = ['summary', 'description']
