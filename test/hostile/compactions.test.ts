// Case 12 of issue 5: compaction upon compaction, and the replacements that no writer would make (FORMAT.md section 5).

import { describe, expect, test } from 'vitest'
import { DshRefError, project, readSurface } from '../../src/index.ts'
import { readReference } from '../support/reference-reader.ts'
import {
  assistant,
  logOf,
  logOnly,
  type MadeRow,
  replacing,
  system,
  toolResult,
  toolResult4,
  user,
} from '../support/rows.ts'

const VERSIONS = [0, 1, 2, 3, 4] as const

/** What the code says of a log; read both ways, and held against the slow reference. */
async function read(version: number, rows: readonly MadeRow[]) {
  const log = Buffer.from(logOf(version, rows))
  const outcomes = []
  for (const everyRow of [false, true]) {
    async function* bytes() {
      yield log
    }
    try {
      const source = { kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' } as const
      const surface = await readSurface(source, { everyRow, keepsShadowed: () => true })
      const texts = project(surface.messages).messages.map(({ text }) => text)
      const shadowed = surface.shadowed.map(({ message, shadowedBySeq }) => [message.text, shadowedBySeq])
      outcomes.push({ nodes: surface.nodes, texts, shadowed })
    } catch (error) {
      if (!(error instanceof DshRefError)) throw error
      const { reason, rule, seq, line, actual } = error.facts
      outcomes.push({ reason, rule, seq, line, actual })
    }
  }
  expect(outcomes[1]).toEqual(outcomes[0])
  const slow = readReference(log)
  const [outcome] = outcomes
  if (slow.ok) expect(outcome).toMatchObject({ nodes: slow.nodes, texts: slow.conversation.map(({ text }) => text) })
  else expect(outcome).toMatchObject({ reason: slow.reason, seq: slow.seq })
  return outcome
}

describe.each(VERSIONS)('in version %i', (version) => {
  const source =
    version === 4 ? { kind: 'compact-checkpoint' } : { kind: 'plugin', plugin: 'compact', compactionId: 'k' }
  const summary = (text: string, start: number, end: number, sources: unknown) =>
    user(text, replacing(version, start, end, sources), source)
  const result = version === 4 ? toolResult4 : toolResult

  test('of three compactions, each of which takes the summary before it, one summary is left', async () => {
    const rows = [
      user('a'),
      assistant('b'),
      summary('S1', 0, 1, [0, 1]),
      user('c'),
      summary('S2', 2, 3, [[2, 3]]),
      assistant('d'),
      summary('S3', 4, 5, [0, 2, 4, 5]),
      user('e'),
    ]
    expect(await read(version, rows)).toEqual({
      nodes: [6, 7],
      texts: ['S3', 'e'],
      shadowed: [
        ['a', 2],
        ['b', 2],
        ['S1', 4],
        ['c', 4],
        ['S2', 6],
        ['d', 6],
      ],
    })
  })

  test('a replacement of a replacement stands where the first message stood', async () => {
    const rows = [user('a'), user('b'), user('c'), summary('S1', 1, 1, [1]), summary('S2', 3, 3, [3])]
    expect(await read(version, rows)).toMatchObject({ nodes: [0, 4, 2], texts: ['a', 'S2', 'c'] })
  })

  test('endpoints that fall by number and rise by position are legal', async () => {
    const rows = [user('a'), user('b'), user('c'), summary('S1', 0, 0, [0]), summary('S2', 3, 1, [1, 3])]
    expect(await read(version, rows)).toMatchObject({ nodes: [4, 2], texts: ['S2', 'c'] })
  })

  test('endpoints that rise by number and fall by position are refused', async () => {
    const rows = [user('a'), user('b'), user('c'), summary('S1', 0, 0, [0]), summary('S2', 1, 3, [1, 3])]
    expect(await read(version, rows)).toMatchObject({ reason: 'corrupt', rule: 'replace-order', seq: 4, line: 6 })
  })

  test('a replacement that names what an earlier one took is refused', async () => {
    const rows = [user('a'), user('b'), summary('S1', 0, 1, [0, 1]), summary('S2', 0, 2, [0, 2])]
    expect(await read(version, rows)).toMatchObject({
      rule: 'replace-endpoint-not-on-surface',
      seq: 3,
      line: 5,
      actual: 0,
    })
  })

  test.each([
    ['the first', [1, 2]],
    ['one in the middle', [0, 2]],
    ['the last', [0, 1]],
    ['one between two ranges', [[0, 0], 2]],
  ])('provenance without %s shadowed seq is refused, and the seq is named', async (_which, sources) => {
    const rows = [user('a'), user('b'), user('c'), summary('S', 0, 2, sources)]
    const missing = [0, 1, 2].find((seq) => !sources.flat().includes(seq))
    expect(await read(version, rows)).toMatchObject({ rule: 'provenance-missing', seq: 3, line: 5, actual: missing })
  })

  test('a tool result may be rewritten in its content, twice, and compacted after that', async () => {
    const rows = [
      user('a'),
      result('long output'),
      result('[pruned]', replacing(version, 1, 1, [1])),
      result('', replacing(version, 2, 2, [2])),
      summary('S', 0, 3, [0, 3]),
    ]
    expect(await read(version, rows.slice(0, 4))).toMatchObject({ nodes: [0, 3] })
    expect(await read(version, rows)).toMatchObject({ nodes: [4], texts: ['S'] })
  })

  test.each([
    [
      'changes a fact beside the result',
      [
        result('out'),
        { ...result('out', replacing(version, 0, 0, [0])), data: { ...(result('out').data as object), meta: 1 } },
      ],
      'tool-rewrite-changed',
    ],
    [
      'turns it into an error',
      [result('out', {}, { isError: false }), result('out', replacing(version, 0, 0, [0]), { isError: true })],
      'tool-rewrite-changed',
    ],
    [
      'takes two results',
      [result('a'), result('b'), result('', replacing(version, 0, 1, [0, 1]))],
      'tool-rewrite-span',
    ],
    ['takes the place of a message', [user('a'), result('', replacing(version, 0, 0, [0]))], 'tool-rewrite-span'],
  ])('a tool result that %s is refused', async (_what, rows, rule) => {
    expect(await read(version, rows)).toMatchObject({ reason: 'corrupt', rule, seq: rows.length - 1 })
  })

  test('a refused replacement leaves what came before it to salvage', async () => {
    const rows = [user('a'), summary('S', 0, 0, [0]), summary('T', 0, 0, [0]), logOnly('turn/end')]
    expect(await read(version, rows)).toMatchObject({ rule: 'replace-endpoint-not-on-surface', seq: 2 })
    expect(await read(version, rows.slice(0, 2))).toMatchObject({ texts: ['S'] })
  })
})

describe.each([3, 4] as const)('the system message at the head, in version %i,', (version) => {
  test('is replaced by another system message', async () => {
    const rows = [system('p1'), user('a'), system('p2', replacing(version, 0, 0, [0]))]
    expect(await read(version, rows)).toMatchObject({ nodes: [2, 1], texts: ['a'] })
  })

  test.each([
    ['a compaction that starts there', user('S', replacing(version, 0, 1, [0, 1]))],
    ['a message in its place', user('S', replacing(version, 0, 0, [0]))],
    ['a system message that takes more than the head', system('p2', replacing(version, 0, 1, [0, 1]))],
  ])('is protected from %s', async (_what, row) => {
    expect(await read(version, [system('p1'), user('a'), row])).toMatchObject({
      reason: 'corrupt',
      rule: 'system-head',
      seq: 2,
    })
  })

  test('protects nothing where it is not the head', async () => {
    const rows = [user('a'), system('late'), user('S', replacing(version, 0, 1, [0, 1]))]
    expect(await read(version, rows)).toMatchObject({ nodes: [2], texts: ['S'] })
  })
})
