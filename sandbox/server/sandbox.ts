import { createDelays } from '../faults/delays.ts'
import { createRateCounter } from '../faults/rate-limit.ts'
import { createFaultRules, type FaultRuleInput, faultRuleSchema } from '../faults/rules.ts'
import { type ContentGenerator, createContentGenerator } from '../world/generator.ts'
import { createSeededRandom } from '../world/random.ts'
import { seedWorld } from '../world/seed.ts'
import { createListingCache } from '../world/timeline.ts'
import { createWorld } from '../world/world.ts'
import {
  CALLS,
  type CommentInput,
  control,
  type Controls,
  type CreatedThing,
  type EditInput,
  isControl,
  type OpenedSession,
  parseInput,
  type PostInput,
  type RemoveInput,
  type RevokeInput,
  type SessionInput,
  type SubforumInput,
  type UserInput,
} from './control-routes.ts'
import {
  controlComment,
  controlEdit,
  controlPost,
  controlRemove,
  controlRevoke,
  controlSession,
  controlSubforum,
  controlUser,
  worldOverview,
} from './control.ts'
import { createRequestLog } from './request-log.ts'
import type { PlatformHost } from './request.ts'
import { type SandboxContext, serveRequest } from './serve.ts'
import { SESSION_COOKIE } from './sessions.ts'
import { createUserLock } from './user-lock.ts'

/** Addresses to listen on. */
export type ListenOptions = {
  host?: string
  /** Parent domain; the subdomains www, oauth and chat select the host. */
  domain?: string
  /** Certificate and key, in PEM. */
  tls?: { cert: string; key: string }
}

type HostListener = {
  port: number
  /** Null: the Host header selects it. */
  host: PlatformHost | null
  answer(
    request: Request,
    from: { host: PlatformHost; address: string },
  ): Response | Promise<Response>
}

/**
 * Listens for one host of the platform, or for all of them by name. Rejects with Bun's error if the
 * port is in use.
 */
export function listenSandbox(
  options: ListenOptions,
  { port: requested_port, host: platform_host, answer }: HostListener,
) {
  const { host = '127.0.0.1', domain, tls } = options
  const server = Bun.serve({
    hostname: host,
    port: requested_port,
    idleTimeout: 0,
    development: false,
    // Outside of development Bun shares a port with other processes, and each would receive some of
    // the requests.
    reusePort: false,
    ...(tls !== undefined && { tls }),
    fetch: (request, listener) =>
      answer(request, {
        host: platform_host ?? hostOf(request.headers.get('host') ?? '', domain),
        address: listener.requestIP(request)?.address ?? 'unknown',
      }),
  })
  const port = server.port ?? requested_port
  const url =
    domain === undefined || platform_host !== null
      ? `${schemeOf(options)}://${host}:${port}`
      : hostUrl(options, 'www', port)
  return { server, port, url }
}

/** Address of a host under the domain; omits the default port of the scheme. */
export function hostUrl(options: ListenOptions, name: string, port: number): string {
  const scheme = schemeOf(options)
  const usual = scheme === 'https' ? 443 : 80
  return `${scheme}://${name}.${options.domain}${port === usual ? '' : `:${port}`}`
}

const schemeOf = ({ tls }: ListenOptions) => (tls === undefined ? 'http' : 'https')

function hostOf(host: string, domain: string | undefined): PlatformHost {
  const [name] = host.toLowerCase().split(':')
  if (domain === undefined) return 'www'
  if (name === `oauth.${domain}`) return 'bearer'
  return name === `chat.${domain}` ? 'chat' : 'www'
}

export type SandboxOptions = {
  /** 0: any free port. */
  port: number
  /**
   * Port of the bearer host; 0: any free port. Without it the host is reachable only by name, under
   * `domain`.
   */
  bearer_port?: number
  /**
   * Port of the chat; 0: any free port. Without it the chat is reachable only by name, under
   * `domain`.
   */
  chat_port?: number
  /** Default: 127.0.0.1. */
  host?: string
  /** Parent domain; the subdomains www, oauth and chat select the host on one port. */
  domain?: string
  /** Certificate and key, in PEM. */
  tls?: { cert: string; key: string }
  seed: number
  /** 1: busy; 0: no generated content. */
  speed: number
  world: 'seeded' | 'empty'
  /** Epoch ms. */
  now: () => number
  /** Drives the generator and delayed responses. Without it, only `advance` and requests do. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** Requests per address in ten minutes (600). */
  allowance?: number
  /** Requests per session in ten minutes (300). */
  session_allowance?: number
  /** Requests per bearer in ten minutes (1,000). */
  bearer_allowance?: number
  /** Effect of a private subforum in a listing of several (refuse). */
  private_in_multi?: SandboxContext['private_in_multi']
}

/**
 * Simulated platform for development and tests. Every method is also a route under `/__sandbox/`.
 */
export type Sandbox = Omit<Controls, 'overview'> & {
  /** `http://host:port`, without a final slash. */
  url: string
  port: number
  /** Address of the bearer host; null if it is reachable only by name. */
  bearer_url: string | null
  /** Address of the chat; null if it is reachable only by name. */
  chat_url: string | null
  session_cookie: string
  overview(): ReturnType<typeof worldOverview>
  post(input: PostInput): CreatedThing
  comment(input: CommentInput): CreatedThing
  remove(input: RemoveInput): void
  edit(input: EditInput): void
  subforum(input: SubforumInput): void
  user(input: UserInput): void
  session(input: SessionInput): OpenedSession
  revoke(input: RevokeInput): void
  /** Returns the number of the rule. */
  addFault(input: FaultRuleInput): number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts the platform on the loopback. Rejects with Bun's error if the port is in use. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  let clock_offset_ms = 0
  const now = () => options.now() + clock_offset_ms
  const world = createWorld(createSeededRandom(options.seed), now)
  if (options.world === 'seeded') seedWorld(world, world.random)
  // Separate random sources: requests do not change the generated content.
  const generator = createContentGenerator(
    world,
    createSeededRandom(options.seed + 1),
    options.speed,
  )
  const fault_rules = createFaultRules()
  const request_log = createRequestLog()
  const delays = createDelays(now, options.sleep)
  const context: SandboxContext = {
    world,
    noise: createSeededRandom(options.seed + 2),
    cache: createListingCache(world),
    fault_rules,
    countCall: createRateCounter(),
    request_log,
    lockUser: createUserLock(),
    siteUrl: () => main.url,
    allowance: {
      session: options.session_allowance ?? 300,
      bearer: options.bearer_allowance ?? 1_000,
      anonymous: options.allowance ?? 600,
    },
    private_in_multi: options.private_in_multi ?? 'refuse',
    cookie_domain: options.domain ?? null,
    delay: delays.delay,
  }
  const controls: Controls & Pick<Sandbox, 'overview'> = {
    world,
    overview: () => worldOverview(world, options.seed, SESSION_COOKIE),
    post: (input) => controlPost(world, input),
    comment: (input) => controlComment(world, input),
    remove: (input) => controlRemove(world, input),
    edit: (input) => controlEdit(world, input),
    subforum: (input) => controlSubforum(world, input),
    user: (input) => controlUser(world, input),
    session: (input) => controlSession(world, input),
    revoke: (input) => controlRevoke(world, input),
    addFault: (input) =>
      fault_rules.add(parseInput(faultRuleSchema, input), {
        at: now(),
        serials: { post: world.next.post, comment: world.next.comment },
      }).id,
    clearFaults: fault_rules.clear,
    requests: request_log.entries,
    advance(seconds) {
      clock_offset_ms += seconds * 1000
      generator.catchUp()
      delays.releaseDue()
    },
  }
  const answer = (request: Request, from: { host: PlatformHost; address: string }) => {
    generator.catchUp()
    if (isControl(new URL(request.url).pathname)) return control(CALLS, controls, request)
    const response = serveRequest(context, request, from)
    return response instanceof Promise ? response.then(withDate) : withDate(response)
  }
  const withDate = (response: Response) => dated(response, now())
  const main = listenSandbox(options, { port: options.port, host: null, answer })
  const bearer =
    options.bearer_port === undefined
      ? null
      : listenSandbox(options, { port: options.bearer_port, host: 'bearer', answer })
  const chat =
    options.chat_port === undefined
      ? null
      : listenSandbox(options, { port: options.chat_port, host: 'chat', answer })

  const stopping = new AbortController()
  const generator_run = runGenerator(options.sleep, generator, now, stopping.signal)
  const stop = async () => {
    stopping.abort()
    delays.releaseAll()
    await Promise.all([main, bearer, chat].map(async (it) => it?.server.stop(true)))
    await generator_run
  }
  return {
    ...controls,
    url: main.url,
    port: main.port,
    bearer_url:
      bearer?.url ?? (options.domain === undefined ? null : hostUrl(options, 'oauth', main.port)),
    chat_url:
      chat?.url ?? (options.domain === undefined ? null : hostUrl(options, 'chat', main.port)),
    session_cookie: SESSION_COOKIE,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Adds the Date header, by the sandbox's clock. */
export function dated(response: Response, now: number): Response {
  if (!response.headers.has('date')) response.headers.set('date', new Date(now).toUTCString())
  return response
}

const MIN_SLEEP_MS = 50

/** Runs the generator between requests. */
export async function runGenerator(
  sleep: SandboxOptions['sleep'],
  generator: ContentGenerator,
  now: () => number,
  signal: AbortSignal,
): Promise<void> {
  if (sleep === undefined || generator.due_at() === Infinity) return
  while (!signal.aborted) {
    await sleep(Math.max(MIN_SLEEP_MS, generator.due_at() - now()), signal)
    generator.catchUp()
  }
}
