import { describe, expect, test } from 'bun:test'

import { isHumanCheck, isLoginPage } from '../../../src/platform/pages.ts'

const LOGIN = '<form class="a" action="/account/login"><input name="p" type="password"></form>'
const CHECK = '<p>Please wait for verification</p>'
const MIB = 1024 * 1024

describe('a page', () => {
  test.each([
    ['with a form to sign in', LOGIN],
    ['by its title', '<title>Log in to go on</title>'],
    ['after half a MiB of anything less', 'x'.repeat(MIB / 2 - LOGIN.length) + LOGIN],
    ['after tags that never end', '<form <form <form action='.repeat(100) + LOGIN],
  ])('is one to sign in %s', (_, page) => {
    expect(isLoginPage(page)).toBe(true)
  })

  test.each([
    ['without a password', '<form action="/login"></form>'],
    ['that wants to see a person first', CHECK + LOGIN],
    [
      'whose form begins in one tag and ends in another',
      '<form <b action="/login"><input type="password">',
    ],
    ['whose beginning is something else', 'x'.repeat(MIB / 2) + LOGIN],
    ['of half-open tags', '<form action='.repeat(100_000)],
  ])('is none to sign in %s', (_, page) => {
    expect(isLoginPage(page)).toBe(false)
  })

  test('wants to see a person when it says so at its beginning', () => {
    expect(isHumanCheck(CHECK)).toBe(true)
    expect(isHumanCheck('x'.repeat(MIB / 2) + CHECK)).toBe(false)
  })
})
