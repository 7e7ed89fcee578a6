// The cases of prepare.json: what the reference service puts into the message.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DshRefError, type Prepared, prepare, type ReferenceInput } from '../../src/index.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { makeHome } from '../support/homes.ts'

interface Case {
  readonly name: string
  readonly input: {
    readonly target: { readonly id: string }
    readonly sources: string[]
    readonly references: ReferenceInput[]
    readonly config: { maxReferenceBytes?: number; maxReferences?: number; candidateLimit?: number }
    readonly content: { type: string; text: string }[] | undefined
    readonly spill: 'none' | 'saved' | 'fail'
  }
  readonly expected: { error?: string | null; content?: unknown; data?: unknown; source?: unknown; omissions?: unknown }
}

/** A mention in the text would add references of its own; the cases give theirs beside it. */
async function run({ input }: Case): Promise<Prepared | DshRefError> {
  const home = makeHome()
  try {
    for (const log of input.sources) home.write(log)
    const message = (input.content ?? [{ type: 'text', text: 'go' }]).map((block) => block.text).join('')
    return await prepare({
      message,
      target: input.target.id,
      references: input.references,
      roots: [home.root],
      ...input.config,
    })
  } catch (error) {
    if (error instanceof DshRefError) return error
    throw error
  } finally {
    home.remove()
  }
}

function parts(prepared: Prepared) {
  const [message] = prepared.additionalContext
  const text = message?.content[0]?.text ?? ''
  const json = /\n<referenced-sessions>\n(.*)\n<\/referenced-sessions>/s.exec(text)?.[1]
  const notice = /\n## Reference omissions\n\n.*\n\n(.*)$/s.exec(text)?.[1]
  return {
    content: prepared.content,
    data: json === undefined ? null : JSON.parse(json),
    source: message?.source ?? null,
    omissions: notice === undefined ? null : JSON.parse(notice),
  }
}

describe.skipIf(!CONFORMANCE)('the prepare cases (skipped when ../shared/conformance is not there)', () => {
  const cases: Case[] = CONFORMANCE ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', 'prepare.json'), 'utf8')) : []
  // The list's limit is no option of prepare: list.json has its cases.
  const withoutSpill = cases.filter(({ input }) => input.spill === 'none' && input.config.candidateLimit === undefined)

  it.each(withoutSpill.map((c) => [c.name, c] as const))('prepare %s as the service does', async (name, testCase) => {
    const outcome = await run(testCase)
    const { expected } = testCase
    if (name === 'ref-unknown-event') {
      // The service refuses a required event type it does not know; dsh-ref reads it and says so (DESIGN.md, "How strict").
      expect(expected.error).toBe('SESSION_REFERENCE_READ_FAILED')
      expect(outcome instanceof DshRefError ? outcome : outcome.issues.map((issue) => issue.kind)).toEqual([
        'unknown-event-type',
      ])
    } else if (expected.error !== undefined) {
      // `null` stands for a configuration the service does not start with.
      const code = expected.error ?? 'SESSION_REFERENCE_INVALID_CONFIG'
      expect(outcome instanceof DshRefError ? outcome.code : outcome).toBe(code)
    } else {
      if (outcome instanceof DshRefError) throw outcome
      expect(parts(outcome)).toEqual({ ...expected, omissions: expected.omissions ?? null })
    }
  })

  it('ran every case', () => {
    process.stderr.write(`conformance: ${withoutSpill.length} prepare cases without spill\n`)
    expect(withoutSpill.length).toBeGreaterThan(0)
  })
})
