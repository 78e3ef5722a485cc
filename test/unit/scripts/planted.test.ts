import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { root } from '../../../scripts/bars/mutants.ts'
import { KILL_MUTANTS, SOAK_MUTANTS } from '../../../scripts/bars/planted.ts'

const planted = [...KILL_MUTANTS, ...SOAK_MUTANTS].map((it) => [it.name, it] as const)

test.each(planted)('the fault "%s" can be planted', async (_, { file, from }) => {
  const text = await Bun.file(join(root, file)).text()
  expect(text.split(from)).toHaveLength(2)
})
