// A person's regular expression, searched for in a thread that can be ended.

import { describe, expect, test } from 'vitest'
import { expressionOf, PatternSearch } from '../../src/transcript/pattern-search.ts'

const textsOf = (...texts: string[]) => texts.map((text) => ({ text }))

async function matchesOf(pattern: RegExp, ...texts: string[]) {
  using search = new PatternSearch(pattern)
  return await search.search(textsOf(...texts))
}

describe('a pattern', () => {
  test('that is no expression is refused before anything runs', () => {
    expect(() => expressionOf('(')).toThrowError(
      expect.objectContaining({ code: 'SESSION_REFERENCE_INVALID_CONFIG', facts: { pattern: '(' } }),
    )
  })

  test.each([
    ['plain', expressionOf('login'), false],
    ['with escaped characters', expressionOf('a\\.b'), false],
    ['taken as it is', expressionOf('(a+)+$', { isFixed: true }), false],
    ['with a repetition', expressionOf('a+'), true],
    ['with a class', expressionOf('\\d'), true],
    ['with an anchor', expressionOf('^a'), true],
  ])('that is %s takes a thread: %s %s', (_what, expression, isThreaded) => {
    expect(new PatternSearch(expression).isThreaded).toBe(isThreaded)
  })

  test('is found in the thread as it is outside', async () => {
    // Lines, an empty match and what lies beyond the first 64K code points, with half a surrogate pair beside it.
    expect(await matchesOf(expressionOf('^b|😀$'), 'a\nb', '', 'x😀', '\ud800😀')).toEqual([
      { message: 1, start: 2, end: 3 },
      { message: 3, start: 1, end: 3 },
      { message: 4, start: 1, end: 3 },
    ])
    expect(await matchesOf(expressionOf('x*'), 'x', 'y')).toEqual([
      { message: 1, start: 0, end: 1 },
      { message: 1, start: 1, end: 1 },
      { message: 2, start: 0, end: 0 },
      { message: 2, start: 1, end: 1 },
    ])
    expect(await matchesOf(expressionOf('B', { ignoresCase: true }), 'abc')).toEqual([{ message: 1, start: 1, end: 2 }])
  })

  test('is found in texts that go to the thread in several batches', async () => {
    const long = 'a'.repeat(3_000_000)
    expect(await matchesOf(expressionOf('b+'), long, long, `${long}b`)).toEqual([
      { message: 3, start: 3_000_000, end: 3_000_001 },
    ])
  })

  test('that never ends is given up when the signal fires', async () => {
    const controller = new AbortController()
    using search = new PatternSearch(expressionOf('(a+)+$'), { signal: controller.signal })
    expect(await search.search(textsOf('xa'))).toEqual([{ message: 1, start: 1, end: 2 }])
    const searching = search.search(textsOf(`${'a'.repeat(60)}!`))
    controller.abort()
    await expect(searching).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    await expect(search.search([])).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
  })

  test('that never ends is given up when the search is disposed of', async () => {
    const search = new PatternSearch(expressionOf('(a+)+$'))
    const searching = search.search(textsOf(`${'a'.repeat(60)}!`))
    search[Symbol.dispose]()
    await expect(searching).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
  })
})
