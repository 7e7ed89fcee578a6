// The three readings of a message against each other: the check without zod, the zod schemas that explain a refusal, and the
// walk over the bytes of a row.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeHeader } from '../../src/decode/header.ts'
import { decodeMessage } from '../../src/decode/message.ts'
import { MessageBytes } from '../../src/decode/message-bytes.ts'
import { parseRecord } from '../../src/decode/records.ts'
import { shapeOf } from '../../src/decode/shapes.ts'
import { slimRow, type WantedTexts } from '../../src/decode/slim-row.ts'
import { DshRefError } from '../../src/errors.ts'
import type { SurfaceMessage, SurfaceType } from '../../src/types.ts'
import { assistant, developer, type MadeRow, system, toolResult, toolResult4, user } from '../support/rows.ts'

const RUNS = 10_000
const versions = fc.constantFrom(0, 1, 2, 3, 4, 5)

type Json = Record<string, unknown>

/** A right row of any type; what makes it wrong comes later. */
const rightRows = fc.tuple(fc.string(), fc.nat(7), fc.boolean()).map(([text, kind, hasStream]): MadeRow => {
  const stream = hasStream ? [{ type: 'text-chunks', time0: 1, index: 0, dt: [1, -2], texts: ['a', '"', '\n'] }] : []
  const made = [
    user(text),
    user(text, {}, { kind: 'plugin', plugin: 'compact' }),
    assistant(text),
    system(text),
    developer([
      { type: 'text', text },
      { type: 'tool-addition', toolName: 'x' },
    ]),
    toolResult(text),
    toolResult(text, {}, { isError: true, content: [null, 1, { type: 7 }, { type: 'text', text }] }),
    toolResult4(text, {}, { isError: true }),
  ][kind] as MadeRow
  return made.type === 'assistant/message' ? { ...made, data: { ...(made.data as Json), stream } } : made
})

/** What stands in the place of a value, or of a key. */
const junk = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  -1,
  '',
  'x',
  'user',
  'tool',
  'model',
  'text',
  'tool-result',
  'c2',
  [],
  [null],
  {},
  { type: 'text' },
  { kind: 'tool' },
  { type: 'text', text: 'b' },
  [{ type: 'text', text: 'b' }],
  undefined,
)
const keys = fc.constantFrom(
  'id',
  'role',
  'content',
  'source',
  'kind',
  'callId',
  'toolCallId',
  'type',
  'text',
  'isError',
  'error',
  'message',
  'plugin',
)

/** Changes to a JSON value: at a random place the value is replaced, taken away, or a key is added. */
const changes = fc.array(fc.tuple(fc.nat(), junk, fc.option(keys)), { maxLength: 2 })

function changed(data: unknown, list: readonly (readonly [number, unknown, string | null])[]): unknown {
  const copy = structuredClone(data) as Json
  for (const [pick, value, key] of list) {
    const places = placesOf(copy)
    const [owner, name] = places[pick % places.length] ?? [copy, 'message']
    const inside = owner[name]
    if (key !== null && typeof inside === 'object' && inside !== null) (inside as Json)[key] = structuredClone(value)
    else owner[name] = structuredClone(value)
  }
  return JSON.parse(JSON.stringify(copy))
}

function placesOf(value: unknown): [Json, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value).flatMap((key) => [
    [value as Json, key] as [Json, string],
    ...placesOf((value as Json)[key]),
  ])
}

/** The message, or the rule of the refusal. */
function judged(type: SurfaceType, data: unknown, version: number): SurfaceMessage | { rule: unknown } {
  try {
    return decodeMessage(type, 7, data, version)
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return { rule: error.facts.rule }
  }
}

test('decodeMessage() refuses exactly what the schemas refuse', () => {
  const counts = { right: 0, wrong: 0 }
  fc.assert(
    fc.property(rightRows, changes, versions, (row, list, version) => {
      const data = changed(row.data, list)
      const type = row.type as SurfaceType
      const isRight = shapeOf(type, version).safeParse(data).success
      counts[isRight ? 'right' : 'wrong']++
      const verdict = judged(type, data, version)
      expect('rule' in verdict && verdict.rule === 'message-shape', JSON.stringify(data)).toBe(!isRight)
    }),
    { numRuns: RUNS },
  )
  expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(RUNS / 10)
})

test('decodeHeader() refuses exactly what the schema refuses', () => {
  const header = { type: 'session', version: 4, id: 's', createdAt: 1, cwd: '/w', isSeeded: false, delegationDepth: 0 }
  fc.assert(
    fc.property(changes, (list) => {
      const { header: stored } = changed({ header }, list) as { header?: Json }
      const row = JSON.stringify(stored ?? null)
      let isTaken = true
      try {
        decodeHeader(row, { allowUnknownVersion: true })
      } catch {
        isTaken = false
      }
      expect(isTaken, row).toBe(shapeOf('header', 4).safeParse(JSON.parse(row)).success)
    }),
    { numRuns: RUNS },
  )
})

/** Rows as stored: the writer's order, now and then with a blank, a key twice, an escaped key or a byte changed. */
const spellings = fc.option(fc.tuple(fc.nat(3), fc.nat()), { freq: 1 })

function stored(row: MadeRow, data: unknown, spelling: readonly [number, number] | null): Buffer {
  const { type, surfaceOp, data: _, ...rest } = row
  const json = JSON.stringify({ type, seq: 7, time: 1_790_000_000_000, data, ...rest, surfaceOp })
  if (!spelling) return Buffer.from(json)
  const [way, at] = spelling
  const quotes = [...json.matchAll(/"(\w+)":/g)]
  const [place, key = ''] = quotes[at % quotes.length] ?? ['']
  const index = json.indexOf(place)
  switch (way) {
    case 0:
      return Buffer.from(`${json.slice(0, index)} ${json.slice(index)}`)
    case 1:
      return Buffer.from(`${json.slice(0, index)}"${key}":null,${json.slice(index)}`)
    case 2:
      return Buffer.from(
        json.replace(`"${key}":`, `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}":`),
      )
    default: {
      const bytes = Buffer.from(json)
      bytes[at % bytes.length] = 0x22 + (at % 0x5c)
      return bytes
    }
  }
}

test('the walk over a row gives what parsing it gives, or leaves it to that', () => {
  let taken = 0
  fc.assert(
    fc.property(rightRows, changes, versions, spellings, fc.boolean(), (row, list, version, spelling, isTextWanted) => {
      const bytes = stored(row, changed(row.data, list), spelling)
      const type = row.type as SurfaceType
      const quick = new MessageBytes(version).read(bytes, type, 7, isTextWanted)
      if (!quick) return
      taken++
      const record = parseRecord(bytes, 0, bytes.length, version)
      if (record.kind !== 'event') throw new Error(`The walk took ${bytes.toString()}`)
      expect(record).toMatchObject({ type, seq: 7 })
      const slow = judged(type, record.data, version)
      expect(quick, bytes.toString()).toEqual('rule' in slow || isTextWanted ? slow : { ...slow, text: '' })
    }),
    { numRuns: RUNS },
  )
  expect(taken).toBeGreaterThan(RUNS / 4)
})

test('the walk makes a row slim as parsing it does', () => {
  let taken = 0
  const conversation = (texts: WantedTexts) => (type: SurfaceType) =>
    texts === 'all' || type === 'user/message' || type === 'assistant/message'
  fc.assert(
    fc.property(
      rightRows,
      changes,
      versions,
      fc.constantFrom<WantedTexts>('all', 'conversation'),
      (row, list, version, texts) => {
        const bytes = stored(row, changed(row.data, list), null)
        const quick = new MessageBytes(version).slim(bytes, conversation(texts))
        if (!quick) return
        taken++
        const slow = slimRow(bytes, version, texts) ?? bytes
        const [one, other] = [quick, slow].map((slim) => parseRecord(slim, 0, slim.length, version))
        if (one?.kind !== 'event' || other?.kind !== 'event')
          throw new Error(`No record: ${Buffer.from(quick).toString()}`)
        const type = row.type as SurfaceType
        expect(one).toMatchObject({ type: other.type, seq: other.seq, time: other.time })
        expect(judged(type, one.data, version), bytes.toString()).toEqual(judged(type, other.data, version))
      },
    ),
    { numRuns: RUNS },
  )
  expect(taken).toBeGreaterThan(RUNS / 4)
})
