// Laws of retention, for random conversations and budgets, against the naive second implementation.
import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { type RetainSource, retain } from '../../src/retain/retain.ts'
import { tagSafeJson } from '../../src/text/json-bytes.ts'
import type { ProjectedMessage } from '../../src/types.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { retainNaively } from '../support/naive-retention.ts'

/** One code point each of 1 to 4 bytes, everything JSON escapes, and what a careless cut or count trips over. */
const unit = fc.constantFrom(
  ...[
    'a',
    'b',
    ' ',
    'é',
    'ß',
    '界',
    '，',
    '🚀',
    '👩‍👩‍👧',
    '<',
    '</',
    '"',
    '\\',
    '\n',
    '\t',
    '\u0001',
    '\u001f',
    '\u007f',
  ],
  ...['\u2028', '\ufeff', '\ufffd', '\ud800', '\udbff', '\udc00', '\udfff', '\ud83d'],
)

const text = fc.oneof(
  fc.string({ unit, minLength: 1, maxLength: 12 }),
  fc.string({ unit, minLength: 1, maxLength: 60 }),
  // The digits of the omitted number change near 100.
  fc
    .tuple(fc.constantFrom('a', '<', 'é', '\ud800'), fc.integer({ min: 90, max: 150 }))
    .map(([one, times]) => one.repeat(times)),
)

const messagesOf = (anyText: fc.Arbitrary<string>, maxLength: number) =>
  fc
    .array(
      fc.record({
        role: fc.constantFrom('user' as const, 'assistant' as const),
        text: anyText,
        checkpoint: fc.boolean(),
      }),
      { maxLength },
    )
    .map((list) =>
      list.map(
        (message, seq): ProjectedMessage => ({
          ...message,
          seq,
          checkpoint: message.checkpoint && message.role === 'user',
        }),
      ),
    )

const sourceOf = (messages: fc.Arbitrary<ProjectedMessage[]>): fc.Arbitrary<RetainSource> =>
  fc.record({
    sessionId: fc.string({ unit, maxLength: 4 }),
    label: fc.string({ unit, maxLength: 4 }),
    cwd: fc.option(fc.string({ unit, maxLength: 4 })),
    capturedThroughSeq: fc.option(fc.nat()),
    messages,
  })

const source = sourceOf(messagesOf(text, 6))
const smallSource = sourceOf(messagesOf(fc.string({ unit, minLength: 1, maxLength: 30 }), 3))

/** A source with a budget anywhere from far too small to just enough; `budgetShare` 1 leaves nothing out. */
const fitted = fc.record({ source, budgetShare: fc.double({ min: 0, max: 1, noNaN: true }) }).map((given) => {
  const fullBytes = retain(given.source, Number.MAX_SAFE_INTEGER).bytes
  return { source: given.source, budgetBytes: Math.ceil(given.budgetShare * (fullBytes + 1)) }
})

function retainOrRefuse(given: RetainSource, budgetBytes: number) {
  try {
    return retain(given, budgetBytes)
  } catch (error) {
    if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_BUDGET_EXCEEDED') throw error
    expect(error.facts).toMatchObject({ sessionId: given.sessionId, budgetBytes })
    return { refused: true, neededBytes: error.facts.neededBytes }
  }
}

/** The text of a message without the omission line its cut brought in. */
function contentOf(message: string): string {
  return message.replace(/\n\[… omitted \d+ UTF-8 bytes …\]$/, '')
}

describe('retention', () => {
  it('gives what the rule says, by the naive implementation', () => {
    fc.assert(
      fc.property(fitted, ({ source: given, budgetBytes }) => {
        expect(retainOrRefuse(given, budgetBytes)).toEqual(retainNaively(given, budgetBytes))
      }),
      { numRuns: chosenOf(400, 1500) },
    )
  })

  it('gives what the rule says at every budget of small conversations', () => {
    fc.assert(
      fc.property(smallSource, (given) => {
        const { bytes } = retain(given, Number.MAX_SAFE_INTEGER)
        for (let budget = 0; budget <= bytes + 1; budget++) {
          expect(retainOrRefuse(given, budget)).toEqual(retainNaively(given, budget))
        }
      }),
      { numRuns: 20 },
    )
  })

  it('never exceeds its budget, counts its bytes exactly and holds no <', () => {
    fc.assert(
      fc.property(fitted, ({ source: given, budgetBytes }) => {
        const result = retainOrRefuse(given, budgetBytes)
        if (!('data' in result)) return
        const written = tagSafeJson(result.data)
        expect(result.bytes).toBe(Buffer.byteLength(written))
        expect(result.bytes).toBeLessThanOrEqual(budgetBytes)
        expect(written).not.toContain('<')
      }),
      { numRuns: chosenOf(600, 2000) },
    )
  })

  it('keeps and omits all bytes of all texts between them', () => {
    fc.assert(
      fc.property(fitted, ({ source: given, budgetBytes }) => {
        const result = retainOrRefuse(given, budgetBytes)
        if (!('data' in result)) return
        const { facts, data } = result
        const kept = data.conversation.reduce((sum, { text: now }) => sum + Buffer.byteLength(contentOf(now)), 0)
        const total = given.messages.reduce((sum, message) => sum + Buffer.byteLength(message.text), 0)
        expect(kept + facts.omittedBytes).toBe(total)
        expect(facts.retainedMessages).toBe(data.conversation.length)
        expect(facts.retainedMessages + facts.omittedMessages).toBe(given.messages.length)
        expect(facts.truncated).toBe(facts.omittedBytes > 0)
      }),
      { numRuns: chosenOf(600, 2000) },
    )
  })

  it('gives well-formed texts, and refuses exactly below the bytes it needs', () => {
    fc.assert(
      fc.property(fitted, ({ source: given, budgetBytes }) => {
        const result = retainOrRefuse(given, budgetBytes)
        if (!('data' in result)) {
          expect(retain(given, Number(result.neededBytes)).bytes).toBe(result.neededBytes)
          return
        }
        const { label, cwd, conversation } = result.data
        for (const written of [label, cwd ?? '', ...conversation.map((message) => message.text)]) {
          expect(written.isWellFormed()).toBe(true)
        }
      }),
      { numRuns: chosenOf(600, 2000) },
    )
  })
})
