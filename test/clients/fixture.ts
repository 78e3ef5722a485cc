// Runs in its own network namespace: starts the platform with TLS on port 443, runs one client script against it and prints
// the result as JSON. The script reads its parameters from the variable STORY.
import { readFileSync } from 'node:fs'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import type { SandboxComment, SandboxPost, SandboxUser, Thing } from '../../sandbox/world/model.ts'
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

const threads = [...world.things.values()].filter((it): it is SandboxPost => it.kind === 't3')
const thread = threads.toSorted((one, other) => other.comment_count - one.comment_count)[0]
if (!thread) throw new Error('the world has no threads')
const place = thread.subforum
const peer = world.users.get('third_kettle')
if (!peer) throw new Error('the world has no recipient')
const locked = sandbox.post({
  subforum: place.name,
  title: 'closed',
  author: 'cedar_owl',
  locked: true,
})
// A comment without votes is behind a `more` node; its link is found only after expanding it.
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
    .filter((it) => isVisibleTo(it, null) && (it.shape === 'image' || it.shape === 'gif'))
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
    (it) => isVisibleTo(it, user) && open.has(it.post.subforum.access),
  ).length,
  saved: user.saved
    .filter((it) => isVisibleTo(it, user))
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

/** Content that is visible to a user: neither removed nor hidden. */
function isVisibleTo(thing: Thing, viewer: SandboxUser | null): boolean {
  const { removed, author } = thing
  if (thing.kind === 't3' && viewer?.hidden.includes(thing)) return false
  if (viewer?.blocked.has(author)) return false
  if (author === viewer) return removed !== 'author'
  return removed === null && author.standing !== 'shadowed'
}

/** Ids in the newest-first listing as seen by a user, up to the listing limit. */
function newestOf(name: string, viewer: SandboxUser | null): string[] {
  const posts = world.subforums.get(name)?.posts ?? []
  return posts
    .toReversed()
    .slice(0, 1_000)
    .filter((it) => isVisibleTo(it, viewer))
    .map(({ id }) => id)
}

/** All visible comments of a tree; removed leaves are excluded. */
function inTree(comments: readonly SandboxComment[]): SandboxComment[] {
  return comments.flatMap((it) => {
    const gone =
      it.removed === 'author' || (it.removed === null && it.author.standing === 'shadowed')
    return gone && it.replies.length === 0 ? [] : [it, ...inTree(it.replies)]
  })
}

function after({ votes, saved, sent, comments, subscribed, inbox }: SandboxUser): Report['after'] {
  return {
    votes: Object.fromEntries([...votes].map(([{ name }, direction]) => [name, direction])),
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
