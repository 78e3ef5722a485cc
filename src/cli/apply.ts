import { readFileSync } from 'node:fs'

import { resolveReferences } from '../config/references.ts'
import { createAllowed } from '../core/address.ts'
import { errorCode } from '../core/error-code.ts'
import { createWords } from '../core/wire.ts'
import { isTaken } from '../store/as-code.ts'
import { carryOut, type Made } from './code/carry-out.ts'
import { heldBy } from './code/held.ts'
import { planCustomer, type Planned, type Planning } from './code/plan.ts'
import { createProblems } from './code/problems.ts'
import { type Code, readCode } from './code/read.ts'
import { command, EXIT, JSON_OPTION, type Surroundings, UsageError } from './command.ts'
import { type Opened, withInstance } from './instance.ts'
import { plain } from './plain.ts'

export const apply = command({
  name: 'apply',
  summary: 'makes monitors and webhooks what a file declares, and shows what that changes',
  operands: ['FILE'],
  options: {
    'dry-run': { type: 'boolean', help: 'only show it' },
    prune: {
      type: 'boolean',
      help: 'remove what the file does not declare, of the customers in it',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd apply monitors.toml --dry-run',
    'forumd apply monitors.toml',
    'forumd export | ssh other forumd apply -',
  ],
  notes:
    'TOML or JSON, as forumd export writes it; - is standard input. Each is known by its id, or by its name where it has none; what is left out of one has its default. Applying it again changes nothing. All of it is written, or nothing. The secret of a new webhook is shown once. A running daemon takes it up within two seconds; that a subforum exists is seen at its first check.',
  async run({ values, operands: [file = ''], ...around }) {
    const text = await textOf(file, around)
    const { plans, made } = await withInstance(values.config, around, (opened) => {
      const code = readCode(file === '-' ? 'standard input' : file, text)
      const planned = plan(opened, around, code, values.prune)
      return { plans: planned, made: values['dry-run'] ? [] : carryOut(opened, planned) }
    })
    const shown = { plans, made, dry_run: values['dry-run'] }
    around.stdout.write(values.json ? asJson(shown) : asText(shown))
    return EXIT.done
  },
})

async function textOf(file: string, { readStdin }: Surroundings): Promise<string> {
  if (file === '-') return readStdin()
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${errorCode(error) || String(error)})`)
  }
}

function plan(opened: Opened, around: Surroundings, code: Code, prune: boolean): Planned[] {
  const { db, config } = opened
  const problems = createProblems()
  const planning = planningWith(opened, around, prune)
  const seen = new Set<string>()
  const plans = code.document.customers.flatMap((declared, index) => {
    const path = ['customers', index]
    const held = heldBy(db, declared.name, config.plans)
    if (held === null)
      problems.add(
        [...path, 'name'],
        `found ${JSON.stringify(declared.name)}, and there is no such customer`,
        `forumd customer create ${declared.name} makes one`,
      )
    else if (seen.has(declared.name))
      problems.add(
        [...path, 'name'],
        `found ${JSON.stringify(declared.name)} twice`,
        'each is declared once',
      )
    seen.add(declared.name)
    return held === null ? [] : [planCustomer(declared, held, { planning, problems, path })]
  })
  if (problems.all.length > 0) throw code.refuse(problems.all)
  return plans
}

const planningWith = (
  { db, config, random }: Opened,
  { env }: Surroundings,
  prune: boolean,
): Planning => ({
  words: createWords(config.wire),
  allowed: createAllowed(config.guard),
  mails: config.smtp.url !== '',
  readUrl: (text) => readUrl(text, env),
  isTaken: (what, id) => isTaken(db, what, id),
  newId: (prefix) => `${prefix}_${random.uuid()}`,
  prune,
})

function readUrl(text: string, env: Surroundings['env']): ReturnType<Planning['readUrl']> {
  const { value, refused } = resolveReferences(
    { url: text },
    {
      env,
      readFile: (path) => readFileSync(path, 'utf8'),
      credentials_dir: env['CREDENTIALS_DIRECTORY'] ?? null,
    },
  )
  return refused[0] ?? String(value['url'])
}

type Shown = { plans: Planned[]; made: Made[]; dry_run: boolean }

function asJson({ plans, made, dry_run }: Shown): string {
  const customers = plans.map(({ customer, steps }) => ({
    name: customer,
    steps: steps.map((step) => ({
      action: step.action,
      what: step.what,
      id: step.id,
      name: step.name,
      ...(step.action === 'change' && { fields: step.fields }),
    })),
  }))
  return `${JSON.stringify({ dry_run, customers, secrets: made })}\n`
}

const SIGNS: Partial<Record<Planned['steps'][number]['action'], string>> = {
  create: '+',
  change: '~',
  remove: '-',
  left: '?',
}

function asText({ plans, made, dry_run }: Shown): string {
  const count = (wanted: Planned['steps'][number]['action']) =>
    plans.flatMap(({ steps }) => steps).filter(({ action }) => action === wanted).length
  const lines = plans.flatMap(({ customer, steps }) => {
    const told = steps.flatMap((step) => {
      const sign = SIGNS[step.action]
      if (sign === undefined) return []
      const about = step.action === 'change' ? `  ${step.fields.join(', ')}` : ''
      const left = step.action === 'left' ? '  not in the file; --prune removes it' : ''
      return [
        `  ${sign} ${step.what} ${step.name === null ? step.id : `${plain(step.name)} (${step.id})`}${about}${left}`,
      ]
    })
    return told.length === 0 ? [] : [customer, ...told]
  })
  const secrets = made.map(({ webhook_id, name: given, secret, awaits_confirmation }) => {
    const name = plain(given ?? webhook_id)
    return awaits_confirmation
      ? `${name} waits for its reader's yes: a test delivery to it sends the mail that asks`
      : `${name} signs with ${secret}, shown this once`
  })
  const would = dry_run ? 'would be ' : ''
  const sum = `${count('create')} ${would}created, ${count('change')} ${would}changed, ${count('remove')} ${would}removed, ${count('keep')} as they were`
  return [...lines, ...secrets, sum, ''].join('\n')
}
