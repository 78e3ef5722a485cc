import { type Answer, json, redirect, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode, toHtml } from './json.ts'
import { directory } from './listing.ts'
import type { Subforum } from './model.ts'
import { renderSubforum } from './native-subforum.ts'
import { elsewhere, publicPlaces, refused, SUBFORUM_NAME } from './places.ts'

/** `/r/<name>/about…`: the place itself, its rules, its moderators. */
export function about(ask: Ask, name: string, what: string | undefined): Answer {
  if (!SUBFORUM_NAME.test(name)) return unregistered
  const subforum = ask.world.subforums.get(name.toLowerCase())
  if (subforum === undefined) return what === 'moderators' ? elsewhere(ask, name) : refusal(404)
  const no = refused(subforum, ask)
  if (no !== null) return no
  if (what === undefined) return json(renderSubforum(subforum, ask.viewer))
  if (what === 'rules') return rules(subforum)
  if (what === 'moderators') return ask.viewer.user ? moderators(subforum) : refusal(403)
  return unregistered
}

function rules({ rules: texts, created_s }: Subforum): Answer {
  const list = texts.map((short_name, priority) => ({
    kind: 'all',
    description: `${short_name}. Moderators have the last word.`,
    short_name,
    violation_reason: short_name,
    created_utc: created_s,
    priority,
    description_html: `<!-- SC_OFF -->${toHtml(`${short_name}. Moderators have the last word.`)}<!-- SC_ON -->`,
  }))
  return json(
    encode({
      rules: list,
      site_rules: [
        'Spam',
        'Personal and confidential information',
        'Threatening, harassing, or inciting violence',
      ],
    }),
  )
}

/** A list of its own kind, without pages. */
function moderators(subforum: Subforum): Answer {
  const children = subforum.moderators.map((user, index) => ({
    name: user.name,
    author_flair_text: null,
    mod_permissions: index === 0 ? ['all'] : ['posts', 'access'],
    date: subforum.created_s + index * 86_400,
    rel_id: `rb_${(user.serial + subforum.serial).toString(36)}`,
    id: `t2_${user.id}`,
    author_flair_css_class: null,
  }))
  return json(encode({ kind: 'UserList', data: { children } }))
}

/** `/subreddits/search`, `popular`, `new`, `default`. */
export function subforums(ask: Ask, which: string | undefined): Answer {
  const all = publicPlaces(ask)
  if (which === 'search') return json(page(ask, matching(ask, all)))
  if (which === 'popular' || which === 'default' || which === undefined)
    return json(
      page(
        ask,
        all.toSorted((one, other) => other.subscribers - one.subscribers),
      ),
    )
  if (which === 'new')
    return json(
      page(
        ask,
        all.toSorted((one, other) => other.created_s - one.created_s),
      ),
    )
  return unregistered
}

/** `/subreddits/mine/<how>`: where one subscribes, moderates or may write. */
export function ownSubforums(ask: Ask, how = 'subscriber'): Answer {
  const { origin, viewer } = ask
  const { user } = viewer
  const to = `${origin}/subreddits/login.json?dest=${encodeURIComponent(`${origin}/${ask.path.join('/')}`)}`
  if (user === null) return ask.face === 'www' ? redirect(to) : refusal(403)
  const all = [...ask.world.subforums.values()]
  switch (how) {
    case 'subscriber':
      return json(page(ask, [...user.subscribed]))
    case 'moderator':
      return json(
        page(
          ask,
          all.filter(({ moderators: its }) => its.includes(user)),
        ),
      )
    case 'contributor':
      return json(
        page(
          ask,
          all.filter(({ members }) => members.has(user)),
        ),
      )
    default:
      return unregistered
  }
}

const page = (ask: Ask, rows: readonly Subforum[]) =>
  directory(
    ask,
    rows,
    ({ id }) => `t5_${id}`,
    (it) => renderSubforum(it, ask.viewer),
  )

/** Those whose name, title or description has the words asked for; names come first. */
export function matching({ query }: Ask, from: readonly Subforum[]): Subforum[] {
  const q = (query.get('q') ?? '').trim().toLowerCase()
  const adult = ['1', 'on', 'true'].includes(query.get('include_over_18') ?? '')
  const named = /^\/?r\/(\w+)$/.exec(q)?.[1]
  if (named) return from.filter(({ name }) => name.toLowerCase() === named)
  // Names as short as this are only found as /r/<name>.
  if (q.length < 3) return []
  const rankOf = ({ name, title, description }: Subforum) =>
    name.toLowerCase().includes(q) ? 2 : `${title} ${description}`.toLowerCase().includes(q) ? 1 : 0
  return from
    .filter((it) => rankOf(it) > 0 && (adult || !it.over_18))
    .toSorted((one, other) => rankOf(other) - rankOf(one) || other.subscribers - one.subscribers)
}
