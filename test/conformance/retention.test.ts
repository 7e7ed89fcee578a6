// Retention against the reference service: single logs at every budget.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { type RetainSource, retain } from '../../src/retain/retain.ts'
import { tagSafeJson } from '../../src/text/json-bytes.ts'
import type { ProjectedMessage, RetentionFacts } from '../../src/types.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { retainNaively } from '../support/naive-retention.ts'

interface Outcome {
  readonly budget: number
  readonly data?: string
  readonly stats?: RetentionFacts
  readonly error?: string
}

interface Sweep {
  readonly name: string
  readonly input: {
    readonly sources: readonly [string]
    readonly references: readonly { readonly sessionId: string }[]
  }
  readonly expected: readonly Outcome[]
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: readonly { readonly text: string }[]
  readonly source: { readonly plugin?: string }
}

/** The source in a log of nothing but appended messages of the user, the assistant and compaction, one text block each. */
function sourceOf(log: string): RetainSource {
  const [header, ...rows] = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const messages = rows.map(({ type, seq, data }): ProjectedMessage => {
    const { role, content, source }: Message = type === 'user/message' ? data : data.message
    return { seq, role, text: content.map((block) => block.text).join('\n'), checkpoint: source.plugin === 'compact' }
  })
  const capturedThroughSeq: number | null = rows.at(-1)?.seq ?? null
  return { sessionId: header.id, label: header.id, cwd: header.cwd ?? null, capturedThroughSeq, messages }
}

function outcomeOf(source: RetainSource, budget: number): Outcome {
  try {
    const { data, facts } = retain(source, budget)
    return { budget, data: tagSafeJson(data), stats: facts }
  } catch (error) {
    if (error instanceof DshRefError) return { budget, error: error.code }
    throw error
  }
}

function naiveOutcomeOf(source: RetainSource, budget: number, habits?: Parameters<typeof retainNaively>[2]): Outcome {
  const result = retainNaively(source, budget, habits)
  if ('refused' in result) return { budget, error: 'SESSION_REFERENCE_BUDGET_EXCEEDED' }
  return { budget, data: tagSafeJson(result.data), stats: result.facts }
}

describe.skipIf(CONFORMANCE === undefined)('retention of the service (skipped without the conformance folder)', () => {
  const ran = { sweeps: 0, budgets: 0, deviating: 0 }
  afterAll(() => {
    process.stdout.write(
      `retention ran ${ran.sweeps} sweeps of ${ran.budgets} budgets, ${ran.deviating} of them where dsh-ref deviates\n`,
    )
  })

  const sweeps: Sweep[] = CONFORMANCE
    ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', 'retention.json'), 'utf8'))
    : []
  for (const { name, input, expected } of sweeps) {
    const source = sourceOf(input.sources[0])
    const deviates = source.messages.some(({ text }) => !text.isWellFormed() || text.includes('\ufeff'))

    it(`${name}: gives what the service gives at every budget`, () => {
      ran.sweeps += 1
      for (const outcome of expected) {
        ran.budgets += 1
        const result = outcomeOf(source, outcome.budget)
        if (!deviates) {
          expect(result).toEqual(outcome)
          continue
        }
        // These sweeps are plain results of the service. So the naive implementation has to give them with the habits of
        // the service, and without those is what retention has to give.
        const habits = { keepsLoneSurrogates: true, losesByteOrderMarks: true }
        expect(naiveOutcomeOf(source, outcome.budget, habits)).toEqual(outcome)
        expect(result).toEqual(naiveOutcomeOf(source, outcome.budget))
        if (result.data !== outcome.data) ran.deviating += 1
      }
    })
  }
})
