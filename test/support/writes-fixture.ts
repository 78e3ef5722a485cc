import { homeOf } from '../../src/config/schema.ts'
import type { Config } from '../../src/config/schema.ts'
import { SESSION_COOKIE } from './accounts.ts'
import { startTestDaemon } from './test-daemon.ts'

/** A PNG of one pixel, with its signature in the first bytes. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** The whole daemon before a platform with ann, ben and a post of ben's about cats. */
export async function startWriting({
  change,
  start_at,
}: { change?: (config: Config) => void; start_at?: number } = {}) {
  const daemon = await startTestDaemon({
    chat: true,
    ...(start_at !== undefined && { start_at }),
    change: (config) => {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      // Time stands still: what would be tried again would wait for ever.
      homeOf(config)!.retries = 0
      config.limits.account_per_minute = 0
      config.limits.writes_per_minute = 0
      config.limits.uploads_per_minute = 0
      config.limits.health_per_minute = 0
      homeOf(config)!.link_hosts = ['www.forum.test']
      // Where the sandbox has pictures stored.
      config.guard.allow_targets = ['127.0.0.1/32', 'receiver.test']
      config.guard.allow_http = true
      change?.(config)
    },
  })
  const { sandbox } = daemon
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  sandbox.user({ name: 'ben' })
  const post = sandbox.post({ subforum: 'cats', author: 'ben', title: 'A cat', text: 'It sleeps.' })

  /** Body fields of a session. */
  function sessionOf(username: string): Record<string, string> {
    const { [SESSION_COOKIE]: forum_session = '', ...rest } = sandbox.session({ username }).cookies
    return { forum_session, loid: rest['loid'] ?? '' }
  }
  const ann = sessionOf('ann')

  /** Everything that ann can do, each with a body that is right. */
  const WRITES = {
    'v2/comment': { post_url: `https://www.forum.test${post.permalink}`, text: 'Hello' },
    vote: { id: post.name, direction: 'up' },
    dm: { to: 'ben', subject: 'Cats', text: 'Hello' },
    'dm/threads': {},
    'dm/messages': { thread_id: 't4_1' },
    'profile/description': { description: 'Hello' },
    'profile/display-name': { display_name: 'Ann' },
    'profile/avatar': { image_base64: PNG.toString('base64') },
    'profile/banner': { image_base64: PNG.toString('base64') },
  } as const

  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    daemon.call(`/api/forum/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        authorization: `Bearer ${daemon.key}`,
        'content-type': 'application/json',
        ...headers,
      },
    })

  async function spent(): Promise<number> {
    const { body } = await daemon.call('/account/me')
    return Math.round(body.credits_used * 1e6)
  }

  return {
    house: daemon,
    sandbox,
    post,
    ann,
    sessionOf,
    WRITES,
    send,
    /** Does something as ann. */
    act: (path: string, body: object, headers: Record<string, string> = {}) =>
      send(path, { ...ann, ...body }, headers),
    /** Micro-dollars. */
    spent,
    /** Ann's comments, as the platform has them. */
    comments: () => sandbox.world.users.get('ann')?.comments.map(({ text }) => text) ?? [],
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

export type Writing = Awaited<ReturnType<typeof startWriting>>
