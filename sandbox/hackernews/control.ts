import * as z from 'zod'

import { BadControl } from '../server/control-routes.ts'
import { instantInput, sourceControl, userInput } from '../sources/input.ts'
import { addNewsItem, type NewsItem, newsUser, type NewsWorld } from './model.ts'
import { toNewsHtml } from './seed.ts'

const id = z.int().min(1)
const score = z.int().min(-100).max(1_000_000)
const DEFAULT_AUTHOR = 'passer_by'

/** Delays of a new item, in seconds: until it is answered, and until its text is. */
const timing = {
  created_at: instantInput.optional(),
  visible_in_s: z.number().min(0).optional(),
  delayed_s: z.number().min(0).optional(),
}

type Timing = {
  created_at?: number | undefined
  visible_in_s?: number | undefined
  delayed_s?: number | undefined
}

function times(world: NewsWorld, { created_at, visible_in_s = 0, delayed_s }: Timing) {
  const time = created_at ?? world.now()
  return {
    time,
    visible_at: Math.max(time, world.now()) + visible_in_s * 1000,
    delayed_until: delayed_s === undefined ? 0 : world.now() + delayed_s * 1000,
    changed_at: world.now(),
  }
}

function itemById(world: NewsWorld, item_id: number): NewsItem {
  const item = world.items.get(item_id)
  if (item === undefined) throw new BadControl(`id: no item has the id ${item_id}`)
  return item
}

/** Control calls of the site. */
export const NEWS_CONTROLS = {
  post: sourceControl(
    z.strictObject({
      type: z.enum(['story', 'job', 'poll']).optional(),
      title: z.string().min(1).max(80),
      text: z.string().max(10_000).optional(),
      url: z.url({ protocol: /^https?$/ }).optional(),
      author: userInput.optional(),
      score: score.optional(),
      options: z.array(z.string().min(1)).optional(),
      ...timing,
    }),
    (world: NewsWorld, input) => {
      const by = newsUser(world, input.author ?? DEFAULT_AUTHOR)
      const item = addNewsItem(world, {
        type: input.type ?? 'story',
        by,
        title: input.title,
        text: input.text === undefined ? null : toNewsHtml(input.text),
        url: input.url ?? null,
        score: input.score ?? 1,
        ...times(world, input),
      })
      for (const text of input.options ?? [])
        addNewsItem(world, { type: 'pollopt', by, text, parent: item, ...times(world, input) })
      return { id: item.id, permalink: `/item?id=${item.id}` }
    },
  ),
  comment: sourceControl(
    z.strictObject({
      parent: id,
      text: z.string().min(1).max(10_000),
      author: userInput.optional(),
      ...timing,
    }),
    (world: NewsWorld, input) => {
      const item = addNewsItem(world, {
        type: 'comment',
        by: newsUser(world, input.author ?? DEFAULT_AUTHOR),
        text: toNewsHtml(input.text),
        parent: itemById(world, input.parent),
        ...times(world, input),
      })
      return { id: item.id, permalink: `/item?id=${item.id}` }
    },
  ),
  edit: sourceControl(
    z.strictObject({
      id,
      title: z.string().min(1).max(80).optional(),
      text: z.string().max(10_000).optional(),
      url: z.url({ protocol: /^https?$/ }).optional(),
      score: score.optional(),
      /** A moderator's second chance: a story gets a later time. */
      created_at: instantInput.optional(),
    }),
    (world: NewsWorld, { id: item_id, text, created_at, ...changes }) => {
      const item = itemById(world, item_id)
      Object.assign(item, changes)
      if (text !== undefined) item.text = toNewsHtml(text)
      if (created_at !== undefined) item.time = created_at
      item.changed_at = world.now()
    },
  ),
  move: sourceControl(z.strictObject({ id, parent: id }), (world: NewsWorld, input) => {
    const [item, parent] = [itemById(world, input.id), itemById(world, input.parent)]
    const old = item.parent
    if (old === null) throw new BadControl('id: only comments can be moved')
    old.kids.splice(old.kids.indexOf(item), 1)
    parent.kids.unshift(item)
    Object.assign(item, { parent, root: parent.root ?? parent, changed_at: world.now() })
  }),
  remove: sourceControl(
    z.strictObject({ id, by: z.enum(['author', 'moderator']) }),
    (world: NewsWorld, input) => {
      const item = itemById(world, input.id)
      if (input.by === 'author') item.deleted = true
      else item.dead = true
      item.changed_at = world.now()
    },
  ),
  restore: sourceControl(z.strictObject({ id }), (world: NewsWorld, input) => {
    const item = itemById(world, input.id)
    Object.assign(item, {
      deleted: false,
      dead: false,
      visible_at: Math.min(item.visible_at, world.now()),
      changed_at: world.now(),
    })
  }),
  /** Ids that are given but never answered. */
  skip: sourceControl(
    z.strictObject({ count: z.int().min(1).max(10_000) }),
    (world: NewsWorld, { count }) => {
      world.max_id += count
      return { maxitem: world.max_id }
    },
  ),
  user: sourceControl(
    z.strictObject({
      name: userInput,
      karma: z.int().optional(),
      about: z.string().max(5_000).optional(),
    }),
    (world: NewsWorld, { name, ...changes }) => {
      Object.assign(newsUser(world, name), changes, { changed_at: world.now() })
    },
  ),
  site: sourceControl(
    z.strictObject({ search_per_hour: z.int().min(1) }),
    (world: NewsWorld, changes) => {
      Object.assign(world.settings, changes)
    },
  ),
}
