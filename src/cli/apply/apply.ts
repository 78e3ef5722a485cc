import { readFileSync } from 'node:fs'

import { stringify } from 'smol-toml'

import { customerOf } from '../../api/operator/actions/customers.ts'
import { furtherOf, sourceWords } from '../../config/schema.ts'
import { createAllowed } from '../../core/base/address.ts'
import { errorCode } from '../../core/base/errors.ts'
import { createNaming } from '../../core/forum/naming.ts'
import { judgeSlots } from '../../core/limits/plan.ts'
import { measurePattern, PATTERN_COST_MAX_MS } from '../../core/pattern/cost.ts'
import { listCustomers } from '../../store/customers/customers.ts'
import { isTaken } from '../../store/delivery/webhooks.ts'
import { command, type CommandContext, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import {
  configWithSources,
  type OpenInstance,
  withInstance,
  withPlatformTools,
} from '../configuration.ts'
import { escapeControl } from '../output.ts'
import { applySteps, type NewSecret } from './apply-steps.ts'
import {
  type CurrentState,
  currentStateOf,
  type Document,
  type ParsedDocument,
  parseDocument,
  toDocument,
} from './document.ts'
import {
  createProblems,
  type CustomerPlan,
  type DocumentPath,
  type PlanContext,
  planMonitors,
  planWebhooks,
  type Problems,
  urlFrom,
} from './plan.ts'
import { changeLine } from './values.ts'

/** Plans the steps for one customer; adds a problem for everything that prevents them. */
export function planCustomer(
  declared: Document['customers'][number],
  current: CurrentState,
  { planning, problems, path }: { planning: PlanContext; problems: Problems; path: DocumentPath },
): CustomerPlan {
  const webhooks = planWebhooks(declared.webhooks, current, {
    planning,
    problems,
    path: [...path, 'webhooks'],
  })
  const monitors = planMonitors(declared.monitors, current, webhooks.references, {
    planning,
    problems,
    path: [...path, 'monitors'],
  })
  checkSlots(current, monitors, (found, allowed) =>
    problems.add([...path, 'monitors'], found, allowed),
  )
  return { customer: current.customer.name, steps: [...webhooks.steps, ...monitors.steps] }
}

function checkSlots(
  { customer, plan: limits, slots }: CurrentState,
  { added }: { added: { used: number; sitewide_used: number } },
  refuse: (found: string, allowed: string) => void,
) {
  if (added.used <= 0 && added.sitewide_used <= 0) return
  if (limits === null)
    return refuse(
      `the plan ${customer.plan} of ${customer.name} is not in the configuration`,
      'choose another plan: forumd customer set-plan',
    )
  const refusal = judgeSlots(limits, slots, added)
  if (refusal === null) return
  const what = refusal.code === 'monitor_slots_exhausted' ? 'monitors' : 'site-wide monitors'
  refuse(
    `more ${what} than the plan ${customer.plan} allows`,
    `allowed: ${refusal.limit}, or a larger plan: forumd customer set-plan`,
  )
}

export const apply = command({
  name: 'apply',
  summary: 'makes monitors and webhooks as a file declares them',
  operands: ['FILE'],
  options: {
    'dry-run': {
      type: 'boolean',
      help: 'print the changes, with old and new values, without applying them',
    },
    prune: {
      type: 'boolean',
      help: 'for customers in the file: remove monitors and webhooks that it does not declare',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd apply monitors.toml --dry-run',
    'forumd apply monitors.toml',
    'forumd export | ssh other forumd apply -',
  ],
  notes:
    'FILE is TOML or JSON as printed by forumd export; - is standard input. Monitors and webhooks are identified by id, or by name when the id is omitted; an omitted field has its default. Applying a file again changes nothing. All changes are written in one transaction. The secret of a new webhook is printed once. A running daemon applies the changes within two seconds; a subforum is verified at its first check.',
  async run({ values, operands: [file = ''], ...context }) {
    const text = await textOf(file, context)
    const sources = await watchableSources(context)
    const reads = new Set<string>()
    const { plans, made: new_secrets } = await withInstance(context, (opened) => {
      const code = parseDocument(file === '-' ? 'standard input' : file, text)
      const planned = plan(opened, context, code, { prune: values.prune, sources, reads })
      return { plans: planned, made: values['dry-run'] ? [] : applySteps(opened, planned) }
    })
    const summary = { plans, made: new_secrets, reads, dry_run: values['dry-run'] }
    context.stdout.write(values.json ? asJson(summary) : asText(summary))
    return EXIT.done
  },
})

/** The rules of the configured sources for names of places. Nothing is requested. */
async function watchableSources(context: CommandContext): Promise<PlanContext['sources']> {
  const all = await configWithSources(context)
  if (furtherOf(all).length === 0) return new Map()
  return withPlatformTools(context, (tools) => tools.watchableSources(), {
    for_accounts: false,
    all,
  })
}

async function textOf(file: string, { readStdin }: CommandContext): Promise<string> {
  if (file === '-') return readStdin()
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${errorCode(error) || String(error)})`)
  }
}

function plan(
  opened: OpenInstance,
  context: CommandContext,
  code: ParsedDocument,
  rules: Pick<PlanContext, 'prune' | 'sources'> & { reads: Set<string> },
): CustomerPlan[] {
  const { db, config } = opened
  const problems = createProblems()
  const planning = planningWith(opened, context, rules)
  const seen = new Set<string>()
  const plans = code.document.customers.flatMap((declared, index) => {
    const path = ['customers', index]
    const current = currentStateOf(db, declared.name, config.plans)
    if (current === null)
      problems.add(
        [...path, 'name'],
        `found ${JSON.stringify(declared.name)}, which is not a customer`,
        `create it with forumd customer create ${declared.name}`,
      )
    else if (seen.has(declared.name))
      problems.add(
        [...path, 'name'],
        `found ${JSON.stringify(declared.name)} twice`,
        'allowed: one declaration of each',
      )
    seen.add(declared.name)
    return current === null ? [] : [planCustomer(declared, current, { planning, problems, path })]
  })
  if (problems.all.length > 0) throw code.refuse(problems.all)
  return plans
}

/** Processor time of this thread, ms: what else runs on the machine makes no pattern expensive. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Measures each pattern once, by processor time. */
function createAffords(): PlanContext['affords'] {
  const measured = new Map<string, boolean>()
  return (pattern, case_sensitive) => {
    const key = `${case_sensitive ? '=' : '~'}${pattern}`
    const known = measured.get(key)
    if (known !== undefined) return known
    const affordable = measurePattern(pattern, case_sensitive, cpuMs) <= PATTERN_COST_MAX_MS
    measured.set(key, affordable)
    return affordable
  }
}

const planningWith = (
  { db, config, random }: OpenInstance,
  { env }: CommandContext,
  { reads, ...rules }: Pick<PlanContext, 'prune' | 'sources'> & { reads: Set<string> },
): PlanContext => ({
  ...rules,
  words: createNaming(config.wire, sourceWords(config)),
  allowed: createAllowed(config.guard),
  mails: config.smtp.url !== '',
  readUrl(text) {
    if (/^(env|file):/.test(text)) reads.add(text)
    return urlFrom(text, env)
  },
  isTaken: (what, id) => isTaken(db, what, id),
  affords: createAffords(),
  has_model: config.relevance.base_url !== '',
  newId: (prefix) => `${prefix}_${random.uuid()}`,
})

/** `reads`: the files and variables that the document has made this command read, such as `file:/path`. */
type ApplySummary = {
  plans: CustomerPlan[]
  made: NewSecret[]
  reads: ReadonlySet<string>
  dry_run: boolean
}

function asJson({ plans, made: new_secrets, reads, dry_run }: ApplySummary): string {
  const customers = plans.map(({ customer, steps }) => ({
    name: customer,
    steps: steps.map((step) => ({
      action: step.action,
      what: step.what,
      id: step.id,
      name: step.name,
      ...(step.action === 'change' && { fields: step.fields }),
      ...('changes' in step && { changes: step.changes }),
    })),
  }))
  return `${JSON.stringify({ dry_run, customers, secrets: new_secrets, reads: [...reads] })}\n`
}

const SIGNS: Partial<Record<CustomerPlan['steps'][number]['action'], string>> = {
  create: '+',
  change: '~',
  remove: '-',
  left: '?',
}

function asText({ plans, made: new_secrets, reads, dry_run }: ApplySummary): string {
  const count = (wanted: CustomerPlan['steps'][number]['action']) =>
    plans.flatMap(({ steps }) => steps).filter(({ action }) => action === wanted).length
  const lines = plans.flatMap(({ customer, steps }) => {
    const changes = steps.flatMap((step) => {
      const sign = SIGNS[step.action]
      if (sign === undefined) return []
      const about = step.action === 'change' && !dry_run ? `  ${step.fields.join(', ')}` : ''
      const left = step.action === 'left' ? '  not in the file; --prune removes it' : ''
      const values = dry_run && 'changes' in step ? step.changes : []
      return [
        `  ${sign} ${step.what} ${step.name === null ? step.id : `${escapeControl(step.name)} (${step.id})`}${about}${left}`,
        ...values.map((it) => `      ${changeLine(it, step.action === 'create')}`),
      ]
    })
    return changes.length === 0 ? [] : [customer, ...changes]
  })
  const secrets = new_secrets.map(({ webhook_id, name: given, secret, awaits_confirmation }) => {
    const name = escapeControl(given ?? webhook_id)
    return awaits_confirmation
      ? `${name} is waiting for confirmation: a test delivery sends the mail that asks for it`
      : `${name} signs with ${secret}, printed once`
  })
  const would = dry_run ? 'would be ' : ''
  const sum = `${count('create')} ${would}created, ${count('change')} ${would}changed, ${count('remove')} ${would}removed, ${count('keep')} unchanged`
  const read = dry_run ? [...reads].map((it) => `reads ${escapeControl(it)}`) : []
  return [...lines, ...secrets, ...read, sum, ''].join('\n')
}

const HEAD = `# Monitors and webhooks, written by \`forumd export\`. Apply them with \`forumd apply FILE\`.
# Secrets are omitted. The url of a chat service, or a url with a query, is a secret too: where it is missing, write it as
# "env:NAME" or "file:/path" to apply this file to another installation. That also asks for the variables of username and
# token; this one keeps what it has stored.

`

export const exportDocument = command({
  name: 'export',
  summary: 'prints monitors and webhooks as a file for apply',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    json: { type: 'boolean', help: 'print JSON (default: TOML)' },
  },
  examples: ['forumd export > monitors.toml', 'forumd export --customer acme --json'],
  notes:
    'Secrets are omitted. Ids are included, so that applying the file updates instead of duplicating.',
  async run({ values, ...context }) {
    const document = await withInstance(context, ({ db, config }) => {
      const { customer } = values
      const wanted = customer === undefined ? listCustomers(db) : [customerOf(db, customer)]
      const states = wanted.flatMap(({ name }) => currentStateOf(db, name, config.plans) ?? [])
      return toDocument(states, createNaming(config.wire, sourceWords(config)))
    })
    context.stdout.write(
      values.json ? `${JSON.stringify(document, null, 2)}\n` : `${HEAD}${stringify(document)}\n`,
    )
    return EXIT.done
  },
})
