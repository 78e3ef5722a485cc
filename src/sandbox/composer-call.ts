import { type Answer, partial, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { permalinkOf } from './composer.ts'
import { FORM_ERRORS } from './form-errors.ts'
import { escapeHtml } from './json.ts'
import type { Comment, Thing, User } from './model.ts'
import { mayRead } from './places.ts'
import { leave, refusedAt, richText, wrongText } from './write-comment.ts'

/**
 * `POST /svc/shreddit/<post>/create-comment`: what the composer of a post's page sends; null for every other path.
 * `parentId` names the comment that is answered, where it is not the post itself.
 */
export function composerCall(ask: Ask): Answer | null {
  const [first, second, target = '', call] = ask.path
  if (first !== 'svc' || second !== 'shreddit' || call !== 'create-comment') return null
  if (ask.face !== 'www' || ask.method !== 'POST') return null
  const { query, viewer, cookies, twist } = ask
  const { user } = viewer
  const said = query.get('csrf_token') ?? ''
  if (said === '' || said !== cookies.get('csrf_token')) return refusal(403)
  if (user === null) return refusal(401)
  if (user.standing === 'suspended') return refusal(403)
  const { refuse_form } = twist
  if (refuse_form !== null)
    return alert(
      'code' in refuse_form ? FORM_ERRORS[refuse_form.code][0] : pause(refuse_form.wait_s),
    )
  return compose(ask, user, target)
}

function compose(ask: Ask, user: User, target: string): Answer {
  const parent = ask.world.things.get(ask.query.get('parentId') ?? target)
  if (parent === undefined || postOf(parent).name !== target) return refusal(400)
  const text = richText(ask.query.get('content') ?? '')
  const wrong = refusedAt(parent, user)
  if (wrong === 403) return refusal(403)
  const code = wrong ?? wrongText(text)
  if (code !== null) return alert(FORM_ERRORS[code][0])
  const made = leave(ask, user, parent, text)
  // Whoever has not agreed to see the place sees no answer either.
  return partial(mayRead(postOf(parent).subforum, user) ? element(made) : '')
}

const pause = (wait_s: number) =>
  `Looks like you've been doing that a lot. Take a break for ${Math.ceil(wait_s)} seconds before trying again.`

const postOf = (thing: Thing) => (thing.kind === 't3' ? thing : thing.post)

const alert = (message: string): Answer =>
  partial(`<faceplate-alert level="error" message="${escapeHtml(message)}"></faceplate-alert>`)

const element = (made: Comment): string =>
  `<shreddit-comment author="${escapeHtml(made.author.name)}" thingId="${made.name}" depth="${made.depth}" permalink="${permalinkOf(made)}"><div slot="comment">${escapeHtml(made.text)}</div></shreddit-comment>`
