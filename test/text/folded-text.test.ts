// Text as it is compared: what folds to the same, what stays apart, and where something found in composed text was stored.
import { describe, expect, test } from 'vitest'
import { composedText, foldedText, holdsText } from '../../src/text/folded-text.ts'
import { searchTranscript } from '../../src/transcript/transcript.ts'

const ACUTE = '\u0301'
const nfc = (text: string) => text.normalize('NFC')
const nfd = (text: string) => text.normalize('NFD')

describe('folded text', () => {
  test.each([
    ['letters of either case', 'Login', 'lOGIN'],
    ['a letter and its marks, in either spelling', nfc('CAFÉ'), nfd('café')],
    ['a Hangul syllable and its parts', nfc('각하'), nfd('각하')],
    ['kana with a voiced mark', nfc('ガ'), nfd('ガ')],
    ['marks in any order', 'q\u0307\u0323', 'q\u0323\u0307'],
    ['the Turkish capital with a dot, in either spelling', nfc('İ'), nfd('İ')],
    ['capitals of two words', 'ΟΔΟΣ ΜΟΥ', 'οδος μου'],
  ])('is the same for %s', (_, one, other) => {
    expect(foldedText(one)).toBe(foldedText(other))
  })

  test.each([
    ['a letter without its mark', 'cafe', 'café'],
    ['another letter', 'login', 'logon'],
    ['the Turkish capital with a dot and i, as for the service', 'İ', 'i'],
    ['sharp s and two of s, as for the service', 'STRASSE', 'straße'],
    ['a full-width letter', 'a', 'ａ'],
  ])('differs for %s', (_, one, other) => {
    expect(foldedText(one)).not.toBe(foldedText(other))
  })

  test('finds a part of a text, and nothing where there is no text', () => {
    const hasText = holdsText(nfd('CAFÉ'))
    expect([hasText(nfc('Le café bleu')), hasText('cafe'), hasText(undefined)]).toEqual([true, false, false])
  })
})

describe('composed text', () => {
  test('knows where each of its letters was stored', () => {
    const stored = nfd('é각x')
    expect(stored).toHaveLength(6)
    const { text, originalOffset } = composedText(stored)
    expect(text).toBe(nfc('é각x'))
    expect([0, 1, 2, 3].map(originalOffset)).toEqual([0, 2, 5, 6])
  })

  test('knows it too where composing makes a text longer', () => {
    const stored = '\u0958x' // Unicode has no composed form of this letter but the two it stands for
    const { text, originalOffset } = composedText(stored)
    expect(text).toBe('\u0915\u093cx')
    expect([0, 2, 3].map(originalOffset)).toEqual([0, 1, 2])
  })
})

describe('a search', () => {
  const find = (pattern: RegExp, text: string) =>
    [...searchTranscript([{ text }], pattern)].map(({ start, end }) => text.slice(start, end))

  test.each([
    ['composed in decomposed', /café/gu, nfd('one café, two cafés')],
    ['decomposed in composed', new RegExp(nfd('café'), 'gu'), nfc('one café, two cafés')],
    ['with another case', new RegExp(nfd('CAFÉ'), 'giu'), nfc('one café, two cafés')],
  ])('finds a literal text %s, and gives what was stored', (_, pattern, text) => {
    expect(find(pattern, text).map(nfc)).toEqual(['café', 'café'])
  })

  test('takes a letter with its mark for one letter', () => {
    expect(find(/caf.,/gu, nfd('café,'))).toEqual([nfd('café,')])
    expect(find(new RegExp(nfd('[éè]+$'), 'gu'), nfc('éè'))).toEqual([nfc('éè')])
  })

  test.each([
    ['by property', /\p{M}/gu],
    ['by its long name', /\p{Nonspacing_Mark}/gu],
    ['by escape', /\u0301/gu],
    ['by escape in braces', /\u{301}/gu],
    ['as a member of a class', /[\u0301x]/gu],
    ['as itself in a class', new RegExp(['[x', ']'].join(ACUTE), 'gu')],
    ['as itself alone', new RegExp(ACUTE, 'gu')],
  ])('takes a pattern that names a mark %s to the letter', (_, pattern) => {
    expect(find(pattern, nfd('é'))).toEqual(['\u0301'])
    expect(find(pattern, nfc('é'))).toEqual([])
  })
})
