// The log maker: what it makes is valid and says the truth about itself, so that it may feed the tests of the readers.

import { describe, expect, it } from 'vitest'
import {
  type MadeLog,
  type MadeVersion,
  MUTATION_KINDS,
  makeLog,
  mutate,
  randomShape,
  respell,
} from './support/log-maker.ts'
import { type ReferenceResult, readReference } from './support/reference-reader.ts'

const VERSIONS: readonly MadeVersion[] = [0, 1, 2, 3, 4]
const SEEDS = Array.from({ length: 60 }, (_, seed) => seed)

function expectWhole(result: ReferenceResult, log: MadeLog): void {
  const { type: _type, ...header } = log.header
  expect(result).toEqual({
    ok: true,
    header,
    formatVersion: log.header.version,
    capturedThroughSeq: log.events === 0 ? null : log.events - 1,
    nodes: log.nodes,
    replacements: log.replacements,
    conversation: log.conversation,
    title: log.title,
    events: log.events,
    issues: [],
    tornTail: false,
  })
}

describe.each(VERSIONS)('makeLog() of version %i', (version) => {
  it('makes logs that are read whole, without an issue', () => {
    for (const seed of SEEDS) {
      const log = makeLog(seed, randomShape(seed, version))
      expectWhole(readReference(log.text()), log)
    }
  })

  it('makes a log of the size that was asked for', () => {
    const log = makeLog(7, { version, turns: 80, compactions: 6, rewrites: 10, titles: 3, words: 40 })
    expect(log.events).toBeGreaterThan(500)
    expect(log.replacements.length).toBeGreaterThan(10)
    expectWhole(readReference(log.text()), log)
  })

  it('cuts the same log into frames that are read alike in both modes', () => {
    for (const seed of SEEDS.slice(0, 10)) {
      const log = makeLog(seed, randomShape(seed, version))
      for (const mode of ['native', 'historical'] as const) {
        const frames = { complete: log.frames() }
        expectWhole(readReference(new Uint8Array(), { mode, encoding: 'zstd-plaintext', frames }), log)
      }
    }
  })

  it('makes the same log from the same seed', () => {
    const shape = randomShape(3, version)
    expect(makeLog(3, shape).text().equals(makeLog(3, shape).text())).toBe(true)
    expect(makeLog(4, shape).text().equals(makeLog(3, shape).text())).toBe(false)
  })
})

describe('respell()', () => {
  it('changes the bytes of a log and nothing of what they say', () => {
    for (const seed of SEEDS) {
      const log = makeLog(seed, randomShape(seed, VERSIONS[seed % 5] as MadeVersion))
      const { bytes, what } = respell(seed, log.text())
      if (what !== 'nothing') expect(bytes.equals(log.text())).toBe(false)
      expectWhole(readReference(bytes), log)
    }
  })
})

describe('mutate()', () => {
  it('reaches every kind of mutation, and the reference reader answers each', () => {
    const met = new Set<string>()
    const answers = new Set<string>()
    for (let seed = 0; seed < 2000; seed++) {
      const version = VERSIONS[seed % 5] as MadeVersion
      const shape = { ...randomShape(seed, version), turns: 1 + (seed % 3), words: 4 }
      const { bytes, what } = mutate(seed, makeLog(seed % 50, shape).text())
      met.add(what.slice(0, what.indexOf(':')))
      const result = readReference(bytes)
      answers.add(result.ok ? `read with ${[...new Set(result.issues)].join('+') || 'no issue'}` : result.rule)
    }
    expect([...met].sort()).toEqual([...MUTATION_KINDS].sort())
    // A maker whose damage always ended in the same refusal would compare nothing.
    expect(answers.size).toBeGreaterThan(30)
  })

  it('does the same to the same bytes with the same seed', () => {
    const bytes = makeLog(1, { version: 3 }).text()
    for (const seed of SEEDS) {
      const [one, two] = [mutate(seed, bytes), mutate(seed, bytes)]
      expect(one.what).toBe(two.what)
      expect(one.bytes.equals(two.bytes)).toBe(true)
    }
  })

  it('may be applied again to what it left', () => {
    let bytes = makeLog(2, { version: 0, turns: 3 }).text()
    for (const seed of SEEDS) {
      bytes = mutate(seed, bytes).bytes
      expect(() => readReference(bytes)).not.toThrow()
    }
  })
})
