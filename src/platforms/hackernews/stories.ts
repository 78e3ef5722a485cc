import { LRUCache } from 'lru-cache'

import { ok, type Outcome } from '../../core/base/result.ts'
import { idAt } from '../values.ts'
import { isComment, type NativeItem, type Story, storyOf, toPost, unknownStory } from './readers.ts'

/** Story of a comment; not known: one of the items above it could not be read. */
export type FoundStory = { story: Story; is_known: boolean }

export type ReadAncestor = (id: number) => Promise<Outcome<NativeItem | null>>

/**
 * Ids of items with the id of their story, the latest used first. No title and no name: they would stay where no erasure
 * looks for them.
 */
export type StoredStories = { roots: [id: number, story: number][] }

/** Stories in memory, one for each item under them, and characters of one. */
const STORIES_BYTES_MAX = 8 * 1024 * 1024
const STORY_MAX = 16 * 1024
/** Items that are stored with their story: about an hour of comments, in some 20 KB. */
const STORED_MAX = 1000
/** Their stories, at most: each is requested once after a start. */
const STORED_STORIES_MAX = 150
/** A comment is this deep at most; a longer chain ends the search for its story. */
const ANCESTORS_MAX = 60

/** The story of each item that was read, without a request for those above it. */
export type Stories = ReturnType<typeof createStories>

export function createStories() {
  const known = new LRUCache<number, Story>({
    maxSize: STORIES_BYTES_MAX,
    sizeCalculation: ({ title, url, author }) =>
      2 * (title.length + (url?.length ?? 0) + author.length) + 150,
  })
  /** Ids of stories that an earlier process knew, by the ids of items under them. */
  let roots = new Map<number, number>()

  function add(id: number, story: Story): void {
    // A longer one is no title, and its row is left out.
    if (story.title.length + (story.url?.length ?? 0) < STORY_MAX) known.set(id, story)
  }

  return {
    add,

    async above(item: NativeItem, read: ReadAncestor): Promise<Outcome<FoundStory>> {
      const path: number[] = [item.id]
      let parent = idAt(item.row, 'parent')
      for (let steps = 0; steps < ANCESTORS_MAX && parent !== null; steps++) {
        const before = known.get(parent)
        const root = before === undefined ? roots.get(parent) : undefined
        if (root !== undefined && root !== parent) {
          path.push(parent)
          parent = root
          continue
        }
        const answer = before === undefined ? await read(parent) : null
        if (answer !== null && !answer.ok) return answer
        const native = answer?.value ?? null
        const story =
          before ?? (native !== null && !isComment(native) ? storyOf(toPost(native)) : undefined)
        if (story !== undefined) {
          for (const id of [...path, parent]) add(id, story)
          return ok({ story, is_known: true })
        }
        if (native === null) break
        path.push(parent)
        parent = idAt(native.row, 'parent')
      }
      // The comment is visible although its story is not: it is shown without a title.
      const id = parent ?? path.at(-1)
      return ok({ story: unknownStory(String(id ?? item.id)), is_known: false })
    },

    /** The latest of them, to be stored, before those of an earlier process that were not used since. */
    stored(): StoredStories {
      const stories = new Set<number>()
      const stored = new Map<number, number>()
      const latest = [...known.entries()].map(([id, story]) => [id, Number(story.id)] as const)
      for (const [id, story] of [...latest, ...roots]) {
        if (stored.size === STORED_MAX) break
        if (stored.has(id) || (!stories.has(story) && stories.size === STORED_STORIES_MAX)) continue
        stories.add(story)
        stored.set(id, story)
      }
      return { roots: [...stored] }
    },

    restore(stored: Partial<StoredStories>): void {
      roots = new Map(stored.roots)
    },
  }
}
