// The shapes of messages and headers against schemas that say the same in another way, and the reading that picks out of a row
// what its message needs against the one that parses it.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeHeader, HEADER } from '../../src/decode/header.ts'
import { KeptRows, type WantedTexts } from '../../src/decode/kept-row.ts'
import { dataShape, decodeMessage } from '../../src/decode/message.ts'
import { parseRecord } from '../../src/decode/records.ts'
import { problemIn } from '../../src/decode/shape.ts'
import { DshRefError } from '../../src/errors.ts'
import { utf8Bytes } from '../../src/text/json-bytes.ts'
import type { SurfaceMessage, SurfaceType } from '../../src/types.ts'
import { assistant, developer, type MadeRow, system, toolResult, toolResult4, user } from '../support/rows.ts'
import { problemOf, shapeOf } from '../support/zod-shapes.ts'

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

test('decodeMessage() refuses exactly what the schemas refuse, in their words', () => {
  const counts = { right: 0, wrong: 0 }
  fc.assert(
    fc.property(rightRows, changes, versions, (row, list, version) => {
      const data = changed(row.data, list)
      const type = row.type as SurfaceType
      const isRight = shapeOf(type, version).safeParse(data).success
      counts[isRight ? 'right' : 'wrong']++
      const verdict = judged(type, data, version)
      expect('rule' in verdict && verdict.rule === 'message-shape', JSON.stringify(data)).toBe(!isRight)
      if (isRight) return
      const { cause: _, ...problem } = problemOf({ shape: type, value: data, formatVersion: version })
      expect(problemIn(dataShape(type, version), data), JSON.stringify(data)).toEqual(problem)
    }),
    { numRuns: RUNS },
  )
  expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(RUNS / 10)
})

test('decodeHeader() refuses exactly what the schema refuses, in its words', () => {
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
      const value = JSON.parse(row)
      expect(isTaken, row).toBe(shapeOf('header', 4).safeParse(value).success)
      if (isTaken) return
      const { cause: _, ...problem } = problemOf({ shape: 'header', value, formatVersion: 4 })
      expect(problemIn(HEADER, value), row).toEqual(problem)
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

/** The message of a row as it is picked, or what refuses it; `undefined` when the picking is in doubt. */
function picked(bytes: Uint8Array, type: SurfaceType, version: number, use: 'read' | 'counted' | 'none') {
  const record = new KeptRows(version, 'all').picked(bytes, type, use)
  if (!record) return undefined
  expect(record).toMatchObject({ type, seq: 7 })
  try {
    return decodeMessage(type, 7, record.data, version, use)
  } catch {
    return undefined // the row is parsed for the words of the refusal
  }
}

test('picking a message out of a row gives what parsing the row gives, or leaves it to that', () => {
  let taken = 0
  const uses = fc.constantFrom('read' as const, 'counted' as const, 'none' as const)
  fc.assert(
    fc.property(rightRows, changes, versions, spellings, uses, (row, list, version, spelling, use) => {
      const bytes = stored(row, changed(row.data, list), spelling)
      const type = row.type as SurfaceType
      const quick = picked(bytes, type, version, use)
      if (!quick) return
      taken++
      const record = parseRecord(bytes, 0, bytes.length, version)
      if (record.kind !== 'event') throw new Error(`The picking took ${bytes.toString()}`)
      const slow = judged(type, record.data, version)
      if ('rule' in slow) throw new Error(`The picking took ${bytes.toString()}`)
      const { text } = slow
      const expected = { read: { text }, counted: { text: '', textBytes: utf8Bytes(text) }, none: { text: '' } }[use]
      expect(quick, bytes.toString()).toEqual({ ...slow, ...expected })
    }),
    { numRuns: RUNS },
  )
  expect(taken).toBeGreaterThan(RUNS / 4)
})

test('texts are counted as they are read, however they are escaped', () => {
  const parts = fc.constantFrom('a', 'é', '界', '🚀', '\ud83d', '\ude00', '\n', '"', '\\', '\u0000', '/', '\u2028')
  const escapes = fc.infiniteStream(fc.boolean())
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), escapes, (list, isEscaped) => {
      const written = list.map((part) => {
        const units = [...Array(part.length).keys()].map((at) => part.charCodeAt(at))
        const escaped = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
        const isLoneHalf = units.length === 1 && !part.isWellFormed()
        return isEscaped.next().value || isLoneHalf ? escaped : JSON.stringify(part).slice(1, -1)
      })
      const { data, surfaceOp } = user('TEXT')
      const json = JSON.stringify({ type: 'user/message', seq: 7, time: 1, data, surfaceOp })
      const row = Buffer.from(json.replace('"text":"TEXT"', `"text":"${written.join('')}"`))
      const text = list.join('')
      expect(picked(row, 'user/message', 4, 'read')?.text).toBe(text)
      expect(picked(row, 'user/message', 4, 'counted')?.textBytes, row.toString()).toBe(utf8Bytes(text))
    }),
    { numRuns: RUNS },
  )
})

test('a row made slim has the message it had', () => {
  let taken = 0
  fc.assert(
    fc.property(
      rightRows,
      changes,
      versions,
      spellings,
      fc.constantFrom<WantedTexts>('all', 'conversation'),
      (row, list, version, spelling, texts) => {
        const bytes = stored(row, changed(row.data, list), spelling)
        const slim = new KeptRows(version, texts).slim(bytes)
        if (!slim) return
        taken++
        const [one, other] = [bytes, slim].map((row) => parseRecord(row, 0, row.length, version))
        if (one?.kind !== 'event' || other?.kind !== 'event') throw new Error(`No record: ${bytes.toString()}`)
        const type = row.type as SurfaceType
        expect(other).toMatchObject({ type, seq: one.seq, time: one.time })
        const isRead = texts === 'all' || type === 'user/message' || type === 'assistant/message'
        const message = judged(type, one.data, version)
        if ('rule' in message) return
        expect(judged(type, other.data, version), bytes.toString()).toEqual(isRead ? message : { ...message, text: '' })
      },
    ),
    { numRuns: RUNS },
  )
  expect(taken).toBeGreaterThan(RUNS / 4)
})
