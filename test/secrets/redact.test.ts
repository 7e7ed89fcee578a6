// Masking, and counting what was masked: src/secrets/redact.ts.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../src/secrets/find.ts'
import { SECRET_KINDS } from '../../src/secrets/kinds.ts'
import { placeholderOf } from '../../src/secrets/placeholder.ts'
import { addCounts, countedKinds, countSecrets, redactText, totalOf } from '../../src/secrets/redact.ts'
import { INVENTED_SECRETS, invented } from '../support/invented-secrets.ts'

/** Secrets, halves of secrets, placeholders and what may stand between them. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(...INVENTED_SECRETS).map(({ shown, secret }) => shown(secret)),
    fc
      .tuple(fc.constantFrom(...INVENTED_SECRETS), fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([{ shown, secret }, share]) => shown(secret).slice(Math.floor(share * secret.length))),
    fc.constantFrom(...SECRET_KINDS).map(placeholderOf),
    fc.constantFrom(
      'password=',
      '"token": "',
      '://a:',
      '@host',
      ' ',
      '\n',
      '\\n',
      '"',
      '[redacted:',
      ']',
      '-',
      'a1',
      'Bearer ',
    ),
    fc.string(),
  ),
  { maxLength: 12 },
)

describe('a masked text', () => {
  test('holds nothing more to mask', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const { text } = redactText(parts.join(''))
        expect(findSecrets(text)).toEqual([])
        expect(redactText(text)).toEqual({ text, counts: {} })
      }),
      { numRuns: 400 },
    )
  })

  test('is the same for the same text, whatever was masked before it', () => {
    fc.assert(
      fc.property(pieces, pieces, (one, other) => {
        const first = redactText(one.join(''))
        redactText(other.join(''))
        expect(redactText(one.join(''))).toEqual(first)
      }),
      { numRuns: 100 },
    )
  })

  test('is the text itself where there is no secret', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(findSecrets(text).length === 0)
        expect(redactText(text)).toEqual({ text, counts: {} })
      }),
    )
  })

  test('tells neither length nor characters of a secret', () => {
    const short = redactText(`token glpat-${invented(20)} end`).text
    expect(redactText(`token glpat-${invented(60)} end`).text).toBe(short)
    expect(short).toBe('token [redacted:gitlab-token] end')
  })

  test('keeps what stands around a password in a URL', () => {
    expect(redactText(`postgres://app:${invented(12)}@host/db`).text).toBe(
      'postgres://app:[redacted:url-password]@host/db',
    )
  })
})

describe('counts', () => {
  const text = `ghp_${invented(36)} sk-${invented(32, '0123456789abcdef')} gho_${invented(36)}`

  test('are kept by kind', () => {
    const { counts } = redactText(text)
    expect(counts).toEqual({ 'github-token': 2, 'sk-key': 1 })
    expect(countSecrets(findSecrets(text))).toEqual(counts)
    expect(totalOf(counts)).toBe(3)
  })

  test('add up, and are read in the order of the kinds', () => {
    const sum = {}
    addCounts(sum, { 'sk-key': 2 })
    addCounts(sum, redactText(text).counts)
    expect(sum).toEqual({ 'github-token': 2, 'sk-key': 3 })
    expect(countedKinds(sum)).toEqual(['github-token', 'sk-key'])
    expect(totalOf({})).toBe(0)
  })
})
