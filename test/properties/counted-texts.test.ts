// The law of counted texts: what retention keeps and counts does not depend on whether the texts it drops were read.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { readSurface, type SurfaceOptions } from '../../src/fold/surface.ts'
import { project, turnsWithoutText } from '../../src/project/project.ts'
import { retain } from '../../src/retain/retain.ts'
import { type MadeVersion, makeLog, mutate, randomShape } from '../support/log-maker.ts'
import { logOf, user } from '../support/rows.ts'

const RUNS = 1000
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const versions = fc.constantFrom<MadeVersion>(0, 1, 2, 3, 4)

/** What a budget leaves of a log, and what is reported of it; or the refusal. */
async function retained(log: Uint8Array, budgetBytes: number, options: SurfaceOptions): Promise<unknown> {
  async function* bytes() {
    yield log
  }
  try {
    const source = { kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' } as const
    const { messages, nodes, issues } = await readSurface(source, { texts: 'conversation', ...options })
    const from = { sessionId: 's', label: 's', cwd: null, capturedThroughSeq: 0 }
    const textless = turnsWithoutText(messages)
    return { nodes, issues, textless, ...retain({ ...from, messages: project(messages).messages }, budgetBytes) }
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return { code: error.code, message: error.message, facts: error.facts }
  }
}

test('a log is retained the same whether the texts beyond the budget are read or counted', async () => {
  const budgets = fc.integer({ min: 60, max: 3000 })
  let truncated = 0
  await fc.assert(
    fc.asyncProperty(seeds, versions, budgets, fc.boolean(), async (seed, version, budget, isMutated) => {
      const made = makeLog(seed, randomShape(seed, version)).text()
      const log = isMutated ? mutate(seed, made).bytes : made
      const read = await retained(log, budget, {})
      if ((read as { facts?: { truncated?: boolean } }).facts?.truncated) truncated++
      expect(await retained(log, budget, { enoughBytes: budget })).toEqual(read)
      expect(await retained(log, budget, { enoughBytes: budget, roomyBytes: 0 })).toEqual(read)
    }),
    { numRuns: RUNS },
  )
  expect(truncated).toBeGreaterThan(RUNS / 10)
})

test('only the newest texts are read, and checkpoints', async () => {
  const checkpoint = user('summary', {}, { kind: 'compact-checkpoint' })
  const log = logOf(4, [user('oldest'), checkpoint, user('x'.repeat(20)), user('newest')])
  async function* bytes() {
    yield Buffer.from(log)
  }
  const source = { kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' } as const
  const { messages } = await readSurface(source, { enoughBytes: 10 })
  expect(messages.map(({ text, textBytes }) => textBytes ?? text)).toEqual([6, 'summary', 'x'.repeat(20), 'newest'])
})
