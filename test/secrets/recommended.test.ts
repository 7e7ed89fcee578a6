// The rules of secretlint's preset as they are used here: src/secrets/recommended.ts.

import { rules } from '@secretlint/secretlint-rule-preset-recommend'
import { describe, expect, test } from 'vitest'
import { findRecommended, UNUSED_RULES, USED_RULES } from '../../src/secrets/recommended.ts'
import { INVENTED_SECRETS } from '../support/invented-secrets.ts'

const names = (rules as readonly { meta: { id: string } }[]).map(({ meta }) =>
  meta.id.replace('@secretlint/secretlint-rule-', ''),
)

describe('the preset', () => {
  test('has no rule that is neither used nor left out for a reason', () => {
    expect([...names].sort()).toEqual([...Object.keys(USED_RULES), ...Object.keys(UNUSED_RULES)].sort())
  })

  test.each(Object.entries(USED_RULES))('finds with its rule %s, and only where a literal occurs', (_rule, used) => {
    const found = INVENTED_SECRETS.filter(({ kind, secret }) => {
      const finds = findRecommended(`= ${secret} `)
      return kind === used.kind && finds.length === 1 && finds[0]?.start === 2 && finds[0].end === 2 + secret.length
    })
    expect(found.length).toBeGreaterThan(0)
    for (const { secret } of found) {
      const literal = used.literals.find((each) => secret.includes(each)) ?? ''
      expect(literal).not.toBe('')
      expect(findRecommended(`= ${secret.replace(literal, literal.toUpperCase())} `)).toEqual([])
    }
  })
})
