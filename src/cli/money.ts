import { toUsd } from '../core/price.ts'
import { UsageError } from './command.ts'

const MOST_DOLLARS = 1_000_000_000

/** `12.5` as 12,500,000 micro-dollars, exactly. Throws UsageError for anything but a positive amount in decimals. */
export function parseDollars(text: string): number {
  const [, whole = '', decimals = ''] = /^(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  const micros = Number(whole) * 1_000_000 + Number(decimals.padEnd(6, '0'))
  if (whole === '' || micros === 0 || micros > MOST_DOLLARS * 1_000_000)
    throw new UsageError(
      `"${text}" is no amount: allowed are US dollars above 0 with at most 6 decimals, such as 5 or 0.25`,
    )
  return micros
}

/** Micro-dollars for a person: at least two decimals, at most six. */
export const showDollars = (micros: number): string =>
  `${toUsd(micros)
    .toFixed(6)
    .replace(/0{1,4}$/, '')} USD`
