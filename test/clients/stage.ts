// Runs inside a network of its own: starts the platform under TLS on 443, lets one client tell its story to it, and
// prints what came of it as JSON. The story finds what it needs to know in the variable STORY.
import { readFileSync } from 'node:fs'

import type { Comment, Post, Thing, User } from '../../src/sandbox/model.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Plan, Report } from './report.ts'

const plan: Plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
await using sandbox = await startSandbox({
  port: 443,
  domain: plan.domain,
  tls: { cert: readFileSync(plan.cert, 'utf8'), key: readFileSync(plan.key, 'utf8') },
  seed: 21,
  speed: 0,
  world: 'seeded',
  now: Date.now,
})
const { world } = sandbox
const { application, accounts } = sandbox.overview()
const [account] = accounts
const user = world.users.get(account?.username ?? '')
if (!application || !account || !user) throw new Error('the world has no account')

const threads = [...world.things.values()].filter((it): it is Post => it.kind === 't3')
const thread = threads.toSorted((one, other) => other.comment_count - one.comment_count)[0]
if (!thread) throw new Error('the world has no threads')
const place = thread.subforum
const peer = world.users.get('third_kettle')
if (!peer) throw new Error('the world has nobody to write to')
const locked = sandbox.post({
  subforum: place.name,
  title: 'closed',
  author: 'cedar_owl',
  locked: true,
})
// An answer that nobody votes for is behind a `more`; what it links to is found only by those who look there.
sandbox.comment({
  parent: thread.name,
  text: 'Look: [here](https://pictures.example/behind.jpg)',
  author: 'PatchBay',
  score: -3,
})
const before = new Set(user.comments)
const open = new Set(['public', 'restricted'])
const facts: Report['facts'] = {
  username: account.username,
  password: account.password,
  refresh_token: account.refresh_token ?? '',
  ...application,
  wire: newestOf('worldwire', user),
  pictures: (world.subforums.get('coffee')?.posts ?? [])
    .filter((it) => inSight(it, null) && (it.shape === 'image' || it.shape === 'gif'))
    .map(({ url }) => url ?? ''),
  wire_for_all: newestOf('worldwire', null).length,
  place: place.name,
  thread: thread.id,
  comments: inTree(thread.comments).length,
  locked: locked.id,
  moderators: place.moderators.map(({ name }) => name),
  rules: [...place.rules],
  peer: 'third_kettle',
  peer_karma: peer.comment_karma,
  peer_comments: peer.comments.filter(
    (it) => inSight(it, user) && open.has(it.post.subforum.access),
  ).length,
  saved: user.saved
    .filter((it) => inSight(it, user))
    .map(({ name }) => name)
    .toReversed(),
  subscribed: [...user.subscribed].map(({ name }) => name),
  blocked: [...user.blocked].map(({ name }) => name),
}

const command = plan.command.map((word) => word.replace('{thread}', facts.thread))
const child = Bun.spawn(command, {
  env: { ...process.env, ...plan.env, STORY: JSON.stringify(facts) },
  stdout: 'pipe',
  stderr: 'pipe',
})
const [stdout, stderr, code] = await Promise.all([
  new Response(child.stdout).text(),
  new Response(child.stderr).text(),
  child.exited,
])
const report: Report = {
  code,
  stdout,
  stderr,
  facts,
  requests: [...sandbox.requests],
  after: after(user),
}
process.stdout.write(JSON.stringify(report))

/** What has not been taken away from somebody's eyes, nor been put out of sight. */
function inSight(thing: Thing, eyes: User | null): boolean {
  const { removed, author } = thing
  if (thing.kind === 't3' && eyes?.hidden.includes(thing)) return false
  if (author === eyes) return removed !== 'author'
  return removed === null && author.standing !== 'shadowed'
}

/** Ids as somebody sees them in the newest-first listing, down to where listings end. */
function newestOf(name: string, eyes: User | null): string[] {
  const posts = world.subforums.get(name)?.posts ?? []
  return posts
    .toReversed()
    .slice(0, 1_000)
    .filter((it) => inSight(it, eyes))
    .map(({ id }) => id)
}

/** Every comment that a tree shows: a leaf that is gone is not among them. */
function inTree(comments: readonly Comment[]): Comment[] {
  return comments.flatMap((it) => {
    const gone =
      it.removed === 'author' || (it.removed === null && it.author.standing === 'shadowed')
    return gone && it.replies.length === 0 ? [] : [it, ...inTree(it.replies)]
  })
}

function after({ votes, saved, sent, comments, subscribed, inbox }: User): Report['after'] {
  return {
    votes: Object.fromEntries([...votes].map(([{ name }, way]) => [name, way])),
    saved: saved.map(({ name }) => name),
    sent: sent.map(({ name, subject, text, parent }) => ({
      name,
      subject,
      text,
      parent: parent?.name ?? null,
    })),
    comments: comments
      .filter((it) => !before.has(it))
      .map(({ name, text, edited_s, removed, parent, post }) => ({
        name,
        text,
        parent: (parent ?? post).name,
        edited: edited_s !== null,
        removed,
      })),
    subscribed: [...subscribed].map(({ name }) => name),
    unread: inbox.filter(({ unread }) => unread).length,
  }
}
