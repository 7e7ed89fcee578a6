// Real logs and the artifacts of the real storage backend, on all zstd decoders.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeAll, describe, expect, it } from 'vitest'
import { CONFORMANCE } from '../support/conformance.ts'
import { newerNode } from '../support/newer-node.ts'
import { type ConformanceReading, expectedLogs, readConformance } from '../support/read-conformance.ts'

interface ExpectedArtifact {
  readonly id: string
  readonly path: string
  readonly refused?: string
  readonly capturedThroughSeq?: number | null
  readonly surfaceSeqs?: number[]
  readonly title?: string | null
  readonly createdAt?: number
  readonly cwd?: string | null
  readonly conversation?: { role: string; text: string }[]
}

const node = CONFORMANCE ? await newerNode() : undefined

async function readNatively(): Promise<ConformanceReading[]> {
  const script = fileURLToPath(new URL('../support/read-conformance.ts', import.meta.url))
  const { stdout } = await execa(node as string, [script, 'native'], { maxBuffer: 1 << 28 })
  return JSON.parse(stdout)
}

describe.skipIf(!CONFORMANCE)('conformance logs (skipped when ../shared/conformance is not there)', () => {
  const decoders = [
    { decoder: 'javascript', isThere: true, read: () => readConformance('javascript') },
    { decoder: 'wasm', isThere: true, read: () => readConformance('wasm') },
    { decoder: 'native', isThere: node !== undefined, read: readNatively },
  ] as const

  describe.each(decoders)('with the $decoder zstd decoder', ({ decoder, isThere, read }) => {
    const logs = expectedLogs()
    const trees: Record<string, { sessions: ExpectedArtifact[] }> = CONFORMANCE
      ? JSON.parse(readFileSync(join(CONFORMANCE, 'artifacts/expected.json'), 'utf8'))
      : {}
    let readings: Map<string, ConformanceReading>

    beforeAll(async () => {
      if (isThere) readings = new Map((await read()).map((reading) => [reading.file, reading]))
    })

    it.skipIf(!isThere)('every log gives its expected row (native: skipped when no newer Node can be had)', () => {
      for (const expected of logs) {
        const reading = readings.get(`logs/${expected.file}`)
        const { events, nodes, replacements, title, conversation } = expected
        if (Number(expected.version) > 4) {
          expect(reading, `${expected.file}`).toMatchObject({ refused: 'unsupported' })
          continue
        }
        expect(reading, `${expected.file}`).toMatchObject({ events, nodes, replacements, title, conversation })
      }
      process.stderr.write(`conformance: ${logs.length} logs with the ${decoder} decoder\n`)
      expect(logs.length).toBeGreaterThan(0)
    })

    it.skipIf(!isThere)('foreign versions are unsupported, not corrupt', () => {
      const foreign = [...readings.values()].filter(({ file }) => file.includes('foreign-versions/'))
      expect(foreign.length).toBeGreaterThan(0)
      for (const reading of foreign) expect(reading).toMatchObject({ refused: 'unsupported' })
    })

    it.skipIf(!isThere)('every artifact gives its expected entry', () => {
      let count = 0
      for (const [tree, { sessions }] of Object.entries(trees)) {
        for (const expected of sessions) {
          const reading = readings.get(`artifacts/${tree}/${expected.path}`)
          count++
          if (expected.refused) {
            expect(reading, expected.id).toMatchObject({ refused: 'corrupt' })
            continue
          }
          if (!reading || 'refused' in reading) throw new Error(`${expected.id}: ${JSON.stringify(reading)}`)
          expect(reading.events === 0 ? null : reading.events - 1, expected.id).toBe(expected.capturedThroughSeq)
          expect(reading, expected.id).toMatchObject({
            nodes: expected.surfaceSeqs,
            title: expected.title ?? null,
            createdAt: expected.createdAt,
            cwd: expected.cwd ?? null,
          })
          const conversation = reading.conversation.map(({ role, text }) => ({ role, text }))
          // The service gave the conversations of these through its 64 KiB budget, which cuts the older part.
          if (expected.id.startsWith('torn-multiblock')) {
            expect(conversation.slice(-1)).toEqual(expected.conversation?.slice(-1))
          } else expect(conversation, expected.id).toEqual(expected.conversation)
        }
      }
      process.stderr.write(`conformance: ${count} artifacts with the ${decoder} decoder\n`)
      expect(count).toBeGreaterThan(0)
    })
  })
})
