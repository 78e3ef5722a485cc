/** Reads of customers, as commands show them. */
import { iso } from '../../../core/base/time.ts'
import { bucketed, formatUsd, toUsd } from '../../../core/limits/price.ts'
import { listKeys } from '../../../store/customers/keys.ts'
import { listUsage, sumUsage } from '../../../store/customers/ledger.ts'
import type { Db } from '../../../store/db/connection.ts'
import { listWebhooks } from '../../../store/delivery/webhooks.ts'
import { countPending, listCustomerSummaries } from '../../../store/maintenance/counts.ts'
import { listMonitors } from '../../../store/monitoring/monitors.ts'
import { hostOf, readProblems, toProblemReport } from '../../account/problems.ts'
import { action } from '../action.ts'
import { customerOf, toRow } from './customers.ts'

const DAY_MS = 86_400_000
const CUSTOMERS_MAX = 1000
const PENDING_MAX = 10_000
const USAGE_DAYS = 30

const balanceOf = (it: { unlimited: boolean; credits_remaining: number }): string =>
  it.unlimited ? 'unlimited' : formatUsd(it.credits_remaining)

export const list = action({
  command: 'customer list',
  summary: 'lists customers',
  route: 'GET /customers',
  operands: [],
  examples: ['forumd customer list', 'forumd customer list --json | jq .customers'],
  run: ({ db, clock }) => customerList(db, clock.now()),
  print: ({ customers }: ReturnType<typeof customerList>) => ({
    rows: customers.map((it) => ({
      name: it.name,
      plan: it.plan,
      balance: balanceOf(it),
      created_at: it.created_at,
      id: it.id,
    })),
    none: 'There is no customer yet: create one with its key by forumd key create --customer NAME.',
  }),
})

function customerList(db: Db, now: number) {
  const rows = listCustomerSummaries(db, now - DAY_MS, CUSTOMERS_MAX + 1)
  return {
    customers: rows
      .slice(0, CUSTOMERS_MAX)
      .map(({ balance_micros, unlimited, created_at, requests, ...row }) => ({
        ...row,
        credits_remaining: toUsd(balance_micros),
        unlimited: unlimited === 1,
        created_at: iso(created_at),
        requests_24h: requests,
      })),
    truncated: rows.length > CUSTOMERS_MAX,
  }
}

export const show = action<{ customer: string }>({
  command: 'customer show',
  summary: 'shows one customer: plan, balance, usage, keys',
  route: 'GET /customers/:customer',
  operands: ['customer'],
  examples: ['forumd customer show acme'],
  run: ({ db, words, clock, view, input }) =>
    oneCustomer(db, input.customer, { home: words.home, now: clock.now(), view }),
  print: (it: ReturnType<typeof oneCustomer>) => ({
    name: it.name,
    id: it.id,
    plan: it.plan,
    balance: balanceOf(it),
    used: formatUsd(it.credits_used),
    requests: it.total_requests,
    'open keys': it.keys.length,
    created_at: it.created_at,
  }),
})

/** A customer with everything that is its own, without secrets: of an address the host, of a key the prefix. */
function oneCustomer(db: Db, named: string, at: Parameters<typeof readProblems>[2]) {
  const { now } = at
  const customer = customerOf(db, named)
  const { id } = customer
  const used = sumUsage(db, id)
  return {
    ...toRow(customer),
    credits_used: toUsd(used.cost_micros),
    total_requests: used.calls,
    deliveries: countPending(db, id, PENDING_MAX),
    report: toProblemReport(readProblems(db, id, at)),
    usage: bucketed(listUsage(db, id, now - USAGE_DAYS * DAY_MS, now), 'day').usage,
    keys: listKeys(db, id)
      .filter(({ revoked_at }) => revoked_at === null)
      .map((key) => ({
        id: key.id,
        name: key.name,
        prefix: key.prefix,
        scopes: key.scopes,
        created_at: iso(key.created_at),
        expires_at: iso(key.expires_at),
        last_used_at: iso(key.last_used_at),
      })),
    monitors: listMonitors(db, id).map((monitor) => ({
      id: monitor.id,
      name: monitor.name,
      active: monitor.active,
      pause_reason: monitor.pause_reason,
      cadence_s: monitor.cadence_s,
      created_at: iso(monitor.created_at),
      last_match_at: iso(monitor.last_match_at),
    })),
    webhooks: listWebhooks(db, id).map((webhook) => ({
      id: webhook.id,
      name: webhook.name,
      kind: webhook.kind,
      host: hostOf(webhook.url),
      active: webhook.active,
      paused_at: iso(webhook.paused_at),
      pause_reason: webhook.pause_reason,
      created_at: iso(webhook.created_at),
    })),
  }
}
