// Case 2 of issue 5: seqs that repeat, go back or leave a gap, in raw and zstd logs, read as the generation a session lives
// in now and as an older one (FORMAT.md sections 7.1 and 7.3).

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LogCase, type LogOutcome, readLog, readLogsNatively } from '../support/read-logs.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-order-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const HEADER = {
  type: 'session',
  version: 4,
  id: 'order',
  createdAt: 1,
  cwd: '/w',
  isSeeded: false,
  delegationDepth: 0,
}
const line = (row: object) => `${JSON.stringify(row)}\n`
const user = (seq: number, text: string) =>
  line({
    type: 'user/message',
    seq,
    time: 1,
    data: { id: `m${seq}`, role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } },
    surfaceOp: 'append',
  })
const turnEnd = (seq: number) => line({ type: 'turn/end', seq, time: 1, data: { turn: 1 } })
const endSeed = (seq: number) => line({ type: 'session/end-seed', seq, time: 1, data: {} })

let count = 0
function write(rows: readonly string[], encoding: 'raw' | 'zstd'): string {
  const path = join(directory, `${count++}.jsonl${encoding === 'zstd' ? '.zstd' : ''}`)
  const frames = [line(HEADER), rows.join('')].map((text) => writeFrame(rawBlocks(text)))
  writeFileSync(path, encoding === 'zstd' ? Buffer.concat(frames) : line(HEADER) + rows.join(''))
  return path
}

/** What becomes of one log: raw is read the same either way, zstd is not. */
async function outcomes(rows: readonly string[]) {
  const cases: LogCase[] = [
    { path: write(rows, 'raw'), encoding: 'raw' },
    { path: write(rows, 'zstd'), encoding: 'zstd', mode: 'native' },
    { path: write(rows, 'zstd'), encoding: 'zstd', mode: 'historical' },
  ]
  const read = await Promise.all(cases.map((logCase) => readLog(logCase)))
  expect(await readLogsNatively(cases)).toEqual(JSON.parse(JSON.stringify(read)))
  const [raw, native, historical] = read as [LogOutcome, LogOutcome, LogOutcome]
  return { raw, native, historical }
}

const kept = (...texts: string[]) => ({ texts, capturedThroughSeq: texts.length, issues: ['discarded-rows'] })
const refusal = (facts: object) => ({ refused: expect.objectContaining({ reason: 'corrupt', ...facts }) })

describe('after the last turn ended', () => {
  test.each([
    ['repeats', [user(0, 'a'), endSeed(1), user(2, 'b'), user(2, 'c')], 3, 2],
    ['goes back after a session/end-seed', [user(0, 'a'), endSeed(1), user(2, 'b'), user(1, 'c'), user(3, 'd')], 3, 1],
    ['leaves a gap', [user(0, 'a'), endSeed(1), user(2, 'b'), user(4, 'c'), user(5, 'd')], 3, 4],
  ])('a seq that %s ends the log before it, and refuses a zstd log', async (_what, rows, expected, actual) => {
    const { raw, native, historical } = await outcomes(rows)
    expect(raw).toMatchObject(kept('a', 'b'))
    expect(historical).toMatchObject(kept('a', 'b'))
    expect(native).toMatchObject(refusal({ rule: 'seq-gap', line: 5, frame: 2, seq: 3, expected, actual }))
  })
})

describe('before a turn ends', () => {
  test.each([
    ['repeats', [user(0, 'a'), user(0, 'b'), turnEnd(1)], 0],
    ['goes back after a session/end-seed', [user(0, 'a'), endSeed(1), user(2, 'b'), user(1, 'c'), turnEnd(3)], 1],
    ['leaves a gap', [user(0, 'a'), user(2, 'b'), turnEnd(3)], 2],
  ])('a seq that %s refuses the log, whatever its encoding and age', async (_what, rows, actual) => {
    const seq = rows.length - 2
    const { raw, native, historical } = await outcomes(rows)
    const facts = { rule: 'seq-gap', line: rows.length, seq, expected: seq, actual, throughSeq: seq - 1 }
    expect(raw).toMatchObject(refusal(facts))
    expect(native).toMatchObject(refusal({ ...facts, frame: 2 }))
    expect(historical).toMatchObject(refusal({ ...facts, frame: 2 }))
  })

  test('the turn end that itself has a wrong seq refuses the log', async () => {
    for (const outcome of Object.values(await outcomes([user(0, 'a'), turnEnd(2)]))) {
      expect(outcome).toMatchObject(refusal({ rule: 'seq-gap', line: 3, seq: 1, expected: 1, actual: 2 }))
    }
  })

  test('two writers at once, each with seqs of its own, refuse the log', async () => {
    const rows = [user(0, 'a'), user(1, 'mine'), user(1, 'theirs'), turnEnd(2), turnEnd(2)]
    for (const outcome of Object.values(await outcomes(rows))) {
      expect(outcome).toMatchObject(refusal({ rule: 'seq-gap', line: 4, seq: 2, actual: 1 }))
    }
  })
})

test('a turn that ended before the damage does not count: only what comes later says that the damage is not at the end', async () => {
  const { raw, native } = await outcomes([user(0, 'a'), turnEnd(1), user(2, 'b'), user(9, 'c')])
  expect(raw).toMatchObject({ texts: ['a', 'b'], capturedThroughSeq: 2, issues: ['discarded-rows'] })
  expect(native).toMatchObject(refusal({ rule: 'seq-gap', seq: 3 }))
})

test('the words of a turn end inside another row end no turn', async () => {
  const { raw } = await outcomes([user(0, 'a'), user(9, 'b'), user(1, '{"type":"turn/end","seq":1}')])
  expect(raw).toMatchObject({ texts: ['a'], capturedThroughSeq: 0, issues: ['discarded-rows'] })
})
