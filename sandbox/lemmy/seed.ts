import { PEOPLE, SEED_SUBFORUMS } from '../data/people.ts'
import { newestById } from '../sources/recent.ts'
import { LINKED_SITES, slugOf } from '../sources/text.ts'
import { writePost, writeReply } from '../world/content.ts'
import type { SeededRandom } from '../world/random.ts'
import {
  addLemmyComment,
  addLemmyPost,
  communityNamed,
  type LemmyCommunity,
  type LemmyPost,
  type LemmyWorld,
  moderate,
  type Person,
  personNamed,
  sendLemmyMessage,
} from './model.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HOSTS = ['tea.example', 'workshop.example', 'north.example']
const SEEDED_POSTS = 420
const COMMENTS_PER_POST = 4

/** Fills an instance with people, own and remote communities, and some weeks of content. */
export function seedLemmy(world: LemmyWorld): void {
  const { random } = world
  const now = world.now()
  addPersons(world)
  addCommunities(world)
  const writers = world.persons.filter(({ banned, deleted }) => !banned && !deleted)
  const events = Array.from({ length: SEEDED_POSTS * (1 + COMMENTS_PER_POST) }, (_, at) => ({
    at: now - 60_000 - Math.floor(random.fraction() * 14 * DAY_MS),
    is_post: at % (1 + COMMENTS_PER_POST) === 0,
  })).toSorted((one, other) => one.at - other.at)
  for (const { at, is_post } of events) {
    const creator = random.pick(writers)
    if (is_post || world.posts.size === 0) publish(world, random, { creator, at })
    else answer(world, random, { creator, at })
  }
  addLemmyCases(world, writers)
}

function addPersons(world: LemmyWorld): void {
  const { random } = world
  for (const [at, plan] of PEOPLE.entries()) {
    const host = at > 4 && at % 3 === 0 ? `@${HOSTS[at % HOSTS.length]}` : ''
    const person = personNamed(world, `${plan.name.replaceAll('-', '_')}${host}`)
    Object.assign(person, {
      display_name: plan.display_name || null,
      bio: plan.bio || null,
      password: plan.password ?? null,
      totp_secret: plan.totp_secret ?? null,
      admin: plan.employee ?? false,
      deleted: plan.standing === 'deleted',
      banned: plan.standing === 'suspended' && plan.password == null,
      bot: plan.name.endsWith('_bot'),
      created_at: world.now() - random.whole(60, 1_400) * DAY_MS,
    })
  }
}

function addCommunities(world: LemmyWorld): void {
  const open = SEED_SUBFORUMS.filter(({ access = 'public' }) => access === 'public')
  for (const [at, { name, title, description, topic, subscribers, over_18 }] of open.entries()) {
    const host = at % 3 === 2 ? `@${HOSTS[at % HOSTS.length]}` : ''
    const community = communityNamed(world, `${name.toLowerCase()}${host}`)
    Object.assign(community, {
      title: title ?? name,
      description: description ?? null,
      topic: topic ?? 'selfhosting',
      subscribers: Math.ceil((subscribers ?? 1000) / 400),
      nsfw: over_18 ?? false,
    })
    const moderator = world.persons[at % 3]
    if (moderator !== undefined && host === '') community.moderators.add(moderator)
  }
}

/** Time by the author's clock: a remote entry is older than its local id. */
const writtenAt = (random: SeededRandom, person: Person, at: number) =>
  person.host === null
    ? at
    : at - Math.ceil(random.odds(0.1) ? random.wait(3 * DAY_MS) : random.wait(20_000))

type Writing = { creator: Person; at: number }

function publish(world: LemmyWorld, random: SeededRandom, { creator, at }: Writing): LemmyPost {
  const community = random.pick(world.communities)
  const writing = writePost(random, community.topic)
  const is_link = random.odds(0.35)
  const post = addLemmyPost(world, {
    community,
    creator,
    name: writing.title,
    body: is_link && random.odds(0.5) ? null : writing.text,
    url: is_link ? `${random.pick(LINKED_SITES)}${slugOf(writing.title)}` : null,
    created_at: writtenAt(random, creator, at),
    arrived_at: at,
    ups: 1 + Math.floor(random.wait(8)),
    downs: random.odds(0.2) ? 1 : 0,
  })
  return post
}

function answer(world: LemmyWorld, random: SeededRandom, { creator, at }: Writing): void {
  const posts = newestById(world.posts, world.next.post, 60).filter(
    ({ locked, removed }) => !locked && !removed,
  )
  if (posts.length === 0) return
  const post = random.pick(posts)
  const parent = post.comments.length > 0 && random.odds(0.5) ? random.pick(post.comments) : null
  addLemmyComment(world, {
    post,
    creator,
    parent,
    content: writeReply(random, post.community.topic),
    created_at: Math.max(post.created_at + 1000, writtenAt(random, creator, at)),
    arrived_at: at,
    ups: 1 + Math.floor(random.wait(3)),
  })
}

/** Deleted, removed and restored entries, featured and scheduled posts, a hidden community, messages. */
function addLemmyCases(world: LemmyWorld, writers: readonly Person[]): void {
  const { random } = world
  const now = world.now()
  const posts = [...world.posts.values()].slice(0, -20)
  for (const entry of [...posts, ...world.comments.values()]) {
    const draw = random.fraction() * 100
    if (draw < 1.5) entry.deleted = true
    else if (draw < 3) moderate(world, entry, true)
    else if (draw < 3.6) {
      moderate(world, entry, true)
      moderate(world, entry, false)
    } else if (draw < 8) entry.updated_at = Math.min(now, entry.created_at + HOUR_MS)
    if (entry.kind === 'post' && draw > 98.5) entry.nsfw = true
    if (entry.kind === 'post' && draw > 98 && draw < 98.5) entry.locked = true
  }
  const [first, second] = posts
  if (first !== undefined) first.featured_local = true
  if (second !== undefined) second.featured_community = true
  const [creator, recipient] = writers
  const community: LemmyCommunity = communityNamed(world, 'backstage')
  Object.assign(community, { title: 'Backstage', hidden: true })
  if (creator === undefined || recipient === undefined) return
  addLemmyPost(world, {
    community,
    creator,
    name: 'Unlisted, but public',
    created_at: now - HOUR_MS,
  })
  addLemmyPost(world, {
    community: world.communities[0] ?? community,
    creator,
    name: 'Written today, published tomorrow',
    scheduled_at: now + DAY_MS,
  })
  sendLemmyMessage(world, {
    creator,
    recipient,
    content: 'Your guide saved me a weekend. Thank you!',
  })
  sendLemmyMessage(world, { creator: recipient, recipient: creator, content: 'Glad to hear it.' })
}

/** One event: a post, a comment, a vote, a removal or its end. */
export function addLemmyEvent(world: LemmyWorld, random: SeededRandom, at: number): void {
  const writers = world.persons.filter(({ banned, deleted }) => !banned && !deleted)
  if (writers.length === 0 || world.communities.length === 0) return
  const creator = random.pick(writers)
  const draw = random.fraction()
  if (draw < 0.15) {
    publish(world, random, { creator, at })
    return
  }
  if (draw < 0.6) {
    answer(world, random, { creator, at })
    return
  }
  const recent = newestById(world.posts, world.next.post, 60)
  if (recent.length === 0) return
  const post = random.pick(recent)
  if (draw < 0.96) post.votes.set(creator, random.odds(0.9) ? 1 : -1)
  else if (draw < 0.98) moderate(world, post, !post.removed)
  else post.deleted = !post.deleted
}
