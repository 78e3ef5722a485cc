import { describe, expect, test } from 'bun:test'

import { newestIn } from '../../../../scripts/release/materials/changelog.ts'
import { notesOf } from '../../../../scripts/release/materials/notes.ts'

const LOG = `# Changelog

## 1.1.0 (2027-01-02)

- new

### More

- and more

## 1.0.0 (2026-11-20)

- old
`

describe('the changelog of a release', () => {
  test('is its newest section, with its day', () => {
    expect(newestIn(LOG)).toEqual({
      version: '1.1.0',
      created_at: new Date('2027-01-02T00:00:00Z'),
      text: '- new\n\n### More\n\n- and more',
    })
  })

  test('may have an empty section for future changes', () => {
    expect(newestIn(LOG.replace('## 1.1.0', '## Unreleased\n\n## 1.1.0')).version).toBe('1.1.0')
  })

  test.each([
    [
      'something unreleased',
      LOG.replace('## 1.1.0', '## Unreleased\n\n- x\n\n## 1.1.0'),
      'has entries under Unreleased',
    ],
    ['no day', LOG.replace(' (2027-01-02)', ''), ', not 1.1.0'],
    ['no section', '# Changelog\n', ', not nothing'],
  ])('is refused with %s', (_, log, reason) => {
    expect(() => newestIn(log)).toThrow(reason)
  })
})

test('the notes state for every file if it was run, and why not', () => {
  const notes = notesOf('1.1.0', '- new', [
    { file: 'a.tar.gz', bytes: 51_234_567, run: { ran: true, how: 'on this machine' } },
    { file: 'b.tar.gz', bytes: 1, run: { ran: false, how: 'no musl of that machine is here' } },
  ])

  expect(notes).toStartWith('# forumd 1.1.0\n\n- new\n')
  expect(notes).toContain('| `a.tar.gz` | 51.2 MB | yes | on this machine |')
  expect(notes).toContain('| `b.tar.gz` | 0.0 MB | **no** | no musl of that machine is here |')
})
