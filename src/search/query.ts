// What is looked for: the words of a person as terms, and where a text holds them. Every term must occur in a session; in
// what order sessions come is rank.ts.

import { invalidConfig } from '../errors.ts'
import { composedText, foldedText } from '../text/folded-text.ts'
import { searchTranscript } from '../transcript/transcript.ts'
import type { Range } from './blocks.ts'

/** How a pattern is read. */
export interface QueryOptions {
  /** Each pattern is a JavaScript regular expression. Default: words, taken literally. */
  readonly isRegex?: boolean
  /** Each pattern is one phrase, its white space included. */
  readonly isPhrase?: boolean
  /** Whole words only. */
  readonly isWord?: boolean
  /** Whatever the case; by default only when no pattern has a capital. */
  readonly ignoresCase?: boolean
}

/** Terms are the bits of a number. */
const MAX_TERMS = 30

/** What one person looks for. */
export interface Query {
  readonly isRegex: boolean
  readonly isWord: boolean
  readonly ignoresCase: boolean
  /** Words, phrases or regular expressions, as they are looked for: in folded or in composed text. */
  readonly terms: readonly string[]
  /** An expression for each of them. */
  readonly expressions: readonly RegExp[]
  /** All the words as they follow each other in one pattern; absent for one term alone and for regular expressions. */
  readonly phrase: { readonly text: string; readonly expression: RegExp } | undefined
}

/** Makes a query of the patterns of a command line. Throws `INVALID_CONFIG` for one that is empty or no expression. */
export function queryOf(patterns: readonly string[], options: QueryOptions): Query {
  const { isRegex = false, isPhrase = false, isWord = false } = options
  const isWhole = isRegex || isPhrase
  const given = isWhole ? patterns : patterns.flatMap((pattern) => pattern.split(/\s+/))
  const wanted = given.filter((term) => term !== '').map((term) => term.toWellFormed())
  if (wanted.length === 0) throw invalidConfig('There is nothing to search for; give a pattern that is not empty')
  const ignoresCase = options.ignoresCase === true || !wanted.some((term) => hasCapital(term, isRegex))
  const asSearched = (text: string) => (isRegex ? text : ignoresCase ? foldedText(text) : text.normalize('NFC'))
  const terms = [...new Set(wanted.map(asSearched))]
  if (terms.length > MAX_TERMS) {
    throw invalidConfig(`There are ${terms.length} different words to search for; give at most ${MAX_TERMS}`)
  }
  const expression = (term: string) => expressionOf(term, { isRegex, isWord, ignoresCase })
  const text = asSearched(wanted.join(' '))
  return {
    isRegex,
    isWord,
    ignoresCase,
    terms,
    expressions: terms.map(expression),
    phrase: isWhole || terms.length === 1 ? undefined : { text, expression: expression(text) },
  }
}

/**
 * A text as a query looks at it; where something is found is an offset into it. An expression looks at texts as they are
 * and minds their normalisation itself (transcript.ts).
 */
export function searchedForm(text: string, { isRegex, ignoresCase }: Pick<Query, 'isRegex' | 'ignoresCase'>): string {
  if (isRegex) return text
  return ignoresCase ? foldedText(text) : composedText(text).text
}

/** Where one of the expressions of a query matches a text in its searched form, in order; an empty match is none. */
export function rangesOf(expression: RegExp, searched: string, { isRegex }: Pick<Query, 'isRegex'>): Range[] {
  const ranges: Range[] = []
  if (isRegex) {
    for (const { start, end } of searchTranscript([{ text: searched }], expression)) ranges.push([start, end])
  } else {
    for (const { 0: found, index } of searched.matchAll(expression)) ranges.push([index, index + found.length])
  }
  return ranges.filter(([start, end]) => start < end)
}

/** Whether an expression of a query matches a text in its searched form. */
export function isFound(expression: RegExp, searched: string, query: Pick<Query, 'isRegex'>): boolean {
  return query.isRegex ? rangesOf(expression, searched, query).length > 0 : searched.search(expression) !== -1
}

/** In an expression a capital behind a backslash, or in the name of a property, is none of the text. */
function hasCapital(pattern: string, isRegex: boolean): boolean {
  const text = isRegex ? pattern.replace(/\\[pP]\{[^}]*\}|\\k<[^>]*>|\(\?<[^>=!]*>|\\./gsu, '') : pattern
  return /\p{Lu}|\p{Lt}/u.test(text.normalize('NFC'))
}

function expressionOf(term: string, { isRegex, isWord, ignoresCase }: Omit<Query, 'terms' | 'expressions' | 'phrase'>) {
  const source = isRegex ? term : term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  // A literal that ignores case is looked for in folded text.
  const flags = isRegex && ignoresCase ? 'gimu' : 'gmu'
  try {
    const expression = new RegExp(source, flags)
    return isWord ? new RegExp(`${NO_WORD_BEFORE}(?:${source})${NO_WORD_BEHIND}`, flags) : expression
  } catch (cause) {
    const { message } = cause as SyntaxError
    throw invalidConfig(`${message}; write a JavaScript regular expression, or leave --regex out`, { pattern: term })
  }
}

const NO_WORD_BEFORE = '(?<![\\p{L}\\p{M}\\p{N}_])'
const NO_WORD_BEHIND = '(?![\\p{L}\\p{M}\\p{N}_])'
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}_]/u

/** Whether the bytes from `start` to `end` are a word of their own in UTF-8 text. */
export function isWordAt(bytes: Buffer, start: number, end: number): boolean {
  if (start > 0) {
    let first = start - 1
    while (first > 0 && ((bytes[first] as number) & 0xc0) === 0x80) first--
    if (WORD_CHARACTER.test(bytes.toString('utf8', first, start))) return false
  }
  if (end >= bytes.length) return true
  let behind = end + 1
  while (behind < bytes.length && ((bytes[behind] as number) & 0xc0) === 0x80) behind++
  return !WORD_CHARACTER.test(bytes.toString('utf8', end, behind))
}
