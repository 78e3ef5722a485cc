// Loaded before each test file: FORUMD_SEED repeats the generated cases of a failed property.
export const SEED = process.env['FORUMD_SEED']
if (SEED !== undefined) {
  const { configureGlobal } = await import('fast-check')
  configureGlobal({ seed: Number(SEED) })
}
