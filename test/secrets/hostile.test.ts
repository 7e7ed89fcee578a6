// Texts of 1 MB that are made to keep a pattern busy. Work that grows with the square of a text would run for hours: the
// time limit of a test is all that is needed to see it.

import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../src/secrets/find.ts'
import { INNER_PATTERNS, TOKEN_PATTERNS } from '../../src/secrets/patterns.ts'
import { findRecommended, USED_RULES } from '../../src/secrets/recommended.ts'

const MEGABYTE = 1024 * 1024
const TIME_LIMIT = 60_000

const filled = (piece: string) => piece.repeat(Math.ceil(MEGABYTE / piece.length)).slice(0, MEGABYTE)

/** What stands before and after the literal of a pattern until 1 MB is full: much that it takes, and nothing it ends with. */
const TAILS = ['-', `${'a1B2'.repeat(60)} `, `${'a1_-'.repeat(600)}!`]

const escaped = (literal: string) => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

describe('1 MB', () => {
  test.each(TOKEN_PATTERNS.map(({ literal, rest }) => [literal, rest]))(
    'of %s and what %s takes is searched',
    (literal, rest) => {
      const pattern = new RegExp(escaped(literal) + rest, 'g')
      for (const tail of TAILS) expect(filled(literal + tail).match(pattern)?.length ?? 0).toBeLessThan(MEGABYTE)
    },
    TIME_LIMIT,
  )

  test.each(INNER_PATTERNS.map(({ literal, pattern }) => [literal, pattern] as const))(
    'of %s and what %s takes is searched',
    (literal, pattern) => {
      for (const tail of TAILS) expect(filled(literal + tail).match(pattern)?.length ?? 0).toBeLessThan(MEGABYTE)
    },
    TIME_LIMIT,
  )

  test.each(Object.entries(USED_RULES))(
    'of what the rule %s looks for is searched',
    (_rule, { literals }) => {
      for (const tail of TAILS) expect(findRecommended(filled(literals[0] + tail)).length).toBeLessThan(MEGABYTE)
    },
    TIME_LIMIT,
  )

  test.each([
    ['spaces after a name', `password${filled(' ')}`],
    ['spaces after a quoted name', filled(`"api_key"${' '.repeat(60)}`)],
    ['names', filled('secret_key_')],
    ['names with a sign', filled('token=')],
    ['names with a colon and spaces', filled('password:        ')],
    ['one value', `password=${filled('a1')}`],
    ['one quoted value', `password="${filled('a1')}`],
    ['values with escapes', `password="${filled('\\"')}`],
    ['backslashes', filled('\\')],
    ['per cent signs', filled('%41')],
    ['escapes of a terminal', filled('\u001b[31')],
    ['bare escapes', filled('\u001b[')],
    ['users of a URL', filled('://a:')],
    ['a URL with many signs', `://a:${filled('b@')}`],
    ['curl without a password', filled('curl -u ')],
    ['curl with its options on', filled('curl \\\n -s ')],
    ['sshpass', filled('sshpass -p ')],
    ['dots after three parts', filled('eyJaaaaaaaa.')],
    ['parts of a token of Slack', `xoxb-${filled('a-')}`],
    ['parts of a token of Slack that ends wrong', filled('xoxb-a_')],
    ['dashes', filled('-')],
    ['beginnings of keys', filled('-----BEGIN RSA PRIVATE KEY-----\n')],
    ['ends of keys', filled('-----END RSA PRIVATE KEY-----\n')],
    ['keys without an end', filled(`-----BEGIN PRIVATE KEY-----\n${'MIIEabcd'.repeat(8)}\n`)],
    ['one key without an end', `-----BEGIN PRIVATE KEY-----\n${filled(`${'MIIEabcd'.repeat(8)}\n`)}`],
    ['one line of a key', `-----BEGIN PRIVATE KEY-----\n${filled('MIIEabcd')}`],
    ['spaces in a key', `-----BEGIN PRIVATE KEY-----${filled('\n')}`],
    ['lines before an end', `${filled(`${'MIIEabcd'.repeat(8)}\n`)}-----END PRIVATE KEY-----`],
    ['headers of a key', `-----BEGIN PRIVATE KEY-----\n${filled('Version: a\n')}`],
    ['halves of a marker', filled('-----BEGIN A B C D ')],
    ['placeholders', filled('[redacted:jwt]')],
    ['placeholders and names', filled('password=[redacted:jwt]')],
    ['openings of placeholders', filled('[redacted:')],
    ['base64', filled('aB3/xZ9+')],
    ['words of Discord', filled(`M${'a'.repeat(25)}.`)],
    ['wide characters', filled('密钥：')],
  ])(
    'of %s is scanned',
    (_name, text) => {
      expect(Array.isArray(findSecrets(text))).toBe(true)
    },
    TIME_LIMIT,
  )
})
