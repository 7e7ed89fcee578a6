// Laws of decode and fold over made logs of every version, whole and mutated.

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  hasRowOnlyCheckRefuses,
  isAlike,
  readFramesSlowly,
  readFramesWith,
  readSlowly,
  readWith,
} from '../support/compare-readings.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { makeFrames } from '../support/frame-maker.ts'
import { type MadeVersion, makeLog, mutate, randomShape, respell } from '../support/log-maker.ts'

const RUNS = chosenOf(250, 1000)
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const versions = fc.constantFrom<MadeVersion>(0, 1, 2, 3, 4)
const madeLog = (seed: number, version: MadeVersion) => makeLog(seed, randomShape(seed, version))

test('a made log of any version reads as its maker says, quickly and row by row', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, versions, async (seed, version) => {
      const made = madeLog(seed, version)
      const reading = await readWith(made.text(), { everyRow: false })
      expect(reading).toMatchObject({ ok: true, nodes: made.nodes, title: made.title, issues: [] })
      expect(reading.ok && reading.replacements).toEqual(made.replacements)
      expect(reading.ok && reading.conversation).toEqual(made.conversation)
      expect(await readWith(made.text(), { everyRow: true })).toEqual(reading)
    }),
    { numRuns: RUNS },
  )
})

test('any split of the bytes decodes the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      seeds,
      versions,
      fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1 }),
      async (seed, version, sizes) => {
        const log = madeLog(seed, version).text()
        const pieces: Uint8Array[] = []
        for (let at = 0, index = 0; at < log.length; index++) {
          const size = sizes[index % sizes.length] as number
          pieces.push(log.subarray(at, at + size))
          at += size
        }
        expect(await readWith(log, { everyRow: false, pieces })).toEqual(await readWith(log, { everyRow: false }))
      },
    ),
    { numRuns: RUNS },
  )
})

test('another spelling of the same JSON reads the same', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, versions, async (seed, version) => {
      const log = madeLog(seed, version).text()
      const { bytes } = respell(seed, log)
      expect(await readWith(bytes, { everyRow: false })).toEqual(await readWith(log, { everyRow: false }))
    }),
    { numRuns: RUNS },
  )
})

test('a mutated log reads as the slow reference reads it', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, versions, async (seed, version) => {
      const { bytes, what } = mutate(seed, madeLog(seed, version).text())
      const slowWhole = readSlowly(bytes, { everyRow: true })
      const whole = await readWith(bytes, { everyRow: true })
      if (!isAlike(slowWhole, whole)) expect(whole, what).toEqual(slowWhole)
      const slow = readSlowly(bytes, { everyRow: false })
      const quick = await readWith(bytes, { everyRow: false })
      if (!isAlike(slow, quick)) {
        expect(hasRowOnlyCheckRefuses(bytes), `${what}: ${JSON.stringify([quick, slow])}`).toBe(true)
      }
    }),
    { numRuns: 2 * RUNS },
  )
})

test.each(['javascript', 'wasm'] as const)(
  'a log in frames, lost, cut off, doubled or damaged, reads as the slow reference reads it (%s)',
  async (decoder) => {
    const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-frames-'))
    const path = join(directory, 'log.jsonl.zstd')
    const reading = fc.asyncProperty(seeds, versions, async (seed, version) => {
      const made = makeFrames(seed, madeLog(seed, version).text())
      writeFileSync(path, made.bytes)
      // Of a file written a moment ago a refusal is not believed at once.
      utimesSync(path, 1, 1)
      const everyRow = seed % 2 === 0
      const read = await readFramesWith(path, { everyRow, decoder })
      const slow = readFramesSlowly(made, { everyRow })
      if (!isAlike(slow, read)) expect(read, made.what).toEqual(slow)
    })
    await fc.assert(reading, { numRuns: chosenOf(80, 300) })
    rmSync(directory, { recursive: true })
  },
)

test('folding a prefix and then the rest equals folding the whole', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, versions, fc.double({ min: 0, max: 1, noNaN: true }), async (seed, version, share) => {
      const log = madeLog(seed, version).text()
      const lines = log.toString('utf8').split('\n').slice(0, -1)
      const count = 1 + Math.floor(share * (lines.length - 1))
      const prefix = Buffer.from(`${lines.slice(0, count).join('\n')}\n`)
      const [some, all] = [await readWith(prefix, { everyRow: false }), await readWith(log, { everyRow: false })]
      if (!some.ok || !all.ok) throw new Error('A made log or its prefix was refused')
      expect(all.replacements.slice(0, some.replacements.length)).toEqual(some.replacements)
    }),
    { numRuns: RUNS },
  )
})
