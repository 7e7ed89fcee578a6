// Text for terminals: what is made visible, how wide it is, where it is cut.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutToWidth, displayWidth, padToWidth, visible } from '../../src/render/text.ts'

const RUNS = { numRuns: 1000 }

/** Strings with what titles of sessions really hold: wide scripts, emoji sequences, marks, controls, half pairs. */
const titles = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.constantFrom(
        '会话',
        'جلسة',
        '👩‍👩‍👧',
        '🇩🇪',
        '❤️',
        'é',
        'ｶﾞ',
        '각',
        '\u001b[31m',
        '\u202e',
        '\ud800',
        '\udc00',
        'ab',
        ' ',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

const graphemesOf = (text: string) => Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment)

describe('visible()', () => {
  test.each([
    ['a line feed, a return and a tab', 'a\nb\rc\td', 'a\\nb\\rc\\td'],
    ['an escape sequence', '\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['C0, DEL and C1 controls', '\u0000\u007f\u0080\u009b\u009f', '\\u0000\\u007f\\u0080\\u009b\\u009f'],
    ['directional marks', '\u061c\u200e\u200f', '\\u061c\\u200e\\u200f'],
    ['directional overrides and isolates', '\u202a\u202e\u2066\u2069', '\\u202a\\u202e\\u2066\\u2069'],
    ['line and paragraph separators', '\u2028\u2029', '\\u2028\\u2029'],
    ['the zero-width space and the byte order mark', '\u200b\ufeff', '\\u200b\\ufeff'],
  ])('writes %s as escapes', (_, text, expected) => {
    expect(visible(text)).toBe(expected)
  })

  test('leaves joiners, emoji, wide and right-to-left scripts alone', () => {
    const text = '👩‍👩‍👧 می‌خواهم 会话 é \u00a0'
    expect(visible(text)).toBe(text)
  })

  test('puts U+FFFD in the place of half a surrogate pair', () => {
    expect(visible('a\ud800b\udc00c😀')).toBe('a\ufffdb\ufffdc😀')
  })

  test('never lets a control, escape or bidi character or half a pair through', () => {
    fc.assert(
      fc.property(titles, (text) => {
        const shown = visible(text)
        expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\ufeff]/u)
        expect(shown.isWellFormed()).toBe(true)
      }),
      RUNS,
    )
  })

  test('keeps the value of JSON', () => {
    fc.assert(
      fc.property(titles, (text) => {
        expect(JSON.parse(visible(JSON.stringify({ text })))).toEqual({ text })
      }),
      RUNS,
    )
  })
})

describe('displayWidth()', () => {
  test.each([
    ['', 0],
    ['abc', 3],
    ['会话', 4],
    ['👩‍👩‍👧', 2],
    ['e\u0301', 1],
    ['ｶﾞ', 2],
  ])('counts the columns of %j as %i', (text, columns) => {
    expect(displayWidth(text)).toBe(columns)
  })
})

describe('cutToWidth()', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['会话一', 5, '会话…'],
    ['会话一', 6, '会话一'],
    ['会话一', 4, '会…'],
    ['会话', 1, '…'],
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['e\u0301e\u0301', 1, '…'],
    ['abc', 0, ''],
    ['', 0, ''],
    ['\u{e0000}', 0, '\u{e0000}'],
    ['a', -1, ''],
  ])('cuts %j to %i columns as %j', (text, columns, expected) => {
    expect(cutToWidth(text, columns)).toBe(expected)
  })

  test('never exceeds the columns, and cuts between graphemes only', () => {
    fc.assert(
      fc.property(titles.map(visible), fc.nat(30), (text, columns) => {
        const cut = cutToWidth(text, columns)
        expect(displayWidth(cut)).toBeLessThanOrEqual(columns)
        if (cut === text) return
        const kept = graphemesOf(cut.slice(0, -1))
        expect(graphemesOf(text).slice(0, kept.length)).toEqual(kept)
      }),
      RUNS,
    )
  })

  test('leaves a text that fits as it is', () => {
    fc.assert(
      fc.property(titles.map(visible), (text) => {
        expect(cutToWidth(text, displayWidth(text))).toBe(text)
      }),
      RUNS,
    )
  })
})

describe('padToWidth()', () => {
  test.each([
    ['ab', 4, 'end', 'ab  '],
    ['ab', 4, 'start', '  ab'],
    ['会', 4, 'end', '会  '],
    ['会话一', 4, 'end', '会… '],
    ['abc', 3, 'start', 'abc'],
  ] as const)('brings %j to %i columns, filled at the %s', (text, columns, side, expected) => {
    expect(padToWidth(text, columns, side)).toBe(expected)
  })

  test('always gives exactly the columns asked for', () => {
    fc.assert(
      fc.property(titles.map(visible), fc.nat(30), (text, columns) => {
        expect(displayWidth(padToWidth(text, columns))).toBe(columns)
      }),
      RUNS,
    )
  })
})
