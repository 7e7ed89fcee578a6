// The rules of the fold, one by one, over hand-made logs (FORMAT.md section 5). The service's own cases are in conformance/.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkPath } from '../../src/check/check.ts'
import { DshRefError } from '../../src/errors.ts'
import { readSurface, type Surface } from '../../src/fold/surface.ts'
import {
  assistant,
  developer,
  logOf,
  logOnly,
  type MadeRow,
  replacing,
  system,
  toolResult,
  toolResult4,
  user,
} from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

async function read(version: number, rows: readonly MadeRow[], everyRow = false): Promise<Surface> {
  async function* bytes() {
    yield Buffer.from(logOf(version, rows))
  }
  return readSurface({ kind: 'bytes', name: 'made', bytes: bytes(), encoding: 'raw' }, { everyRow })
}

/** The refusal of a log, as facts; both readings must agree. */
async function refusal(version: number, rows: readonly MadeRow[]) {
  const outcomes = await Promise.all(
    [false, true].map((everyRow) =>
      read(version, rows, everyRow).then(
        () => 'read',
        (error: unknown) => {
          if (!(error instanceof DshRefError)) throw error
          const { reason, rule, seq } = error.facts
          return { reason, rule, seq }
        },
      ),
    ),
  )
  expect(outcomes[1]).toEqual(outcomes[0])
  return outcomes[0]
}

const VERSIONS = [0, 1, 2, 3, 4] as const
const result = (version: number) => (version === 4 ? toolResult4 : toolResult)
const corrupt = (rule: string, seq: number) => ({ reason: 'corrupt', rule, seq })

describe.each(VERSIONS)('in version %i', (version) => {
  const replace = (start: number, end: number, sources: unknown) => replacing(version, start, end, sources)

  test('appended messages stand on the surface in log order', async () => {
    const { nodes, replacements } = await read(version, [user('a'), logOnly('turn/start', { turn: 1 }), assistant('b')])
    expect({ nodes, replacements }).toEqual({ nodes: [0, 2], replacements: [] })
  })

  test('a replacement takes the place of what it shadows', async () => {
    const { nodes, replacements } = await read(version, [
      user('a'),
      assistant('b'),
      user('c'),
      user('S', replace(0, 1, [0, 1])),
    ])
    expect(nodes).toEqual([3, 2])
    expect(replacements).toEqual([{ seq: 3, start: 0, end: 1, shadowedSeqs: [0, 1] }])
  })

  test('a replacement may shadow an earlier replacement, and endpoints are positions, not numbers', async () => {
    const { nodes, replacements } = await read(version, [
      user('a'),
      user('b'),
      user('S1', replace(0, 0, [0])),
      // On the surface [2, 1]: it starts at seq 2 and ends at seq 1.
      user('S2', replace(2, 1, [1, 2])),
    ])
    expect(nodes).toEqual([3])
    expect(replacements[1]).toEqual({ seq: 3, start: 2, end: 1, shadowedSeqs: [2, 1] })
  })

  test('sources may be written as ranges', async () => {
    const rows = [user('a'), user('b'), user('c'), user('d'), user('S', replace(0, 3, [[0, 2], 3]))]
    expect((await read(version, rows)).nodes).toEqual([4])
  })

  test('a surface event without surfaceOp refuses the log', async () => {
    expect(await refusal(version, [user('a', { surfaceOp: undefined })])).toEqual(corrupt('surface-op-missing', 0))
  })

  test('a log-only event with surface metadata refuses the log', async () => {
    const row = logOnly('turn/start', { turn: 1 }, { surfaceOp: 'append' })
    expect(await refusal(version, [row])).toEqual(corrupt('surface-metadata-on-log-only-event', 0))
  })

  test.each([
    ['an unknown word', 'prepend'],
    ['a number', 7],
    ['nothing but an op', { op: 'replace' }],
    ['an extra key', { op: 'replace', start: 0, end: 0, startSeq: 0, endSeq: 0 }],
    [
      'the spelling of the other versions',
      version < 3 ? { op: 'replace', startSeq: 0, endSeq: 0 } : { op: 'replace', start: 0, end: 0 },
    ],
  ])('a surfaceOp that is %s refuses the log', async (_what, surfaceOp) => {
    const rows = [user('a'), user('b', { surfaceOp, sourceEventSeqs: [0] })]
    expect(await refusal(version, rows)).toEqual(corrupt('surface-op-shape', 1))
  })

  test('an endpoint that is no seq refuses the log', async () => {
    expect(await refusal(version, [user('a'), user('S', replace(-1, 0, [0]))])).toEqual(
      corrupt('replace-endpoint-shape', 1),
    )
    expect(await refusal(version, [user('a'), user('S', replace(0.5, 0, [0]))])).toEqual(
      corrupt('replace-endpoint-shape', 1),
    )
  })

  test('an endpoint that is not earlier refuses the log', async () => {
    expect(await refusal(version, [user('a'), user('S', replace(0, 1, [0]))])).toEqual(
      corrupt('replace-endpoint-not-earlier', 1),
    )
  })

  test('an endpoint that is not on the surface refuses the log', async () => {
    const rows = [user('a'), user('S1', replace(0, 0, [0])), user('S2', replace(0, 1, [0, 1]))]
    expect(await refusal(version, rows)).toEqual(corrupt('replace-endpoint-not-on-surface', 2))
  })

  test('a start behind the end refuses the log', async () => {
    const rows = [user('a'), user('b'), user('S', replace(1, 0, [0, 1]))]
    expect(await refusal(version, rows)).toEqual(corrupt('replace-order', 2))
  })

  test('a shadowed seq that is not cited refuses the log', async () => {
    const rows = [user('a'), user('b'), user('c'), user('S', replace(0, 2, [0, 2]))]
    expect(await refusal(version, rows)).toEqual(corrupt('provenance-missing', 3))
  })

  test.each([
    ['no list', { 0: 0 }, 'sources-shape'],
    ['empty', [], 'sources-empty'],
    ['of strings', ['0'], 'sources-shape'],
    ['of the event itself', [1], 'sources-not-earlier'],
    ['repeating', [0, 0], 'sources-duplicate'],
    ['a range backwards', [[1, 0]], 'sources-shape'],
  ])('sources that are %s refuse the log', async (_what, sourceEventSeqs, rule) => {
    expect(await refusal(version, [user('a'), user('b', { sourceEventSeqs })])).toEqual(corrupt(rule, 1))
  })

  test('ranges must increase', async () => {
    const rows = [user('a'), user('b'), user('c'), user('d', { sourceEventSeqs: [2, [0, 1]] })]
    expect(await refusal(version, rows)).toEqual(corrupt('sources-shape', 3))
  })

  test('a tool result may be rewritten in its content alone', async () => {
    const rows = [result(version)('long'), result(version)('short', replace(0, 0, [0]))]
    expect((await read(version, rows)).nodes).toEqual([1])
  })

  test('a tool result rewritten in more than its content refuses the log', async () => {
    const rows = [result(version)('long'), result(version)('short', replace(0, 0, [0]), { isError: true })]
    expect(await refusal(version, rows)).toEqual(corrupt('tool-rewrite-changed', 1))
  })

  test('a tool result that replaces another kind of message, or two, refuses the log', async () => {
    expect(await refusal(version, [user('a'), result(version)('x', replace(0, 0, [0]))])).toEqual(
      corrupt('tool-rewrite-span', 1),
    )
    const two = [result(version)('x'), result(version)('x'), result(version)('y', replace(0, 1, [0, 1]))]
    expect(await refusal(version, two)).toEqual(corrupt('tool-rewrite-span', 2))
  })

  test('a message of the wrong shape refuses the log once it is on the surface', async () => {
    const wrong = { ...user('a'), data: { id: 'x', role: 'user', content: 'x', source: { kind: 'user' } } }
    expect(await refusal(version, [wrong])).toEqual(corrupt('message-shape', 0))
  })

  test('an unknown event type is an issue, and one that may be skipped is not', async () => {
    const unknown = await read(version, [logOnly('future/thing'), logOnly('future/thing')])
    expect(unknown.issues).toMatchObject([{ kind: 'unknown-event-type', line: 2, seq: 0, count: 2 }])
    expect((await read(version, [logOnly('future/thing', {}, { ignorable: true })])).issues).toEqual([])
  })
})

describe('an assistant message that cites sources', () => {
  test.each([0, 1])('may do so in version %i, may cite nothing, and may even replace', async (version) => {
    expect((await read(version, [user('a'), assistant('b', { sourceEventSeqs: [] })])).nodes).toEqual([0, 1])
    expect((await read(version, [user('a'), assistant('b', replacing(version, 0, 0, [0]))])).nodes).toEqual([1])
  })

  test.each([2, 3, 4])('refuses the log in version %i', async (version) => {
    expect(await refusal(version, [user('a'), assistant('b', { sourceEventSeqs: [0] })])).toEqual(
      corrupt('sources-forbidden', 1),
    )
  })
})

describe('surface types', () => {
  test.each([0, 1, 2])('a system message is an unknown type with surface metadata in version %i', async (version) => {
    expect(await refusal(version, [system('s')])).toEqual({
      reason: 'unsupported',
      rule: 'surface-metadata-on-log-only-event',
      seq: 0,
    })
  })

  test.each([3, 4])('a system message stands on the surface in version %i, and is not projected', async (version) => {
    const { nodes, messages } = await read(version, [system('s'), user('a')])
    expect(nodes).toEqual([0, 1])
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
  })

  test.each([2, 3, 4])('metadata of an unknown type that may be skipped is opaque in version %i', async (version) => {
    const row = logOnly('future/thing', {}, { ignorable: true, surfaceOp: 'append' })
    expect((await read(version, [row])).nodes).toEqual([])
  })

  test.each([0, 1])(
    'metadata of an unknown type that may be skipped refuses the log in version %i',
    async (version) => {
      const row = logOnly('future/thing', {}, { ignorable: true, surfaceOp: 'append' })
      expect(await refusal(version, [row])).toMatchObject({ rule: 'surface-metadata-on-log-only-event' })
    },
  )
})

describe.each([3, 4])('the system head in version %i', (version) => {
  test('may be replaced by one system message', async () => {
    expect((await read(version, [system('s'), system('t', replacing(version, 0, 0, [0]))])).nodes).toEqual([1])
  })

  test('may not be replaced by anything else, or together with more', async () => {
    const byUser = [system('s'), user('a'), user('S', replacing(version, 0, 1, [0, 1]))]
    expect(await refusal(version, byUser)).toEqual(corrupt('system-head', 2))
    const withMore = [system('s'), user('a'), system('t', replacing(version, 0, 1, [0, 1]))]
    expect(await refusal(version, withMore)).toEqual(corrupt('system-head', 2))
  })

  test('is protected only at the head', async () => {
    const rows = [user('a'), system('s'), user('S', replacing(version, 0, 1, [0, 1]))]
    expect((await read(version, rows)).nodes).toEqual([2])
  })
})

describe('tools added by a developer message in version 4', () => {
  const header = (...tools: unknown[]) => logOnly('request/header', { header: { config: {}, tools }, reason: 'change' })
  const addition = (toolName: string) => ({ type: 'tool-addition', toolName })

  test('are bound to exactly one tool of an earlier request header', async () => {
    expect((await read(4, [header({ name: 'ping' }), developer([addition('ping')], 0)])).nodes).toEqual([1])
    expect((await read(4, [header('ping'), developer([addition('ping')], 0)])).nodes).toEqual([1])
  })

  test.each([
    ['no header is named', [header('ping'), developer([addition('ping')])]],
    ['the header is none', [logOnly('turn/start'), developer([addition('ping')], 0)]],
    ['the tool is missing', [header('pong'), developer([addition('ping')], 0)]],
    ['the tool is there twice', [header('ping', { name: 'ping' }), developer([addition('ping')], 0)]],
    [
      'a header is named without an addition',
      [header('ping'), developer([{ type: 'tool-removal', toolName: 'ping' }], 0)],
    ],
  ])('refuse the log when %s', async (_what, rows) => {
    expect(await refusal(4, rows)).toEqual(corrupt('developer-binding', 1))
  })
})

test('minus zero is a seq up to version 2 and none from version 3 on', async () => {
  const op = (version: number) =>
    logOf(version, [user('a'), user('S', replacing(version, 0, 0, [0]))]).replace(/"(start|startSeq)":0/, '"$1":-0')
  const readText = (text: string) =>
    readSurface({ kind: 'bytes', name: 'made', bytes: [Buffer.from(text)] as never, encoding: 'raw' })
  expect((await readText(op(0))).nodes).toEqual([1])
  await expect(readText(op(3))).rejects.toMatchObject({ facts: { rule: 'replace-endpoint-shape' } })
})

test('a range that would be endless is refused, not expanded', async () => {
  const rows = [user('a'), user('b', { sourceEventSeqs: [[0, Number.MAX_SAFE_INTEGER]] })]
  expect(await refusal(0, rows)).toEqual(corrupt('sources-not-earlier', 1))
})

test('thousands of replacements at the far end of a long surface fold', async () => {
  const rows: MadeRow[] = Array.from({ length: 20_000 }, (_, index) => user(String(index)))
  for (let index = 0; index < 2000; index++) {
    const seq = index === 0 ? 19_999 : 20_000 + index - 1
    rows.push(user(`S${index}`, replacing(0, seq, seq, [seq])))
  }
  const { nodes } = await read(0, rows)
  expect(nodes.length).toBe(20_000)
  expect(nodes.at(-1)).toBe(21_999)
})

test.each(['raw', 'zstd'] as const)(
  'however many small logs are read, %s, the event loop has its turn',
  async (encoding) => {
    const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-turns-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const path = join(directory, encoding === 'raw' ? 'log.jsonl' : 'log.jsonl.zstd')
    const [header, ...rows] = logOf(4, [user('a'), assistant('b')]).split(/(?<=\n)/)
    const frames = [header, rows.join('')].map((frame) => writeFrame(rawBlocks(frame as string)))
    writeFileSync(path, encoding === 'raw' ? [header, ...rows].join('') : Buffer.concat(frames))
    for (const read of [() => readSurface({ kind: 'file', path, encoding }), () => checkPath(path, { roots: [] })]) {
      let hasFired = false
      setTimeout(() => {
        hasFired = true
      }, 0)
      for (let count = 0; count < 10_000 && !hasFired; count++) await read()
      expect(hasFired).toBe(true)
    }
  },
)
