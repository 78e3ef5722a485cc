import type { Face } from './ask.ts'
import { createChance } from './chance.ts'
import { createClockwork } from './clockwork.ts'
import { control, type Controls, isControl } from './control-routes.ts'
import {
  type Added,
  type CommentInput,
  type EditInput,
  type Opened,
  type PostInput,
  read,
  type RemoveInput,
  type RevokeInput,
  type SessionInput,
  type SubforumInput,
  type UserInput,
} from './control-schemas.ts'
import {
  controlComment,
  controlEdit,
  controlPost,
  controlRemove,
  controlRevoke,
  controlSession,
  controlSubforum,
  controlUser,
} from './control.ts'
import { createWorld } from './create-world.ts'
import { createHolds } from './holds.ts'
import { createJournal } from './journal.ts'
import { listen, named } from './listen.ts'
import { createMemory } from './memory.ts'
import { overview } from './overview.ts'
import { createRate } from './rate.ts'
import { seed } from './seed.ts'
import { type Platform, serve } from './serve.ts'
import { SESSION_COOKIE } from './sessions.ts'
import { createTurns } from './turns.ts'
import { createSky, type WeatherInput, weatherSchema } from './weather.ts'

export type SandboxOptions = {
  /** 0: any free port. */
  port: number
  /** Of the bearer host; 0: any free port. Without it there is one only by name, under `domain`. */
  bearer_port?: number
  /** Of the chat; 0: any free port. Without it there is one only by name, under `domain`. */
  chat_port?: number
  /** 127.0.0.1 unless said otherwise. */
  host?: string
  /** Whose names tell the hosts apart on one port: www, oauth and chat under it. */
  domain?: string
  /** Certificate and key, in PEM. */
  tls?: { cert: string; key: string }
  seed: number
  /** 1 is lively; 0: only what is asked for. */
  speed: number
  world: 'seeded' | 'empty'
  /** Epoch ms. */
  now: () => number
  /** Drives the clockwork and what the weather slows down. Without it, only `advance` and requests do. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** Calls an address has in ten minutes (600). */
  allowance?: number
  /** Calls a session has in ten minutes (300). */
  session_allowance?: number
  /** Calls a bearer has in ten minutes (1,000). */
  bearer_allowance?: number
  /** What a private place does to a listing of several (refuse). */
  private_in_multi?: Platform['private_in_multi']
}

/** The platform to practise on. Every method is also a route under `/__sandbox/`. */
export type Sandbox = Omit<Controls, 'overview'> & {
  /** `http://host:port`, without a slash at the end. */
  url: string
  port: number
  /** Where a bearer is spoken to; null where only a name would tell. */
  bearer_url: string | null
  /** Where chats are; null where only a name would tell. */
  chat_url: string | null
  session_cookie: string
  overview(): ReturnType<typeof overview>
  post(input: PostInput): Added
  comment(input: CommentInput): Added
  remove(input: RemoveInput): void
  edit(input: EditInput): void
  subforum(input: SubforumInput): void
  user(input: UserInput): void
  session(input: SessionInput): Opened
  revoke(input: RevokeInput): void
  /** Answers the rule's number. */
  weather(input: WeatherInput): number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts the platform on the loopback. Throws what Bun throws when the port is taken. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  let ahead_ms = 0
  const now = () => options.now() + ahead_ms
  const world = createWorld(createChance(options.seed), now)
  if (options.world === 'seeded') seed(world, world.chance)
  // Each has a chance of its own: what is asked does not change what will be written.
  const clockwork = createClockwork(world, createChance(options.seed + 1), options.speed)
  const sky = createSky()
  const journal = createJournal()
  const holds = createHolds(now, options.sleep)
  const platform: Platform = {
    world,
    noise: createChance(options.seed + 2),
    memory: createMemory(world),
    sky,
    rate: createRate(),
    journal,
    turns: createTurns(),
    site: () => main.url,
    allowance: {
      session: options.session_allowance ?? 300,
      bearer: options.bearer_allowance ?? 1_000,
      anonymous: options.allowance ?? 600,
    },
    private_in_multi: options.private_in_multi ?? 'refuse',
    cookie_domain: options.domain ?? null,
    hold: holds.hold,
  }
  const controls: Controls & Pick<Sandbox, 'overview'> = {
    world,
    overview: () => overview(world, options.seed, SESSION_COOKIE),
    post: (input) => controlPost(world, input),
    comment: (input) => controlComment(world, input),
    remove: (input) => controlRemove(world, input),
    edit: (input) => controlEdit(world, input),
    subforum: (input) => controlSubforum(world, input),
    user: (input) => controlUser(world, input),
    session: (input) => controlSession(world, input),
    revoke: (input) => controlRevoke(world, input),
    weather: (input) =>
      sky.add(read(weatherSchema, input), {
        at: now(),
        serials: { post: world.next.post, comment: world.next.comment },
      }).id,
    clearWeather: sky.clear,
    requests: journal.entries,
    advance(seconds) {
      ahead_ms += seconds * 1000
      clockwork.catchUp()
      holds.wake()
    },
  }
  const answer = (request: Request, from: { face: Face; address: string }) => {
    clockwork.catchUp()
    if (isControl(new URL(request.url).pathname)) return control(controls, request)
    const answered = serve(platform, request, from)
    return answered instanceof Promise ? answered.then(dated) : dated(answered)
  }
  // The platform's clock is the sandbox's, not this machine's.
  const dated = (response: Response) => {
    if (!response.headers.has('date')) response.headers.set('date', new Date(now()).toUTCString())
    return response
  }
  const main = listen(options, { port: options.port, face: null, answer })
  const bearer =
    options.bearer_port === undefined
      ? null
      : listen(options, { port: options.bearer_port, face: 'bearer', answer })
  const chat =
    options.chat_port === undefined
      ? null
      : listen(options, { port: options.chat_port, face: 'chat', answer })

  const stopping = new AbortController()
  const ticking = tick(options.sleep, clockwork, now, stopping.signal)
  const stop = async () => {
    stopping.abort()
    holds.release()
    await Promise.all([main, bearer, chat].map(async (it) => it?.server.stop(true)))
    await ticking
  }
  return {
    ...controls,
    url: main.url,
    port: main.port,
    bearer_url:
      bearer?.url ?? (options.domain === undefined ? null : named(options, 'oauth', main.port)),
    chat_url:
      chat?.url ?? (options.domain === undefined ? null : named(options, 'chat', main.port)),
    session_cookie: SESSION_COOKIE,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const SHORTEST_NAP_MS = 50

/** Lets the clockwork run while nobody asks anything. */
async function tick(
  sleep: SandboxOptions['sleep'],
  clockwork: ReturnType<typeof createClockwork>,
  now: () => number,
  signal: AbortSignal,
): Promise<void> {
  if (sleep === undefined || clockwork.due_at() === Infinity) return
  while (!signal.aborted) {
    await sleep(Math.max(SHORTEST_NAP_MS, clockwork.due_at() - now()), signal)
    clockwork.catchUp()
  }
}
