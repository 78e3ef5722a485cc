/** The option `--seed` of a bar: another one in each run, which prints it, so that a run can be repeated. */
export const SEED = {
  type: 'string',
  default: String(Math.floor(Math.random() * 1e9)),
} as const
