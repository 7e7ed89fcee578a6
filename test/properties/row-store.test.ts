// The law of kept rows: what a reader gets does not depend on how much memory there was for them.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DecodeOptions } from '../../src/decode/decode.ts'
import { DshRefError } from '../../src/errors.ts'
import { readSurface } from '../../src/surface.ts'
import { type MadeVersion, makeLog, mutate, randomShape } from '../support/log-maker.ts'

const RUNS = 1000
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const versions = fc.constantFrom<MadeVersion>(0, 1, 2, 3, 4)

/** Everything a reading gives, or the whole refusal. */
async function reading(log: Uint8Array, options: DecodeOptions): Promise<unknown> {
  async function* bytes() {
    yield log
  }
  try {
    const keepsShadowed = ({ type }: { type: string }) => type !== 'system/message'
    const source = { kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' } as const
    return await readSurface(source, { ...options, keepsShadowed })
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return { code: error.code, message: error.message, facts: error.facts }
  }
}

test.each(['all', 'conversation'] as const)(
  'a log reads the same whether its rows are slimmed at once or never, with the texts of %s',
  async (texts) => {
    await fc.assert(
      fc.asyncProperty(seeds, versions, fc.boolean(), async (seed, version, isMutated) => {
        const made = makeLog(seed, randomShape(seed, version)).text()
        const log = isMutated ? mutate(seed, made).bytes : made
        const roomy = await reading(log, { texts, roomyBytes: Number.POSITIVE_INFINITY })
        expect(await reading(log, { texts, roomyBytes: 0 })).toEqual(roomy)
      }),
      { numRuns: RUNS },
    )
  },
)
