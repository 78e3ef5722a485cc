import { existsSync } from 'node:fs'

import { hasMain } from '../../config/schema.ts'
import type { PlatformTools } from '../account/platform-tools.ts'
import {
  command,
  type CommandContext,
  EXIT,
  JSON_OPTION,
  type OpenConfig,
  type Stdout,
} from '../command.ts'
import { NoConfiguration, openConfig, withInstance } from '../configuration.ts'
import { explainError } from '../failures.ts'
import { openBar } from '../progress.ts'
import { isPlaceholder } from '../setup-checks.ts'
import { type OpenedPool, openPool, poolChecks } from './accounts.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'
import { browserChecks, networkChecks } from './network.ts'
import { storageChecks } from './storage.ts'
import { webhookChecks } from './webhooks.ts'

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
          `[platform].base_url is ${config.platform.base_url}, the placeholder of the example`,
          'set it to the address of your platform',
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
  const { config } = opened
  const runtime = { ...(await factories.createRuntime(config.log, stdout)), log: () => {} }
  await using tools = await factories.openPlatformTools(config, runtime)
  yield* runChecks(call, storageChecks(opened, runtime))
  yield* runChecks(call, networkChecks(config, runtime, tools))
  yield* runChecks(call, await stored(call, opened, tools))
  yield* runChecks(call, browserChecks(config, tools))
}

/** Checks of accounts and webhooks; a database that cannot be opened is reported by its own check. */
async function stored(
  call: CommandContext,
  { config, storage }: OpenConfig,
  tools: PlatformTools,
): Promise<Check[]> {
  const { pathsOf } = await import('../../store/maintenance/paths.ts')
  const { allow_anonymous } = config.pool
  // The pool belongs to the platform.
  const checksOf = (pool: OpenedPool) =>
    hasMain(config) ? poolChecks(pool, allow_anonymous, tools) : []
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
