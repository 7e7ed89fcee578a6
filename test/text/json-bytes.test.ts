// Tag-safe JSON, and byte counts against what the platform really writes.
import { Buffer } from 'node:buffer'
import { describe, expect, it } from 'vitest'
import { tagSafeJson, tagSafeStringBytes, utf8Bytes } from '../../src/text/json-bytes.ts'

const EVERY_UNIT = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))

describe('tagSafeJson()', () => {
  it('leaves no < in texts or keys and means the same value', () => {
    const value = { '<key>': ['</referenced-sessions>', 1, null] }
    expect(tagSafeJson(value)).toBe('{"\\u003ckey>":["\\u003c/referenced-sessions>",1,null]}')
    expect(JSON.parse(tagSafeJson(value))).toEqual(value)
  })

  it('writes < after a backslash so that it is still < when read', () => {
    expect(tagSafeJson('\\<')).toBe('"\\\\\\u003c"')
    expect(JSON.parse(tagSafeJson('\\<'))).toBe('\\<')
  })
})

describe('tagSafeStringBytes()', () => {
  it('counts quotes, escapes, wide characters and lone surrogates', () => {
    expect(tagSafeStringBytes('')).toBe(2)
    expect(tagSafeStringBytes('abc')).toBe(5)
    expect(tagSafeStringBytes('\n"\\')).toBe(8)
    expect(tagSafeStringBytes('\u0001<\u007f')).toBe(15)
    expect(tagSafeStringBytes('é界🚀\u2028')).toBe(14)
    expect(tagSafeStringBytes('\ud800')).toBe(8)
    expect(tagSafeStringBytes('\udc00\ud800')).toBe(14)
    expect(tagSafeStringBytes('\ud800\ud83d\ude80')).toBe(12)
  })

  it('counts every UTF-16 code unit as it is written', () => {
    const miscounted = EVERY_UNIT.filter((unit) => tagSafeStringBytes(unit) !== Buffer.byteLength(tagSafeJson(unit)))
    expect(miscounted).toEqual([])
  })
})

describe('utf8Bytes()', () => {
  it('counts every UTF-16 code unit as it is encoded, a lone surrogate as U+FFFD', () => {
    expect(EVERY_UNIT.filter((unit) => utf8Bytes(unit) !== Buffer.byteLength(unit))).toEqual([])
  })

  it('counts a pair once and a broken pair twice', () => {
    expect(utf8Bytes('🚀')).toBe(4)
    expect(utf8Bytes('\ude80\ud83d')).toBe(6)
    expect(utf8Bytes('\ud83d\ud83d\ude80')).toBe(7)
    expect(utf8Bytes('🚀\ude80')).toBe(7)
  })
})
