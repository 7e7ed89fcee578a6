// The reference reader against everything the reference service and other writers left: it may judge the fast reader only
// while it agrees with all of it.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Decompress, decompress } from 'fzstd'
import { afterAll, describe, expect, it } from 'vitest'
import xxhash from 'xxhash-wasm'
import { CONFORMANCE } from '../support/conformance.ts'
import { type ReferenceReading, type ReferenceResult, readReference } from '../support/reference-reader.ts'

const folder = CONFORMANCE ?? ''
const { h64Raw } = await xxhash()
const counts = new Map<string, number>()

function count(what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

function readJson<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(folder, ...path), 'utf8')) as T
}

function accepted(result: ReferenceResult): ReferenceReading {
  if (!result.ok) throw new Error(`Refused as ${result.reason} by ${result.rule} at seq ${result.seq}`)
  return result
}

/** Issues that say less than the service refuses: it reads such logs too. */
function issuesTheServiceRefuses(result: ReferenceReading): readonly string[] {
  return result.issues.filter((kind) => !['torn-tail', 'discarded-rows', 'invalid-utf8'].includes(kind))
}

interface Expected {
  readonly refused?: true | string
  readonly acceptedWithIssue?: true
  readonly nodes?: readonly number[]
  readonly surfaceSeqs?: readonly number[]
  readonly replacements?: readonly unknown[]
  readonly capturedThroughSeq?: number | null
  readonly conversation?: readonly { role: string; text: string }[]
  readonly title?: string | null
  readonly isCutByBudget?: boolean
}

interface Case {
  readonly name: string
  readonly input: { readonly log: string }
  readonly expected: Expected
}

interface PrepareCase {
  readonly name: string
  readonly input: { readonly sources?: readonly string[] }
  readonly expected: {
    readonly data?: readonly { sessionId: string; capturedThroughSeq: number | null; conversation: unknown }[]
    readonly source?: { readonly references: readonly { truncated: boolean }[] }
  }
}

interface RealLog {
  readonly file: string
  readonly version: number
  readonly id: string
  readonly events: number
  readonly nodes: readonly number[]
  readonly replacements: readonly unknown[]
  readonly title: string | null
  readonly conversation: readonly unknown[]
}

interface Tree {
  readonly sessions: readonly (Expected & {
    readonly id: string
    readonly path: string
    readonly cwd?: string | null
  })[]
}

function expectReading(result: ReferenceResult, expected: Expected): void {
  if (expected.refused !== undefined) {
    expect(result.ok).toBe(false)
    return
  }
  const reading = accepted(result)
  expect(reading.nodes).toEqual(expected.surfaceSeqs ?? expected.nodes)
  if (expected.replacements !== undefined) expect(reading.replacements).toEqual(expected.replacements)
  if (expected.capturedThroughSeq !== undefined) expect(reading.capturedThroughSeq).toBe(expected.capturedThroughSeq)
  if (expected.title !== undefined) expect(reading.title).toBe(expected.title)
  if (expected.conversation !== undefined) {
    const conversation = reading.conversation.map(({ role, text }) => ({ role, text: text.toWellFormed() }))
    const wellFormed = expected.conversation.map(({ role, text }) => ({ role, text: text.toWellFormed() }))
    // What a budget left of the long conversations is their end, whole.
    const end = expected.isCutByBudget ? conversation.slice(-wellFormed.length) : conversation
    expect(end).toEqual(wellFormed)
  }
}

describe.skipIf(CONFORMANCE === undefined)('reference reader against the conformance data', () => {
  // Without the data no other test of this suite exists; this one then shows in the report as skipped.
  it('runs where ../shared/conformance is beside the project, and is skipped elsewhere', () => {
    expect(CONFORMANCE).toBeDefined()
  })

  afterAll(() => {
    process.stdout.write(`reference reader ran ${[...counts].map(([what, n]) => `${n} ${what}`).join(', ')}\n`)
  })

  describe('folds as the service folds', () => {
    for (const { name, input, expected } of CONFORMANCE ? readJson<Case[]>('cases', 'fold.json') : []) {
      it(name, () => {
        count('fold cases')
        expectReading(readReference(Buffer.from(input.log)), expected)
      })
    }
  })

  describe('reads what the service reads, and says so where the service refuses', () => {
    for (const { name, input, expected } of CONFORMANCE ? readJson<Case[]>('cases', 'read.json') : []) {
      it(name, () => {
        count('read cases')
        const result = readReference(Buffer.from(input.log))
        expectReading(result, expected)
        if (result.ok) expect(issuesTheServiceRefuses(result).length > 0).toBe(expected.acceptedWithIssue === true)
      })
    }
  })

  describe('projects what the service projects where no budget cut anything', () => {
    for (const { name, input, expected } of CONFORMANCE ? readJson<PrepareCase[]>('cases', 'prepare.json') : []) {
      if (expected.source?.references.some(({ truncated }) => truncated) !== false) continue
      it(name, () => {
        count('prepare cases')
        const readings = (input.sources ?? []).map((log) => readReference(Buffer.from(log)))
        for (const { sessionId, capturedThroughSeq, conversation } of expected.data ?? []) {
          const reading = readings.filter((each) => each.ok).find(({ header }) => header.id === sessionId)
          expect(reading).toMatchObject({ ok: true, capturedThroughSeq })
          const texts = reading?.conversation.map(({ role, text }) => ({ role, text: text.toWellFormed() }))
          expect(texts).toEqual(conversation)
        }
      })
    }
  })

  describe('reads the logs of other software', () => {
    const lines = CONFORMANCE ? readFileSync(join(folder, 'logs', 'expected.jsonl'), 'utf8').split('\n') : []
    for (const line of lines) {
      if (line === '') continue
      const expected = JSON.parse(line) as RealLog
      it(expected.file, () => {
        count('real logs')
        const reading = accepted(readReference(readFileSync(join(folder, 'logs', expected.file))))
        expect(reading.formatVersion).toBe(expected.version)
        expect(reading.header.id).toBe(expected.id)
        expect(reading.events).toBe(expected.events)
        expect(reading.nodes).toEqual(expected.nodes)
        expect(reading.replacements).toEqual(expected.replacements)
        expect(reading.title).toBe(expected.title)
        expect(reading.conversation).toEqual(expected.conversation)
        // The example logs of version 0 were written by a build whose header did not have every field yet.
        expect(reading.issues.filter((kind) => kind !== 'header-field')).toEqual([])
      })
    }
  })

  describe('calls the formats of single forks unsupported', () => {
    for (const file of CONFORMANCE ? listFiles(join(folder, 'logs', 'foreign-versions')) : []) {
      it(file.slice(folder.length + 1), () => {
        count('foreign logs')
        const log = readFileSync(file)
        expect(readReference(log)).toEqual({ ok: false, reason: 'unsupported', rule: 'unknown-version' })
        expect(accepted(readReference(log, { allowUnknownVersion: true })).issues[0]).toBe('unknown-version')
      })
    }
  })

  describe('reads the session trees of the real storage backend', () => {
    const trees = CONFORMANCE ? readJson<Record<string, Tree>>('artifacts', 'expected.json') : {}
    for (const [tree, { sessions }] of Object.entries(trees)) {
      for (const expected of sessions) {
        it(`${tree}: ${expected.id}`, () => {
          count(`artifacts of ${tree}`)
          const bytes = readFileSync(join(folder, 'artifacts', tree, expected.path))
          const result = expected.path.endsWith('.zstd') ? readCompressed(bytes) : readReference(bytes)
          expectReading(result, { ...expected, isCutByBudget: expected.id.startsWith('torn-multiblock') })
          if (!result.ok) return
          expect(result.header.id).toBe(expected.id)
          if (expected.cwd !== undefined) expect(result.header.cwd ?? null).toBe(expected.cwd)
          // Two of the damaged files were cut exactly behind the header, which leaves a whole log.
          const isDamaged = tree.endsWith('-damaged') && !expected.id.startsWith('torn-to-header')
          expect(result.issues.length > 0).toBe(isDamaged)
        })
      }
    }
  })
})

describe('reference reader', () => {
  const block = { type: 'text', text: 'x' }
  const user = { id: 'm', role: 'user', content: [block], source: { kind: 'user' } }
  const model = { kind: 'model', provider: 'p', model: 'm' }
  const assistant = { turn: 1, step: 1, message: { id: 'a', role: 'assistant', content: [block], source: model } }
  const prompt = { turn: 1, step: 1, message: { ...user, role: 'system', source: { kind: 'system-prompt' } } }
  const wrapper = { type: 'tool-result', toolCallId: 'c', content: [block] }
  const tool = { message: { id: 't', role: 'user', content: [wrapper], source: { kind: 'tool', callId: 'c' } } }
  const otherTool = { message: { ...tool.message, id: 'other' } }
  const addition = { id: 'd', role: 'developer', content: [{ type: 'tool-addition', toolName: 'ping' }], source: model }

  type Row = readonly [type: string, data: unknown, surfaceOp?: unknown, sourceEventSeqs?: unknown]

  /** A log whose rows have the seqs of their places; `undefined` leaves a key out. */
  function logOf(version: number, ...rows: (Row | string)[]): Buffer {
    const flag = version >= 2 ? { isSeeded: false } : {}
    const header = { type: 'session', version, id: 's', createdAt: 1, delegationDepth: 0, ...flag }
    const lines = rows.map((row, seq) => {
      if (typeof row === 'string') return row
      const [type, data, surfaceOp, sourceEventSeqs] = row
      return JSON.stringify({ type, seq, time: 1, data, sourceEventSeqs, surfaceOp })
    })
    return Buffer.from(
      [header, ...lines].map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
    )
  }

  const one: Row = ['user/message', user, 'append']
  const replace = (start: unknown, end: unknown) => ({ op: 'replace', start, end })
  const replaceSeq = (startSeq: unknown, endSeq: unknown) => ({ op: 'replace', startSeq, endSeq })
  const turnEnd: Row = ['turn/end', {}]

  const refusals: [rule: string, reason: string, log: Buffer][] = [
    ['header', 'corrupt', Buffer.from('{"type":"session","version":0}\n')],
    ['header', 'corrupt', Buffer.from('')],
    ['unknown-version', 'unsupported', Buffer.from('{"type":"session","version":5}\n')],
    ['malformed-row', 'corrupt', logOf(0, '[]', '{"type":"turn/end","seq":0,"time":1,"data":{}}')],
    ['malformed-row', 'corrupt', logOf(2, '{"type":"text-chunks","seq0":0,"time0":1,"data":{}}', turnEnd)],
    ['seq-gap', 'corrupt', logOf(0, '{"type":"turn/end","seq":1,"time":1,"data":{}}')],
    ['retired-shape', 'unsupported', logOf(0, ['mode/set', {}])],
    ['retired-shape', 'unsupported', logOf(0, ['request/header', { reason: 'fallback' }])],
    ['surface-metadata-on-log-only-event', 'corrupt', logOf(4, ['turn/start', {}, null])],
    ['surface-metadata-on-log-only-event', 'unsupported', logOf(2, ['system/message', prompt, 'append'])],
    ['missing-surface-op', 'corrupt', logOf(0, ['user/message', user])],
    ['surface-op', 'corrupt', logOf(0, ['user/message', user, 'prepend'])],
    ['message-shape', 'corrupt', logOf(1, ['user/message', { content: [block], source: user.source }, 'append'])],
    ['message-shape', 'corrupt', logOf(3, ['tool/result', { ...tool, error: {} }, 'append'])],
    ['sources-forbidden', 'corrupt', logOf(2, ['assistant/message', assistant, 'append', []])],
    ['sources-shape', 'corrupt', logOf(1, one, one, one, ['user/message', user, 'append', [[0, 1], 1]])],
    ['sources-empty', 'corrupt', logOf(0, ['user/message', user, 'append', []])],
    ['sources-duplicate', 'corrupt', logOf(0, one, one, one, ['user/message', user, 'append', [0, 0]])],
    ['sources-future', 'corrupt', logOf(0, one, ['user/message', user, 'append', [1]])],
    ['replace-keys', 'corrupt', logOf(3, one, ['user/message', user, replace(0, 0), [0]])],
    ['replace-endpoint', 'corrupt', logOf(1, one, ['user/message', user, replace(0, 1), [0]])],
    ['replace-endpoint-not-on-surface', 'corrupt', logOf(0, turnEnd, ['user/message', user, replace(0, 0), [0]])],
    ['replace-order', 'corrupt', logOf(0, one, one, ['user/message', user, replace(1, 0), [0, 1]])],
    ['provenance-missing', 'corrupt', logOf(0, one, one, ['user/message', user, replace(0, 1), [0]])],
    [
      'system-head',
      'corrupt',
      logOf(3, ['system/message', prompt, 'append'], one, ['user/message', user, replaceSeq(0, 1), [0, 1]]),
    ],
    ['tool-rewrite-span', 'corrupt', logOf(0, one, ['tool/result', tool, replace(0, 0), [0]])],
    [
      'tool-rewrite-changed',
      'corrupt',
      logOf(0, ['tool/result', tool, 'append'], ['tool/result', otherTool, replace(0, 0), [0]]),
    ],
    ['developer-binding', 'corrupt', logOf(4, ['developer/message', { message: addition }, 'append'])],
  ]

  it.each(refusals)('names the rule %s of what it refuses as %s', (rule, reason, log) => {
    expect(readReference(log)).toMatchObject({ ok: false, reason, rule })
  })

  it('leaves what an ignorable unknown event carries unread from version 2 on', () => {
    const row = '{"type":"vendor/x","seq":0,"time":1,"data":{},"ignorable":true,"surfaceOp":null}'
    expect(readReference(logOf(1, row)).ok).toBe(false)
    expect(readReference(logOf(2, row))).toMatchObject({ ok: true, events: 1, issues: [] })
  })

  it('reads a tool result of either shape in version 4, as forks write both', () => {
    const { message } = tool
    const direct = { message: { ...message, role: 'tool', toolCallId: 'c', content: [block] } }
    const log = logOf(4, ['tool/result', tool, 'append'], ['tool/result', direct, 'append'])
    expect(readReference(log)).toMatchObject({ ok: true, nodes: [0, 1], issues: [] })
    expect(readReference(logOf(3, ['tool/result', direct, 'append'])).ok).toBe(false)
  })

  it('leaves a shadowed message unread when asked to', () => {
    const broken = { ...user, content: 'x' }
    const log = logOf(0, ['user/message', broken, 'append'], ['user/message', user, replace(0, 0), [0]])
    expect(readReference(log)).toMatchObject({ ok: false, rule: 'message-shape', seq: 0 })
    expect(readReference(log, { checkShadowed: false })).toMatchObject({ ok: true, nodes: [1] })
    const onSurface = logOf(0, one, ['user/message', broken, 'append'])
    expect(readReference(onSurface, { checkShadowed: false })).toMatchObject({
      ok: false,
      rule: 'message-shape',
      seq: 1,
    })
  })

  describe('reads the plaintext of frames', () => {
    const lines = logOf(0, one, one, turnEnd, one)
      .toString()
      .split(/(?<=\n)/)
      .map((line) => Buffer.from(line))
    const [header, ...rows] = lines as [Buffer, ...Buffer[]]
    const nope = Buffer.from('nope\n')
    const readFrames = (mode: 'native' | 'historical', complete: Buffer[], torn?: Buffer): ReferenceResult =>
      readReference(new Uint8Array(), {
        mode,
        encoding: 'zstd-plaintext',
        frames: torn === undefined ? { complete } : { complete, torn },
      })

    it('refuses a bad row inside complete frames when native, and keeps what is before it when historical', () => {
      const complete = [header, Buffer.concat([...rows, nope])]
      expect(readFrames('native', complete)).toMatchObject({
        ok: false,
        reason: 'corrupt',
        rule: 'malformed-row',
        seq: 4,
      })
      expect(readFrames('historical', complete)).toMatchObject({ ok: true, events: 4, issues: ['discarded-rows'] })
    })

    it.each(['native', 'historical'] as const)('refuses a partial row left over by complete frames (%s)', (mode) => {
      const complete = [header, Buffer.concat(rows).subarray(0, -1)]
      expect(readFrames(mode, complete)).toMatchObject({ ok: false, rule: 'partial-row-in-frame' })
    })

    it.each(['native', 'historical'] as const)('joins rows across complete frames (%s)', (mode) => {
      const body = Buffer.concat(rows)
      const complete = [header, body.subarray(0, 90), body.subarray(90)]
      expect(readFrames(mode, complete)).toMatchObject({ ok: true, events: 4, issues: [], tornTail: false })
    })

    it.each(['native', 'historical'] as const)('refuses a first frame that holds more than the header (%s)', (mode) => {
      expect(readFrames(mode, [Buffer.concat(lines)])).toMatchObject({ ok: false, rule: 'header-frame' })
      expect(readFrames(mode, [])).toMatchObject({ ok: false, rule: 'header' })
    })

    it.each(['native', 'historical'] as const)('keeps the whole rows of a torn last frame (%s)', (mode) => {
      const [first, ...rest] = rows as [Buffer, ...Buffer[]]
      const torn = Buffer.concat(rest).subarray(0, -1)
      const read = readFrames(mode, [header, first], torn)
      expect(read).toMatchObject({ ok: true, events: 3, issues: ['torn-tail'], tornTail: true })
      const damaged = readFrames(mode, [header, first], nope)
      expect(damaged).toMatchObject({ ok: true, events: 1, issues: ['discarded-rows', 'torn-tail'] })
      expect(readFrames(mode, [header, first], Buffer.concat([nope, Buffer.from(rows[2] as Buffer)]))).toMatchObject({
        ok: false,
        rule: 'malformed-row',
      })
    })
  })
})

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function readCompressed(bytes: Uint8Array): ReferenceResult {
  try {
    const { complete, torn } = walkFrames(bytes)
    const plaintexts = complete.map((frame) => decompressFrame(frame))
    const frames = torn === undefined ? { complete: plaintexts } : { complete: plaintexts, torn: recover(torn) }
    return readReference(new Uint8Array(), { encoding: 'zstd-plaintext', frames })
  } catch (error) {
    // A structure, a payload or a checksum that is wrong; the reference reader gets plaintexts only.
    return { ok: false, reason: 'corrupt', rule: String(error) }
  }
}

/** The structure walk of FORMAT.md section 8. */
function walkFrames(bytes: Uint8Array): { complete: Uint8Array[]; torn?: Uint8Array } {
  const complete: Uint8Array[] = []
  let start = 0
  while (start < bytes.length) {
    const end = endOfFrame(bytes, start)
    if (end === undefined) return { complete, torn: bytes.subarray(start) }
    complete.push(bytes.subarray(start, end))
    start = end
  }
  return { complete }
}

/** Returns `undefined` when the bytes end inside the frame. */
function endOfFrame(bytes: Uint8Array, start: number): number | undefined {
  const magic = [0x28, 0xb5, 0x2f, 0xfd]
  for (let at = 0; at < 4; at++) {
    if (start + at >= bytes.length) return undefined
    if (bytes[start + at] !== magic[at]) throw new Error('Bad magic')
  }
  const descriptor = bytes[start + 4]
  if (descriptor === undefined) return undefined
  if ((descriptor & 0x18) !== 0) throw new Error('Reserved descriptor bits')
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0
  const contentSizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  let at = start + 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes + contentSizeBytes
  for (;;) {
    if (at + 3 > bytes.length) return undefined
    const block = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16)
    const type = (block >> 1) & 3
    if (type === 3) throw new Error('Reserved block type')
    at += 3 + (type === 1 ? 1 : block >> 3)
    if ((block & 1) === 1) break
  }
  if ((descriptor & 0x04) !== 0) at += 4
  return at > bytes.length ? undefined : at
}

function decompressFrame(frame: Uint8Array): Uint8Array {
  const plaintext = decompress(frame)
  if (((frame[4] ?? 0) & 0x04) !== 0) {
    const stored = Buffer.from(frame.subarray(-4)).readUInt32LE()
    if (Number(h64Raw(plaintext) & 0xffffffffn) !== stored) throw new Error('Bad checksum')
  }
  return plaintext
}

/** The whole blocks of a torn frame. */
function recover(frame: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = []
  try {
    new Decompress((chunk) => chunks.push(chunk)).push(frame)
  } catch {
    // A torn frame that cannot be decoded gives what came before the fault.
  }
  return Buffer.concat(chunks)
}
