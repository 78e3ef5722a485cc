import { PEOPLE } from '../data/people.ts'
import { escapeHtml } from '../server/response.ts'
import { newestById } from '../sources/recent.ts'
import { LINKED_SITES, slugOf } from '../sources/text.ts'
import { writePost, writeReply } from '../world/content.ts'
import type { SeededRandom } from '../world/random.ts'
import { addNewsItem, type NewsItem, newsUser, type NewsWorld } from './model.ts'

const TOPICS = ['selfhosting', 'homelab', 'keyboards', 'books', 'news', 'selfhosting']
const HOUR_MS = 3_600_000
const SEEDED_ITEMS = 2_600

/** Text as the site keeps it: paragraphs with `<p>` between them. */
export const toNewsHtml = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map((part) => escapeHtml(part).replaceAll("'", '&#x27;'))
    .join('<p>')

/** Fills the site with people and some days of items, in the order of their ids. */
export function seedNews(world: NewsWorld): void {
  const { random } = world
  for (const { name, bio = '', standing } of PEOPLE) {
    if (standing === 'deleted') continue
    const user = newsUser(world, name)
    user.about = toNewsHtml(bio)
    user.karma = random.whole(1, 30_000)
    user.created = world.now() - random.whole(100, 5_000) * 24 * HOUR_MS
  }
  let at = world.now() - SEEDED_ITEMS * 75_000
  while (world.items.size < SEEDED_ITEMS) {
    addRandomItem(world, random, { at, live: false })
    at += random.wait(75_000)
    if (at > world.now() - 60_000) break
  }
  for (const item of world.items.values()) {
    const draw = random.fraction() * 100
    if (draw < 1.5) item.deleted = item.kids.length === 0 || item.type === 'comment'
    else if (draw < 4) item.dead = true
    else if (draw < 4.3) item.visible_at = Infinity
    item.changed_at = Math.min(item.changed_at, world.now() - 5 * 60_000)
  }
  for (const user of world.users.values()) user.changed_at = 0
}

type Timed = { at: number; live: boolean }

/** A story, job, poll or comment. A live one is answered some seconds after its id is given. */
function addRandomItem(world: NewsWorld, random: SeededRandom, { at, live }: Timed): void {
  const by = random.pick([...world.users.values()])
  const recent = newestById(world.items, world.max_id, 400).filter(canBeAnswered)
  const late = live ? at + random.whole(0, 8) * 1000 : at
  const timing = {
    time: at,
    visible_at: live && random.odds(0.004) ? Infinity : late,
    delayed_until: live && random.odds(0.03) ? at + random.whole(1, 10) * 60_000 : 0,
  }
  const draw = random.fraction()
  if (recent.length > 0 && draw > 0.12) {
    // Newer items get more answers.
    const parent =
      recent[Math.floor(recent.length * random.fraction() ** 0.5)] ?? random.pick(recent)
    const text = toNewsHtml(writeReply(random, random.pick(TOPICS)))
    addNewsItem(world, { type: 'comment', by, text, parent, ...timing })
    return
  }
  const writing = writePost(random, random.pick(TOPICS))
  const text = toNewsHtml(writing.text)
  const score = live ? 1 : 1 + Math.floor(random.wait(30))
  const kind = random.fraction()
  if (kind < 0.03) {
    const company = random.pick(['Larder', 'Pinecask', 'Quillbox'])
    const title = `${company} (YC W26) Is Hiring ${random.pick(['Engineers', 'a Designer'])}`
    addNewsItem(world, {
      type: 'job',
      by,
      title,
      url: `${random.pick(LINKED_SITES)}jobs`,
      ...timing,
    })
  } else if (kind < 0.05) {
    const poll = addNewsItem(world, {
      type: 'poll',
      by,
      title: `Poll: ${writing.title}`,
      text,
      score,
      ...timing,
    })
    for (const option of ['Yes', 'No', 'It depends'])
      addNewsItem(world, {
        type: 'pollopt',
        by,
        text: option,
        score: random.whole(1, 90),
        parent: poll,
        ...timing,
      })
  } else if (kind < 0.2)
    addNewsItem(world, {
      type: 'story',
      by,
      title: `Ask HN: ${writing.title}`,
      text,
      score,
      ...timing,
    })
  else {
    const title = kind < 0.35 ? `Show HN: ${writing.title}` : writing.title
    const url = `${random.pick(LINKED_SITES)}${slugOf(writing.title)}`
    addNewsItem(world, { type: 'story', by, title, url, score, ...timing })
  }
}

const canBeAnswered = (item: NewsItem) =>
  !item.dead &&
  !item.deleted &&
  item.visible_at !== Infinity &&
  item.type !== 'job' &&
  item.type !== 'pollopt'

/** One event: an item, a vote, or a change of one. */
export function addNewsEvent(world: NewsWorld, random: SeededRandom, at: number): void {
  if (world.users.size === 0) return
  const draw = random.fraction()
  if (draw < 0.5) {
    addRandomItem(world, random, { at, live: true })
    return
  }
  const recent = newestById(world.items, world.max_id, 400).filter(canBeAnswered)
  if (recent.length === 0) return
  const item = random.pick(recent)
  item.changed_at = at
  if (draw < 0.97) {
    item.score++
    item.by.karma++
    item.by.changed_at = at
  } else if (draw < 0.98) item.deleted = item.kids.length === 0
  else if (draw < 0.99) item.dead = true
  else
    item.text =
      item.text === null ? null : `${item.text}<p>Edit: ${toNewsHtml(writeReply(random, 'books'))}`
}
