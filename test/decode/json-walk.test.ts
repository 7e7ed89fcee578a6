// The walk over JSON in bytes against JSON.parse: what it takes, JSON.parse takes, and it takes whatever writers write.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { skipValue } from '../../src/decode/json-walk.ts'
import { decodeUtf8 } from '../../src/decode/records.ts'
import { parseSources } from '../../src/decode/sources.ts'

const RUNS = 5000

/** Whether the walk ends where the bytes do; a quote and a bracket stand behind them, as another row may. */
function isWalked(json: Uint8Array): boolean {
  const bytes = Buffer.concat([json, Buffer.from('"],}')])
  return skipValue(bytes, 0, json.length) === json.length
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decodeUtf8(bytes, 0, bytes.length))
    return true
  } catch {
    return false
  }
}

/** JSON with some bytes changed, most of them to bytes that mean something. */
const damaged = fc
  .tuple(
    fc.jsonValue(),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'"\\{}[],:0-+.eE \ttrufalsn\u0001\u0080')), { maxLength: 3 }),
  )
  .map(([value, changes]) => {
    const bytes = Buffer.from(JSON.stringify(value))
    for (const [at, character] of changes) bytes[at % bytes.length] = character.charCodeAt(0)
    return bytes
  })

test('skipValue() takes no bytes that JSON.parse refuses', () => {
  fc.assert(
    fc.property(damaged, (bytes) => {
      if (isWalked(bytes)) expect(isJson(bytes), bytes.toString('latin1')).toBe(true)
    }),
    { numRuns: RUNS },
  )
})

test('skipValue() takes every JSON text without blanks', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(isWalked(Buffer.from(JSON.stringify(value))), JSON.stringify(value)).toBe(true)
    }),
    { numRuns: RUNS },
  )
})

test.each([
  '0',
  '-0',
  '1.5',
  '-1e10',
  '1E+2',
  '1e-7',
  'true',
  'false',
  'null',
  '""',
  '"\\u00e9\\n\\"\\\\"',
  '[]',
  '{}',
  '[[],{}]',
  '{"":{"a":[1,"x",null]}}',
])('skipValue() takes %s', (json) => {
  expect(isWalked(Buffer.from(json))).toBe(true)
})

test.each([
  '',
  '-',
  '01',
  '1.',
  '.5',
  '+1',
  '1e',
  '1e+',
  'tru',
  'nul',
  'NaN',
  '"',
  '"\\x"',
  '"\\u12g4"',
  '"\\',
  '"a\tb"',
  '[',
  '[1,]',
  '[,1]',
  '[1 2]',
  '{',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  '{"a":1]',
  '[1}',
  '1 ',
  ' 1',
  '[1],',
  '{"a":1}}',
  '\ufeff1',
])('skipValue() does not take %j', (json) => {
  expect(isWalked(Buffer.from(json))).toBe(false)
})

test('skipValue() leaves deep nesting to JSON.parse', () => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
  expect(isWalked(nested(30))).toBe(true)
  expect(isWalked(nested(31))).toBe(false)
  expect(isWalked(nested(100_000))).toBe(false)
})

test('parseSources() gives what JSON.parse gives', () => {
  const entry = fc.oneof(
    fc.nat(),
    fc.maxSafeNat(),
    fc.tuple(fc.nat(), fc.nat()),
    fc.constantFrom<unknown>(-1, 1.5, null, 'x', [], [1], [1, 2, 3], [[1, 2]], [-1, 2], 1e21),
  )
  const text = fc
    .tuple(fc.array(entry, { maxLength: 6 }), fc.option(fc.tuple(fc.nat(), fc.constantFrom(...'[],0 x-'))))
    .map(([list, change]) => {
      const json = JSON.stringify(list)
      if (!change) return json
      const at = change[0] % json.length
      return json.slice(0, at) + change[1] + json.slice(at + 1)
    })
  fc.assert(
    fc.property(text, (json) => {
      const bytes = Buffer.from(`x${json}]`)
      let expected: unknown
      try {
        expected = JSON.parse(json)
      } catch {
        expected = undefined
      }
      expect(parseSources(bytes, 1, bytes.length - 1)).toEqual(Array.isArray(expected) ? expected : undefined)
    }),
    { numRuns: RUNS },
  )
})
