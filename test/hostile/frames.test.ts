// Case 7 of issue 5: zstd logs of many frames, and damaged in every way a frame can be (FORMAT.md sections 7.3 and 8). Both
// decoders say the same of each.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LogOutcome, readLog, readLogsNatively } from '../support/read-logs.ts'
import { assistant, logOf, logOnly, user } from '../support/rows.ts'
import { compressWithNewerNode, rawBlock, rawBlocks, writeFrame } from '../support/zstd-writer.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-frames-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Reads logs, given as bytes, with both decoders; what they say is the same. */
async function outcomesOf(logs: readonly Uint8Array[]): Promise<LogOutcome[]> {
  const cases = logs.map((bytes, index) => {
    const path = join(directory, `${index}.jsonl.zstd`)
    writeFileSync(path, bytes)
    return { path, encoding: 'zstd' as const }
  })
  const outcomes: LogOutcome[] = []
  for (const logCase of cases) outcomes.push(await readLog(logCase))
  expect((await readLogsNatively(cases)).map(comparable)).toEqual(JSON.parse(JSON.stringify(outcomes.map(comparable))))
  return outcomes
}

/**
 * Damaged content is noticed by its blocks or by its checksum: which of the two differs, and only one decoder tells both. In
 * a torn frame, which has no checksum, the JavaScript decoder goes on in a damaged block where the native one gives up; the
 * rows it makes up are discarded.
 */
function comparable(outcome: LogOutcome): unknown {
  if (!('refused' in outcome) && outcome.isTorn) {
    return { ...outcome, issues: outcome.issues.filter((kind) => kind !== 'discarded-rows') }
  }
  if (!('refused' in outcome) || !/^zstd-(?:block|checksum)$/.test(String(outcome.refused.rule))) return outcome
  const { reason, frame, throughSeq } = outcome.refused
  return { reason, frame, throughSeq, rule: 'block or checksum' }
}

const outcomeOf = async (log: Uint8Array) => (await outcomesOf([log]))[0] as LogOutcome
const frame = (text: string | Uint8Array, fields = {}) => writeFrame(rawBlocks(text), fields)
const refused = (facts: object) => ({ refused: expect.objectContaining(facts) })

/** The lines of a log of some messages, and of the turn that ends behind the last. */
function linesOf(count: number, text = (index: number) => `message ${index}`): string[] {
  const rows = Array.from({ length: count }, (_, index) => (index % 2 === 0 ? user : assistant)(text(index)))
  return logOf(4, [...rows, logOnly('turn/end', { turn: 1 })])
    .trimEnd()
    .split('\n')
    .map((line) => `${line}\n`)
}

const LINES = linesOf(5)
const HEADER = LINES[0] as string
const ROWS = LINES.slice(1)
const BODY = ROWS.join('')

test('4,000 frames of one event each read like one frame', async () => {
  const lines = linesOf(4000)
  const [many, few] = await outcomesOf([
    Buffer.concat(lines.map((line) => frame(line))),
    Buffer.concat([frame(lines[0] as string), frame(lines.slice(1).join(''))]),
  ])
  expect(many).toMatchObject({ capturedThroughSeq: 4000, isTorn: false, issues: [] })
  expect(many).toEqual(few)
})

test('the magic bytes of a frame inside a payload are data, stored and compressed', async () => {
  const magic = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)
  const row0 = ROWS[0] as string
  const at = row0.lastIndexOf('message 0')
  const [before, after] = [row0.slice(0, at), row0.slice(at + 'message 0'.length)]
  // In a row they are no UTF-8, and so read as (U+FFFD/U+FFFD.
  const row = Buffer.concat([Buffer.from(before), magic, magic, Buffer.from('x'), magic, Buffer.from(after)])
  const rest = Buffer.from(ROWS.slice(1).join(''))
  const compressed = await compressWithNewerNode([Buffer.from(HEADER), Buffer.concat([row, rest])])
  for (const log of [Buffer.concat([frame(HEADER), frame(row), frame(rest)]), Buffer.concat(compressed)]) {
    const outcome = await outcomeOf(log)
    expect(outcome).toMatchObject({ capturedThroughSeq: 5, isTorn: false, issues: ['invalid-utf8'] })
    expect('texts' in outcome && outcome.texts[0]).toBe('(\ufffd/\ufffd(\ufffd/\ufffdx(\ufffd/\ufffd')
  }
})

test('rows that cross frames, one byte a frame, are whole', async () => {
  const bytes = [...Buffer.from(BODY)].map((byte) => frame(Uint8Array.of(byte)))
  expect(await outcomeOf(Buffer.concat([frame(HEADER), ...bytes]))).toMatchObject({ capturedThroughSeq: 5, issues: [] })
})

describe('a file cut anywhere in its last 300 bytes', () => {
  test.each(['stored', 'compressed'])('keeps every earlier event, when its last frame is %s', async (how) => {
    const last = linesOf(4, (index) => `${index} ${'tail '.repeat(30)}`).slice(1, 5)
    const numbered = last.map((line, index) => line.replace(/"seq":\d+/, `"seq":${index + 6}`)).join('')
    const head = Buffer.concat([frame(HEADER), frame(BODY)])
    const [compressed] = await compressWithNewerNode([Buffer.from(numbered)])
    const log = Buffer.concat([head, how === 'stored' ? frame(numbered) : (compressed as Buffer)])
    const cuts = Array.from({ length: 300 }, (_, cut) => log.length - cut).filter((length) => length >= head.length)
    const whole = await outcomeOf(log)
    expect(whole).toMatchObject({ capturedThroughSeq: 9, isTorn: false })
    const texts = 'texts' in whole ? whole.texts : []
    const outcomes = await outcomesOf(cuts.slice(1).map((length) => log.subarray(0, length)))
    let least = 9
    for (const [index, outcome] of outcomes.entries()) {
      if (!('texts' in outcome)) throw new Error(`Cut at ${cuts[index + 1]}: ${outcome.message}`)
      const { capturedThroughSeq, isTorn, issues } = outcome
      // Five messages and the end of their turn, seqs 0 to 5, stand in complete frames.
      expect(capturedThroughSeq).toBeGreaterThanOrEqual(5)
      expect(outcome.texts).toEqual(texts.slice(0, outcome.texts.length))
      expect(outcome.texts.length).toBe(capturedThroughSeq)
      // The more is cut, the less is left.
      expect(capturedThroughSeq).toBeLessThanOrEqual(least)
      least = capturedThroughSeq as number
      const isBetweenFrames = cuts[index + 1] === head.length
      expect({ isTorn, issues }).toEqual({ isTorn: !isBetweenFrames, issues: isBetweenFrames ? [] : ['torn-tail'] })
    }
    // A stored frame gives up its rows one by one. A compressed one is a single block: all, while only its checksum is torn,
    // or nothing.
    const reached = [...new Set(outcomes.map((outcome) => 'texts' in outcome && outcome.capturedThroughSeq))]
    if (how === 'stored') expect(reached.length).toBeGreaterThan(1)
    else expect(reached).toEqual([9, 5])
  })

  test('is refused when the cut leaves no whole header frame', async () => {
    const log = frame(HEADER)
    const outcomes = await outcomesOf(Array.from({ length: log.length - 1 }, (_, cut) => log.subarray(0, cut + 1)))
    for (const outcome of outcomes)
      expect(outcome).toMatchObject(refused({ reason: 'corrupt', rule: 'header', frame: 1 }))
  })
})

describe('a damaged frame refuses the log and is named', () => {
  const head = frame(HEADER)
  const middle = ROWS.slice(0, 3).join('')
  const end = ROWS.slice(3).join('')
  const log = (...frames: Uint8Array[]) => Buffer.concat([head, ...frames])
  const withSkippable = Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0), Buffer.from('note')])

  test.each<[string, Buffer, object]>([
    [
      'a checksum flipped in a middle frame',
      log(frame(middle, { checksum: 7 }), frame(end)),
      { rule: 'zstd-checksum', frame: 2 },
    ],
    [
      'a checksum flipped in the last frame',
      log(frame(middle), frame(end, { checksum: 7 })),
      { rule: 'zstd-checksum', frame: 3 },
    ],
    [
      'a checksum flipped in the header frame',
      Buffer.concat([frame(HEADER, { checksum: 7 }), frame(middle)]),
      { rule: 'zstd-checksum', frame: 1 },
    ],
    [
      'a content size that is too large',
      log(frame(middle, { contentSizeWidth: 4, contentSize: 9999 }), frame(end)),
      { rule: 'zstd-content-size', frame: 2, expected: 9999 },
    ],
    [
      'a content size that is too small',
      log(frame(middle), frame(end, { contentSizeWidth: 2, contentSize: 300 })),
      { rule: 'zstd-content-size', frame: 3, expected: 300 },
    ],
    ['a reserved bit', log(frame(middle, { extraBits: 0x08 }), frame(end)), { rule: 'zstd-descriptor', frame: 2 }],
    [
      'the bit that zstd calls unused',
      log(frame(middle, { extraBits: 0x10 }), frame(end)),
      { rule: 'zstd-descriptor', frame: 2 },
    ],
    ['a skippable frame', log(frame(middle), withSkippable, frame(end)), { rule: 'zstd-magic', frame: 3 }],
    [
      'a skippable frame before the header',
      Buffer.concat([withSkippable, log(frame(BODY))]),
      { rule: 'zstd-magic', frame: 1 },
    ],
    [
      'a block of the reserved type',
      log(writeFrame([{ ...rawBlock(middle), type: 3 }]), frame(end)),
      { rule: 'zstd-block-type', frame: 2 },
    ],
    [
      'bytes between two frames',
      log(frame(middle), Buffer.from('noise'), frame(end)),
      { rule: 'zstd-magic', frame: 3 },
    ],
    [
      'a header frame of two lines',
      Buffer.concat([frame(HEADER + ROWS[0]), frame(ROWS.slice(1).join(''))]),
      { rule: 'header-frame', frame: 1 },
    ],
    ['a header frame of everything', frame(HEADER + BODY), { rule: 'header-frame', frame: 1 }],
    [
      'a header frame without its newline',
      Buffer.concat([frame(HEADER.slice(0, -1)), frame(`\n${BODY}`)]),
      { rule: 'header-frame', frame: 1 },
    ],
    [
      'complete frames that end inside a row',
      log(frame(BODY), frame('{"type":"turn/start"')),
      { rule: 'row-across-the-end', frame: 3 },
    ],
  ])('%s', async (_what, bytes, facts) => {
    expect(await outcomeOf(bytes)).toMatchObject(refused({ reason: 'corrupt', ...facts }))
  })

  test('a dictionary is no damage, but nothing this tool can read', async () => {
    const outcome = await outcomeOf(log(frame(middle, { extraBits: 0x01 })))
    expect(outcome).toMatchObject(refused({ reason: 'unsupported', rule: 'zstd-dictionary', frame: 2 }))
  })

  test('one flipped bit anywhere in the last two frames is never read as if nothing were', async () => {
    const [second, third] = await compressWithNewerNode([Buffer.from(middle), Buffer.from(end)])
    const sound = log(second as Buffer, third as Buffer)
    const whole = await outcomeOf(sound)
    const damaged = Array.from({ length: sound.length - head.length }, (_, index) => {
      const bytes = Buffer.from(sound)
      const at = head.length + index
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (index % 8)), at)
      return bytes
    })
    const outcomes = await outcomesOf(damaged)
    const unnoticed = outcomes.filter((outcome) => 'texts' in outcome && !outcome.isTorn)
    // A changed window size or checksum flag says nothing of the content, which must then be all there.
    for (const outcome of unnoticed) expect(outcome).toEqual(whole)
    expect(unnoticed.length).toBeLessThan(10)
  })
})
