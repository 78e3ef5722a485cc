import { createLru } from '../../core/base/lru.ts'
import { ok, type Outcome } from '../../core/base/result.ts'
import { isComment, type NativeItem, type Story, storyOf, toPost, unknownStory } from './readers.ts'

/** Story of a comment; not known: one of the items above it could not be read. */
export type FoundStory = { story: Story; is_known: boolean }

/** Requests an item above a comment. */
export type ReadAncestor = (id: number) => Promise<Outcome<NativeItem | null>>

/** Stories, and by the id of an item under one its index among them; the latest used first. */
export type StoredStories = { stories: Story[]; under: [id: number, story: number][] }

const STORIES_MAX = 20_000
/** Items that are stored with their story: about an hour of comments, in some 30 KB. */
const STORED_MAX = 1000
/** Their stories, at most. */
const STORED_STORIES_MAX = 150
/** A comment is this deep at most; a longer chain ends the search for its story. */
const ANCESTORS_MAX = 60

/** The story of each item that was read, without a request for those above it. */
export type Stories = ReturnType<typeof createStories>

/** Remembers the stories of the items that were used last. */
export function createStories() {
  const known = createLru<number, Story>(STORIES_MAX)
  return {
    add: (id: number, story: Story) => void known.set(id, story),

    /** The story above a comment, whose ancestors `read` requests. */
    async above(item: NativeItem, read: ReadAncestor): Promise<Outcome<FoundStory>> {
      const path: number[] = [item.id]
      let parent = item.row['parent']
      for (let steps = 0; steps < ANCESTORS_MAX && typeof parent === 'number'; steps++) {
        const before = known.get(parent)
        const answer = before === undefined ? await read(parent) : null
        if (answer !== null && !answer.ok) return answer
        const native = answer?.value ?? null
        const story =
          before ?? (native !== null && !isComment(native) ? storyOf(toPost(native)) : undefined)
        if (story !== undefined) {
          for (const id of [...path, parent]) known.set(id, story)
          return ok({ story, is_known: true })
        }
        if (native === null) break
        path.push(parent)
        parent = native.row['parent']
      }
      // The comment is visible although its story is not: it is shown without a title.
      const id = typeof parent === 'number' ? parent : path.at(-1)
      return ok({ story: unknownStory(String(id ?? item.id)), is_known: false })
    },

    /** The latest of them, to be stored. */
    stored(): StoredStories {
      const stories = new Map<string, { index: number; story: Story }>()
      const under: StoredStories['under'] = []
      for (const [id, story] of known.entries()) {
        if (under.length === STORED_MAX) break
        const index = stories.get(story.id)?.index ?? stories.size
        if (index === STORED_STORIES_MAX) continue
        stories.set(story.id, { index, story: stories.get(story.id)?.story ?? story })
        under.push([id, index])
      }
      return { stories: [...stories.values()].map(({ story }) => story), under }
    },

    /** Takes those that an earlier process stored, behind those that are known now. */
    restore({ stories, under }: StoredStories): void {
      const now = [...known.entries()].toReversed()
      for (const [id, index] of under.toReversed()) {
        const story = stories[index]
        if (story !== undefined) known.set(id, story)
      }
      for (const [id, story] of now) known.set(id, story)
    },
  }
}
