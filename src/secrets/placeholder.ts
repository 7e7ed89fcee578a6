// What stands where a secret stood, and what its author wrote instead of one: neither of them is a find.

import { SECRET_KINDS, type SecretKind } from './kinds.ts'

const PLACEHOLDER = new RegExp(String.raw`\[redacted:(?:${SECRET_KINDS.join('|')})\]`, 'g')

/** What stands in a masked text for a value of this kind: no length, no hash, no character of it. */
export function placeholderOf(kind: SecretKind): string {
  return `[redacted:${kind}]`
}

/** A part of a text, in UTF-16 code units. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** Where the placeholders of a text stand, in their order. */
export function placeholderRanges(text: string): Range[] {
  if (!text.includes('[redacted:')) return []
  return [...text.matchAll(PLACEHOLDER)].map(({ index, 0: all }) => ({ start: index, end: index + all.length }))
}

/** Words that only a made-up value has; in a random one of 40 letters and digits they stand once in ten million. */
const STAND_IN = /example|placeholder|redacted|change[-_]?me|replace[-_]?me|your[-_]|[-_]here\b|x{5}|\*{3}|\.{3}|…/i

/** Whether a value is one that documentation shows in place of a secret, and not a secret. */
export function isStandIn(value: string): boolean {
  return placeholderRanges(value).length > 0 || STAND_IN.test(value) || hasFewCharacters(value)
}

/** Whether the last sixteen characters are of four kinds or fewer, as in `sk-xXxXxXxX` and `ghp_aaaa`. */
function hasFewCharacters(value: string): boolean {
  return new Set(value.slice(-16)).size <= Math.min(4, value.length / 3)
}
