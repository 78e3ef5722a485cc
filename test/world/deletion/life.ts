import { type Item, type Look, Platform } from './platform.ts'
import { between, pick, uniqueWord } from './words.ts'

const HOUR = 3_600_000

/** The fate of an item, and the words by which its content can be recognised. */
export interface Fate {
  item: Item
  /** Words of its text, old and new versions; of a post also of its title. */
  words: string[]
  /** The writer's name and id. */
  names: string[]
  /** Epoch ms of its deletion, of the end of its account, or of its removal; null: never. */
  end: number | null
  end_as: Look
  /** Epoch ms of the change of its text; null: never. */
  edit: number | null
  edit_text: string
}

const FILLER = [
  'common',
  'coffee',
  'grinder',
  'müde',
  '日本語',
  '🦓🏽',
  'a "quoted" word',
  '<b>&amp;',
]

/** Items that appear, change and go at random moments. */
export class Life {
  readonly fates: Fate[] = []
  readonly #platform: Platform
  readonly #random: () => number
  readonly #pending: { at: number; happen: () => void }[] = []

  constructor(platform: Platform, random: () => number) {
    this.#platform = platform
    this.#random = random
  }

  /** Plans `deleted` items that are deleted within `span` ms of `from`, half as many that stay, and some of the other kinds. */
  plan(from: number, span: number, deleted: number): void {
    const random = this.#random
    const kinds: (Look | 'edited')[] = []
    for (let at = 0; at < deleted; at += 1)
      kinds.push(pick(random, ['author', 'author', 'moderator', 'platform'] as const))
    const stay = Math.ceil(deleted / 2)
    for (let at = 0; at < stay; at += 1)
      kinds.push(
        pick(random, ['live', 'live', 'live', 'edited', 'account_gone', 'hidden'] as const),
      )
    for (const kind of kinds) this.#planItem(from, span, kind)
    this.#pending.sort((a, b) => a.at - b.at)
  }

  #planItem(from: number, span: number, kind: Look | 'edited'): void {
    const random = this.#random
    const look = kind === 'edited' ? 'live' : kind
    // A deletion happens at a random moment, some of them minutes after the creation.
    const end = look === 'live' ? null : from + random() * span
    const age = end === null ? 0 : Math.min(end - from, random() < 0.3 ? random() * HOUR : Infinity)
    const created =
      end === null || age === end - from
        ? from + random() * ((end ?? from + span) - from)
        : end - age
    const edits = kind === 'edited' || random() < 0.15
    const edit = edits ? created + random() * ((end ?? from + span) - created) : null
    const words = [uniqueWord(random), uniqueWord(random), uniqueWord(random)]
    const names = [uniqueWord(random), `t2_${uniqueWord(random)}`]
    const title = `A common question about ${words[0]}`
    const text = this.#text(words[1] ?? '')
    const item: Item = {
      id: this.#platform.newId(),
      kind: random() < 0.5 ? 'post' : 'comment',
      place: pick(random, this.#platform.places),
      title,
      text,
      author: names[0] ?? '',
      author_id: names[1] ?? '',
      post: null,
      created: Math.floor(created / 1000) * 1000,
      look: 'live',
      score: 1,
      edited: null,
    }
    const fate: Fate = {
      item,
      words: item.kind === 'post' ? words : words.slice(1),
      names,
      end,
      end_as: look,
      edit,
      edit_text: this.#text(words[2] ?? ''),
    }
    this.#pending.push({ at: created, happen: () => this.#appear(fate) })
    if (edit !== null) this.#pending.push({ at: edit, happen: () => this.#edit(fate) })
    if (end !== null) this.#pending.push({ at: end, happen: () => void (item.look = look) })
  }

  #text(word: string): string {
    const random = this.#random
    const filler = (count: number): string =>
      Array.from({ length: count }, () => pick(random, FILLER)).join(' ')
    // Some texts are longer than several pages of the database.
    const length = random() < 0.1 ? between(random, 1000, 3000) : between(random, 2, 60)
    return `${word} common ${filler(length)} ${word.toUpperCase()} ${filler(length)} ${word}.`
  }

  #appear(fate: Fate): void {
    const { item } = fate
    if (item.kind === 'comment') {
      const posts = this.fates.filter(
        (each) => each.item.kind === 'post' && each.item.look === 'live',
      )
      if (posts.length === 0) item.kind = 'post'
      else item.post = pick(this.#random, posts).item
      if (item.post !== null) item.place = item.post.place
      else fate.words.push(...(/qzxj\w+/.exec(item.title) ?? []))
    }
    this.fates.push(fate)
    this.#platform.add(item)
  }

  #edit(fate: Fate): void {
    fate.item.text = fate.edit_text
    fate.item.edited = this.#platform.now()
  }

  /** Lets happen what is due. */
  until(now: number): void {
    for (;;) {
      const [next] = this.#pending
      if (next === undefined || next.at > now) return
      this.#pending.shift()
      next.happen()
    }
  }

  get isOver(): boolean {
    return this.#pending.length === 0
  }
}
