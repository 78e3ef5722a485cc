import type { Chance } from './chance.ts'
import { type Intent, POSTS, REPLIES } from './phrases.ts'
import { type Topic, topicOf } from './topics.ts'

const SLOT = /\{(a )?(\w+)\}/g

const article = (noun: string) => (/^[aeiou]/i.test(noun) ? `an ${noun}` : `a ${noun}`)
const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Fills the slots of one text; a name drawn for it stays the same throughout. */
function filler(chance: Chance, topic: Topic): (phrase: string) => string {
  const thing = chance.pick(topic.things)
  const product = chance.pick(topic.products)
  const different = (from: readonly string[], not: string) =>
    chance.pick(from.filter((each) => each !== not))
  const words: Record<string, () => string> = {
    thing: () => thing,
    another: () => different(topic.things, thing),
    product: () => product,
    other: () => different(topic.products, product),
    goal: () => chance.pick(topic.goals),
    trouble: () => chance.pick(topic.troubles),
    tip: () => chance.pick(topic.tips),
    n: () => String(chance.whole(2, 19)),
    price: () => `${chance.whole(2, 60) * 10} €`,
  }
  return (phrase) =>
    sentences(
      phrase.replace(SLOT, (_, a: string | undefined, slot: string) => {
        const word = words[slot]?.() ?? slot
        return a ? article(word) : word
      }),
    )
}

// A slot at the beginning of a sentence brings no capital of its own.
const sentences = (text: string) =>
  upper(text).replace(
    /([.?!] )(\p{Ll})/gu,
    (_, stop: string, letter: string) => stop + letter.toUpperCase(),
  )

/** What somebody wants to say, how it is headed, and where it goes. */
export type Writing = { intent: Intent; title: string; text: string; flair: string | null }

const USUAL: readonly Intent[] = [
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

/** A post as people in this place write them. */
export function writePost(chance: Chance, topic_name: string): Writing {
  const topic = topicOf(topic_name)
  const intent: Intent = topic_name === 'news' ? 'news' : chance.pick(USUAL)
  const phrases = POSTS[intent]
  const fill = filler(chance, topic)
  const title = fill(chance.pick(phrases.titles))
  const middle = chance.odds(0.4) ? [fill(`{tip}, I was told. But {trouble}.`)] : []
  const paragraphs = [
    fill(chance.pick(phrases.openings)),
    ...middle,
    fill(chance.pick(phrases.closings)),
  ]
  return {
    intent,
    title,
    text: paragraphs.join('\n\n'),
    flair: chance.odds(0.6) ? chance.pick(topic.flairs) : null,
  }
}

/** What somebody answers. */
export function writeReply(chance: Chance, topic_name: string): string {
  const fill = filler(chance, topicOf(topic_name))
  const first = fill(chance.pick(REPLIES))
  return chance.odds(0.25) ? `${first}\n\n${fill(chance.pick(REPLIES))}` : first
}
