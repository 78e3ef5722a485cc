import { existsSync } from 'node:fs'

import type { Config } from '../config/schema.ts'
import { command, EXIT, JSON_OPTION, type Stdout, type Surroundings } from './command.ts'
import { readConfig } from './config-file.ts'
import type { Desk } from './desk.ts'
import { browserChecks } from './doctor/browser.ts'
import { bad, type Check, doubtful, type Finding, fine } from './doctor/finding.ts'
import { networkChecks } from './doctor/network.ts'
import { openPool, poolChecks } from './doctor/pool.ts'
import { storageChecks } from './doctor/storage.ts'
import { explain } from './failures.ts'
import { withInstance } from './instance.ts'
import { openBar } from './progress.ts'

export const doctor = command({
  name: 'doctor',
  summary: 'looks at everything that forumd needs, and says what to mend',
  options: { json: JSON_OPTION },
  examples: ['forumd doctor', 'sudo -u forumd forumd doctor --config /etc/forumd/forumd.toml'],
  notes:
    'A line each, ok, warn or fail: the configuration, the storage, the clock, names, the platform, every account and proxy, the browser, the mail server. Nothing is changed; it costs one request to the platform for each account and proxy, and three beside. Ends with 1 on any fail.',
  async run(call) {
    const { values, stdout } = call
    const findings: Finding[] = []
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

type Call = Surroundings & { values: { config: string | undefined } }

async function* examine(call: Call): AsyncGenerator<Finding> {
  const { values, env, stdout, parts } = call
  let config: Config
  try {
    const read = readConfig(values.config, { env })
    config = read.config
    yield fine('config', `${read.file} is valid`)
    for (const warning of read.warnings)
      yield doubtful('config', warning, 'see config.example.toml')
  } catch (error) {
    const { message } = explain(error)
    for (const problem of message.split('\n')) yield bad('config', problem, 'forumd check-config')
    return
  }
  const outside = { ...(await parts.createOutside(config.log, stdout)), log: () => {} }
  await using desk = await parts.openDesk(config, outside)
  yield* inTurn(call, storageChecks(config, outside))
  yield* inTurn(call, networkChecks(config, outside, desk))
  yield* inTurn(call, await pool(call, config, desk))
  yield* inTurn(call, browserChecks(config, desk))
}

/** What was found of the accounts; without a database that opens there is nothing to ask about. */
async function pool(call: Call, config: Config, desk: Desk): Promise<Check[]> {
  const { pathsOf } = await import('../store/place.ts')
  if (!existsSync(pathsOf(config.storage).db))
    return poolChecks({ accounts: [], proxies: [] }, config.pool.allow_anonymous, desk)
  try {
    const opened = await withInstance(call.values.config, call, openPool)
    return poolChecks(opened, config.pool.allow_anonymous, desk)
  } catch {
    return []
  }
}

async function* inTurn(
  { screen }: Surroundings,
  checks: readonly Check[],
): AsyncGenerator<Finding> {
  for (const [index, { title, look }] of checks.entries()) {
    const bar = openBar(screen)
    bar.show(title, checks.length === 1 ? null : index / checks.length)
    let found: Finding[]
    try {
      found = await look()
    } finally {
      bar[Symbol.dispose]()
    }
    yield* found
  }
}

const COLORS = { ok: 32, warn: 33, fail: 31 } as const
const CHECK_WIDTH = 9

function line({ check, name, verdict, found, mend }: Finding, { color }: Stdout): string {
  const word = verdict.padEnd(4)
  const painted = color ? `\u001b[${COLORS[verdict]}m${word}\u001b[0m` : word
  const head = `${painted}  ${check.padEnd(CHECK_WIDTH)} ${name === null ? '' : `${name}: `}${found}\n`
  return mend === null ? head : `${head}${' '.repeat(6 + CHECK_WIDTH)} → ${mend}\n`
}

function summary(findings: readonly Finding[]): string {
  const count = (wanted: Finding['verdict']) =>
    findings.filter(({ verdict }) => verdict === wanted).length
  return `\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} to mend\n`
}
