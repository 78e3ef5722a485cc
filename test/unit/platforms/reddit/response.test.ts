import { describe, expect, test } from 'bun:test'

import { isHumanCheck, isLoginPage } from '../../../../src/platforms/reddit/response.ts'

const LOGIN = '<form class="a" action="/account/login"><input name="p" type="password"></form>'
const CHECK = '<p>Please wait for verification</p>'
const MIB = 1024 * 1024

describe('a page', () => {
  test.each([
    ['with a form to sign in', LOGIN],
    ['by its title', '<title>Log in to go on</title>'],
    ['after half a MiB of other text', 'x'.repeat(MIB / 2 - LOGIN.length) + LOGIN],
    ['after unclosed tags', '<form <form <form action='.repeat(100) + LOGIN],
  ])('is a login page %s', (_, page) => {
    expect(isLoginPage(page)).toBe(true)
  })

  test.each([
    ['without a password', '<form action="/login"></form>'],
    ['with a human check', CHECK + LOGIN],
    [
      'with a form that begins in one tag and ends in another',
      '<form <b action="/login"><input type="password">',
    ],
    ['after more than half a MiB of other text', 'x'.repeat(MIB / 2) + LOGIN],
    ['of half-open tags', '<form action='.repeat(100_000)],
  ])('is not a login page %s', (_, page) => {
    expect(isLoginPage(page)).toBe(false)
  })

  test('is a human check if its beginning says so', () => {
    expect(isHumanCheck(CHECK)).toBe(true)
    expect(isHumanCheck('x'.repeat(MIB / 2) + CHECK)).toBe(false)
  })
})
