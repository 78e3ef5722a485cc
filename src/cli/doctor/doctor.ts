import { existsSync } from 'node:fs'

import { proxyError } from '../../api/operator/actions/pool.ts'
import { homeOf } from '../../config/schema.ts'
import { listAccounts, openAccount } from '../../store/accounts/accounts.ts'
import { listProxies, openProxy } from '../../store/accounts/proxies.ts'
import type { Db } from '../../store/db/connection.ts'
import { listFailingWebhooks } from '../../store/maintenance/metric-queries.ts'
import type { OpenedAccount as Credentials, PlatformTools } from '../account/platform-tools.ts'
import { VERDICTS } from '../account/test.ts'
import {
  command,
  type CommandContext,
  EXIT,
  JSON_OPTION,
  type OpenConfig,
  type Stdout,
} from '../command.ts'
import {
  configWithSources,
  NoConfiguration,
  openConfig,
  type OpenInstance,
  withInstance,
} from '../configuration.ts'
import { explainError } from '../failures.ts'
import { openBar } from '../progress.ts'
import { isPlaceholder } from '../setup-checks.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'
import { browserChecks, networkChecks } from './network.ts'
import { storageChecks } from './storage.ts'

export const doctor = command({
  name: 'doctor',
  summary: 'checks the installation, with a fix for each problem',
  options: { json: JSON_OPTION },
  examples: ['forumd doctor', 'sudo -u forumd forumd doctor --config /etc/forumd/forumd.toml'],
  notes:
    'Prints one line per check, with ok, warn or fail: configuration, storage, host names, platform, every source, clock, failing webhooks, every account and proxy, browser, mail server. Changes nothing (a file is written to the data folder and removed again); sends one request to the platform for each account and proxy, and three more; to each source at most five. Exit code 1 on any fail.',
  async run(call) {
    const { values, stdout } = call
    const findings: CheckResult[] = []
    for await (const finding of examine(call)) {
      findings.push(finding)
      if (!values.json) stdout.write(line(finding, stdout))
    }
    const failed = findings.some(({ verdict }) => verdict === 'fail')
    stdout.write(
      values.json ? `${JSON.stringify({ ok: !failed, checks: findings })}\n` : summary(findings),
    )
    return failed ? EXIT.failed : EXIT.done
  },
})

async function* examine(call: CommandContext): AsyncGenerator<CheckResult> {
  const { stdout, factories } = call
  let opened: OpenConfig
  try {
    opened = openConfig(call, { create: false })
    const { config, file } = opened
    yield isPlaceholder(config)
      ? bad(
          'config',
          'the base_url of a source is the placeholder of the example',
          'set it to the address of your site',
        )
      : fine('config', `${file} is valid`)
    for (const warning of opened.warnings)
      yield doubtful('config', warning, 'see config.example.toml')
  } catch (error) {
    const { message } = explainError(error)
    const fix = error instanceof NoConfiguration ? 'forumd init' : 'forumd check-config'
    for (const problem of message.split('\n')) yield bad('config', problem, fix)
    return
  }
  // A database that cannot be opened is reported by its own check.
  const config = await configWithSources(call).catch(() => opened.config)
  const runtime = { ...(await factories.createRuntime(config.log, stdout)), log: () => {} }
  await using tools = await factories.openPlatformTools(config, runtime)
  yield* runChecks(call, storageChecks(opened, runtime))
  yield* runChecks(call, networkChecks(config, runtime, tools))
  yield* runChecks(call, await stored(call, { ...opened, config }, tools))
  yield* runChecks(call, browserChecks(config, tools))
}

/** Checks of accounts and webhooks; a database that cannot be opened is reported by its own check. */
async function stored(
  call: CommandContext,
  { config, storage }: OpenConfig,
  tools: PlatformTools,
): Promise<Check[]> {
  const { pathsOf } = await import('../../store/maintenance/paths.ts')
  const home = homeOf(config)
  const checksOf = (pool: OpenedPool) =>
    home === null ? [] : poolChecks(pool, home.accounts.allow_anonymous, tools)
  if (!existsSync(pathsOf(storage).db)) return checksOf({ accounts: [], proxies: [] })
  try {
    return await withInstance(call, (instance) => [
      ...webhookChecks(instance.db),
      ...checksOf(openPool(instance)),
    ])
  } catch {
    return []
  }
}

async function* runChecks(
  { screen }: CommandContext,
  checks: readonly Check[],
): AsyncGenerator<CheckResult> {
  for (const [index, { title, run }] of checks.entries()) {
    const bar = openBar(screen)
    bar.update(title, checks.length === 1 ? null : index / checks.length)
    let found: CheckResult[]
    try {
      found = await run()
    } finally {
      bar[Symbol.dispose]()
    }
    yield* found
  }
}

const COLORS = { ok: 32, warn: 33, fail: 31 } as const
const CHECK_WIDTH = 9

function line({ check, name, verdict, found, fix }: CheckResult, { color }: Stdout): string {
  const word = verdict.padEnd(4)
  const painted = color ? `\u001b[${COLORS[verdict]}m${word}\u001b[0m` : word
  const head = `${painted}  ${check.padEnd(CHECK_WIDTH)} ${name === null ? '' : `${name}: `}${found}\n`
  return fix === null ? head : `${head}${' '.repeat(6 + CHECK_WIDTH)} → ${fix}\n`
}

function summary(findings: readonly CheckResult[]): string {
  const count = (wanted: CheckResult['verdict']) =>
    findings.filter(({ verdict }) => verdict === wanted).length
  return `\n${count('ok')} ok, ${count('warn')} ${count('warn') === 1 ? 'warning' : 'warnings'}, ${count('fail')} failed\n`
}

const LISTED_MAX = 10

function webhookChecks(db: Db): Check[] {
  const { count, failing } = listFailingWebhooks(db)
  return [{ title: 'checking webhooks', run: () => webhookResults(count, failing) }]
}

type Failing = ReturnType<typeof listFailingWebhooks>['failing']

function webhookResults(count: number, failing: Failing): CheckResult[] {
  if (count === 0) return []
  if (failing.length === 0)
    return [
      fine('webhooks', count === 1 ? '1 webhook, none fails' : `${count} webhooks, none fails`),
    ]
  const more = failing.length - LISTED_MAX
  return [
    ...failing.slice(0, LISTED_MAX).map((it) => {
      const of = `${it.id} of ${it.customer}`
      if (it.pause_reason !== null)
        return doubtful(
          'webhook',
          it.pause_reason === 'gone'
            ? 'it is paused: its receiver answered 410'
            : 'it is paused: no delivery succeeded for a week',
          'fix the receiver, then call webhook/test and run forumd deliveries redrive',
          of,
        )
      return doubtful(
        'webhook',
        `its deliveries fail (${it.last_error ?? 'unknown'}), ${it.waiting} pending`,
        'check its receiver; GET why?delivery_id=… shows its responses',
        of,
      )
    }),
    ...(more > 0 ? [doubtful('webhook', `${more} more fail`, 'see /dashboard, Webhooks')] : []),
  ]
}

/** Accounts and proxies of the pool, decrypted, for checks without the database. */
type OpenedPool = {
  accounts: { name: string; source: string; paused: boolean; credentials: Credentials }[]
  proxies: { name: string; proxy: NonNullable<ReturnType<typeof openProxy>> }[]
}

function openPool({ db, ring }: OpenInstance): OpenedPool {
  return {
    accounts: listAccounts(db).flatMap(({ id, name, source, state, proxy_id }) => {
      const opened = openAccount(db, ring, id)
      const proxy = proxy_id === null ? null : openProxy(db, ring, proxy_id)
      return opened
        ? [{ name, source, paused: state === 'paused', credentials: { ...opened, proxy } }]
        : []
    }),
    proxies: listProxies(db).flatMap(({ id, name }) => {
      const proxy = openProxy(db, ring, id)
      return proxy ? [{ name, proxy }] : []
    }),
  }
}

/** One request by each proxy and each account, one after another: several at once may get them blocked. */
function poolChecks(
  { accounts, proxies }: OpenedPool,
  allow_anonymous: boolean,
  tools: PlatformTools,
): Check[] {
  const noAccounts = { title: 'checking the pool', run: () => [emptyPool(allow_anonymous)] }
  return [
    ...(accounts.length === 0 ? [noAccounts] : []),
    ...proxies.map(({ name, proxy }) => ({
      title: `checking proxy ${name}`,
      run: async () => [proxyOf(name, proxyError(await tools.tryProxy(proxy)))],
    })),
    ...accounts.map(({ name, source, paused, credentials }) => ({
      title: `checking the session of ${name}`,
      run: async () => [await accountOf(name, paused, () => tools.test(credentials, source))],
    })),
  ]
}

const ADD = 'add one: forumd account add NAME --jar FILE'

const emptyPool = (allow_anonymous: boolean): CheckResult =>
  allow_anonymous
    ? fine('accounts', 'none: reads are anonymous, at the rate limit of one address')
    : bad(
        'accounts',
        'none, and allow_anonymous of [source.accounts] is false: no read is possible',
        ADD,
      )

const proxyOf = (name: string, trouble: string | null): CheckResult =>
  trouble === null
    ? fine('proxy', 'the platform answers through it', name)
    : bad(
        'proxy',
        `it fails: ${trouble}`,
        `check its address and credentials: forumd proxy test ${name}`,
        name,
      )

async function accountOf(
  name: string,
  paused: boolean,
  test: () => ReturnType<PlatformTools['test']>,
): Promise<CheckResult> {
  if (paused) return doubtful('account', 'it is paused', `forumd account resume ${name}`, name)
  const { finding, username } = await test()
  const { word, means } = VERDICTS[finding.kind]
  switch (finding.kind) {
    case 'alive':
      return fine('account', username === null ? 'signed in' : `signed in as ${username}`, name)
    case 'throttled':
    case 'unclear':
      return doubtful('account', word, means, name)
    case 'logged_out':
      return bad('account', 'its session is no longer valid', `forumd account login ${name}`, name)
    case 'suspended':
    case 'locked':
    case 'blocked':
      return bad('account', word, means, name)
  }
}
