// The law of kept rows: what a reader gets does not depend on where they are kept, nor on how much memory there was for them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { DecodeOptions, LogSource } from '../../src/decode/decode.ts'
import { DshRefError } from '../../src/errors.ts'
import { readSurface } from '../../src/fold/surface.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { type MadeVersion, makeLog, mutate, randomShape } from '../support/log-maker.ts'
import { rawBlock, writeFrame } from '../support/zstd-writer.ts'

const RUNS = chosenOf(200, 1000)
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const versions = fc.constantFrom<MadeVersion>(0, 1, 2, 3, 4)

const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-rows-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const keepsShadowed = ({ type }: { type: string }) => type !== 'system/message'

/** Everything a reading gives, or the whole refusal. */
async function readingOf(source: LogSource, options: DecodeOptions): Promise<unknown> {
  try {
    return await readSurface(source, { ...options, keepsShadowed })
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return { code: error.code, message: error.message, facts: error.facts }
  }
}

async function reading(log: Uint8Array, options: DecodeOptions): Promise<unknown> {
  async function* bytes() {
    yield log
  }
  return readingOf({ kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' }, options)
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

/** A reading without what is said about frames and bytes. */
function comparable(reading: unknown): unknown {
  const { issues, work, ...rest } = reading as { issues?: readonly object[]; work?: unknown }
  return { ...rest, issues: issues?.map((issue) => ({ ...issue, frame: undefined })) }
}

test.each(['javascript', 'wasm'] as const)(
  'a log in frames of any size, decoded by %s, reads as its rows do from a file and from a stream',
  async (decoder) => {
    const [raw, zstd] = [join(directory, `${decoder}.jsonl`), join(directory, `${decoder}.jsonl.zstd`)]
    const sizes = fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(seeds, versions, sizes, async (seed, version, sizes) => {
        const log = makeLog(seed, randomShape(seed, version)).text()
        writeFileSync(raw, log)
        writeFileSync(zstd, framesOf(log, sizes))
        const options = { texts: 'conversation', decoder } as const
        const fromFile = await readingOf({ kind: 'file', path: raw, encoding: 'raw' }, options)
        const fromFrames = await readingOf({ kind: 'file', path: zstd, encoding: 'zstd' }, options)
        expect(comparable(fromFile)).toEqual(comparable(await reading(log, options)))
        expect(comparable(fromFrames)).toEqual(comparable(fromFile))
      }),
      { numRuns: RUNS / 4 },
    )
  },
)

/** The header in a frame of its own, what follows cut anywhere, some frames without content. */
function framesOf(log: Uint8Array, sizes: readonly number[]): Buffer {
  const frames: Buffer[] = []
  const headerEnd = log.indexOf(10) + 1
  frames.push(writeFrame([rawBlock(log.subarray(0, headerEnd))]))
  for (let at = headerEnd, index = 0; at < log.length; index++) {
    const size = sizes[index % sizes.length] as number
    frames.push(writeFrame([rawBlock(log.subarray(at, at + size))]))
    if (size % 7 === 0) frames.push(writeFrame([rawBlock('')]))
    at += size
  }
  return Buffer.concat(frames)
}
