// Which titles are shown: one that is blank to the eye is as none.
import { describe, expect, test } from 'vitest'
import { labelOf, shownTitle } from '../../src/project/title.ts'

describe('a title', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \t\n\u00a0\u2003\u3000'],
    ['controls', '\u0000\u001b\u007f'],
    ['invisible characters', '\u200b\u200d\u2060\ufeff\u00ad\u202e'],
    ['fillers', '\u3164\uffa0\u115f\u2800'],
    ['variation selectors and tags', '\ufe0f\u{e0061}'],
  ])('of %s is as none', (_, title) => {
    expect(shownTitle(title)).toBeUndefined()
    expect(labelOf(title, 'the-id')).toBe('the-id')
  })

  test.each([[' x '], ['\u200b。'], ['👩‍👩‍👧'], ['\u0301'], ['\ud800'], ['می‌خواهم']])(
    'of %j is shown as stored',
    (title) => {
      expect(shownTitle(title)).toBe(title)
      expect(labelOf(title, 'the-id')).toBe(title)
    },
  )
})
