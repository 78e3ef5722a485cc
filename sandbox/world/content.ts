import { type Intent, POSTS, REPLIES } from '../data/phrases.ts'
import { type Topic, topicOf } from '../data/topics.ts'
import type { PostKind, SandboxPost, SandboxUser, Subforum, World } from './model.ts'
import type { SeededRandom } from './random.ts'
import { addPost, type PostPlan } from './world.ts'

const SLOT = /\{(a )?(\w+)\}/g

const article = (noun: string) => (/^[aeiou]/i.test(noun) ? `an ${noun}` : `a ${noun}`)
const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Fills the slots of one text; repeated slots get the same value. */
function filler(random: SeededRandom, topic: Topic): (phrase: string) => string {
  const thing = random.pick(topic.things)
  const product = random.pick(topic.products)
  const different = (from: readonly string[], not: string) =>
    random.pick(from.filter((each) => each !== not))
  const words: Record<string, () => string> = {
    thing: () => thing,
    another: () => different(topic.things, thing),
    product: () => product,
    other: () => different(topic.products, product),
    goal: () => random.pick(topic.goals),
    trouble: () => random.pick(topic.troubles),
    tip: () => random.pick(topic.tips),
    n: () => String(random.whole(2, 19)),
    price: () => `${random.whole(2, 60) * 10} €`,
  }
  return (phrase) =>
    sentences(
      phrase.replace(SLOT, (_, a: string | undefined, slot: string) => {
        const word = words[slot]?.() ?? slot
        return a ? article(word) : word
      }),
    )
}

// Capitalises the first letter of each sentence, where a filled slot may begin.
const sentences = (text: string) =>
  capitalise(text).replace(
    /([.?!] )(\p{Ll})/gu,
    (_, stop: string, item: string) => stop + item.toUpperCase(),
  )

/** Content of a new post. */
export type Writing = { intent: Intent; title: string; text: string; flair: string | null }

const POST_INTENTS: readonly Intent[] = [
  'question',
  'question',
  'question',
  'complaint',
  'complaint',
  'recommendation',
  'recommendation',
  'praise',
  'promotion',
  'show',
  'show',
]

/** Generates a post in the style of a topic. */
export function writePost(random: SeededRandom, topic_name: string): Writing {
  const topic = topicOf(topic_name)
  const intent: Intent = topic_name === 'news' ? 'news' : random.pick(POST_INTENTS)
  const phrases = POSTS[intent]
  const fill = filler(random, topic)
  const title = fill(random.pick(phrases.titles))
  const middle = random.odds(0.4) ? [fill(`{tip}, people say. But {trouble}.`)] : []
  const paragraphs = [
    fill(random.pick(phrases.openings)),
    ...middle,
    fill(random.pick(phrases.closings)),
  ]
  return {
    intent,
    title,
    text: paragraphs.join('\n\n'),
    flair: random.odds(0.6) ? random.pick(topic.flairs) : null,
  }
}

/** Generates a reply in the style of a topic. */
export function writeReply(random: SeededRandom, topic_name: string): string {
  const fill = filler(random, topicOf(topic_name))
  const first = fill(random.pick(REPLIES))
  return random.odds(0.25) ? `${first}\n\n${fill(random.pick(REPLIES))}` : first
}

const SITES = [
  'https://www.example.com/stories/',
  'https://notes.example.org/',
  'https://shop.example.net/p/',
  'https://blog.example.com/2026/',
]

const MEDIA_POST_KINDS: readonly PostKind[] = [
  'image',
  'image',
  'image',
  'gallery',
  'gallery',
  'video',
  'gif',
]

/** Kind of a generated post: news are links, presentations have media. */
function postKindOf(random: SeededRandom, { intent }: Writing): PostKind {
  if (intent === 'news') return 'link'
  if (intent === 'show') return random.pick(MEDIA_POST_KINDS)
  if (intent === 'promotion') return random.odds(0.5) ? 'link' : 'self'
  return random.odds(0.06) ? 'image' : 'self'
}

const mediaId = (random: SeededRandom) => random.text(13)

/** URL and pictures of a post of this kind. */
function mediaFields(
  random: SeededRandom,
  shape: PostKind,
  title: string,
): Pick<PostPlan, 'url' | 'pictures'> {
  const id = mediaId(random)
  switch (shape) {
    case 'self':
    case 'crosspost':
      return {}
    case 'link': {
      const slug = title.toLowerCase().replace(/[^a-z0-9]+/g, '-')
      return { url: `${random.pick(SITES)}${slug}`, pictures: [id] }
    }
    case 'image':
      return { url: `https://i.redd.it/${id}.jpg`, pictures: [id] }
    case 'gif':
      return { url: `https://i.redd.it/${id}.gif`, pictures: [id] }
    case 'video':
      return { url: `https://v.redd.it/${id}`, pictures: [id] }
    case 'gallery':
      return {
        url: `/gallery/${id}`,
        pictures: [id, ...Array.from({ length: random.whole(1, 5) }, () => mediaId(random))],
      }
  }
}

/** Publishes a generated post. */
export function publishPost(
  world: World,
  random: SeededRandom,
  plan: { subforum: Subforum; author: SandboxUser; created_s: number; ups: number; downs: number },
): SandboxPost {
  const writing = writePost(random, plan.subforum.topic)
  const shape = postKindOf(random, writing)
  return addPost(world, {
    ...plan,
    title: writing.title,
    // Only some links and pictures have a text.
    text: shape === 'self' || (shape !== 'link' && random.odds(0.4)) ? writing.text : '',
    shape,
    ...mediaFields(random, shape, writing.title),
    flair: writing.flair,
    spoiler: plan.subforum.topic === 'books' && random.odds(0.2),
  })
}
