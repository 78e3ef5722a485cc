import { createDelays } from '../faults/delays.ts'
import { type AnyFaultInput, createFaultRules } from '../faults/rules.ts'
import {
  commonCalls,
  type CommonControls,
  control,
  type ControlCalls,
  isControl,
  parseInput,
} from '../server/control-routes.ts'
import { createRequestLog } from '../server/request-log.ts'
import {
  hasFiles,
  type ParsedRequest,
  parseRequest,
  withBody,
  withFiles,
} from '../server/request.ts'
import { parseJsonFields, type SandboxResponse } from '../server/response.ts'
import { dated, type ListenOptions, listenSandbox, runGenerator } from '../server/sandbox.ts'
import { brokenResponse, HAS_BODY, toResponse } from '../server/serve.ts'
import { createRandomEvents } from '../world/generator.ts'
import { createSeededRandom } from '../world/random.ts'
import { asOf, faultsOf, sourceFaultSchema, sourceReplacement } from './faults.ts'
import type { SimulatedKind, SourceCall, SourceWorld } from './source.ts'

/** Options of a simulated platform. */
export type SimulationOptions = ListenOptions & {
  /** 0: any free port. */
  port: number
  seed: number
  /** 1: busy; 0: no generated content. */
  speed: number
  world: 'seeded' | 'empty'
  /** Epoch ms. */
  now: () => number
  /** Drives the generator and delayed responses. Without it, only `advance` and requests do. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Simulated platform of one kind. Its control calls are also routes under `/__sandbox/`.
 */
export type SourceSandbox<W> = CommonControls & {
  world: W
  /** `http://host:port`, without a final slash. */
  url: string
  port: number
  /**
   * Runs a control call of the kind, such as `post`.
   * @throws {BadControl} for invalid input
   */
  call(name: string, input: unknown): unknown
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a platform of a kind. Rejects with Bun's error if the port is in use. */
export async function startSource<W extends SourceWorld>(
  kind: SimulatedKind<W>,
  options: SimulationOptions,
): Promise<SourceSandbox<W>> {
  let clock_offset_ms = 0
  const now = () => options.now() + clock_offset_ms
  const world = kind.create(createSeededRandom(options.seed), now)
  if (options.world === 'seeded') kind.seed(world)
  const random = createSeededRandom(options.seed + 1)
  const generator = createRandomEvents({
    now,
    random,
    mean_ms: options.speed === 0 ? Infinity : kind.mean_ms / options.speed,
    addEvent: (at) => kind.addEvent(world, random, at),
    size: () => world.size(),
  })
  const fault_rules = createFaultRules<AnyFaultInput>()
  const fault_schema = sourceFaultSchema(kind.faults)
  const request_log = createRequestLog()
  const delays = createDelays(now, options.sleep)

  const controls: CommonControls & { world: W } = {
    world,
    overview: () => ({
      seed: options.seed,
      now: new Date(now()).toISOString(),
      ...kind.overview(world),
    }),
    addFault: (input) =>
      fault_rules.add(parseInput(fault_schema, input), {
        at: now(),
        serials: { post: 0, comment: 0 },
      }).id,
    clearFaults: fault_rules.clear,
    requests: request_log.entries,
    advance(seconds) {
      clock_offset_ms += seconds * 1000
      generator.catchUp()
      delays.releaseDue()
    },
  }
  const own_calls: ControlCalls<typeof controls> = Object.fromEntries(
    Object.entries(kind.controls).map(([name, { parameters, run }]) => [
      `POST /${name}`,
      { parameters, run: (_, input) => run(world, input) },
    ]),
  )
  const calls = commonCalls(faultsOf(kind.faults), own_calls)

  const respond = (parsed: ParsedRequest): Response | Promise<Response> => {
    const at = now()
    const rule = fault_rules.consume(parsed.path, parsed.search, at)
    const input = rule?.input ?? null
    const call: SourceCall<W> = {
      world,
      now: at,
      method: parsed.method,
      segments: parsed.segments,
      as_json: parsed.as_json,
      query: parsed.query,
      fields: fieldsOf(parsed),
      headers: parsed.request.headers,
      cookies: parsed.cookies,
      origin: parsed.origin,
      address: parsed.address,
      fault: input,
      as_of: asOf(input, rule?.since.at ?? at, at),
    }
    const log = (status: number) =>
      request_log.write({
        at,
        face: parsed.host,
        method: parsed.method,
        path: parsed.path,
        query: parsed.search,
        form: parsed.form,
        user_agent: parsed.request.headers.get('user-agent'),
        cookies: [...parsed.cookies.keys()],
        user: kind.userOf(call),
        status,
        fault: input?.fault ?? null,
      })
    if (input?.fault === 'reset') {
      log(0)
      return brokenResponse(null)
    }
    const answerNow = () => {
      const response = (input && sourceReplacement(input)) ?? kind.respond(call)
      log(response.status)
      if (input?.fault === 'lost_answer') return brokenResponse(null)
      if (input?.fault === 'truncated') return brokenResponse(response)
      return dated(toResponse(withoutBody(parsed, response), []), at)
    }
    if (input?.fault !== 'slow') return answerNow()
    return delays.delay((input.delay_s ?? 0) * 1000, parsed.request.signal).then(answerNow)
  }
  const main = listenSandbox(options, {
    port: options.port,
    host: null,
    answer(request, from) {
      generator.catchUp()
      if (isControl(new URL(request.url).pathname)) return control(calls, controls, request)
      const parsed = parseRequest(request, from)
      if (!HAS_BODY.has(request.method)) return respond(parsed)
      if (hasFiles(request)) return withFiles(parsed).then(respond)
      return request.text().then((body) => respond(withBody(parsed, body)))
    },
  })

  const stopping = new AbortController()
  const generator_run = runGenerator(options.sleep, generator, now, stopping.signal)
  const stop = async () => {
    stopping.abort()
    delays.releaseAll()
    await main.server.stop(true)
    await generator_run
  }
  return {
    ...controls,
    url: main.url,
    port: main.port,
    call(name, input) {
      const found = Object.hasOwn(kind.controls, name) ? kind.controls[name] : undefined
      if (found === undefined) throw new Error(`${name}: unknown control call`)
      return found.run(world, input)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Fields of a JSON body; for a form, the last value of each field. */
function fieldsOf({ body, form, query }: ParsedRequest) {
  if (form.length === 0) return parseJsonFields(body)
  return Object.fromEntries(form.map((name) => [name, query.getAll(name).at(-1)]))
}

const withoutBody = ({ method }: ParsedRequest, response: SandboxResponse): SandboxResponse =>
  method === 'HEAD' ? { ...response, body: '' } : response
