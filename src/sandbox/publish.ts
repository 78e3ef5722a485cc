import type { Chance } from './chance.ts'
import type { Post, PostKind, Subforum, User, World } from './model.ts'
import { writePost, type Writing } from './prose.ts'
import { addPost, type PostPlan } from './world.ts'

const SITES = [
  'https://www.example.com/stories/',
  'https://notes.example.org/',
  'https://shop.example.net/p/',
  'https://blog.example.com/2026/',
]

const SHOWN: readonly PostKind[] = ['image', 'image', 'image', 'gallery', 'gallery', 'video', 'gif']

/** What form a piece of writing takes: news are links, what is shown is shown. */
function shapeOf(chance: Chance, { intent }: Writing): PostKind {
  if (intent === 'news') return 'link'
  if (intent === 'show') return chance.pick(SHOWN)
  if (intent === 'promotion') return chance.odds(0.5) ? 'link' : 'self'
  return chance.odds(0.06) ? 'image' : 'self'
}

const mediaId = (chance: Chance) => chance.text(13)

/** Where a post of this shape points, and its pictures. */
function content(
  chance: Chance,
  shape: PostKind,
  title: string,
): Pick<PostPlan, 'url' | 'pictures'> {
  const id = mediaId(chance)
  switch (shape) {
    case 'self':
    case 'crosspost':
      return {}
    case 'link': {
      const slug = title.toLowerCase().replace(/[^a-z0-9]+/g, '-')
      return { url: `${chance.pick(SITES)}${slug}`, pictures: [id] }
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
        pictures: [id, ...Array.from({ length: chance.whole(1, 5) }, () => mediaId(chance))],
      }
  }
}

/** Somebody writes something in a place, as people there do. */
export function publish(
  world: World,
  chance: Chance,
  plan: { subforum: Subforum; author: User; created_s: number; ups: number; downs: number },
): Post {
  const writing = writePost(chance, plan.subforum.topic)
  const shape = shapeOf(chance, writing)
  return addPost(world, {
    ...plan,
    title: writing.title,
    // A link or a picture has words beside it only sometimes.
    text: shape === 'self' || (shape !== 'link' && chance.odds(0.4)) ? writing.text : '',
    shape,
    ...content(chance, shape, writing.title),
    flair: writing.flair,
    spoiler: plan.subforum.topic === 'books' && chance.odds(0.2),
  })
}
